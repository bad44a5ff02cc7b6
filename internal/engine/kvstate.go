package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"sembench"
)

// KVSummary counts a stream of KV events.
type KVSummary = sembench.KVSummary

// maxBlocks bounds the blocks tracked, some 100 bytes each. A node with 16-token blocks and eight million
// tokens of cache holds half a million.
const maxBlocks = 4 << 20

// blockPlace is a block in one worker's memory; the tiers that hold it are the bits of its entry.
type blockPlace struct {
	source string
	hash   KVHash
	group  int
}

// edge leads from a parent to the block that holds the next tokens.
type edge struct {
	source string
	parent KVHash
	tokens [16]byte
}

// KVState follows what an engine holds, from its events. The zero value is not ready: use NewKVState.
type KVState struct {
	sum    KVSummary
	held   map[blockPlace]uint64
	tiers  map[string]uint64 // bit of each tier name
	copies map[KVHash]int    // groups and workers that hold it
	edges  map[edge]KVHash
	seqs   map[string]uint64
}

// NewKVState is an engine that holds nothing.
func NewKVState() *KVState {
	return &KVState{held: map[blockPlace]uint64{}, tiers: map[string]uint64{"": 1}, copies: map[KVHash]int{}, edges: map[edge]KVHash{}, seqs: map[string]uint64{}}
}

// Summary counts what was applied.
func (s *KVState) Summary() KVSummary {
	sum := s.sum
	sum.Resident = len(s.copies)
	return sum
}

// Apply takes one batch.
func (s *KVState) Apply(b KVBatch) {
	s.sum.Batches++
	source := b.Worker
	if b.DPRank != nil {
		source += "/" + strconv.Itoa(*b.DPRank)
	}
	if b.Seq != nil {
		s.sequence(source, *b.Seq)
	}
	for _, e := range b.Events {
		s.event(source, e)
	}
}

// sequence counts gaps; a number that does not rise is a restarted publisher, whose memory is empty.
func (s *KVState) sequence(source string, seq uint64) {
	prev, ok := s.seqs[source]
	s.seqs[source] = seq
	switch {
	case !ok:
	case seq <= prev:
		s.sum.Restarts++
		s.clear(source)
	case seq > prev+1:
		s.sum.Gaps++
		s.sum.Lost += int(min(seq-prev-1, maxCount))
	}
}

func (s *KVState) event(source string, e KVEvent) {
	switch e.Kind {
	case KVStored:
		s.sum.BlockStoredEvents++
		s.sum.BlocksStored += len(e.Hashes)
		s.sum.TokensStored += len(e.TokenIDs)
		if e.BlockSize > 0 {
			s.sum.BlockSizeChanged = s.sum.BlockSizeChanged || (s.sum.BlockSize != 0 && s.sum.BlockSize != e.BlockSize)
			s.sum.BlockSize = e.BlockSize
		}
		s.store(source, e)
	case KVRemoved:
		s.sum.BlockRemovedEvents++
		s.sum.BlocksRemoved += len(e.Hashes)
		for _, h := range e.Hashes {
			if !s.drop(blockPlace{source, h, e.Group}, s.tier(e.Medium)) {
				s.sum.UnknownRemovals++
			}
		}
	case KVCleared:
		s.sum.AllBlocksCleared++
		s.clear(source)
	default:
		s.sum.OtherEvents++
	}
	s.sum.MaxResident = max(s.sum.MaxResident, len(s.copies))
}

func (s *KVState) store(source string, e KVEvent) {
	parent := e.Parent
	for i, h := range e.Hashes {
		place := blockPlace{source, h, e.Group}
		before := s.held[place]
		if before == 0 {
			if len(s.held) >= maxBlocks {
				s.sum.Untracked++
				parent = h
				continue
			}
			s.copies[h]++
		}
		s.held[place] = before | s.tier(e.Medium)
		if n := e.BlockSize; n > 0 && len(e.TokenIDs) >= (i+1)*n && len(s.edges) < maxBlocks {
			s.edges[edge{source, parent, tokenKey(e.TokenIDs[i*n : (i+1)*n])}] = h
		}
		parent = h
	}
}

// tier is the bit of a tier's name. A store that names none has a tier of its own.
func (s *KVState) tier(name string) uint64 {
	bit, ok := s.tiers[name]
	if !ok {
		bit = 1 << min(len(s.tiers), 63)
		if len(s.tiers) < 64 {
			s.tiers[name] = bit
		}
	}
	return bit
}

// drop takes a block out of one tier; an event that names no tier means all of them.
func (s *KVState) drop(p blockPlace, tier uint64) bool {
	mask, ok := s.held[p]
	if !ok || (tier != s.tiers[""] && mask&tier == 0) {
		return false
	}
	if tier != s.tiers[""] && mask&^tier != 0 {
		s.held[p] = mask &^ tier
		return true
	}
	delete(s.held, p)
	if s.copies[p.hash]--; s.copies[p.hash] <= 0 {
		delete(s.copies, p.hash)
	}
	return true
}

func (s *KVState) clear(source string) {
	for p := range s.held {
		if p.source == source {
			s.drop(p, s.tier(""))
		}
	}
	for e := range s.edges {
		if e.source == source {
			delete(s.edges, e)
		}
	}
}

// CachedPrefix is how many leading tokens of a prompt the engine holds in full blocks, the most over its
// workers: where reuse stops. It follows the tokens of the store events, so it needs neither the engine's
// hash function nor its seed. Zero before any event with tokens.
func (s *KVState) CachedPrefix(ids []int64) int {
	n := s.sum.BlockSize
	if n <= 0 {
		return 0
	}
	sources := map[string]struct{}{}
	for e := range s.edges {
		sources[e.source] = struct{}{}
	}
	best := 0
	for source := range sources {
		parent, depth := KVHash(""), 0
		for depth+n <= len(ids) {
			h, ok := s.edges[edge{source, parent, tokenKey(ids[depth : depth+n])}]
			if !ok || s.copies[h] == 0 {
				break
			}
			parent, depth = h, depth+n
		}
		best = max(best, depth)
	}
	return best
}

// tokenKey identifies a block's tokens: the first 128 bits of SHA-256 over their little-endian values.
func tokenKey(ids []int64) [16]byte {
	buf := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(id))
	}
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}
