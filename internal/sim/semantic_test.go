package sim

import (
	"math/rand/v2"
	"testing"
)

// brute counts the blocks of target from position from on, below limit, that lie whole inside a run of at least minSpan
// tokens which some donor holds too, looking at every pair of positions.
func brute(target []uint32, donors [][]uint32, from, limit, block, minSpan int) int {
	covered := map[int]bool{}
	for _, d := range donors {
		for shift := -len(d); shift < len(target); shift++ {
			run := 0
			for i := from; i <= len(target); i++ {
				if k := i - shift; i < len(target) && k >= 0 && k < len(d) && target[i] == d[k] {
					run++
					continue
				}
				if run >= minSpan {
					for b := (i - run + block - 1) / block * block; b+block <= min(i, limit); b += block {
						covered[b] = true
					}
				}
				run = 0
			}
		}
	}
	return len(covered)
}

// Semantic reuse on random streams of shifted, cut and mixed documents equals what looking everywhere finds. The planner's
// shortest span is two blocks.
func TestTruthEqualsIndependentSemanticReuse(t *testing.T) {
	hits, misses := 0, 0
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 9))
		const block = 16
		e, err := New(Config{Tokenizer: "regex", BlockSize: block, Semantic: true})
		if err != nil {
			t.Fatal(err)
		}
		var documents [][]uint32
		for range 4 {
			d := make([]uint32, 150)
			for i := range d {
				d[i] = rng.Uint32N(1 << 20)
			}
			documents = append(documents, d)
		}
		var donors [][]uint32
		for range 25 {
			var ids []uint32
			for range 1 + rng.IntN(3) {
				for range rng.IntN(20) {
					ids = append(ids, rng.Uint32N(1<<20))
				}
				d := documents[rng.IntN(4)]
				a := rng.IntN(len(d))
				ids = append(ids, d[a:a+rng.IntN(len(d)-a+1)]...)
			}
			if ids = append(ids, 1); rng.IntN(4) == 0 && len(donors) > 0 {
				ids = append(append([]uint32{}, donors[rng.IntN(len(donors))]...), ids...)
			}
			j := &job{ids: ids, hashes: chain(ids, block, ""), limit: 1, arrival: e.cfg.Clock.Now(), out: output{chunks: []string{"x"}, tokens: 1, reason: "stop"}}
			if err := e.submit(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			if err := e.done(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			want := block * brute(ids, donors, j.decision.prefix, reusable(len(ids), block), block, 2*block)
			if want < 64 || len(ids) < 64 {
				want, misses = 0, misses+1
			} else {
				hits++
			}
			if j.decision.semantic != want {
				t.Fatalf("seed %d request %d: %d semantic tokens of %d, want %d", seed, j.index, j.decision.semantic, len(ids), want)
			}
			for _, p := range j.decision.pieces {
				if p.targetStart%block != 0 || p.length%block != 0 {
					t.Errorf("piece %+v is not made of whole blocks", p)
				}
				for i := range p.length {
					if p.donor.ids[p.donorStart+i] != ids[p.targetStart+i] {
						t.Fatalf("piece %+v: the donor has another token at %d", p, i)
					}
				}
			}
			if len(ids) >= 64 {
				donors = append(donors, ids)
			}
		}
	}
	if hits < 30 || misses < 40 {
		t.Errorf("%d hits and %d misses: the test shows little", hits, misses)
	}
}
