package engine

import (
	"slices"
	"strings"
	"testing"

	"sembench"
)

const cleanLine = `vllm serve acme/Toy-7B --enable-prefix-caching --block-size 16 --max-num-batched-tokens 8192 --enable-prompt-tokens-details --enable-per-request-metrics`

func serve(t *testing.T, line string, env map[string]string) *sembench.EngineConfig {
	t.Helper()
	c, err := ParseServeLine(line, env)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return c
}

func TestServeLineClean(t *testing.T) {
	c := serve(t, cleanLine, map[string]string{"VLLM_SERVER_DEV_MODE": "1"})
	if !c.FlagsOK || len(c.Violations) != 0 || !*c.PrefixCaching || *c.BlockSize != 16 || *c.Model != "acme/Toy-7B" ||
		c.CachedTokensMeaning != "local plus external" {
		t.Errorf("%+v", c)
	}
}

// The environment may stand in front of the command.
func TestServeLineEnv(t *testing.T) {
	if c := serve(t, "VLLM_SERVER_DEV_MODE=true "+cleanLine, nil); !c.FlagsOK {
		t.Errorf("%v", c.Violations)
	}
	if c := serve(t, cleanLine, map[string]string{"VLLM_SERVER_DEV_MODE": "0"}); c.ServerDevMode || len(c.Violations) != 1 {
		t.Errorf("%v", c.Violations)
	}
}

func TestServeLineForms(t *testing.T) {
	text := func(p *string) string {
		if p == nil {
			return "-"
		}
		return *p
	}
	for _, c := range []struct {
		line string
		ok   func(*sembench.EngineConfig) bool
	}{
		{"vllm serve m --max_model_len 32k", func(c *sembench.EngineConfig) bool { return *c.MaxModelLen == 32000 }},
		{"vllm serve m --max-model-len=32K", func(c *sembench.EngineConfig) bool { return *c.MaxModelLen == 32768 }},
		{"vllm serve m --max-model-len 1.5k", func(c *sembench.EngineConfig) bool { return *c.MaxModelLen == 1500 }},
		{"vllm serve m -tp 4", func(c *sembench.EngineConfig) bool { return *c.TensorParallelSize == 4 }},
		{"vllm serve m --tensor_parallel_size=8", func(c *sembench.EngineConfig) bool { return *c.TensorParallelSize == 8 }},
		{"vllm serve m -O3 -tp 2", func(c *sembench.EngineConfig) bool { return *c.TensorParallelSize == 2 && c.CUDAGraphMode == nil }},
		{"vllm serve m --no-enable-prefix-caching", func(c *sembench.EngineConfig) bool {
			return !*c.PrefixCaching && strings.HasPrefix(c.CachedTokensMeaning, "external only")
		}},
		{"vllm serve m --enable-prefix-caching=False", func(c *sembench.EngineConfig) bool { return !*c.PrefixCaching }},
		{"vllm serve m", func(c *sembench.EngineConfig) bool { return c.PrefixCaching == nil && len(c.Violations) == 6 }},
		{"vllm serve m --no-enable-prompt-tokens-details", func(c *sembench.EngineConfig) bool { return !c.PromptTokensDetails }},
		{"vllm serve m --some-new-switch --block-size 32", func(c *sembench.EngineConfig) bool {
			return *c.BlockSize == 32 && slices.Equal(c.Unread, []string{"some-new-switch"})
		}},
		{"vllm serve --block-size 16 m", func(c *sembench.EngineConfig) bool { return text(c.Model) == "m" }},
		{"vllm serve m --trust-remote-code --block-size 16", func(c *sembench.EngineConfig) bool { return *c.BlockSize == 16 }},
		{`vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'`, func(c *sembench.EngineConfig) bool {
			return text(c.KVConnector) == "LMCacheConnectorV1" && text(c.KVRole) == "kv_both"
		}},
		{"vllm serve m --kv-transfer-config.kv_connector X --kv-transfer-config.kv_role kv_both", func(c *sembench.EngineConfig) bool {
			return text(c.KVConnector) == "X" && text(c.KVRole) == "kv_both"
		}},
		{`vllm serve m --compilation-config '{"cudagraph_mode":"PIECEWISE"}'`, func(c *sembench.EngineConfig) bool {
			return text(c.CUDAGraphMode) == "PIECEWISE" && text(c.CUDAGraphModeFrom) == "compilation_config"
		}},
		{"vllm serve m --compilation-config.cudagraph_mode FULL --enforce-eager", func(c *sembench.EngineConfig) bool {
			return text(c.CUDAGraphMode) == "NONE" && text(c.CUDAGraphModeFrom) == "enforce_eager"
		}},
		{"vllm serve m -O.cudagraph_mode=FULL", func(c *sembench.EngineConfig) bool { return text(c.CUDAGraphMode) == "FULL" }},
		{"python -m vllm.entrypoints.openai.api_server --model m --enforce-eager --block-size 16", func(c *sembench.EngineConfig) bool {
			return text(c.Model) == "m" && *c.BlockSize == 16 && text(c.CUDAGraphMode) == "NONE"
		}},
		{"vllm serve m --enable-per-request-metrics --disable-log-stats", func(c *sembench.EngineConfig) bool {
			return slices.ContainsFunc(c.Violations, func(v string) bool { return strings.Contains(v, "disable-log-stats") })
		}},
		{"vllm serve m \\\n --block-size 16", func(c *sembench.EngineConfig) bool { return *c.BlockSize == 16 }},
	} {
		if got := serve(t, c.line, nil); !c.ok(got) {
			t.Errorf("%s: %+v", c.line, got)
		}
	}
}

func TestServeLineErrors(t *testing.T) {
	for line, want := range map[string]string{
		`vllm serve 'm`:                                "reading serve line: unbalanced '",
		`vllm serve m --block-size`:                    "reading serve line: --block-size has no value",
		`vllm serve m --block-size many`:               `reading serve line: --block-size: "many" is no size`,
		`vllm serve m --enable-prefix-caching=perhaps`: `reading serve line: --enable-prefix-caching: "perhaps" is neither true nor false`,
		`vllm serve m --max-model-len=`:                "reading serve line: --max-model-len: empty value",
		`vllm serve m \`:                               "reading serve line: ends in a backslash",
	} {
		_, err := ParseServeLine(line, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
