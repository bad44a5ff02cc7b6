package token

import (
	"slices"
	"strings"
	"testing"
)

// FuzzAnswer: no answer of a server crashes its reader, and what it accepts has tokens.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"tokens":[9707,1879],"count":2}`)
	f.Add(`{"tokens":[],"count":0}`)
	f.Fuzz(func(t *testing.T, answer string) {
		if ids, err := readTokens([]byte(answer)); err == nil && len(ids) == 0 {
			t.Errorf("%q: no ids and no error", answer)
		}
	})
}

// FuzzTiktoken: what the reader accepts, the vocabulary finds again.
func FuzzTiktoken(f *testing.F) {
	f.Add("YQ== 0\nYg== 1\nYWI= 2\n")
	f.Add("YQ== 0\nYQ== 1\n")
	f.Fuzz(func(t *testing.T, data string) {
		v, err := readTiktoken([]byte(data))
		if err != nil {
			return
		}
		for id := range v.spans {
			if s := v.bytes(uint32(id)); len(s) > 0 && v.id(string(s)) != uint32(id) {
				t.Errorf("token %q is %d, found as %d", s, id, v.id(string(s)))
			}
		}
	})
}

// FuzzConfig: no tokenizer_config.json crashes its reader.
func FuzzConfig(f *testing.F) {
	f.Add(`{"chat_template":"{{ bos_token }}","bos_token":{"content":"<s>"},"add_bos_token":true}`)
	f.Add(`{"chat_template":[{"name":"default","template":"x"},{"name":"tool_use","template":"y"}]}`)
	f.Fuzz(func(_ *testing.T, data string) {
		c := tokenizerConfig{sources: map[string]string{}, tokens: map[string]string{}}
		if c.parse([]byte(data)) == nil {
			_, _ = c.compile("fuzz")
		}
	})
}

// FuzzEncode: any text keeps its bytes in pieces, one per id, and the word cache changes nothing.
func FuzzEncode(f *testing.F) {
	f.Add("Hello, world! 'ſ İΣ\xff\xe4\xb8 中")
	var all []Tokenizer
	for _, name := range []string{"o200k", "cl100k", "regex"} {
		tok, err := Open(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, tok)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range all {
			ids, pieces := tok.Encode(nil, text), tok.Pieces(text)
			if got := strings.Join(pieces, ""); got != text {
				t.Errorf("%s: pieces of %q join to %q", tok.Name(), text, got)
			}
			if len(ids) > 0 && len(ids) != len(pieces) {
				t.Errorf("%s: %q has %d pieces, %d ids", tok.Name(), text, len(pieces), len(ids))
			}
			if again := tok.Encode(nil, text); !slices.Equal(ids, again) {
				t.Errorf("%s: %q: %d, then %d", tok.Name(), text, ids, again)
			}
		}
	})
}
