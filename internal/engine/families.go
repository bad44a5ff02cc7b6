package engine

// family is one exported metric: where it goes and which label value it needs.
type family struct {
	name         string // canonical
	label, value string
	gauge        bool
	tokens       bool // the unit changed between versions: read it from the help text
	deprecated   bool
}

func counter(name string) []family { return []family{{name: name}} }

func gauge(name string) []family { return []family{{name: name, gauge: true}} }

// byLabel is one counter per label value, under base_value.
func byLabel(base, label string, values ...string) []family {
	var list []family
	for _, v := range values {
		list = append(list, family{name: base + "_" + v, label: label, value: v})
	}
	return list
}

// successors maps the canonical name of a deprecated twin to the counter that it repeats. Twins are never
// added together; the old one stands in where the new one is missing.
var successors = map[string]string{
	"vllm_gpu_prefix_cache_queries": "vllm_prefix_cache_queries",
	"vllm_gpu_prefix_cache_hits":    "vllm_prefix_cache_hits",
}

// knownFamilies are the families that matter, by exported name without _total and with the first colon as
// an underscore (gateways rename it). Engines and versions: vLLM 0.7 to 0.29, SGLang 2024 to 2026,
// TensorRT-LLM with Prometheus, LMCache, llama.cpp's server.
var knownFamilies = map[string][]family{
	"vllm_prefix_cache_queries":     {{name: "vllm_prefix_cache_queries", tokens: true}},
	"vllm_prefix_cache_hits":        {{name: "vllm_prefix_cache_hits", tokens: true}},
	"vllm_gpu_prefix_cache_queries": {{name: "vllm_gpu_prefix_cache_queries", tokens: true, deprecated: true}},
	"vllm_gpu_prefix_cache_hits":    {{name: "vllm_gpu_prefix_cache_hits", tokens: true, deprecated: true}},

	"vllm_external_prefix_cache_queries":         counter("vllm_external_prefix_cache_queries"),
	"vllm_external_prefix_cache_hits":            counter("vllm_external_prefix_cache_hits"),
	"vllm_prompt_tokens":                         counter("vllm_prompt_tokens"),
	"vllm_prompt_tokens_by_source":               byLabel("vllm_prompt_tokens", "source", "local_compute", "local_cache_hit", "external_kv_transfer"),
	"vllm_prompt_tokens_cached":                  counter("vllm_prompt_tokens_cached"),
	"vllm_prompt_tokens_recomputed":              counter("vllm_prompt_tokens_recomputed"),
	"vllm_generation_tokens":                     counter("vllm_generation_tokens"),
	"vllm_num_preemptions":                       counter("vllm_num_preemptions"),
	"vllm_kv_offload_total_bytes":                byLabel("vllm_kv_offload_bytes", "transfer_type", "GPU_to_CPU", "CPU_to_GPU"),
	"vllm_kv_cache_usage_perc":                   gauge("vllm_kv_cache_usage"),
	"vllm_gpu_cache_usage_perc":                  gauge("vllm_kv_cache_usage"),
	"vllm_num_requests_running":                  gauge("vllm_num_requests_running"),
	"vllm_num_requests_waiting":                  gauge("vllm_num_requests_waiting"),
	"vllm_time_to_first_token_seconds":           counter("vllm_time_to_first_token_seconds"),
	"vllm_request_queue_time_seconds":            counter("vllm_request_queue_time_seconds"),
	"vllm_request_prefill_time_seconds":          counter("vllm_request_prefill_time_seconds"),
	"vllm_request_decode_time_seconds":           counter("vllm_request_decode_time_seconds"),
	"vllm_request_inference_time_seconds":        counter("vllm_request_inference_time_seconds"),
	"vllm_e2e_request_latency_seconds":           counter("vllm_e2e_request_latency_seconds"),
	"vllm_inter_token_latency_seconds":           counter("vllm_inter_token_latency_seconds"),
	"vllm_request_time_per_output_token_seconds": counter("vllm_request_time_per_output_token_seconds"),
	"vllm_request_prefill_kv_computed_tokens":    counter("vllm_request_prefill_kv_computed_tokens"),

	"sglang_prompt_tokens":     counter("sglang_prompt_tokens"),
	"sglang_generation_tokens": counter("sglang_generation_tokens"),
	"sglang_cached_tokens": append(counter("sglang_cached_tokens"),
		byLabel("sglang_cached_tokens", "cache_source", "device", "host")...),
	"sglang_realtime_tokens":             byLabel("sglang_realtime_tokens", "mode", "prefill_compute", "prefill_cache", "decode"),
	"sglang_token_usage":                 gauge("sglang_token_usage"),
	"sglang_time_to_first_token_seconds": counter("sglang_time_to_first_token_seconds"),

	"trtllm_prompt_cache_hit_tokens":     counter("trtllm_prompt_cache_hit_tokens"),
	"trtllm_prompt_cached_tokens":        counter("trtllm_prompt_cached_tokens"),
	"trtllm_kv_cache_iter_reused_blocks": counter("trtllm_kv_cache_iter_reused_blocks"),
	"kv_cache_iter_reused_blocks":        counter("trtllm_kv_cache_iter_reused_blocks"),
	"trtllm_kv_cache_hit_rate":           gauge("trtllm_cache_hit_rate"),
	"trtllm_kv_cache_utilization":        gauge("trtllm_kv_cache_utilization"),

	"lmcache_num_hit_tokens":             counter("lmcache_num_hit_tokens"),
	"lmcache_num_requested_tokens":       counter("lmcache_num_requested_tokens"),
	"lmcache_num_lookup_hits":            counter("lmcache_num_lookup_hits"),
	"lmcache_num_vllm_hit_tokens":        counter("lmcache_num_vllm_hit_tokens"),
	"lmcache_mp_lookup_hit_tokens":       counter("lmcache_mp_lookup_hit_tokens"),
	"lmcache_mp_lookup_requested_tokens": counter("lmcache_mp_lookup_requested_tokens"),

	"llamacpp_prompt_tokens":    counter("llamacpp_prompt_tokens"),
	"llamacpp_tokens_predicted": counter("llamacpp_tokens_predicted"),
	"llamacpp_prompt_seconds":   counter("llamacpp_prompt_seconds"),

	// Restart detection, all prometheus_client servers.
	"process_start_time_seconds": gauge("process_start_time_seconds"),
}
