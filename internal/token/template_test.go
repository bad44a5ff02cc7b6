package token

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

// renderings come from Python's Jinja: testdata/templates.py, whose first lines are the command.
type renderings struct {
	Cases []struct {
		Messages, Tools []json.RawMessage
		Generate        bool
	}
	Own []struct {
		Template string
		Expected []string
	}
	Real map[string][]string // SHA-256 of each case, or "error"
}

func readRenderings(t *testing.T) (r renderings) {
	t.Helper()
	data, err := os.ReadFile("testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// render renders a case at the time that the Python side used.
func (r renderings) render(t *Template, i int) (string, error) {
	t.Now = func() time.Time { return time.Date(2026, 3, 5, 14, 7, 9, 0, time.UTC) }
	return t.Render(anys(r.Cases[i].Messages), anys(r.Cases[i].Tools), r.Cases[i].Generate)
}

func anys(raw []json.RawMessage) (all []any) {
	for _, r := range raw {
		all = append(all, r)
	}
	return all
}

func TestTemplatesAsPython(t *testing.T) {
	r := readRenderings(t)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "tokenizer.json"), tinyFile)
	write(t, filepath.Join(folder, "tokenizer_config.json"), `{"bos_token":"<s>","eos_token":{"content":"</s>"}}`)
	tok, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range r.Own {
		path := filepath.Join(folder, "template.jinja")
		write(t, path, own.Template)
		template, err := OpenTemplate(path, tok)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range own.Expected {
			got, err := r.render(template, i)
			if err != nil && want != "error" {
				t.Error(err)
			} else if got != want && want != "error" {
				t.Errorf("%s\ncase %d\n got %q\nwant %q", own.Template, i, got, want)
			}
		}
	}
}

// TestRealTemplatesAsPython compares what Python renders. Where Python raises, an engine refuses the request; the
// library raises too or is lenient, which is counted.
func TestRealTemplatesAsPython(t *testing.T) {
	dir := os.Getenv("SEMBENCH_TOKENIZERS")
	if dir == "" {
		t.Skip("SEMBENCH_TOKENIZERS is not set: run bench/tokenizers.sh DIR and set it to DIR")
	}
	r := readRenderings(t)
	var names []string
	for name := range r.Real {
		names = append(names, name)
	}
	sort.Strings(names)
	same, raised, lenient := 0, 0, 0
	for _, name := range names {
		spec, tokenizer := filepath.Join(dir, name), "o200k"
		if !strings.HasSuffix(name, ".jinja") {
			spec, tokenizer = "auto", spec
		}
		tok, err := Open(tokenizer)
		if err != nil {
			t.Log(err)
			continue
		}
		template, err := OpenTemplate(spec, tok)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			t.Error(err)
			continue
		}
		for i, want := range r.Real[name] {
			got, err := r.render(template, i)
			sum := sha256.Sum256([]byte(got))
			switch {
			case want == "error" && err != nil:
				raised++
			case want == "error":
				lenient++
			case err != nil:
				t.Errorf("%s: case %d: %v", name, i, err)
			case hex.EncodeToString(sum[:]) != want:
				t.Errorf("%s: case %d differs: %q", name, i, got[:min(len(got), 200)])
			default:
				same++
			}
		}
	}
	t.Logf("%d renderings identical, %d raise in both, %d raise in Python only", same, raised, lenient)
}

// What engines do to messages before they render.
func TestMessagesArePrepared(t *testing.T) {
	o200k, err := Open("o200k")
	if err != nil {
		t.Fatal(err)
	}
	open := func(source string) *Template {
		path := filepath.Join(t.TempDir(), "t.jinja")
		write(t, path, source)
		template, err := OpenTemplate(path, o200k)
		if err != nil {
			t.Fatal(err)
		}
		return template
	}
	text := func(s string) any { return map[string]any{"type": "text", "text": s} }
	plain := open("{% for m in messages %}{{ m.content }}|{% endfor %}")
	parts := open("{% for m in messages %}{% for p in m['content'] %}<{{ p.text }}>{% endfor %}{% endfor %}")
	calls := open("{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.arguments.city }}{% endfor %}{% endfor %}")
	message := func(key string, value any) []any { return []any{map[string]any{"role": "user", key: value}} }
	for _, c := range []struct {
		template *Template
		messages []any
		want     string
	}{
		{plain, message("content", []any{text("a"), text("b")}), "a\nb|"},
		{plain, message("content", "a"), "a|"},
		{parts, message("content", []any{text("a"), text("b")}), "<a><b>"},
		{calls, message("tool_calls", []any{map[string]any{"function": map[string]any{"arguments": `{"city":"Bern"}`}}}), "Bern"},
	} {
		if got, err := c.template.Render(c.messages, nil, false); err != nil || got != c.want {
			t.Errorf("got %q, %v, want %q", got, err, c.want)
		}
	}
	image := message("content", []any{text("a"), map[string]any{"type": "image_url"}})
	if _, err := plain.Render(image, nil, false); err == nil || !strings.HasSuffix(err.Error(), ": messages[0].content[1] is no text, and the template reads only text") {
		t.Errorf("an image: %v", err)
	}
	if _, err := open("{{ raise_exception('roles must alternate') }}").Render(nil, nil, false); err == nil || !strings.Contains(err.Error(), "roles must alternate") {
		t.Errorf("raise_exception: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tinyFile is a tokenizer.json of three tokens.
const tinyFile = `{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},"added_tokens":[]}`

func TestOpenTemplateErrors(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "tokenizer.json"), tinyFile)
	tok, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	o200k, err := Open("o200k")
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(folder, "bad.jinja")
	write(t, bad, "{% for m in messages %}")
	for _, c := range []struct {
		spec string
		tok  Tokenizer
		want string
	}{
		{"auto", o200k, "opening chat template auto: tokenizer o200k has no folder to look in: name a template file, or none"},
		{"auto", tok, "opening chat template auto: no chat_template in " + folder + ": name a template file, or none"},
		{bad, tok, "opening chat template " + bad + ": jinja parse: unclosed for block"},
	} {
		if _, err := OpenTemplate(c.spec, c.tok); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	for _, none := range []string{"", "none"} {
		if template, err := OpenTemplate(none, tok); template != nil || err != nil {
			t.Errorf("OpenTemplate(%q) = %v, %v; want nil, nil", none, template, err)
		}
	}
}
