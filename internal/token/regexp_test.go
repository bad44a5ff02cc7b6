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

	"github.com/dlclark/regexp2"
)

// The published patterns; the scanners must cut every text as they do.
const (
	o200kPattern  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	cl100kPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

func TestScannersCutAsPatterns(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		scanner       scanner
	}{
		{"o200k", o200kPattern, casedRuns{classes(), 3, true}},
		{"cl100k", cl100kPattern, letterRuns{classes(), 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			re := regexp2.MustCompile(c.pattern, regexp2.None)
			r := rand.New(rand.NewPCG(1, 2))
			for range 20000 {
				sameCuts(t, re, c.scanner, torture(r))
			}
			for _, text := range corpus(t) {
				sameCuts(t, re, c.scanner, text)
			}
		})
	}
}

// sameCuts compares the words of the scanner with those of the regular expression.
func sameCuts(t *testing.T, re *regexp2.Regexp, s scanner, text string) {
	t.Helper()
	var want []string
	for m, _ := re.FindStringMatch(text); m != nil; m, _ = re.FindNextMatch(m) {
		want = append(want, m.String())
	}
	var got []string
	for i := 0; i < len(text); {
		j := s.next(text, i)
		if j <= i {
			t.Fatalf("%q: no progress at %d", text, i)
		}
		got = append(got, text[i:j])
		i = j
	}
	if !slices.Equal(got, want) {
		for i := range got {
			if i >= len(want) || got[i] != want[i] {
				t.Fatalf("%.200q\nword %d: got %q, want %q", text, i, got[i:min(len(got), i+4)], want[min(i, len(want)):min(len(want), i+4)])
			}
		}
		t.Fatalf("%.200q: got %d words, want %d", text, len(got), len(want))
	}
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
	if testing.Short() && len(texts) > 8 {
		texts = texts[:8]
	}
	return texts
}
