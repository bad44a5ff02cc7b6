package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// vllm speaks like vLLM's OpenAI server with the SemBlend connector (engine-evidence.md, sections 4.1, 4.2 and 5.1 to 5.3).
type vllm struct {
	plain
	loads     int // materializations that worker 0 has written down
	statsAt   time.Time
	statsFrom counters
}

func (v *vllm) routes(mux *http.ServeMux) {
	e := v.e
	mux.HandleFunc("POST /v1/chat/completions", e.serveChat)
	mux.HandleFunc("POST /v1/completions", e.serveCompletions)
	mux.HandleFunc("GET /v1/models", e.serveModels)
	mux.HandleFunc("POST /tokenize", e.serveTokenize)
	mux.HandleFunc("GET /health", e.serveHealth)
	mux.HandleFunc("GET /ping", e.serveHealth)
	mux.HandleFunc("GET /version", e.serveVersion)
	mux.Handle("GET /metrics", e.vllmMetrics())
	mux.HandleFunc("POST /reset_prefix_cache", v.serveReset)
}

// serveReset clears the local prefix cache; with reset_external=true also the offload tier and the donor store.
// Requests that run make it fail, unless reset_running_requests=true.
func (v *vllm) serveReset(w http.ResponseWriter, r *http.Request) {
	external, running := r.URL.Query().Get("reset_external") == "true", r.URL.Query().Get("reset_running_requests") == "true"
	call := &resetCall{prefix: true, offload: external, donors: external, busy: !running}
	v.e.reset(call)
	writeJSON(w, call.status, fmt.Appendf(nil, `{"success": %t}`, call.success))
}

func (v *vllm) usage(j *job) []byte {
	c, n := j.claims.usage, j.decision.prompt
	return fmt.Appendf(nil, `{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"local_cached_tokens":%d,"external_cached_tokens":%d}}`,
		n, n+j.out.tokens, j.out.tokens, c.prefix+c.external, c.prefix, c.external)
}

// extras are the per-request metrics of vLLM 0.29, from the law's times.
func (v *vllm) extras(j *job) []byte {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	rate := 0.0
	if d := j.finish.Sub(j.start).Seconds(); d > 0 {
		rate = float64(j.out.tokens) / d
	}
	body, _ := json.Marshal(map[string]float64{
		"time_to_first_token_ms": ms(j.first.Sub(j.arrival)), "queue_time_ms": ms(j.start.Sub(j.arrival)),
		"generation_time_ms": ms(j.finish.Sub(j.first)), "mean_itl_ms": ms(j.itl), "tokens_per_second": rate,
	})
	return append([]byte(`,"metrics":`), body...)
}

func (v *vllm) owner() string { return "vllm" }

func (v *vllm) booted() {
	v.statsAt = v.e.boot.started
	if v.e.donors == nil {
		return
	}
	v.say("EngineCore_DP0", "SemBlendVllmConnector initialized role=scheduler mode=semantic_span provider=%s hybrid_kv_cache_manager_disabled=True", v.e.cfg.Planner)
	v.connector("sched", "connector_initialized", nil, map[string]any{
		"role": "scheduler", "provider": v.e.cfg.Planner, "block_size": v.e.cfg.BlockSize, "hybrid_kv_cache_manager_disabled": true,
		"evict_filled_blocks_from_prefix_cache": false,
	})
	for rank := range v.e.cfg.Ranks {
		v.connector("wrk-tp"+strconv.Itoa(rank), "connector_initialized", nil, map[string]any{
			"role": "worker", "provider": v.e.cfg.Planner, "block_size": v.e.cfg.BlockSize, "hybrid_kv_cache_manager_disabled": true,
		})
		v.connector("wrk-tp"+strconv.Itoa(rank), "kv_caches_registered", nil, map[string]any{"layer_count": v.e.cfg.Layers})
	}
}

func (v *vllm) started(j *job) {
	if v.e.donors == nil {
		return
	}
	v.tell(j)
	v.write(j)
}

func (v *vllm) registered(j *job) {
	v.say("EngineCore_DP0", "SemBlend donor registered request_id=%s namespace=default tokens=%d blocks=%d", j.id, len(j.ids), len(j.ids)/v.e.cfg.BlockSize)
	v.connector("sched", "donor_registered", j, map[string]any{"donor_text_chars": len(j.text), "store_tier": "device", "deferred_steps": 0})
}

func (v *vllm) troubled(j *job, err error) {
	v.complain("SemBlend donor registration failed request_id=%s: %v", j.id, err)
}

func (v *vllm) cleared(r *resetCall) {
	switch {
	case r.busy:
		v.log("APIServer", "WARNING", "block_pool.py:378", "Failed to reset prefix cache because some blocks (%d) are not freed yet", len(v.e.prefix.blocks))
	case r.success:
		v.log("APIServer", "INFO", "block_pool.py:388", "Successfully reset prefix cache")
	}
}

// statsEvery is vLLM's own interval of its statistics line.
const statsEvery = 10 * time.Second

