package token

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFeatures compares small files, one per feature, with the Hugging Face tokenizers: testdata/features.py, whose
// first lines are the command.
func TestFeatures(t *testing.T) {
	data, err := os.ReadFile("testdata/features.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Texts    []string
		Models   map[string]json.RawMessage
		Features []struct {
			Name, Model string
			File        map[string]json.RawMessage
			IDs         [][]uint32
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, f := range all.Features {
		t.Run(f.Name, func(t *testing.T) {
			f.File["model"] = all.Models[f.Model]
			file, err := json.Marshal(f.File)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := parseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range all.Texts {
				for range 2 { // the second time from the word cache
					if got := tok.Encode(nil, text); !slices.Equal(got, f.IDs[i]) {
						t.Errorf("%q\n got %d\nwant %d", text, got, f.IDs[i])
					}
				}
				if got := strings.Join(tok.Pieces(text), ""); got != text {
					t.Errorf("pieces of %q join to %q", text, got)
				}
				if pieces := tok.Pieces(text); len(pieces) != len(f.IDs[i]) && len(f.IDs[i]) > 0 {
					t.Errorf("%q: %d pieces, %d ids", text, len(pieces), len(f.IDs[i]))
				}
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	part := func(old, new string) string { return strings.Replace(tinyFile, old, new, 1) }
	for _, c := range []struct{ file, want string }{
		{tinyFile[:40], "the file is truncated at byte 40: unexpected end of JSON input"},
		{"", "the file is truncated at byte 0: unexpected end of JSON input"},
		{"<html>", "reading JSON: invalid character '<' looking for beginning of value"},
		{"{}", "no model: not a tokenizer.json"},
		{`{"model":{"type":"Unigram","vocab":[["a",0.5]]}}`, `model type "Unigram" is not supported, only BPE`},
		{`{"model":{"type":"WordPiece","vocab":{"a":0}}}`, `model type "WordPiece" is not supported, only BPE`},
		{`{"model":{"type":"BPE","vocab":{},"merges":[]}}`, "model.vocab is empty"},
		{part(`"merges"`, `"dropout":0.1,"merges"`), "model.dropout is not supported: ids would be random"},
		{part(`"merges"`, `"end_of_word_suffix":"</w>","merges"`), "model.end_of_word_suffix is not supported"},
		{part(`"merges"`, `"continuing_subword_prefix":"##","merges"`), "model.continuing_subword_prefix is not supported"},
		{part(`"merges"`, `"unk_token":"?","merges"`), `model.unk_token "?" is not in the vocabulary`},
		{part(`"a b"`, `"a c"`), `model.merges[0] ["a" "c"] joins what is not in the vocabulary`},
		{part(`"a b"`, `"ab"`), `reading JSON: model.merges[0] "ab" has no space`},
		{part(`["a b"]`, `7`), `reading JSON: model.merges are neither pairs nor lines: json: cannot unmarshal number into Go value of type []string`},
		{part(`"b":1`, `"b":-1`), `reading JSON: json: cannot unmarshal number -1 into Go struct field modelFile.model.vocab of type uint32`},
		{part(`"b":1`, `"b":4000000000`), `reading model.vocab: token id 4000000000 is out of range`},
		{part(`"b":1`, `"b":0`), `reading model.vocab: token id 0 occurs twice`},
		{part(`"added_tokens":[]`, `"added_tokens":[{"id":3,"content":""}]`), "added_tokens[0].content is empty"},
		{part(`"added_tokens"`, `"normalizer":{"type":"Precompiled"},"added_tokens"`), "normalizer Precompiled is not supported"},
		{part(`"added_tokens"`, `"normalizer":{"type":"Replace","pattern":{}},"added_tokens"`), "normalizer Replace: pattern has neither String nor Regex"},
		{part(`"added_tokens"`, `"normalizer":[],"added_tokens"`), "reading normalizer: json: cannot unmarshal array into Go value of type token.normalizer"},
		{part(`"added_tokens"`, `"pre_tokenizer":{"type":"BertPreTokenizer"},"added_tokens"`), "pre_tokenizer BertPreTokenizer is not supported"},
		{part(`"added_tokens"`, `"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"a++"}},"added_tokens"`),
			"pre_tokenizer Split: pattern \"a++\" is not supported: error parsing regexp: invalid nested repetition operator in `a++`"},
		{part(`"added_tokens"`, `"pre_tokenizer":{"type":"Split","behavior":"Sideways","pattern":{"Regex":"a"}},"added_tokens"`),
			`pre_tokenizer Split with behavior "Sideways" is not supported`},
		{part(`"added_tokens"`, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]},"added_tokens"`),
			"pre_tokenizer Digits behind ByteLevel is not supported"},
		{part(`"added_tokens"`, `"post_processor":{"type":"BertProcessing"},"added_tokens"`), "post_processor BertProcessing is not supported"},
	} {
		if _, err := parseFile([]byte(c.file)); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.file, err, c.want)
		}
	}
	if _, err := Open("no-such-file"); err == nil || err.Error() != "opening tokenizer: stat no-such-file: no such file or directory (o200k, cl100k, regex, a server's address, a tokenizer.json or its folder)" {
		t.Error(err)
	}
}

func TestPromptPrefix(t *testing.T) {
	added := `"added_tokens":[{"id":7,"content":"<s>","special":true}]`
	template := `"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},` +
		`{"SpecialToken":{"id":"</s>","type_id":0}}],"special_tokens":{"<s>":{"id":"<s>","ids":[7],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[8],"tokens":["</s>"]}}}`
	for _, c := range []struct {
		extra, config string
		want          []uint32
	}{
		{added, "", nil},
		{added, `{"add_bos_token":false,"bos_token":"<s>"}`, nil},
		{added, `{"add_bos_token":true,"bos_token":{"content":"<s>"}}`, []uint32{7}},
		{added + "," + template, "", []uint32{7}},
		{added + "," + template, `{"add_bos_token":true,"bos_token":"<s>"}`, []uint32{7}},
		{added + `,"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel"},` + strings.TrimPrefix(template, `"post_processor":`) + `]}`, "", []uint32{7}},
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "tokenizer.json"), strings.Replace(tinyFile, `"added_tokens":[]`, c.extra, 1))
		if c.config != "" {
			write(t, filepath.Join(folder, "tokenizer_config.json"), c.config)
		}
		tok, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.(Prefixer).PromptPrefix(); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: prefix %d, want %d", c.extra, c.config, got, c.want)
		}
	}
}

// A file of 30 MB: a vocabulary of 600,000 tokens.
func TestLargeFile(t *testing.T) {
	if quick || testing.Short() {
		t.Skip("30 MB in -short or under -race")
	}
	var b strings.Builder
	b.WriteString(`{"model":{"type":"BPE","merges":["a b"],"vocab":{"a":0,"b":1,"ab":2`)
	for id := 3; b.Len() < 30<<20; id++ {
		b.WriteString(`,"`)
		b.WriteString(strings.Repeat("x", 30))
		b.WriteString(strconv.Itoa(id))
		b.WriteString(`":`)
		b.WriteString(strconv.Itoa(id))
	}
	b.WriteString(`}}}`)
	tok, err := parseFile([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode(nil, "abba"), []uint32{2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

// FuzzFile: no file crashes the reader, and what it accepts keeps text and pieces together.
func FuzzFile(f *testing.F) {
	f.Add(tinyFile, "abab")
	f.Add(strings.Replace(tinyFile, `"added_tokens":[]`, `"normalizer":{"type":"NFD"},"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first"},`+
		`"added_tokens":[{"id":3,"content":"<s>","lstrip":true,"normalized":true}]`, 1), "a <s> é")
	f.Add(strings.Replace(tinyFile, `"added_tokens":[]`, `"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a|b"},"behavior":"MergedWithNext"},"added_tokens":[]`, 1), "ab\xffa")
	f.Fuzz(func(t *testing.T, file, text string) {
		// The vocabulary table is sized by the largest id; 2^24 at 8 bytes would make each run slow.
		if strings.Contains(file, "00000") {
			return
		}
		tok, err := parseFile([]byte(file))
		if err != nil {
			return
		}
		if got := strings.Join(tok.Pieces(text), ""); got != text {
			t.Errorf("pieces of %q join to %q", text, got)
		}
		first, second := tok.Encode(nil, text), tok.Encode(nil, text)
		if !slices.Equal(first, second) {
			t.Errorf("%q: %d, then %d", text, first, second)
		}
	})
}
