package token

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// vectors are texts and their ids from tiktoken 0.14.0 and from Python's re, written by testdata/vectors.py (its
// first lines are the command).
func vectors(t *testing.T) []map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestVectors(t *testing.T) {
	for _, name := range []string{"o200k", "cl100k", "regex"} {
		tok, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if tok.Name() != name {
			t.Errorf("Open(%q).Name() = %q", name, tok.Name())
		}
		for _, v := range vectors(t) {
			var text string
			var want []uint32
			if err := json.Unmarshal(v["text"], &text); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(v[name], &want); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time from the word cache
				if got := tok.Encode(nil, text); !slices.Equal(got, want) {
					t.Errorf("%s: %q\n got %d\nwant %d", name, text, got, want)
				}
			}
			checkPieces(t, tok, text)
		}
	}
}

// checkPieces: one piece per id, the text back, whole characters.
func checkPieces(t *testing.T, tok Tokenizer, text string) {
	t.Helper()
	pieces, ids := tok.Pieces(text), tok.Encode(nil, text)
	if got := strings.Join(pieces, ""); got != text {
		t.Errorf("%s: pieces of %q join to %q", tok.Name(), text, got)
	}
	if len(pieces) != len(ids) && len(ids) > 0 {
		t.Errorf("%s: %q has %d pieces, %d ids", tok.Name(), text, len(pieces), len(ids))
	}
}
