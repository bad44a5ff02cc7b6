package judge

import (
	"math/rand/v2"
	"testing"
)

// A run of 10,000 pairs, with every estimate in total, by transform and by length.
func BenchmarkBuild10k(b *testing.B) {
	s := newScene()
	s.canary(0, 0)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 10_000 {
		a := arms{transform: []string{"a", "b", "c", "d"}[i%4], cold: 100 + 10*random.Float64(), warm: 100 + 10*random.Float64(), donorMS: 9, warmIsFirst: i%8 < 4}
		if i%3 == 0 {
			a.warm, a.warmReuse = 30+5*random.Float64(), reused{64, 640}
		}
		s.item(a)
	}
	s.canary(0, 0)
	b.ResetTimer()
	for range b.N {
		if _, err := Build(s.in); err != nil {
			b.Fatal(err)
		}
	}
}
