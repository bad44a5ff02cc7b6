package sim_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/sim"
	"sembench/internal/wire"
)

// Log probabilities reach the project's client from both endpoints, are those of a distribution, and do not depend on exact reuse.
func TestLogprobs(t *testing.T) {
	h := open(t, sim.Config{})
	client := wire.New(wire.Options{})
	defer client.Close()
	text := strings.Repeat("The hill is green and low. ", 20) + "The lake is 7 m deep. How deep is the lake?"
	for _, r := range []wire.Request{
		{API: wire.Chat, Messages: []any{map[string]any{"role": "user", "content": text}}, ExtraBody: map[string]any{"logprobs": true, "top_logprobs": 5}},
		{API: wire.Completions, Prompt: text, ExtraBody: map[string]any{"logprobs": 5}},
	} {
		r.BaseURL, r.MaxTokens = h.url, 64
		cold, warm := client.Do(t.Context(), r), client.Do(t.Context(), r)
		if cold.Status != sembench.StatusOK || *cold.CachedTokens() != 0 || *warm.CachedTokens() == 0 || len(cold.OutputTopLogprobs) != len(cold.Chunks) || len(cold.Chunks) < 6 {
			t.Fatalf("cold %+v\nwarm %+v", cold, warm)
		}
		for i, top := range cold.OutputTopLogprobs {
			sum := 0.0
			for token, lp := range top {
				sum += math.Exp(lp)
				if warm.OutputTopLogprobs[i][token] != lp {
					t.Errorf("%s: position %d: %q differs under exact reuse", r.API, i, token)
				}
			}
			if len(top) != 5 || sum <= 0.9 || sum > 1 {
				t.Errorf("%s: position %d: %v sums to %v", r.API, i, top, sum)
			}
		}
	}
	var whole struct {
		Choices []struct {
			Text     string
			Logprobs struct{ Tokens []string }
			Reason   string `json:"finish_reason"`
		}
	}
	body := h.post("/v1/completions", `{"prompt":"The lake is 7 m deep. How deep is the lake?","logprobs":0,"max_tokens":50,"stop":[" m","x"]}`, "")
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatal(err)
	}
	if c := whole.Choices[0]; c.Text != "The lake is 7" || strings.Join(c.Logprobs.Tokens, "") != c.Text || c.Reason != "stop" {
		t.Errorf("stopped: %+v", c)
	}
}
