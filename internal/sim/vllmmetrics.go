package sim

import "net/http"

// vllmMetrics serves the counters under vLLM's names.
func (e *Engine) vllmMetrics() http.Handler {
	return e.metrics([]string{"engine", "model_name"}, []string{"0", e.cfg.Model}, func(x exposition) {
		c := &e.count
		x.counter("vllm:prefix_cache_queries_total", "Prefix cache queries, in tokens.", c.queries)
		x.counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in tokens.", c.hits)
		if e.external() {
			x.counter("vllm:external_prefix_cache_queries_total", "External prefix cache queries from the KV connector, in tokens.", c.externalQueries)
			x.counter("vllm:external_prefix_cache_hits_total", "External prefix cache hits from the KV connector, in tokens.", c.externalHits)
		}
		x.counter("vllm:prompt_tokens_total", "Prefill tokens processed.", c.promptTokens)
		x.split("vllm:prompt_tokens_by_source_total", "Prefill tokens by where they came from.", "source", c.bySource)
		x.counter("vllm:prompt_tokens_cached_total", "Prefill tokens that were cached.", c.bySource[sourceLocal]+c.bySource[sourceExternal])
		x.counter("vllm:generation_tokens_total", "Generation tokens processed.", c.outputTokens)
		x.split("vllm:request_success_total", "Requests by why they finished.", "finished_reason", c.finished)
		x.counter("vllm:num_preemptions_total", "Preemptions of requests.", 0)
		if e.cfg.OffloadBlocks > 0 {
			x.split("vllm:kv_offload_total_bytes_total", "Bytes moved between GPU and CPU.", "transfer_type", map[string]int{"GPU_to_CPU": c.stored, "CPU_to_GPU": c.loaded})
		}
		x.gauge("vllm:num_requests_running", "Requests that run.", float64(e.sched.running))
		x.gauge("vllm:num_requests_waiting", "Requests that wait.", float64(len(e.sched.queue)))
		x.gauge("vllm:kv_cache_usage_perc", "KV cache usage: 1 means all of it.", e.used())
		x.times("vllm:time_to_first_token_seconds", "Time to first token.", c.ttft)
		x.times("vllm:inter_token_latency_seconds", "Time between tokens.", c.itl)
		x.times("vllm:request_queue_time_seconds", "Time spent waiting.", c.queue)
		x.times("vllm:request_prefill_time_seconds", "Time spent in prefill.", c.prefill)
		x.times("vllm:request_decode_time_seconds", "Time spent in decode.", c.decode)
		x.times("vllm:e2e_request_latency_seconds", "Time from arrival to the last token.", c.e2e)
		x.times("vllm:request_prefill_kv_computed_tokens", "Prompt tokens computed per request.", c.computed)
	})
}
