package sim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"

	"sembench"
)

// trtllm speaks like trtllm-serve with SemBlend's audit (engine-evidence.md, sections 4.4 and 5.7). Its iteration objects are
// cumulative and are drained by reading; its audit names no requests.
type trtllm struct {
	plain
	iterations     []any
	iteration      int
	reused, missed int // blocks
	events         []any
	event          int
}

// newTRTLLM listens to the engine's own KV events beside whoever else does.
func newTRTLLM(e *Engine) *trtllm {
	t := &trtllm{plain: plain{e}}
	t.happened(map[string]any{"type": "created", "num_blocks_per_cache_level": []any{e.cfg.CapacityBlocks, e.cfg.OffloadBlocks}})
	send := e.events.send
	e.events.send = func(b KVBatch) {
		for _, ev := range b.Events {
			t.happened(trtEvent(ev))
		}
		if send != nil {
			send(b)
		}
	}
	return t
}

// maxIterations is how many unread iterations are kept.
const maxIterations = 1000

func (t *trtllm) routes(mux *http.ServeMux) {
	t.plain.routes(mux)
	mux.HandleFunc("GET /metrics", t.serveIterations)
	mux.HandleFunc("POST /kv_cache_events", t.serveEvents)
	mux.HandleFunc("POST /reset_prefix_cache", t.serveReset)
	mux.Handle("GET /prometheus/metrics", t.e.metrics([]string{"model_name"}, []string{t.e.cfg.Model}, func(x exposition) {
		c := &t.e.count
		x.counter("trtllm_prompt_cache_hit_tokens_total", "Prompt tokens found in any tier.", c.hits+c.externalHits)
		x.counter("trtllm_prompt_cached_tokens_total", "Prompt tokens that requests did not compute.", c.hits+c.externalHits)
		x.gauge("trtllm_kv_cache_hit_rate", "Reused over reused and missed blocks.", t.hitRate())
		x.gauge("trtllm_kv_cache_utilization", "Share of the blocks in use.", t.e.used())
	}))
}

func (t *trtllm) owner() string { return "tensorrt_llm" }

func (t *trtllm) serveReset(w http.ResponseWriter, _ *http.Request) {
	call := &resetCall{prefix: true, offload: true, donors: true, busy: true}
	t.e.reset(call)
	writeJSON(w, call.status, fmt.Appendf(nil, `{"success": %t}`, call.success))
}

func (t *trtllm) serveIterations(w http.ResponseWriter, _ *http.Request) {
	t.serveList(w, &t.iterations)
}

func (t *trtllm) serveEvents(w http.ResponseWriter, _ *http.Request) { t.serveList(w, &t.events) }

