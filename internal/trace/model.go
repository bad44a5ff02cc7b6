package trace

import (
	"fmt"
	"slices"
	"strings"

	"sembench"
)

// Model is what the KV cache of a model costs per token.
type Model struct {
	Name string
	// Layers that keep KV for every token, KV heads and their size. Sliding-window and linear-attention layers keep a
	// bounded state and are left out; Note says so.
	Layers, KVHeads, HeadDim int
	// Latent is the width of a compressed cache (multi-head latent attention) that stands in for heads; 0 for none.
	Latent int
	// BytesPerValue: 2 for bfloat16 and float16, 1 for fp8.
	BytesPerValue float64
	// Note names what the figure leaves out, "" for nothing.
	Note string
}

// KVBytesPerToken is 2 (keys and values) x layers x KV heads x head size x bytes, or layers x latent width x bytes.
func (m Model) KVBytesPerToken() float64 {
	if m.Latent > 0 {
		return float64(m.Layers*m.Latent) * m.BytesPerValue
	}
	return float64(2*m.Layers*m.KVHeads*m.HeadDim) * m.BytesPerValue
}

// models are common ones, from the published config.json of each: num_hidden_layers, num_key_value_heads, head_dim; for
// DeepSeek kv_lora_rank + qk_rope_head_dim. KV in 16 bits.
var models = []Model{
	{Name: "llama-3.1-8b", Layers: 32, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "llama-3.1-70b", Layers: 80, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "llama-3.1-405b", Layers: 126, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "llama-3.2-1b", Layers: 16, KVHeads: 8, HeadDim: 64, BytesPerValue: 2},
	{Name: "llama-3.2-3b", Layers: 28, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "mistral-7b", Layers: 32, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "mixtral-8x7b", Layers: 32, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen2.5-7b", Layers: 28, KVHeads: 4, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen2.5-32b", Layers: 64, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen2.5-72b", Layers: 80, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen3-8b", Layers: 36, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen3-32b", Layers: 64, KVHeads: 8, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen3-30b-a3b", Layers: 48, KVHeads: 4, HeadDim: 128, BytesPerValue: 2},
	{Name: "qwen3-235b-a22b", Layers: 94, KVHeads: 4, HeadDim: 128, BytesPerValue: 2},
	{Name: "deepseek-v3", Layers: 61, Latent: 576, BytesPerValue: 2},
}

// ModelNames are the models that LookupModel knows.
func ModelNames() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return names
}

// LookupModel finds a common model by name; upper case, an organisation before a slash and "-instruct" do not matter.
func LookupModel(name string) (Model, error) {
	short := strings.ToLower(name[strings.LastIndex(name, "/")+1:])
	short = strings.TrimPrefix(strings.TrimSuffix(short, "-instruct"), "meta-")
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == short })
	if i < 0 {
		return Model{}, fmt.Errorf("looking up model %q: unknown: use its config.json, or one of %s", name, strings.Join(ModelNames(), ", "))
	}
	return models[i], nil
}

// config is what is read of a config.json as model hubs publish it.
type config struct {
	ModelType string         `json:"model_type"`
	Text      *config        `json:"text_config"`
	Layers    *int           `json:"num_hidden_layers"`
	Heads     *int           `json:"num_attention_heads"`
	KVHeads   *int           `json:"num_key_value_heads"`
	HeadDim   *int           `json:"head_dim"`
	Hidden    *int           `json:"hidden_size"`
	DType     string         `json:"torch_dtype"`
	NewDType  string         `json:"dtype"`
	Rank      *int           `json:"kv_lora_rank"`
	Rope      *int           `json:"qk_rope_head_dim"`
	Kinds     []any          `json:"layer_types"`
	Extra     sembench.Extra `json:"-"`
}

// ParseModel reads a config.json. Missing head_dim is hidden_size / num_attention_heads, missing num_key_value_heads is
// num_attention_heads, a missing dtype is 16 bits. A vision model's text_config is used.
func ParseModel(text []byte) (Model, error) {
	var c config
	if err := sembench.Unmarshal(text, &c); err != nil {
		return Model{}, fmt.Errorf("reading model config: %w", err)
	}
	if c.Layers == nil && c.Text != nil {
		c = *c.Text
	}
	m := Model{Name: c.ModelType, BytesPerValue: valueBytes(c.DType + c.NewDType)}
	fail := func(key string) (Model, error) {
		return Model{}, fmt.Errorf("reading model config: %s is missing or not above 0", key)
	}
	positive := func(n *int) bool { return n != nil && *n > 0 }
	if !positive(c.Layers) {
		return fail("num_hidden_layers")
	}
	m.Layers = *c.Layers
	if bounded := count(c.Kinds, "sliding_attention") + count(c.Kinds, "linear_attention"); bounded > 0 && bounded < m.Layers {
		m.Layers -= bounded
		m.Note = fmt.Sprintf("%d layers with a bounded state are left out", bounded)
	}
	if positive(c.Rank) {
		m.Latent = *c.Rank
		if positive(c.Rope) {
			m.Latent += *c.Rope
		}
		return m, nil
	}
	if !positive(c.Heads) {
		return fail("num_attention_heads")
	}
	m.KVHeads = *c.Heads
	if positive(c.KVHeads) {
		m.KVHeads = *c.KVHeads
	}
	switch {
	case positive(c.HeadDim):
		m.HeadDim = *c.HeadDim
	case positive(c.Hidden):
		m.HeadDim = *c.Hidden / *c.Heads
	default:
		return fail("head_dim and hidden_size")
	}
	return m, nil
}

func count(kinds []any, name string) (n int) {
	for _, k := range kinds {
		if k == name {
			n++
		}
	}
	return n
}

func valueBytes(dtype string) float64 {
	switch {
	case strings.Contains(dtype, "float8"), strings.Contains(dtype, "fp8"), strings.Contains(dtype, "int8"):
		return 1
	case strings.Contains(dtype, "float32"):
		return 4
	}
	return 2
}

// WithMemory gives a curve whose points say what they cost in a model's KV, in 10^9 bytes. The curve itself stays as it is.
func WithMemory(c sembench.TraceCurve, m Model) sembench.TraceCurve {
	c.LRU = slices.Clone(c.LRU)
	for i := range c.LRU {
		gb := float64(c.LRU[i].CapacityBlocks) * float64(c.BlockSize) * m.KVBytesPerToken() / 1e9
		c.LRU[i].MemoryGB = &gb
	}
	c.Model = m.Name
	return c
}
