package sim

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// vllmMetrics serves the counters under vLLM's names.
func (e *Engine) vllmMetrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(vllmCollector{e})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
}

// vllmCollector reads the engine's counters at every scrape.
type vllmCollector struct{ e *Engine }

// Describe tells nothing, which makes the collector unchecked: its metrics are made anew at every scrape.
func (vllmCollector) Describe(chan<- *prometheus.Desc) {}

func (v vllmCollector) Collect(out chan<- prometheus.Metric) {
	e := v.e
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance(e.cfg.Clock.Now())
	c := &e.count
	labels := []string{"engine", "model_name"}
	values := []string{"0", e.cfg.Model}
	number := func(kind prometheus.ValueType, name, help string, v float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, labels, nil), kind, v, values...)
	}
	split := func(name, help, label string, by map[string]int) {
		desc := prometheus.NewDesc(name, help, append(labels[:2:2], label), nil)
		for key, n := range by { // the registry sorts what it gathers
			out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), append(values[:2:2], key)...)
		}
	}
	counter := func(name, help string, n int) { number(prometheus.CounterValue, name, help, float64(n)) }
	gauge := func(name, help string, v float64) { number(prometheus.GaugeValue, name, help, v) }
	times := func(name, help string, h *histogram) {
		out <- prometheus.MustNewConstHistogram(prometheus.NewDesc(name, help, labels, nil), h.n, h.sum, h.cumulative(), values...)
	}
	counter("vllm:prefix_cache_queries_total", "Prefix cache queries, in tokens.", c.queries)
	counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in tokens.", c.hits)
	if e.donors != nil || e.cfg.OffloadBlocks > 0 {
		counter("vllm:external_prefix_cache_queries_total", "External prefix cache queries from the KV connector, in tokens.", c.externalQueries)
		counter("vllm:external_prefix_cache_hits_total", "External prefix cache hits from the KV connector, in tokens.", c.externalHits)
	}
	counter("vllm:prompt_tokens_total", "Prefill tokens processed.", c.promptTokens)
	split("vllm:prompt_tokens_by_source_total", "Prefill tokens by where they came from.", "source", c.bySource)
	counter("vllm:prompt_tokens_cached_total", "Prefill tokens that were cached.", c.bySource[sourceLocal]+c.bySource[sourceExternal])
	counter("vllm:generation_tokens_total", "Generation tokens processed.", c.outputTokens)
	split("vllm:request_success_total", "Requests by why they finished.", "finished_reason", c.finished)
	counter("vllm:num_preemptions_total", "Preemptions of requests.", 0)
	gauge("vllm:num_requests_running", "Requests that run.", float64(e.sched.running))
	gauge("vllm:num_requests_waiting", "Requests that wait.", float64(len(e.sched.queue)))
	gauge("vllm:kv_cache_usage_perc", "KV cache usage: 1 means all of it.", e.used())
	times("vllm:time_to_first_token_seconds", "Time to first token.", c.ttft)
	times("vllm:inter_token_latency_seconds", "Time between tokens.", c.itl)
	times("vllm:request_queue_time_seconds", "Time spent waiting.", c.queue)
	times("vllm:request_prefill_time_seconds", "Time spent in prefill.", c.prefill)
	times("vllm:request_decode_time_seconds", "Time spent in decode.", c.decode)
	times("vllm:e2e_request_latency_seconds", "Time from arrival to the last token.", c.e2e)
	times("vllm:request_prefill_kv_computed_tokens", "Prompt tokens computed per request.", c.computed)
	out <- prometheus.MustNewConstMetric(prometheus.NewDesc("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", nil, nil),
		prometheus.GaugeValue, float64(e.boot.started.UnixMicro())/1e6)
}
