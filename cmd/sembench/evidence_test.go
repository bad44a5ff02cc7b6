package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/vmihailenco/msgpack/v5"
)

// growingCounters serves vLLM's counters, 100 queries and 25 hits higher with every reading.
func growingCounters() http.Handler {
	var readings atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		n := readings.Add(1)
		fmt.Fprintf(w, "# TYPE vllm:prefix_cache_queries_total counter\nvllm:prefix_cache_queries_total{model_name=\"m\"} %d\n", 100*n)
		fmt.Fprintf(w, "# TYPE vllm:prefix_cache_hits_total counter\nvllm:prefix_cache_hits_total{model_name=\"m\"} %d\n", 25*n)
		fmt.Fprint(w, "process_start_time_seconds 1.7e9\n")
	})
}

// publishKV publishes, until stopped, one batch of two stored blocks as vLLM packs it, with a sequence number that skips one each time; a hash is
// above 2^63.
func publishKV() (address string, stop func(), err error) {
	payload, err := msgpack.Marshal([]any{1.5, []any{
		map[string]any{"type": "BlockStored", "block_hashes": []any{uint64(9), uint64(18000000000000000002)}, "parent_block_hash": nil, "token_ids": []int{1, 2, 3, 4}, "block_size": 2, "medium": "GPU"},
	}, 0})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	pub := zmq4.NewPub(ctx)
	if err := pub.Listen("tcp://127.0.0.1:0"); err != nil {
		cancel()
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for seq := uint64(0); ; seq += 2 {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if pub.Send(zmq4.NewMsgFrom([]byte("kv-events"), binary.BigEndian.AppendUint64(nil, seq), payload)) != nil {
					return
				}
			}
		}
	}()
	return "tcp://" + pub.Addr().String(), func() {
		cancel()
		<-ended
		pub.Close()
	}, nil
}
