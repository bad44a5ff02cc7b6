package engine

import (
	"strings"
	"testing"

	"sembench"
)

// What the recorder writes and what TensorRT-LLM answers is found by the summary as by the reader of events.
func TestSummaryOfEventFiles(t *testing.T) {
	seq, rank := uint64(4), 0
	batch := KVBatch{Seq: &seq, DPRank: &rank, Time: 1.5, Events: []KVEvent{{Kind: KVStored, Hashes: []KVHash{"9", "18000000000000000002"}, TokenIDs: []int64{1, 2, 3, 4}, BlockSize: 2, Medium: "GPU"}}}
	line := string(sembench.Marshal(batch))
	for b, err := range ReadKVEvents(strings.NewReader(line)) {
		if err != nil || *b.Seq != 4 || b.Events[0].Hashes[1] != "18000000000000000002" {
			t.Errorf("%s is read as %+v, %v", line, b, err)
		}
	}
	for name, c := range map[string]struct {
		text   string
		stored int
	}{
		"recording": {line + "\n" + line, 4},
		"array":     {`[{"event_id":0,"data":{"type":"created","num_blocks_per_cache_level":[8,0]}},{"event_id":1,"data":{"type":"stored","parent_hash":null,"blocks":[{"block_hash":18000000000000000002,"tokens":[{"token_id":5}]}]}}]`, 1},
	} {
		ev, err := Summarize("auto", strings.NewReader(c.text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ev.KVEvents == nil || ev.KVEvents.BlocksStored != c.stored || ev.Input.DamagedLines != 0 {
			t.Errorf("%s: %+v, %d damaged lines", name, ev.KVEvents, ev.Input.DamagedLines)
		}
	}
	// A user's JSON list is none.
	if ev, err := Summarize("auto", strings.NewReader(`[{"event_id": "x"}]`), Options{}); err != nil || ev.KVEvents != nil {
		t.Errorf("%+v, %v", ev.KVEvents, err)
	}
}
