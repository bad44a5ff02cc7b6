package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/vmihailenco/msgpack/v5"
)

// payloads are the same batch as vLLM packed it before and after PR 42892.
func payloads(t testing.TB) map[string][]byte {
	t.Helper()
	const big = uint64(18000000000000000002)
	array := []any{1.5, []any{
		[]any{"BlockStored", []any{uint64(9), big}, nil, []int{1, 2, 3, 4}, 2, nil, "GPU"},
		[]any{"BlockRemoved", []any{uint64(9)}, "GPU"},
		[]any{"AllBlocksCleared"},
	}, 3}
	maps := []any{1.5, []any{
		map[string]any{"type": "BlockStored", "block_hashes": []any{uint64(9), big}, "parent_block_hash": nil, "token_ids": []int{1, 2, 3, 4}, "block_size": 2, "medium": "GPU", "extra_keys": []any{[]any{"a"}, nil}},
		map[string]any{"type": "BlockRemoved", "block_hashes": []any{uint64(9)}, "medium": "GPU"},
		map[string]any{"type": "AllBlocksCleared"},
	}, 3}
	out := map[string][]byte{}
	for name, v := range map[string]any{"arrays": array, "maps": maps} {
		b, err := msgpack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	return out
}

func TestDecodeKVBatch(t *testing.T) {
	for name, p := range payloads(t) {
		b, err := DecodeKVBatch(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.Time != 1.5 || *b.DPRank != 3 || len(b.Events) != 3 {
			t.Fatalf("%s: %+v", name, b)
		}
		stored := b.Events[0]
		if stored.Kind != KVStored || !slices.Equal(stored.Hashes, []KVHash{"9", "18000000000000000002"}) || stored.Parent != "" ||
			!slices.Equal(stored.TokenIDs, []int64{1, 2, 3, 4}) || stored.BlockSize != 2 || stored.Medium != "GPU" {
			t.Errorf("%s: %+v", name, stored)
		}
		if r := b.Events[1]; r.Kind != KVRemoved || !slices.Equal(r.Hashes, []KVHash{"9"}) {
			t.Errorf("%s: %+v", name, r)
		}
		if b.Events[2].Kind != KVCleared {
			t.Errorf("%s: %+v", name, b.Events[2])
		}
	}
}

func TestDecodeBytesHash(t *testing.T) {
	p, err := msgpack.Marshal([]any{1, []any{[]any{"BlockRemoved", []any{[]byte{0xab, 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := DecodeKVBatch(p)
	if err != nil || b.Events[0].Hashes[0] != "0xab01" {
		t.Errorf("%+v %v", b, err)
	}
	// 2^63 + 1 and the largest value survive, too.
	for _, n := range []uint64{1<<63 + 1, math.MaxUint64} {
		p, _ := msgpack.Marshal([]any{1, []any{[]any{"BlockRemoved", []any{n}}}})
		b, err := DecodeKVBatch(p)
		if want := KVHash(jsonText(n)); err != nil || b.Events[0].Hashes[0] != want {
			t.Errorf("%d: %+v %v", n, b, err)
		}
	}
}

func jsonText(n uint64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// A payload of nothing but opening arrays must fail, not exhaust the stack.
func TestDecodeDeep(t *testing.T) {
	deep := make([]byte, 1<<20)
	for i := range deep {
		deep[i] = 0x91
	}
	if _, err := DecodeKVBatch(deep); err == nil {
		t.Error("a nesting of a million passed")
	}
}

func TestReadKVEvents(t *testing.T) {
	in := `[{"event_id":0,"data":{"type":"created","num_blocks_per_cache_level":[8,0]}},{"event_id":1,"data":{"type":"stored","parent_hash":null,"blocks":[{"type":"stored_block","block_hash":18000000000000000002,"tokens":[{"token_id":5,"token_extra_id":0},{"token_id":6,"token_extra_id":0}],"cache_level":0,"priority":35}]},"window_size":64}]
{"event_id":3,"data":{"type":"removed","block_hashes":[18000000000000000002]},"window_size":64}
{"worker_id":7,"storage_tier":"device","event":{"event_id":4,"data":{"stored":{"parent_hash":null,"blocks":[{"block_hash":11,"tokens_hash":12}]}},"dp_rank":0}}
{"worker_id":7,"event":{"event_id":5,"data":{"removed":{"block_hashes":[11]}},"dp_rank":0}}
{"worker_id":7,"event":{"event_id":6,"data":"cleared","dp_rank":0}}
not an event
`
	state := NewKVState()
	var failed []string
	for b, err := range ReadKVEvents(strings.NewReader(in)) {
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		state.Apply(b)
	}
	s := state.Summary()
	want := KVSummary{
		Batches: 6, BlockStoredEvents: 2, BlocksStored: 2, BlockRemovedEvents: 2, BlocksRemoved: 2, AllBlocksCleared: 1,
		OtherEvents: 1, TokensStored: 2, BlockSize: 2, MaxResident: 1, Gaps: 1, Lost: 1,
	}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0], "reading KV events: line 6: ") {
		t.Errorf("errors %q", failed)
	}
}

func TestCachedPrefix(t *testing.T) {
	state := NewKVState()
	state.Apply(KVBatch{Events: []KVEvent{{Kind: KVStored, Hashes: []KVHash{"a", "b", "c"}, TokenIDs: []int64{1, 2, 3, 4, 5, 6}, BlockSize: 2, Medium: "GPU"}}})
	check := func(ids []int64, want int) {
		t.Helper()
		if got := state.CachedPrefix(ids); got != want {
			t.Errorf("%v: %d cached, want %d", ids, got, want)
		}
	}
	check([]int64{1, 2, 3, 4, 5, 6, 7}, 6)
	check([]int64{1, 2, 3, 9, 5, 6}, 2)
	check([]int64{3, 4}, 0) // a middle block is no prefix
	check([]int64{1}, 0)
	check(nil, 0)
	state.Apply(KVBatch{Events: []KVEvent{{Kind: KVRemoved, Hashes: []KVHash{"b"}, Medium: "GPU"}}})
	check([]int64{1, 2, 3, 4, 5, 6}, 2)
	state.Apply(KVBatch{Events: []KVEvent{{Kind: KVCleared}}})
	check([]int64{1, 2}, 0)
}

// The recorder against a publisher on loopback that skips a number and sends one torn message.
func TestRecordKV(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	pub := zmq4.NewPub(ctx)
	defer pub.Close()
	if err := pub.Listen("tcp://127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	endpoint := "tcp://" + pub.Addr().String()
	p := payloads(t)
	stop := make(chan struct{})
	sent := make(chan error, 1)
	go func() {
		// A subscription takes a moment to arrive and PUB drops until then: repeat the same number until told.
		send := func(seq uint64, payload []byte) error {
			return pub.Send(zmq4.NewMsgFrom([]byte("kv"), binary.BigEndian.AppendUint64(nil, seq), payload))
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				sent <- errors.Join(send(8, p["arrays"]), send(11, p["maps"]), send(12, []byte{0xc1}), send(13, p["maps"]))
				return
			case <-tick.C:
				if err := send(7, p["arrays"]); err != nil {
					sent <- err
					return
				}
			case <-ctx.Done():
				sent <- ctx.Err()
				return
			}
		}
	}()
	var seqs []uint64
	done := errors.New("done")
	rec, err := RecordKV(ctx, endpoint, "kv", func(b KVBatch) error {
		if len(seqs) == 0 {
			close(stop)
		}
		if len(seqs) == 0 || *b.Seq != 7 {
			seqs = append(seqs, *b.Seq)
		}
		if *b.Seq == 13 {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatalf("recording ended with %v", err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seqs, []uint64{7, 8, 11, 13}) || rec.Gaps != 1 || rec.Lost != 2 || rec.Undecodable != 1 || *rec.FirstSeq != 7 {
		t.Errorf("seqs %v recording %+v", seqs, rec)
	}
}

// Offload events carry parent 0 and no tokens: no parent, not block 0 (vLLM issue 39275).
func TestOffloadParent(t *testing.T) {
	p, err := msgpack.Marshal([]any{1, []any{map[string]any{"type": "BlockStored", "block_hashes": []any{uint64(5)}, "parent_block_hash": 0, "token_ids": []int{}, "block_size": 16, "medium": "CPU"}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := DecodeKVBatch(p)
	if err != nil || b.Events[0].Parent != "" || len(b.Events[0].TokenIDs) != 0 || b.Events[0].Medium != "CPU" {
		t.Errorf("%+v %v", b, err)
	}
}

// A block in two tiers stays while one of them holds it.
func TestTiers(t *testing.T) {
	state := NewKVState()
	event := func(kind, medium string) {
		state.Apply(KVBatch{Events: []KVEvent{{Kind: kind, Hashes: []KVHash{"h"}, Medium: medium}}})
	}
	check := func(want int) {
		t.Helper()
		if got := state.Summary().Resident; got != want {
			t.Errorf("%d resident, want %d", got, want)
		}
	}
	event(KVStored, "GPU")
	event(KVStored, "CPU")
	check(1)
	event(KVRemoved, "GPU")
	check(1)
	event(KVRemoved, "GPU")
	if n := state.Summary().UnknownRemovals; n != 1 {
		t.Errorf("%d unknown removals", n)
	}
	event(KVRemoved, "CPU")
	check(0)
}
