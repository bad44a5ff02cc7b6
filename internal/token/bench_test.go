package token

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkEncode reports MB/s of English on one core over 3.8 MB of MuSiQue text in prompts of 16 kB, with a warm word
// cache.
func BenchmarkEncode(b *testing.B) {
	prompts := english(b)
	for _, spec := range tokenizers() {
		b.Run(filepath.Base(spec), func(b *testing.B) { benchmarkEncode(b, spec, prompts, func(*bpe) {}) })
	}
}

// BenchmarkEncodeCold does the same and forgets the word cache before each pass: the first sight of a text.
func BenchmarkEncodeCold(b *testing.B) {
	prompts := english(b)
	for _, spec := range tokenizers() {
		if spec != "regex" {
			b.Run(filepath.Base(spec), func(b *testing.B) {
				benchmarkEncode(b, spec, prompts, func(t *bpe) { t.idle = nil })
			})
		}
	}
}

// BenchmarkEncodeExpression is the path for unknown patterns: the same pattern by a regular expression.
func BenchmarkEncodeExpression(b *testing.B) {
	prompts := english(b)
	tok, err := Open("o200k")
	if err != nil {
		b.Fatal(err)
	}
	slow := &bpe{model: tok.(*bpe).model, cutters: byExpression(b, preTokenizers()["gpt4o"]).cutters}
	run(b, slow, prompts, func(*bpe) {})
}

func benchmarkEncode(b *testing.B, spec string, prompts []string, before func(*bpe)) {
	tok, err := Open(spec)
	if err != nil {
		b.Fatal(err)
	}
	run(b, tok, prompts, before)
}

func run(b *testing.B, tok Tokenizer, prompts []string, before func(*bpe)) {
	var dst []uint32
	size, ids := 0, 0
	for _, p := range prompts {
		dst = tok.Encode(dst[:0], p)
		size, ids = size+len(p), ids+len(dst)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if t, ok := tok.(*bpe); ok {
			before(t)
		}
		for _, p := range prompts {
			dst = tok.Encode(dst[:0], p)
		}
	}
	b.ReportMetric(float64(ids)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

// BenchmarkOpen is the time to read a vocabulary; B/op is about what stays in memory, for embedded ones.
func BenchmarkOpen(b *testing.B) {
	b.Run("o200k", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := openTiktoken("o200k", "o200k_base.tiktoken", casedRuns{classes(), 3, true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, path := range files() {
		b.Run(filepath.Base(path), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// tokenizers are the specs to measure: the embedded ones and those of SEMBENCH_TOKENIZERS, where it is set.
func tokenizers() []string { return append([]string{"o200k", "cl100k", "regex"}, files()...) }

func files() []string {
	var folders []string
	found, _ := filepath.Glob(filepath.Join(os.Getenv("SEMBENCH_TOKENIZERS"), "*", "tokenizer.json"))
	for _, path := range found {
		folders = append(folders, filepath.Dir(path))
	}
	return folders
}

// english is prose in prompts of 16 kB.
func english(b *testing.B) (prompts []string) {
	b.Helper()
	data, err := os.ReadFile("../../../shared/data/musique/musique_s.json")
	if err != nil {
		b.Log("without ../shared/data/musique: a repeated paragraph, which flatters the word cache")
		data = []byte(strings.Repeat("It was the best of times, it was the worst of times; nobody counted the blocks. ", 50000))
	}
	for text := strings.ToValidUTF8(string(data), ""); text != ""; {
		n := min(16<<10, len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		prompts, text = append(prompts, text[:n]), text[n:]
	}
	return prompts
}
