package sim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/sim"
)

// told is the keys of a summary that say something, those of nested objects with their path.
func told(t *testing.T, ev *sembench.Evidence) []string {
	t.Helper()
	tree, err := sembench.ParseJSON(sembench.Marshal(*ev))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			for k, inner := range v {
				walk(strings.TrimPrefix(path+"."+k, "."), inner)
			}
		default:
			keys = append(keys, path)
		}
	}
	walk("", tree)
	slices.Sort(keys)
	return keys
}

// What a captured sample of a real engine tells, the voice tells too: every key of the summary that the sample fills, the
// voice's output fills. Left out are what only damage or another build of the engine fills, each with its reason.
func TestVoicesTellWhatRealEnginesTell(t *testing.T) {
	const samples = "../../../shared/engine-samples"
	if _, err := os.Stat(samples); err != nil {
		t.Skip("no engine samples in ../shared")
	}
	for _, c := range []struct {
		voice, as, sample string
		config            sim.Config
		except            []string
	}{
		{"vllm", "vllm", "synthetic/s01-vllm-semblend-tp2-ansi.log", sim.Config{Semantic: true, Ranks: 2}, nil},
		{"vllm", "vllm", "public-posts/h01-vllm-stats-k8s-rfc3339nano.log", sim.Config{Semantic: true}, nil},
		{"sglang", "sglang", "synthetic/s03-sglang-fuzzy-new-format-with-drop.log", sim.Config{Semantic: true, Ranks: 2}, []string{"events.hits_dropped"}}, // an honest engine drops none
		{"sglang", "sglang", "public-posts/h13-sglang-2026-npu-hybrid.log", sim.Config{}, []string{"prefill.pending_tokens_last"}},                         // an NPU build's field
		{"lmcache", "lmcache", "public-posts/h06-lmcache-tqdm-glued-fullhit.log", sim.Config{}, nil},
		{"trtllm", "trtllm", "public-posts/h14-trtllm-metrics-iteration-array.json", sim.Config{Semantic: true}, nil},
		{"trtllm", "trtllm", "synthetic/s04-trtllm-audit-hostile.jsonl", sim.Config{Semantic: true}, []string{"rejection_reasons.below_threshold"}}, // ours is no_donor_match
	} {
		text, err := os.ReadFile(filepath.Join(samples, c.sample))
		if err != nil {
			t.Fatal(err)
		}
		real, err := engine.Summarize(c.as, strings.NewReader(string(text)), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.config.As = c.voice
		h := open(t, c.config)
		h.chats()
		if c.voice == "lmcache" {
			h.post("/reset_prefix_cache", "", "")
			h.chats()
		}
		out := h.log.String()
		switch {
		case strings.HasSuffix(c.sample, ".json"):
			out = h.get("/metrics")
		case strings.HasSuffix(c.sample, ".jsonl"):
			out = h.audit.String()
		case strings.Contains(c.sample, "-stats-"):
			out = statistics(t)
		}
		ours := told(t, h.summarize(c.as, out))
		for _, key := range told(t, real) {
			if !slices.Contains(ours, key) && !slices.Contains(c.except, key) {
				t.Errorf("%s: the sample tells %s, the voice %s does not", c.sample, key, c.voice)
			}
		}
	}
}

// statistics is the log of an engine that ran for more than vLLM's ten seconds between statistics lines.
func statistics(t *testing.T) string {
	t.Helper()
	var log strings.Builder
	e, err := sim.New(sim.Config{Tokenizer: "regex", Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("The lake is deep. ", 30)
	if _, err := e.Play(t.Context(), []sim.Arrival{{Prompt: text}, {At: 11 * time.Second, Prompt: text}}); err != nil {
		t.Fatal(err)
	}
	return log.String()
}
