package sim

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/go-zeromq/zmq4"
	"github.com/vmihailenco/msgpack/v5"
)

// KVTopic is the topic of published batches.
const KVTopic = "kv-events"

// publishBuffer is how many batches wait for a slow subscriber before they are lost, as vLLM's high-water mark has it.
const publishBuffer = 10_000

// Publisher sends KV event batches as vLLM does: ZMQ PUB with topic, 8-byte big-endian sequence and a msgpack payload
// [time, events, rank], events as maps with a type, hashes as bytes. Subscribers see lost batches as gaps of the sequence.
type Publisher struct {
	socket  zmq4.Socket
	batches chan KVBatch
	cancel  context.CancelFunc
	done    chan struct{}
}

// Publish listens on an endpoint such as tcp://127.0.0.1:5557. Its Send is what Config.Events wants.
func Publish(endpoint string) (*Publisher, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Publisher{socket: zmq4.NewPub(ctx), batches: make(chan KVBatch, publishBuffer), cancel: cancel, done: make(chan struct{})}
	if err := p.socket.Listen(endpoint); err != nil {
		cancel()
		return nil, fmt.Errorf("publishing KV events: listening on %s: %w", endpoint, err)
	}
	go func() {
		defer close(p.done)
		for {
			select {
			case b := <-p.batches:
				p.publish(b)
			case <-ctx.Done():
				return
			}
		}
	}()
	return p, nil
}

// Endpoint is the address that subscribers dial, with the port that was chosen for port 0.
func (p *Publisher) Endpoint() string { return "tcp://" + p.socket.Addr().String() }

// Send takes a batch and never waits: it is lost when too many are waiting.
func (p *Publisher) Send(b KVBatch) {
	select {
	case p.batches <- b:
	default:
	}
}

// Close ends the publisher; batches that still wait are lost.
func (p *Publisher) Close() error {
	p.cancel()
	<-p.done
	return p.socket.Close()
}

// publish sends one batch. A failure loses it, which subscribers see in the sequence.
func (p *Publisher) publish(b KVBatch) {
	payload, err := b.Payload()
	if err != nil {
		return
	}
	_ = p.socket.Send(zmq4.NewMsgFrom([]byte(KVTopic), binary.BigEndian.AppendUint64(nil, b.Sequence), payload))
}

// Payload is vLLM's msgpack payload for a batch.
func (b KVBatch) Payload() ([]byte, error) {
	events := make([]any, len(b.Events))
	for i, e := range b.Events {
		ev := map[string]any{"type": e.Kind}
		if e.Kind != KVCleared {
			hashes := make([][]byte, len(e.Hashes))
			for k := range e.Hashes {
				hashes[k] = e.Hashes[k][:]
			}
			ev["block_hashes"], ev["medium"], ev["group_idx"] = hashes, "GPU", 0
		}
		if e.Kind == KVStored {
			ev["parent_block_hash"] = nil
			if e.Parent != (blockHash{}) {
				ev["parent_block_hash"] = e.Parent[:]
			}
			ev["token_ids"], ev["block_size"], ev["lora_id"], ev["lora_name"] = e.Tokens, e.BlockSize, nil, nil
			ev["kv_cache_spec_kind"], ev["extra_keys"] = "full_attention", make([]any, len(e.Hashes))
		}
		events[i] = ev
	}
	return msgpack.Marshal([]any{float64(b.Time.UnixMicro()) / 1e6, events, 0})
}
