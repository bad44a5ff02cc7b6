package sim

import "time"

// KVBatch is one batch of KV cache events with its place in the stream.
type KVBatch struct {
	Sequence uint64
	Time     time.Time
	Events   []KVEvent
}

// KVEvent is one change of the prefix cache: KVStored, KVRemoved or KVCleared, with the blocks that it is about.
type KVEvent struct {
	Kind      string
	Hashes    [][16]byte
	Parent    [16]byte // of a stored run; zero for a prompt's first block
	Tokens    []uint32
	BlockSize int
}

// Kinds of events.
const (
	KVStored  = "BlockStored"
	KVRemoved = "BlockRemoved"
	KVCleared = "AllBlocksCleared"
)

// eventStream numbers batches and hands them on. Its methods need the engine's lock.
type eventStream struct {
	send     func(KVBatch)
	sequence uint64
}

// stored tells of the blocks that a prompt added, and of what left for them.
func (s *eventStream) stored(e *Engine, j *job, stored, evicted []blockHash, at time.Time) {
	if s.send == nil || len(stored)+len(evicted) == 0 {
		return
	}
	var events []KVEvent
	fresh := map[blockHash]bool{}
	for _, h := range stored {
		fresh[h] = true
	}
	size := e.cfg.BlockSize
	for i := 0; i < len(j.hashes); i++ {
		if !fresh[j.hashes[i]] {
			continue
		}
		ev := KVEvent{Kind: KVStored, BlockSize: size}
		if i > 0 {
			ev.Parent = j.hashes[i-1]
		}
		for ; i < len(j.hashes) && fresh[j.hashes[i]]; i++ {
			ev.Hashes = append(ev.Hashes, j.hashes[i])
			ev.Tokens = append(ev.Tokens, j.ids[i*size:(i+1)*size]...)
		}
		events = append(events, ev)
	}
	if len(evicted) > 0 {
		events = append(events, KVEvent{Kind: KVRemoved, Hashes: evicted})
	}
	s.emit(at, events)
}

func (s *eventStream) cleared(blocks []blockHash, at time.Time) {
	if s.send != nil {
		s.emit(at, []KVEvent{{Kind: KVCleared, Hashes: blocks}})
	}
}

func (s *eventStream) emit(at time.Time, events []KVEvent) {
	s.send(KVBatch{Sequence: s.sequence, Time: at, Events: events})
	s.sequence++
}