func (v *vllm) ended(j *job) {
	passed := j.finish.Sub(v.statsAt)
	if passed < statsEvery {
		return
	}
	c, from := &v.e.count, &v.statsFrom
	seconds := passed.Seconds()
	line := fmt.Sprintf("Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Waiting: %d reqs, GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%",
		float64(c.promptTokens-from.promptTokens)/seconds, float64(c.outputTokens-from.outputTokens)/seconds, v.e.sched.running, len(v.e.sched.queue),
		100*v.e.used(), percent(c.hits-from.hits, c.queries-from.queries))
	if c.externalQueries > 0 {
		line += fmt.Sprintf(", External prefix cache hit rate: %.1f%%", percent(c.externalHits-from.externalHits, c.externalQueries-from.externalQueries))
	}
	v.log("APIServer", "INFO", "loggers.py:271", "%s", line)
	v.statsAt, v.statsFrom = j.finish, *c
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// used is the share of the prefix cache that holds blocks.
func (e *Engine) used() float64 { return float64(len(e.prefix.blocks)) / float64(e.cfg.CapacityBlocks) }

// tell writes the text log's account of a job.
func (v *vllm) tell(j *job) {
	c, d := j.claims.log, &j.decision
	switch {
	case d.skipped == "short_prompt":
		v.say("EngineCore_DP0", "SemBlend lookup skipped request_id=%s reason=short_prompt tokens=%d min=%d", j.id, d.prompt, v.e.cfg.MinSemanticTokens)
		return
	case d.skipped != "":
		v.say("EngineCore_DP0", "SemBlend lookup skipped request_id=%s reason=%s remaining=%d min_semantic_span=%d", j.id, d.skipped, d.prompt-d.prefix-d.offload, v.e.cfg.MinSemanticTokens)
		return
	case d.failed != nil:
		v.complain("SemBlend provider lookup failed; falling back to exact reuse request_id=%s: %v", j.id, d.failed)
		return
	case !c.hit:
		v.say("EngineCore_DP0", "SemBlend semantic lookup miss request_id=%s namespace=default latency_ms=%.1f", j.id, v.lookupMS(j))
		return
	}
	v.say("EngineCore_DP0", "SemBlend semantic lookup hit request_id=%s donor_id=%s similarity=1.000 kind=semantic_span reusable_tokens=%d reason=ok latency_ms=%.1f", j.id, c.donorID, c.found, v.lookupMS(j))
	for range c.copies {
		for _, p := range loads(j, c) {
			for _, word := range []string{"materializing", "materialized"} {
				for rank := range v.e.cfg.Ranks {
					v.say("Worker_TP"+strconv.Itoa(rank), "SemBlend %s request_id=%s donor_id=%s tokens=%d", word, c.materializedFor, p.donorID, p.tokens)
				}
			}
		}
	}
}

// load is one line about a materialization: the tokens from one donor.
type load struct {
	donorID string
	tokens  int
}

// loads splits what was materialized by donor, in order of the target; a claim that is not what the plan said stays whole.
func loads(j *job, c claim) []load {
	if c.materialized == nil {
		return nil
	}
	var out []load
	sum := 0
	for _, p := range j.decision.pieces {
		sum += p.length
		if n := len(out); n > 0 && out[n-1].donorID == p.donor.requestID {
			out[n-1].tokens += p.length
			continue
		}
		out = append(out, load{p.donor.requestID, p.length})
	}
	if sum != *c.materialized || j.decision.donor == nil || c.donorID != j.decision.donor.requestID {
		return []load{{c.donorID, *c.materialized}}
	}
	return out
}

func (v *vllm) lookupMS(j *job) float64 { return float64(j.charge.lookup) / float64(time.Millisecond) }

// say writes an INFO line of the connector.
func (v *vllm) say(process, format string, args ...any) {
	v.log(process, "INFO", "connector.py:900", format, args...)
}

// complain writes an ERROR line of the connector.
func (v *vllm) complain(format string, args ...any) {
	v.log("EngineCore_DP0", "ERROR", "connector.py:910", format, args...)
}

func (v *vllm) log(process, level, place, format string, args ...any) {
	line := fmt.Appendf(nil, "(%s pid=%d) %s %s [%s] ", process, pids[process], level, v.e.cfg.Clock.Now().UTC().Format("01-02 15:04:05"), place)
	v.e.log.write(fmt.Appendf(line, format, args...))
}

// pids are made up: nothing may depend on them.
var pids = map[string]int{"APIServer": 1, "EngineCore_DP0": 11, "Worker_TP0": 21, "Worker_TP1": 22, "Worker_TP2": 23, "Worker_TP3": 24}

// fmtRouter is the line of a KV-aware router that has chosen a worker: an estimate.
func fmtRouter(e *Engine, total, cached int) []byte {
	return fmt.Appendf(nil, "%s  INFO dynamo_llm::kv_router::scheduler: Selected worker: 1, logit: %.3f, cached blocks: %d, total blocks: %d",
		e.cfg.Clock.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), float64(total-cached), cached, total)
}
