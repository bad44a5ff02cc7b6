package replay

import "sembench/internal/wire"

// Engines is the list that --engine takes (formats.md, section 5).
var Engines = []string{"vllm", "sglang", "trtllm", "lmcache", "llamacpp", "ollama", "openai", Auto}

// preset is what differs between engines as far as a client can see.
type preset struct {
	// resets are tried in order; the first that works is used. Each is a path on the engine.
	resets []string
	// resetHint and cachedHint name the server flag to turn on when the evidence is missing.
	resetHint, cachedHint string
	// metrics is the path of Prometheus counters, "" where there are none; metricsHint names the flag that turns them on.
	metrics, metricsHint string
	// plain marks servers that refuse request fields they do not know: no request_id, no cache_salt.
	plain bool
}

// vLLM answers success false to reset_external when it has no connector, so the plain reset is the second choice
// (engine-evidence.md, section 5.3).
var presets = map[string]preset{
	"vllm": {
		resets:     []string{"/reset_prefix_cache?reset_external=true", "/reset_prefix_cache"},
		resetHint:  "start vLLM with VLLM_SERVER_DEV_MODE=1 so that POST /reset_prefix_cache exists",
		cachedHint: "start vLLM with --enable-prompt-tokens-details",
		metrics:    "/metrics", metricsHint: "",
	},
	"lmcache": {
		resets:     []string{"/reset_prefix_cache?reset_external=true"},
		resetHint:  "start vLLM with VLLM_SERVER_DEV_MODE=1: LMCache is only cleared by POST /reset_prefix_cache?reset_external=true",
		cachedHint: "start vLLM with --enable-prompt-tokens-details",
		metrics:    "/metrics", metricsHint: "",
	},
	"sglang": {
		resets:     []string{"/flush_cache"},
		resetHint:  "POST /flush_cache did not work: an admin key may be needed, give it as the API key",
		cachedHint: "start SGLang with --enable-cache-report, or use the native /generate endpoint",
		metrics:    "/metrics", metricsHint: "start SGLang with --enable-metrics",
	},
	"trtllm": {
		resets:     []string{"/reset_prefix_cache"},
		resetHint:  "this TensorRT-LLM has no POST /reset_prefix_cache: use a newer one, or salts",
		cachedHint: "use a TensorRT-LLM that reports usage.prompt_tokens_details, with kv_cache_config.enable_block_reuse on",
		metrics:    "/prometheus/metrics", metricsHint: "start trtllm-serve with return_perf_metrics on; its /metrics holds iteration statistics",
	},
	"llamacpp": {
		resets:     []string{"/slots/0?action=erase"},
		resetHint:  "start llama-server with --slots and --slot-save-path so that POST /slots/0?action=erase exists",
		cachedHint: "use a llama-server that reports usage.prompt_tokens_details.cached_tokens (2025 or newer)",
		metrics:    "/metrics", metricsHint: "start llama-server with --metrics",
	},
	"ollama": {
		resetHint:  "Ollama has no cache reset: salts are used",
		cachedHint: "Ollama reports no cached tokens: only a TTFT canary can show reuse",
	},
	"openai": {
		resetHint:  "hosted endpoints have no cache reset: salts are used",
		cachedHint: "this endpoint reports no usage.prompt_tokens_details.cached_tokens",
		plain:      true,
	},
	Auto: {
		resets:     []string{"/reset_prefix_cache?reset_external=true", "/reset_prefix_cache", "/flush_cache"},
		resetHint:  "vLLM: VLLM_SERVER_DEV_MODE=1; SGLang: POST /flush_cache; or name one with --reset-url",
		cachedHint: "vLLM: --enable-prompt-tokens-details; SGLang: --enable-cache-report",
		metrics:    "/metrics", metricsHint: "SGLang: --enable-metrics; llama.cpp: --metrics",
	},
}

// MetricsURL is where an engine keeps its Prometheus counters; "" where it has none.
func MetricsURL(engine, base string) string {
	if path := presets[engine].metrics; path != "" {
		return wire.Join(base, path)
	}
	return ""
}

// owners tells engines by what they write into owned_by of their model list.
var owners = map[string]string{"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "library": "ollama", "tensorrt_llm": "trtllm"}
