package token

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// Many goroutines share one tokenizer and see the ids that one alone sees.
func TestConcurrentUse(t *testing.T) {
	for _, name := range []string{"o200k", "regex"} {
		tok, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		texts := readVectors(t).mixtures(200)
		want := make([][]uint32, len(texts))
		for i, text := range texts {
			want[i] = tok.Encode(nil, text)
		}
		var wg sync.WaitGroup
		for range 24 {
			wg.Go(func() {
				for i, text := range texts {
					if got := tok.Encode(nil, text); !slices.Equal(got, want[i]) {
						t.Errorf("%s: %q: got %d, want %d", name, text, got, want[i])
					}
					if got := strings.Join(tok.Pieces(text), ""); got != text {
						t.Errorf("%s: pieces of %q join to %q", name, text, got)
					}
				}
			})
		}
		wg.Wait()
	}
}

// Text that is not UTF-8 has the ids that a JSON request would give it, and its pieces are its own bytes.
func TestInvalidText(t *testing.T) {
	for _, name := range []string{"o200k", "cl100k", "regex"} {
		tok, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range [][2]string{
			{"a\xffb", "a\ufffdb"}, {"\xe4\xb8", "\ufffd\ufffd"}, {"\xc3\x28 x", "\ufffd( x"}, {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		} {
			if got, want := tok.Encode(nil, c[0]), tok.Encode(nil, c[1]); !slices.Equal(got, want) {
				t.Errorf("%s: %q: got %d, want %d", name, c[0], got, want)
			}
			checkPieces(t, tok, c[0])
		}
	}
}

// A hostile text of one endless word must not take quadratic time: a megabyte would take hours.
func TestLongWords(t *testing.T) {
	tok, err := Open("o200k")
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{"a", "ab", " ", "\n", "é", "中", "!", "\u0301"} {
		size := 1 << 20
		if quick {
			size = 1 << 16
		}
		text := strings.Repeat(unit, size/len(unit))
		if ids := tok.Encode(nil, text); len(ids) == 0 {
			t.Errorf("%q: no ids", unit)
		}
	}
}
