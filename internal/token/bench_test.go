package token

import (
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkEncode reports MB/s of English on one core: the MuSiQue text, or a stand-in where it is absent.
func BenchmarkEncode(b *testing.B) {
	text := english(b)
	for _, name := range []string{"o200k", "cl100k", "regex"} {
		b.Run(name, func(b *testing.B) { benchmarkEncode(b, name, text) })
	}
}

func benchmarkEncode(b *testing.B, spec, text string) {
	tok, err := Open(spec)
	if err != nil {
		b.Fatal(err)
	}
	dst := tok.Encode(nil, text)
	ids := len(dst)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst = tok.Encode(dst[:0], text)
	}
	b.ReportMetric(float64(ids)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

// BenchmarkOpen is the time to read an embedded vocabulary.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if _, err := openTiktoken("o200k", "o200k_base.tiktoken", casedRuns{classes(), 3, true}); err != nil {
			b.Fatal(err)
		}
	}
}

// english is 4 MB of prose.
func english(b *testing.B) string {
	b.Helper()
	data, err := os.ReadFile("../../../shared/data/musique/musique_s.json")
	if err != nil {
		b.Log("without ../shared/data/musique: a repeated paragraph, which flatters the word cache")
		data = []byte(strings.Repeat("It was the best of times, it was the worst of times; nobody counted the blocks. ", 50000))
	}
	return string(data)
}

func TestOpenIsQuick(t *testing.T) {
	start := time.Now()
	if _, err := openTiktoken("o200k", "o200k_base.tiktoken", casedRuns{classes(), 3, true}); err != nil {
		t.Fatal(err)
	}
	t.Logf("o200k read in %v", time.Since(start))
}
