package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sembench"
)

// Intervals of a whole paired block cover the truth about as often as they claim: 40 pairs, log-normal times with 20 % scatter, four
// in ten pairs hits at 3x. 300 runs at 95 % have a standard error of 1.3 %; three of those on either side. The full study is stat's.
func TestIntervalsCoverThroughJudge(t *testing.T) {
	const runs, n, hitShare, gain, sigma = 300, 40, 0.4, 3.0, 0.2
	random := rand.New(rand.NewPCG(5, 6))
	covered := map[string]int{}
	for run := range runs {
		g := pairing{est: newEstimator(Options{Resamples: 500, Seed: uint64(run)}), blockSize: 16, transform: func(*pair) string { return "t" }}
		for i := range n {
			isHit := random.Float64() < hitShare
			cold, warm := 100*math.Exp(sigma/math.Sqrt2*random.NormFloat64()), 100*math.Exp(sigma/math.Sqrt2*random.NormFloat64())
			tokens := 0
			if isHit {
				warm, tokens = warm/gain, 640
			}
			g.pairs = append(g.pairs, &pair{id: fmt.Sprint(i), class: classUsed, cold: &sembench.Row{TTFTMS: &cold},
				warm: &sembench.Row{TTFTMS: &warm, SemanticConfirmedTokens: &tokens, PromptTokens: 1000}})
		}
		p := g.summarize()
		noise := math.Exp(sigma * sigma / 2) // what noise adds to a mean of ratios
		for name, c := range map[string]struct {
			ci    *sembench.CI
			truth float64
		}{
			"geomean": {p.BlendedTTFTSpeedupGeomeanCI, math.Pow(gain, hitShare)},
			"mean":    {p.BlendedTTFTSpeedupMeanCI, (hitShare*gain + 1 - hitShare) * noise},
		} {
			if *c.ci.Lo <= c.truth && c.truth <= *c.ci.Hi {
				covered[name]++
			}
		}
	}
	for name, hits := range covered {
		if share := float64(hits) / runs; share < 0.91 || share > 0.985 {
			t.Errorf("%s covers in %.3f of the runs", name, share)
		}
	}
}