// serveList drains a list: what was read once is gone.
func (t *trtllm) serveList(w http.ResponseWriter, list *[]any) {
	t.e.mu.Lock()
	t.e.advance(t.e.cfg.Clock.Now())
	drained := append([]any{}, *list...)
	*list = nil
	t.e.mu.Unlock()
	body, err := json.Marshal(drained)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

func (t *trtllm) hitRate() float64 {
	if t.reused+t.missed == 0 {
		return 0
	}
	return float64(t.reused) / float64(t.reused+t.missed)
}

func (t *trtllm) started(j *job) {
	t.iterate(j)
	c, d := j.claims.audit, &j.decision
	if t.e.donors == nil || d.skipped != "" {
		return
	}
	reason, similarity := "no_donor_match", 0.0
	if c.hit {
		reason, similarity = "", 1
	}
	t.record(map[string]any{"event": "lookup", "found": c.hit, "similarity": similarity, "rejection_reason": reason, "num_new_matched_tokens": c.found})
	if c.materialized == nil {
		return
	}
	t.record(map[string]any{
		"event": "engine_blend_boundary", "request_ids": []any{j.index}, "boundary_layer": t.e.cfg.Layers / 6, "prefix_token_count": d.prefix + d.offload,
		"suffix_token_count": d.prompt - d.prefix - d.offload,
	})
	for range c.copies {
		t.record(map[string]any{"event": "materialized", "materialized": *c.materialized, "requires_rope_correction": moved(d)})
	}
}

// moved tells whether any copied token stands at another position than in its donor.
func moved(d *decision) bool {
	for _, p := range d.pieces {
		if p.donorStart != p.targetStart {
			return true
		}
	}
	return false
}

func (t *trtllm) registered(j *job) {
	t.record(map[string]any{"event": "donor_registered", "request_id": j.index})
}

func (t *trtllm) record(fields map[string]any) { t.e.audit.write(sembench.AppendJSON(nil, fields, 0)) }

// iterate adds the iteration in which a job was prefilled.
func (t *trtllm) iterate(j *job) {
	size, c, n := t.e.cfg.BlockSize, j.claims.counters, j.decision.prompt
	blocks := (n + size - 1) / size
	reused := min(blocks, (c.prefix+c.external)/size)
	t.reused, t.missed = t.reused+reused, t.missed+blocks-reused
	used := len(t.e.prefix.blocks)
	t.iterations = append(t.iterations, map[string]any{
		"iter": t.iteration, "iterLatencyMS": float64(j.charge.service()) / 1e6, "timestamp": t.e.cfg.Clock.Now().UTC().Format("01-02-2006 15:04:05.000000"),
		"numActiveRequests": t.e.sched.running, "numQueuedRequests": len(t.e.sched.queue), "numCompletedRequests": 0, "maxBatchSizeRuntime": t.e.cfg.MaxRunning,
		"inflightBatchingStats": map[string]any{"numContextRequests": 1, "numCtxTokens": n - c.prefix - c.external, "numGenRequests": t.e.sched.running - 1, "numScheduledRequests": t.e.sched.running, "numPausedRequests": 0, "microBatchId": 0},
		"kvCacheStats": map[string]any{
			"allocNewBlocks": t.missed, "allocTotalBlocks": t.missed, "reusedBlocks": t.reused, "missedBlocks": t.missed, "cacheHitRate": t.hitRate(),
			"tokensPerBlock": size, "maxNumBlocks": t.e.cfg.CapacityBlocks, "usedNumBlocks": used, "freeNumBlocks": t.e.cfg.CapacityBlocks - used,
		},
	})
	t.iteration++
	if len(t.iterations) > maxIterations {
		t.iterations = t.iterations[1:]
	}
}

// happened adds an event of the KV cache.
func (t *trtllm) happened(data map[string]any) {
	t.events = append(t.events, map[string]any{"event_id": t.event, "data": data, "window_size": t.e.cfg.MaxModelLen})
	t.event++
	if len(t.events) > maxIterations {
		t.events = t.events[1:]
	}
}

// trtEvent is a change of the cache in TensorRT-LLM's words. It has none for a cleared cache: all blocks are removed.
func trtEvent(ev KVEvent) map[string]any {
	name := func(h blockHash) uint64 { return binary.BigEndian.Uint64(h[8:]) }
	if ev.Kind != KVStored {
		hashes := make([]any, len(ev.Hashes))
		for i, h := range ev.Hashes {
			hashes[i] = name(h)
		}
		return map[string]any{"type": "removed", "block_hashes": hashes}
	}
	blocks := make([]any, len(ev.Hashes))
	for i, h := range ev.Hashes {
		tokens := make([]any, ev.BlockSize)
		for k := range tokens {
			tokens[k] = map[string]any{"type": "unique_token", "token_id": ev.Tokens[i*ev.BlockSize+k], "token_extra_id": 0}
		}
		blocks[i] = map[string]any{"type": "stored_block", "block_hash": name(h), "tokens": tokens, "cache_level": 0, "priority": 35}
	}
	out := map[string]any{"type": "stored", "parent_hash": nil, "blocks": blocks}
	if ev.Parent != (blockHash{}) {
		out["parent_hash"] = name(ev.Parent)
	}
	return out
}
