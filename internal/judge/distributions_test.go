package judge

import (
	"math"
	"testing"

	"sembench"
)

// KL over two tokens at the only compared position, by hand; positions behind the divergence do not count.
func TestTokenComparison(t *testing.T) {
	top := func(a, b float64) map[string]float64 { return map[string]float64{"x": math.Log(a), "y": math.Log(b)} }
	row := func(ids []int, positions ...map[string]float64) *sembench.Row {
		return &sembench.Row{OutputTokenIDs: ids, OutputTopLogprobs: positions, TTFTMS: new(1.0)}
	}
	p := &pair{class: classUsed, cold: row([]int{1, 2}, top(0.75, 0.25), top(0.5, 0.5)), warm: row([]int{3, 2}, top(0.5, 0.5), top(0.9, 0.1))}
	p.compareTokens()
	near(t, "KL", p.warm.KLMean, 0.75*math.Log(1.5)+0.25*math.Log(0.5))
	near(t, "overlap", p.warm.TopKOverlap, 1)
	count(t, "first divergence", *p.warm.FirstDivergence, 0)
	same := &pair{class: classUsed, cold: row([]int{1}, top(0.75, 0.25)), warm: row([]int{1}, top(0.75, 0.25))}
	same.compareTokens()
	near(t, "KL of equal outputs", same.warm.KLMean, 0)
	null(t, "divergence of equal outputs", same.warm.FirstDivergence)
	var out sembench.Paired
	pairing{}.distributions(&out, []*pair{p, same})
	near(t, "mean KL", out.KLMean, *p.warm.KLMean/2)
	count(t, "diverged", *out.DivergedPairs, 1)
	near(t, "median divergence", out.FirstDivergenceP50, 0)
	out = sembench.Paired{}
	pairing{}.distributions(&out, []*pair{{cold: row(nil), warm: row(nil)}})
	null(t, "diverged without ids", out.DivergedPairs)
	null(t, "KL without logprobs", out.KLMean)
}
