package stat

import (
	"math"
	"sort"
)

// Holm returns the step-down adjusted p-values in the order of p (Holm 1979): rejecting those at or below alpha keeps the
// probability of any false rejection at or below alpha, whatever the dependence.
// A NaN stays NaN and does not count as a test. No values: an empty slice.
func Holm(p []float64) []float64 {
	out := make([]float64, len(p))
	order := make([]int, 0, len(p))
	for i, v := range p {
		if math.IsNaN(v) {
			out[i] = v
			continue
		}
		order = append(order, i)
	}
	sort.SliceStable(order, func(a, b int) bool { return p[order[a]] < p[order[b]] })
	var running float64
	for rank, i := range order {
		running = max(running, min(1, p[i]*float64(len(order)-rank)))
		out[i] = running
	}
	return out
}
