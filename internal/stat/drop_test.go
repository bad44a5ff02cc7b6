package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDropAgainstNumPy(t *testing.T) {
	floor := [][]float64{{1, .9, .95, .8, 1, .85, 1, .7}, {.8, .75, .9, .6, .95, .7}}
	run, band := []float64{.9, .8, 1, .7, .6, .85, .75}, []int{0, 0, 0, 1, 1, 1, 0}
	iv := Drop(floor, run, band, Options{Resamples: 200_000, Method: MethodPercentile})
	// NumPy: m0 = f0[rng.integers(0,8,(B,8))].mean(1), m1 alike, ix = rng.integers(0,7,(B,7)),
	// np.quantile((np.where(band[ix]==0, m0[:,None], m1[:,None]) - run[ix]).mean(1), [.025,.975])
	checkNear(t, "point", iv.Point, 0.05, 1e-12)
	checkNear(t, "lo", iv.Lo, -0.0469, 0.001)
	checkNear(t, "hi", iv.Hi, 0.1447, 0.001)
	// NumPy and SciPy: v = [d.var(ddof=1)/7, (4/7)**2*f0.var(ddof=1)/8, (3/7)**2*f1.var(ddof=1)/6] with d = fm[band]-run,
	// df = v.sum()**2/(v**2/[6,7,5]).sum() = 12.98; .05 -+ stats.t.ppf(.975, df) * the resampled drops' std
	iv = Drop(floor, run, band, Options{Resamples: 200_000})
	checkNear(t, "bootstrap_se lo", iv.Lo, -0.05617, 0.001)
	checkNear(t, "bootstrap_se hi", iv.Hi, 0.15617, 0.001)
	if iv.N != 7 || !iv.CoverageWarned() {
		t.Errorf("Drop = %+v", iv)
	}
}

func TestDropHardInputs(t *testing.T) {
	floor := [][]float64{{1, 0.9}, nil}
	check := func(run []float64, band []int, pointIsNaN, computable bool) {
		t.Helper()
		iv := Drop(floor, run, band, Options{Resamples: 100})
		if math.IsNaN(iv.Point) != pointIsNaN || iv.Computable() != computable || iv.N != len(run) {
			t.Errorf("Drop(%v, %v) = %+v", run, band, iv)
		}
	}
	check(nil, nil, true, false)
	check([]float64{1}, nil, true, false)
	check([]float64{1}, []int{1}, true, false)
	check([]float64{1}, []int{2}, true, false)
	check([]float64{1}, []int{-1}, true, false)
	check([]float64{math.NaN()}, []int{0}, true, false)
	check([]float64{1}, []int{0}, false, false)
	check([]float64{0.8, 0.9}, []int{0, 0}, false, true)
	if iv := Drop([][]float64{{1, math.Inf(1)}}, []float64{1, 1}, []int{0, 0}, Options{}); !math.IsNaN(iv.Point) {
		t.Errorf("infinite floor: %+v", iv)
	}
	if iv := Drop([][]float64{{1, 1}}, []float64{1, 1}, []int{0, 0}, Options{}); iv.Lo != 0 || iv.Hi != 0 || len(iv.Warnings) == 0 {
		t.Errorf("perfect agreement: %+v", iv)
	}
}

// Agreement is mostly perfect and sometimes poor, on both sides alike, so the true drop is 0.
func TestDropCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	agreement := func(n int, perfect float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			if x[i] = 1; r.Float64() > perfect {
				x[i] = 0.3 + 0.7*r.Float64()
			}
		}
		return x
	}
	const sims = 600
	covered, above := 0, 0
	for s := range sims {
		floor := [][]float64{agreement(30, 0.8), agreement(30, 0.5)}
		run := append(agreement(30, 0.8), agreement(10, 0.5)...)
		band := make([]int, 40)
		for i := 30; i < 40; i++ {
			band[i] = 1
		}
		iv := Drop(floor, run, band, Options{Seed: uint64(s), Resamples: 300})
		if iv.Lo <= 0 && 0 <= iv.Hi {
			covered++
		}
		if iv.Hi >= 0 {
			above++
		}
	}
	if c := float64(covered) / sims; c < 0.92 || c > 0.98 {
		t.Errorf("covers %.3f", c)
	}
	t.Logf("covers %.3f, the upper bound alone %.3f", float64(covered)/sims, float64(above)/sims)
}
