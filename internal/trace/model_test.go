package trace

import (
	"math"
	"strings"
	"testing"

	"sembench"
)

// Figures as engines print them: Llama-3.1-8B 128 KiB a token, 70B 320 KiB, Qwen3-8B 144 KiB, DeepSeek-V3 68.6 KiB.
func TestKVBytesPerToken(t *testing.T) {
	for name, want := range map[string]float64{
		"llama-3.1-8b": 131072, "meta-llama/Llama-3.1-70B-Instruct": 327680, "Qwen/Qwen3-8B": 147456, "deepseek-v3": 70272,
	} {
		m, err := LookupModel(name)
		if err != nil || m.KVBytesPerToken() != want {
			t.Errorf("%s: %v, %v; want %v", name, m.KVBytesPerToken(), err, want)
		}
	}
	if _, err := LookupModel("gpt-9"); err == nil || !strings.HasPrefix(err.Error(), `looking up model "gpt-9": unknown: use its config.json, or one of llama-3.1-8b, `) {
		t.Error(err)
	}
}

func TestParseModel(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
		note string
	}{
		{`{"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "torch_dtype": "bfloat16"}`, 131072, ""},
		{`{"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}`, 2 * 2 * 4 * 16 * 2, ""},
		{`{"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8, "dtype": "float32"}`, 2 * 2 * 4 * 8 * 4, ""},
		{`{"text_config": {"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8}, "vision_config": {}}`, 2 * 2 * 4 * 8 * 2, ""},
		{`{"num_hidden_layers": 61, "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}`, 70272, ""},
		{`{"num_hidden_layers": 4, "num_attention_heads": 1, "head_dim": 8, "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}`, 2 * 2 * 8 * 2, "2 layers with a bounded state are left out"},
	} {
		m, err := ParseModel([]byte(c.text))
		if err != nil || m.KVBytesPerToken() != c.want || m.Note != c.note {
			t.Errorf("%s: %v %q %v, want %v", c.text, m.KVBytesPerToken(), m.Note, err, c.want)
		}
	}
	for text, want := range map[string]string{
		`{}`:                       "reading model config: num_hidden_layers is missing or not above 0",
		`{"num_hidden_layers": 2}`: "reading model config: num_attention_heads is missing or not above 0",
		`{"num_hidden_layers": 2, "num_attention_heads": 0}`: "reading model config: num_attention_heads is missing or not above 0",
		`{"num_hidden_layers": 2, "num_attention_heads": 2}`: "reading model config: head_dim and hidden_size is missing or not above 0",
		`{"num_hidden_layers": "x"}`:                         "reading model config: num_hidden_layers is a string, want a whole number",
	} {
		if _, err := ParseModel([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// 1,000 blocks of 512 tokens at 131,072 bytes are 67.1 GB.
func TestWithMemory(t *testing.T) {
	m, _ := LookupModel("llama-3.1-8b")
	c := sembench.TraceCurve{BlockSize: 512, LRU: []sembench.CurvePoint{{CapacityBlocks: 1000}}}
	got := WithMemory(c, m)
	if x := *got.LRU[0].MemoryGB; math.Abs(x-67.108864) > 1e-9 || got.Model != "llama-3.1-8b" || c.LRU[0].MemoryGB != nil {
		t.Errorf("%v GB for %q", x, got.Model)
	}
}

// By hand: 10 prompts of 1,000 tokens at 100 us a token and 20 ms base cost 1.2 s; 40 % of them reuse half: 0.2 s. A hit
// saves 50 ms less 5 ms of loading, every request pays 2 ms: 0.4 x 45 - 2 = 16 ms, even at 2/45.
func TestReturns(t *testing.T) {
	costs := Costs{BaseMS: 20, PrefillUSPerToken: 100, LoadUSPerToken: 10, LookupMS: 2}
	r, err := Returns([]Length{{1000, 4}, {1000, 6}}, costs, 0.4, 0.5)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	if err != nil || r.Requests != 10 || r.InputTokens != 10000 || !near(r.PrefillGPUSeconds, 1.2) || !near(r.SavedGPUSeconds, 0.2) ||
		!near(*r.SavedShare, 1.0/6) || !near(*r.MeanTTFTSavedMS, 16) || !near(*r.BreakEvenHitRate, 2.0/45) {
		t.Errorf("%+v, %v", r, err)
	}
	// Quadratic part: a hit on half of 2,000 tokens saves 1,000² of 2,000².
	r, err = Returns([]Length{{2000, 1}}, Costs{PrefillNSPerTokenSquared: 1, GPUs: 8}, 1, 0.5)
	if err != nil || !near(r.SavedGPUSeconds, 0.008) || !near(*r.SavedShare, 0.25) || *r.BreakEvenHitRate != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Returns(nil, costs, 0, 0)
	if err != nil || r.SavedShare != nil || r.MeanTTFTSavedMS != nil || r.BreakEvenHitRate != nil {
		t.Errorf("nothing: %+v, %v", r, err)
	}
	s, err := Open(strings.NewReader(`{"prompt": "one two three four"}`+"\n"+`{"prompt": "four words of text"}`), "f", "")
	if err != nil {
		t.Fatal(err)
	}
	if lengths, err := Histogram(s.Requests()); err != nil || len(lengths) != 1 || lengths[0] != (Length{4, 2}) {
		t.Errorf("lengths of prompts: %v, %v", lengths, err)
	}
	for want, f := range map[string]func() error{
		"estimating returns: prefill costs nothing per token: measure it and pass prefill-us-per-token": func() error { _, err := Returns(nil, Costs{}, 0, 0); return err },
		"estimating returns: base-ms is -1, want 0 or more":                                             func() error { _, err := Returns(nil, Costs{BaseMS: -1}, 0, 0); return err },
		"estimating returns: hit rate 2 and reused share 0 must be in [0, 1]":                           func() error { _, err := Returns(nil, costs, 2, 0); return err },
	} {
		if err := f(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
