package plan

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCosine(t *testing.T) {
	x := &tfidf{}
	a, b, c := bagOfTokens([]uint32{1, 1, 2}), bagOfTokens([]uint32{2, 3}), bagOfTokens([]uint32{4})
	for _, d := range []bag{a, b, c} {
		x.add(d, 1)
	}
	check := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	// Three documents: tokens 1, 3 and 4 stand in one, token 2 in two.
	one, two := math.Log(4.0/2)+1, math.Log(4.0/3)+1
	check("cosine(a, b)", x.cosine(a, b), two*two/math.Sqrt((4*one*one+two*two)*(one*one+two*two)))
	check("cosine(a, a)", x.cosine(a, a), 1)
	check("cosine(a, c)", x.cosine(a, c), 0)
	check("cosine(a, nothing)", x.cosine(a, nil), 0)
	check("symmetry", x.cosine(a, b), x.cosine(b, a))
	x.add(c, -1)
	if x.docs != 2 || x.held[4] != 0 {
		t.Errorf("after forgetting: %+v", x)
	}
}

func TestSpanApproximate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 10))
	donor := randomIDs(r, 256, 50000)
	target := slices.Concat(donor[:64], permuted(r, donor[64:128]), randomIDs(r, 64, 50000), donor[192:256])
	check := func(o Options, found, approximates int) {
		t.Helper()
		p := mustOpen(t, "span", o)
		mustRegister(t, p, "d", donor)
		plan := p.Plan(context.Background(), Target{Tokens: target})
		c, err := Count(plan, make([]bool, 16))
		if err != nil || c.Candidate != found || c.Eligible != found || c.ByClass[approximate] != approximates || c.TokensByClass[approximate] != 16*approximates || *plan.ReuseRatio != 0.5 {
			t.Errorf("%+v: %+v, %v", o, c, err)
		}
	}
	check(Options{}, 8, 0)
	check(Options{Approximate: true}, 8, 4)
}

func permuted(r *rand.Rand, ids []uint32) []uint32 {
	ids = slices.Clone(ids)
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// With an embedding a donor far outside the last 20 is found; without one it is not.
func TestSemblendEmbedding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 11))
	first := randomIDs(r, 400, 50000)
	target := append(randomIDs(r, 5, 50000), first...)
	check := func(embedder string, want bool) {
		t.Helper()
		p := mustOpen(t, "semblend", Options{Embedder: embedder})
		mustRegister(t, p, "first", first)
		for i := range 30 {
			mustRegister(t, p, string(rune('a'+i)), randomIDs(r, 400, 50000))
		}
		plan := p.Plan(context.Background(), Target{Tokens: target})
		if plan.Found != want || want && (plan.Spans[0].DonorID != "first" || *plan.Similarity < 0.9) {
			t.Errorf("%s: %+v", embedder, plan)
		}
	}
	check("jaccard", false)
	check("tfidf", true)
}
