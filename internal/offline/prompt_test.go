package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/token"
)

// bytesFile is a tokenizer.json with one token a letter and, as Llama's has, an id in front of every raw prompt.
func bytesFile(t *testing.T) string {
	t.Helper()
	vocab := map[string]int{"<s>": 0}
	for c := byte('!'); c <= '~'; c++ {
		vocab[string(c)] = len(vocab)
	}
	for _, c := range []string{"Ġ", "Ċ"} { // space and line end in byte-level spelling
		vocab[c] = len(vocab)
	}
	file, err := json.Marshal(map[string]any{
		"version":       "1.0",
		"added_tokens":  []any{map[string]any{"id": 0, "content": "<s>", "special": true, "normalized": false}},
		"normalizer":    nil,
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"post_processor": map[string]any{
			"type":           "TemplateProcessing",
			"single":         []any{map[string]any{"SpecialToken": map[string]any{"id": "<s>", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}},
			"pair":           []any{},
			"special_tokens": map[string]any{"<s>": map[string]any{"id": "<s>", "ids": []int{0}, "tokens": []string{"<s>"}}},
		},
		"decoder": map[string]any{"type": "ByteLevel"},
		"model":   map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json":        string(file),
		"tokenizer_config.json": `{"bos_token": "<s>", "chat_template": "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[a]{% endif %}"}`,
		"other.jinja":           `{% for m in messages %}{{ m.content }}!{% endfor %}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// What is counted is what an engine gets: the rendered chat, the raw prompt behind the model's own ids, or the bare contents.
func TestPromptsAsSent(t *testing.T) {
	folder := bytesFile(t)
	tk, err := token.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	it := item("a", "hi there", "donor")
	it.Metadata = map[string]any{"system_prompt": "be brief"}
	parts := item("b", "hi", "donor")
	parts.Metadata = map[string]any{"messages": []any{map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "one"}, map[string]any{"type": "text", "text": "two"}}}}}
	for _, c := range []struct {
		spec        string
		raw         bool
		it          sembench.Item
		text, donor string
		tokens      int
	}{
		{"none", false, it, "be brief\n\nhi there", "be brief\n\ndonor", 18},
		{"auto", false, it, "<s>[system]be brief[user]hi there[a]", "<s>[system]be brief[user]donor[a]", 34},
		{filepath.Join(folder, "other.jinja"), false, it, "be brief!hi there!", "be brief!donor!", 18},
		{"none", true, it, "be brief\n\nhi there", "be brief\n\ndonor", 19},
		{"none", false, parts, "one\ntwo", "donor", 7},
	} {
		o := Options{Tokenizer: tk, BlockSize: 4, Planners: []string{"span"}, Raw: c.raw}
		if o.Render, err = ChatTemplate(c.spec, tk); err != nil {
			t.Fatal(err)
		}
		ids, text, err := o.recipient(context.Background(), c.it)
		if err != nil || text != c.text || len(ids) != c.tokens {
			t.Errorf("%s raw %v: %d tokens of %q, %v; want %d of %q", c.spec, c.raw, len(ids), text, err, c.tokens, c.text)
		}
		if first := ids[0] == 0; first != (c.raw || c.spec == "auto") {
			t.Errorf("%s raw %v: begins with <s>: %v", c.spec, c.raw, first)
		}
		if _, text, _ := o.donor(context.Background(), c.it, c.it.DonorPrompts[0]); text != c.donor {
			t.Errorf("%s raw %v: donor is %q, want %q", c.spec, c.raw, text, c.donor)
		}
		row := collect(t, Rows(context.Background(), seq(c.it), o))[0]
		if row.PromptTokens != c.tokens || row.TotalBlocks != c.tokens/4 || *row.PromptTokensSource != "local" {
			t.Errorf("row has %d tokens, %d blocks, source %s", row.PromptTokens, row.TotalBlocks, *row.PromptTokensSource)
		}
	}
}

// A shared prefix id moves every block by one, in donor and recipient alike: exact reuse of a prefix stays what the engine sees.
func TestPrefixMovesBlocks(t *testing.T) {
	tk, err := token.Open(bytesFile(t))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tokenizer: tk, BlockSize: 4, Planners: []string{"span"}, Raw: true}
	// <s>abc defg hijk | <s>abc defg XXXX: 2 of 3 blocks; without the prefix abcd efgh would be hit and the 12th letter in no block.
	row := collect(t, Rows(context.Background(), seq(item("a", "abcdefgXXXX", "abcdefghijk")), o))[0]
	if row.TotalBlocks != 3 || row.ExactHitBlocks != 2 || *row.ExactPrefixHitBlocks != 2 {
		t.Errorf("%d of %d blocks exact, want 2 of 3", row.ExactHitBlocks, row.TotalBlocks)
	}
}

// An engine asked for ids counts as engine_tokenize, and adds its own prefix to raw prompts alone.
func TestServerCountsItself(t *testing.T) {
	var special []bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Prompt           string
			AddSpecialTokens bool `json:"add_special_tokens"`
		}
		json.NewDecoder(r.Body).Decode(&body)
		special = append(special, body.AddSpecialTokens)
		ids := []uint32{}
		if body.AddSpecialTokens {
			ids = append(ids, 7)
		}
		for _, b := range []byte(body.Prompt) {
			ids = append(ids, uint32(b))
		}
		json.NewEncoder(w).Encode(map[string]any{"tokens": ids, "count": len(ids)})
	}))
	defer server.Close()
	tk, err := token.Open(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []bool{false, true} {
		special = nil
		o := Options{Tokenizer: tk, BlockSize: 2, Planners: []string{"span"}, Raw: raw}
		row := collect(t, Rows(context.Background(), seq(item("a", "abcd", "abcd")), o))[0]
		want := 4
		if raw {
			want = 5
		}
		if row.PromptTokens != want || *row.PromptTokensSource != "engine_tokenize" || !slices.Equal(special, []bool{raw, raw}) {
			t.Errorf("raw %v: %d tokens from %s, special %v", raw, row.PromptTokens, *row.PromptTokensSource, special)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	tk, _ := token.Open("regex")
	if _, err := ChatTemplate("auto", tk); err == nil || !strings.Contains(err.Error(), "has no folder to look in") {
		t.Errorf("auto without a file: %v", err)
	}
	if render, err := ChatTemplate("none", tk); render != nil || err != nil {
		t.Error("none renders")
	}
	path := filepath.Join(t.TempDir(), "bad.jinja")
	if err := os.WriteFile(path, []byte(`{{ raise_exception("no system turn") }}`), 0o644); err != nil {
		t.Fatal(err)
	}
	render, err := ChatTemplate(path, tk)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tokenizer: tk, BlockSize: 2, Planners: []string{"span"}, Render: render}
	for _, err := range Rows(context.Background(), seq(item("a", "b", "c")), o) {
		if err == nil || !strings.Contains(fmt.Sprint(err), "counting item a: donor d0") {
			t.Errorf("a template that refuses gave %v", err)
		}
	}
}
