package plan

import (
	"cmp"
	"math"
	"slices"
)

// tfidf compares bags of token ids, frequent tokens weighing less. It is a stand-in for a neural embedding
// and is never called one: it sees shared words, not shared meaning.
type tfidf struct {
	docs int
	held map[uint32]int // bags that contain the token
}

// bag is a document's distinct tokens, ascending, with their counts.
type bag []term

type term struct {
	id    uint32
	count int
}

func bagOfTokens(ids []uint32) bag {
	sorted := slices.Sorted(slices.Values(ids))
	var b bag
	for _, id := range sorted {
		if n := len(b); n > 0 && b[n-1].id == id {
			b[n-1].count++
		} else {
			b = append(b, term{id, 1})
		}
	}
	return b
}

// add makes a document known, change +1, or forgets it, change -1.
func (x *tfidf) add(b bag, change int) {
	if x.held == nil {
		x.held = map[uint32]int{}
	}
	x.docs += change
	for _, t := range b {
		if x.held[t.id] += change; x.held[t.id] == 0 {
			delete(x.held, t.id)
		}
	}
}

// weight is tf x idf with idf = ln((1 + documents) / (1 + documents with the token)) + 1, smoothed so that a
// token which every document holds keeps some weight.
func (x *tfidf) weight(t term) float64 {
	return float64(t.count) * (math.Log(float64(1+x.docs)/float64(1+x.held[t.id])) + 1)
}

// cosine returns the similarity of two bags in [0, 1], 0 when either is empty.
func (x *tfidf) cosine(a, b bag) float64 {
	dot, aa, bb := 0.0, 0.0, 0.0
	for _, t := range a {
		w := x.weight(t)
		aa += w * w
	}
	for _, t := range b {
		w := x.weight(t)
		bb += w * w
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := cmp.Compare(a[i].id, b[j].id); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			dot += x.weight(a[i]) * x.weight(b[j])
			i++
			j++
		}
	}
	if dot == 0 {
		return 0
	}
	return min(1, dot/math.Sqrt(aa*bb))
}
