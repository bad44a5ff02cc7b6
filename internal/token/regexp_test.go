package token

import (
	"bufio"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"slices"
	"strings"
	"testing"
)

// preTokenizers are the split steps of real files, by model.
func preTokenizers() map[string]preTokenizer {
	steps := func(patterns ...string) preTokenizer {
		p := preTokenizer{Type: "Sequence"}
		for _, x := range patterns {
			p.Pretokenizers = append(p.Pretokenizers, preTokenizer{Type: "Split", Pattern: pattern{Regex: &x}, Behavior: "Isolated"})
		}
		return p
	}
	return map[string]preTokenizer{
		"gpt4o":    steps(gpt4oPattern),
		"tekken":   steps(tekkenPattern),
		"llama3":   steps(llama3Pattern),
		"qwen":     steps(qwenPattern),
		"gpt2":     steps(gpt2Pattern),
		"deepseek": steps(deepseekDigits, deepseekHan, deepseekWords),
	}
}

// byExpression finds words with regular expressions alone.
func byExpression(t testing.TB, p preTokenizer) *bpe {
	t.Helper()
	tok := new(bpe)
	for _, s := range p.flat() {
		find, err := s.Pattern.finder()
		if err != nil {
			t.Fatal(err)
		}
		tok.cutters = append(tok.cutters, split(find, s.Behavior, s.Invert))
	}
	return tok
}

func byScanner(t testing.TB, name string, p preTokenizer) *bpe {
	t.Helper()
	tok := new(bpe)
	if _, err := tok.preTokenize(p); err != nil || tok.words == nil {
		t.Fatalf("%s: no scanner (%v)", name, err)
	}
	return tok
}

func TestScannersCutAsPatterns(t *testing.T) {
	for name, p := range preTokenizers() {
		t.Run(name, func(t *testing.T) {
			scanner, expression := byScanner(t, name, p), byExpression(t, p)
			r := rand.New(rand.NewPCG(1, 2))
			texts := 5000
			if quick {
				texts = 200
			}
			for range texts {
				sameWords(t, scanner, expression, torture(r))
			}
			for _, text := range corpus(t) {
				sameWords(t, scanner, expression, text)
			}
		})
	}
}

// FuzzScanners compares the scanners with the expressions on any text.
func FuzzScanners(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add(torture(r))
	}
	type pair struct{ scanner, expression *bpe }
	var pairs []pair
	for name, p := range preTokenizers() {
		pairs = append(pairs, pair{byScanner(f, name, p), byExpression(f, p)})
	}
	f.Fuzz(func(t *testing.T, text string) {
		// regexp2 does not fold the long s to s, as the engines' expressions do, and knows Go's Unicode only.
		text = strings.Map(func(r rune) rune {
			for _, n := range newer {
				if r == 'ſ' || n.first <= r && r <= n.last {
					return -1
				}
			}
			return r
		}, text)
		for _, p := range pairs {
			sameWords(t, p.scanner, p.expression, text)
		}
	})
}

// sameWords compares the words of two tokenizers.
func sameWords(t *testing.T, a, b *bpe, text string) {
	t.Helper()
	got, want := a.allWords(text), b.allWords(text)
	if slices.Equal(got, want) {
		return
	}
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			t.Fatalf("%.200q\nword %d: got %q, want %v", text, i, text[got[i].start:got[i].end], want[min(i, len(want)):min(len(want), i+2)])
		}
	}
	t.Fatalf("%.200q: got %d words, want %d", text, len(got), len(want))
}

// alphabet has characters of every class that a pattern names, ASCII and not. The long s is left out: regexp2 does
// not fold it to s, the engines' regular expressions do.
var alphabet = []string{
	"a", "b", "s", "t", "re", "ve", "ll", "d", "m", "A", "B", "S", "T", "RE", "LL", "D", "'", "'", " ", " ", "\t", "\n", "\r", "\r\n",
	"/", "_", "-", ".", "(", "#", "0", "1", "23", "456", "é", "É", "ß", "ж", "Ж", "ǅ", "ʰ", "中", "文", "か", "カ", "ー", "゛", "한", "א", "ا",
	"\u0301", "\u093e", "\u20dd", "٣", "½", "Ⅷ", "²", "〇", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff", "\u00ad",
	"\x00", "\x1c", "\x7f", "€", "™", "😀", "👨‍👩", "，", "。", "«", "\U0001d4d0", "\U0001d7d8", "\ue000", "\U000e0100", "\ufffd",
}

// torture is a short random text that mixes the classes.
func torture(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(24) {
		x := alphabet[r.IntN(len(alphabet))]
		for range 1 + r.IntN(3)*r.IntN(2) {
			b.WriteString(x)
		}
	}
	return b.String()
}

// corpus is real text: the MuSiQue file where it is (in parts), Go sources of this machine.
func corpus(t *testing.T) []string {
	t.Helper()
	var texts []string
	if f, err := os.Open("../../../shared/data/musique/musique_s.json"); err != nil {
		t.Log("without ../shared/data/musique: checking Go sources only")
	} else {
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<16)
		for {
			part := make([]byte, 1<<16)
			n, err := r.Read(part)
			texts = append(texts, strings.ToValidUTF8(string(part[:n]), ""))
			if err != nil {
				break
			}
		}
	}
	size := 0
	err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src", "unicode"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || size > 1<<20 {
			return err
		}
		data, err := os.ReadFile(path)
		size += len(data)
		texts = append(texts, strings.ToValidUTF8(string(data), ""))
		return err
	})
	if err != nil {
		t.Log("without Go sources:", err)
	}
	if (quick || testing.Short()) && len(texts) > 2 {
		texts = texts[:2]
	}
	return texts
}
