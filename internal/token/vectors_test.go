package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// vectors are texts and their ids from tiktoken, Python's re and the Hugging Face tokenizers, written by
// testdata/vectors.py (its first lines are the command and the versions).
type vectors struct {
	alphabet, texts []string
	expected        map[string]expected
}

type expected struct {
	IDs   [][]uint32
	Large struct{ Mixtures, Corpus digest }
}

type digest struct {
	IDs    int
	SHA256 string
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	v := vectors{expected: map[string]expected{}}
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	for name, value := range raw {
		var target any
		var e expected
		switch name {
		case "alphabet":
			target = &v.alphabet
		case "texts":
			target = &v.texts
		default:
			target = &e
		}
		if err := json.Unmarshal(value, target); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if target == any(&e) {
			v.expected[name] = e
		}
	}
	return v
}

func TestBuiltinVectors(t *testing.T) {
	v := readVectors(t)
	for _, name := range []string{"o200k", "cl100k", "regex"} {
		t.Run(name, func(t *testing.T) {
			tok, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			if tok.Name() != name {
				t.Errorf("Name() = %q", tok.Name())
			}
			v.check(t, tok, v.expected[name])
		})
	}
}

// TestFileVectors needs the files that bench/tokenizers.sh installs.
func TestFileVectors(t *testing.T) {
	dir := os.Getenv("SEMBENCH_TOKENIZERS")
	if dir == "" {
		t.Skip("SEMBENCH_TOKENIZERS is not set: run bench/tokenizers.sh DIR and set it to DIR")
	}
	v := readVectors(t)
	var names []string
	for name := range v.expected {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err != nil {
				t.Skip("no such tokenizer in SEMBENCH_TOKENIZERS")
			}
			tok, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			v.check(t, tok, v.expected[name])
		})
	}
}

// check compares all ids of a tokenizer with those expected.
func (v vectors) check(t *testing.T, tok Tokenizer, want expected) {
	t.Helper()
	for i, text := range v.texts {
		for range 2 { // the second time from the word cache
			if got := tok.Encode(nil, text); !slices.Equal(got, want.IDs[i]) {
				t.Errorf("%q\n got %d\nwant %d", text, got, want.IDs[i])
			}
		}
		checkPieces(t, tok, text)
	}
	var ids []uint32
	for i, text := range v.mixtures(30000) {
		ids = tok.Encode(ids, text)
		if i < 2000 && (!quick || i < 100) {
			checkPieces(t, tok, text)
		}
	}
	checkDigest(t, "mixtures", ids, want.Large.Mixtures)

	if quick {
		return
	}
	data, err := os.ReadFile("../../../shared/data/musique/musique_s.json")
	if err != nil {
		t.Log("without ../shared/data/musique: the corpus is not compared")
		return
	}
	ids = ids[:0]
	for part := range slices.Chunk([]rune(string(data)), 20000) {
		ids = tok.Encode(ids, string(part))
	}
	checkDigest(t, "corpus", ids, want.Large.Corpus)
}

func checkDigest(t *testing.T, what string, ids []uint32, want digest) {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, ids); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	if got := hex.EncodeToString(sum[:]); len(ids) != want.IDs || got != want.SHA256 {
		t.Errorf("%s: %d ids %s, want %d ids %s", what, len(ids), got, want.IDs, want.SHA256)
	}
}

// mixtures are the texts of mixtures in testdata/vectors.py.
func (v vectors) mixtures(count int) []string {
	state := uint64(1)
	draw := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int((state >> 33) % uint64(n))
	}
	texts := make([]string, count)
	for i := range texts {
		var b strings.Builder
		for range 1 + draw(24) {
			x := v.alphabet[draw(len(v.alphabet))]
			b.WriteString(strings.Repeat(x, 1+draw(3)*draw(2)))
		}
		texts[i] = b.String()
	}
	return texts
}

// checkPieces: one piece per id, the text back, and whole characters.
func checkPieces(t *testing.T, tok Tokenizer, text string) {
	t.Helper()
	pieces, ids := tok.Pieces(text), tok.Encode(nil, text)
	if got := strings.Join(pieces, ""); got != text {
		t.Errorf("pieces of %q join to %q", text, got)
	}
	if len(pieces) != len(ids) && len(ids) > 0 {
		t.Errorf("%q has %d pieces, %d ids", text, len(pieces), len(ids))
	}
	if strings.ToValidUTF8(text, "") == text {
		for _, p := range pieces {
			if strings.ToValidUTF8(p, "") != p {
				t.Errorf("%q has the piece %q", text, p)
			}
		}
	}
}
