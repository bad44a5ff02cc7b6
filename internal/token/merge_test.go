package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// naive is byte-pair encoding as it is defined: join the leftmost pair of the lowest rank until none joins.
func naive(ranks map[string]uint32, word string) []uint32 {
	parts := strings.Split(word, "")
	for {
		best, at := none, -1
		for i := range len(parts) - 1 {
			if rank, ok := ranks[parts[i]+parts[i+1]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	ids := make([]uint32, len(parts))
	for i, p := range parts {
		ids[i] = ranks[p]
	}
	return ids
}

// Random vocabularies over three letters, words on both sides of the limit between the two merges, joins by bytes and
// by pairs.
func TestMergeAsDefined(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	rounds := 300
	if quick {
		rounds = 20
	}
	for range rounds {
		ranks := map[string]uint32{"a": 0, "b": 1, "c": 2}
		words := []string{"a", "b", "c"}
		var merges [][2]string
		for len(words) < 30 {
			left, right := words[r.IntN(len(words))], words[r.IntN(len(words))]
			if _, ok := ranks[left+right]; !ok && len(left+right) < 12 {
				ranks[left+right] = uint32(len(words))
				words = append(words, left+right)
				merges = append(merges, [2]string{left, right})
			}
		}
		v := newVocab(len(words), 1000)
		for i, w := range words {
			if err := v.add([]byte(w), uint32(i)); err != nil {
				t.Fatal(err)
			}
		}
		byBytes := model{vocab: v, unknown: none}
		for b := range byBytes.bytes {
			byBytes.bytes[b] = v.id(string([]byte{byte(b)}))
		}
		byPairs := byBytes
		byPairs.pairs = newPairTable(1000)
		// Every split of a token joins, as with bytes.
		for w, id := range ranks {
			for i := 1; i < len(w); i++ {
				left, okLeft := ranks[w[:i]]
				right, okRight := ranks[w[i:]]
				if okLeft && okRight {
					byPairs.pairs.put(left, right, id, id)
				}
			}
		}
		for _, n := range []int{1, 2, 3, 10, linearLimit - 1, linearLimit, linearLimit + 1, 300} {
			word := make([]byte, n)
			for i := range word {
				word[i] = "abc"[r.IntN(3)]
			}
			want := naive(ranks, string(word))
			for _, m := range []*model{&byBytes, &byPairs} {
				symbols, _ := m.merge(string(word), m.split(nil, string(word)), nil)
				var got []uint32
				end := int32(0)
				for _, s := range symbols {
					got = append(got, s.id)
					if s.start != end {
						t.Fatalf("%s: a symbol begins at %d, the one before ended at %d", word, s.start, end)
					}
					end = s.end
				}
				if !slices.Equal(got, want) {
					t.Fatalf("merges %q\nword %s\n got %d\nwant %d", merges, word, got, want)
				}
			}
		}
	}
}
