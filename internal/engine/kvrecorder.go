package engine

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/go-zeromq/zmq4"
)

// KVRecording says what a recorder saw besides the events themselves.
type KVRecording struct {
	Received    int `json:"received"`
	Undecodable int `json:"undecodable"`
	// Gaps are jumps of the sequence number, Lost the messages skipped: the publisher drops what a slow
	// subscriber does not take.
	Gaps     int `json:"gaps"`
	Lost     int `json:"lost"`
	Restarts int `json:"restarts"`
	// FirstSeq above 0 means that events before the subscription were missed; null when nothing came.
	FirstSeq *uint64 `json:"first_seq"`
	// Errors are the first decoding errors.
	Errors []string `json:"errors"`
}

// maxKVMessage bounds one message; vLLM batches hold one scheduler step.
const maxKVMessage = 64 << 20

// RecordKV subscribes to a vLLM KV event publisher (ZMQ PUB: topic, 8-byte big-endian sequence, msgpack)
// and passes every batch to sink, until ctx ends, which is no error, or sink or the connection fails. The
// one goroutine of this package stands in Recv; it ends with the socket, which is closed before return.
func RecordKV(ctx context.Context, endpoint, topic string, sink func(KVBatch) error) (KVRecording, error) {
	var rec KVRecording
	sub := zmq4.NewSub(ctx, zmq4.WithAutomaticReconnect(true))
	defer sub.Close()
	if err := sub.Dial(endpoint); err != nil {
		return rec, fmt.Errorf("recording KV events: connecting to %s: %w", endpoint, err)
	}
	if err := sub.SetOption(zmq4.OptionSubscribe, topic); err != nil {
		return rec, fmt.Errorf("recording KV events: subscribing: %w", err)
	}
	type received struct {
		msg zmq4.Msg
		err error
	}
	messages := make(chan received)
	done := make(chan struct{})
	finished := make(chan struct{})
	defer func() {
		close(done)
		sub.Close()
		<-finished
	}()
	go func() {
		defer close(finished)
		for {
			msg, err := sub.Recv()
			select {
			case messages <- received{msg, err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var last uint64
	for {
		select {
		case <-ctx.Done():
			return rec, nil
		case m := <-messages:
			if m.err != nil {
				if ctx.Err() != nil {
					return rec, nil
				}
				return rec, fmt.Errorf("recording KV events: receiving from %s: %w", endpoint, m.err)
			}
			batch, err := rec.take(m.msg.Frames, &last)
			if err != nil {
				rec.Undecodable++
				if len(rec.Errors) < 20 {
					rec.Errors = append(rec.Errors, err.Error())
				}
				continue
			}
			if err := sink(batch); err != nil {
				return rec, fmt.Errorf("recording KV events: %w", err)
			}
		}
	}
}

// take reads one message and counts its place in the sequence.
func (rec *KVRecording) take(frames [][]byte, last *uint64) (KVBatch, error) {
	rec.Received++
	if len(frames) != 3 || len(frames[1]) != 8 {
		return KVBatch{}, fmt.Errorf("message %d: %d frames, want topic, 8-byte sequence, payload", rec.Received, len(frames))
	}
	seq := binary.BigEndian.Uint64(frames[1])
	switch {
	case rec.FirstSeq == nil:
		rec.FirstSeq = &seq
	case seq <= *last:
		rec.Restarts++
	case seq > *last+1:
		rec.Gaps++
		rec.Lost += int(min(seq-*last-1, maxCount))
	}
	*last = seq
	if len(frames[2]) > maxKVMessage {
		return KVBatch{}, fmt.Errorf("message %d: payload of %d bytes", rec.Received, len(frames[2]))
	}
	b, err := DecodeKVBatch(frames[2])
	if err != nil {
		return KVBatch{}, fmt.Errorf("message %d: %w", rec.Received, err)
	}
	b.Seq = &seq
	return b, nil
}
