package token

import (
	"slices"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// peers are the tokenizers of tiktoken-go, an independent implementation in Go.
func peers(t testing.TB) map[string]*tiktoken.Tiktoken {
	t.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	all := map[string]*tiktoken.Tiktoken{}
	for name, encoding := range map[string]string{"o200k": tiktoken.MODEL_O200K_BASE, "cl100k": tiktoken.MODEL_CL100K_BASE} {
		peer, err := tiktoken.GetEncoding(encoding)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = peer
	}
	return all
}

// TestPeerOnCorpus: no id differs over the whole corpus.
func TestPeerOnCorpus(t *testing.T) {
	for name, peer := range peers(t) {
		tok, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range corpus(t) {
			got := tok.Encode(nil, text)
			want := peer.EncodeOrdinary(text)
			if !slices.EqualFunc(got, want, func(a uint32, b int) bool { return int(a) == b }) {
				t.Errorf("%s: %.60q: %d ids, want %d", name, text, len(got), len(want))
			}
		}
	}
}

// BenchmarkPeer is tiktoken-go on the text of BenchmarkEncode.
func BenchmarkPeer(b *testing.B) {
	prompts := english(b)
	for name, peer := range peers(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(strings.Join(prompts, ""))))
			for b.Loop() {
				for _, p := range prompts {
					peer.EncodeOrdinary(p)
				}
			}
		})
	}
}
