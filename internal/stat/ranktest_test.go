package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// enumerated returns the two-sided p-values of the signed-rank sum (doubled smaller tail), the sign count (doubled smaller tail) and
// the mean (share at least as far from zero) over all sign choices of x, with ranks computed by counting.
func enumerated(x []float64) (rank, sign, flip float64) {
	var nz []float64
	for _, v := range x {
		if v != 0 {
			nz = append(nz, v)
		}
	}
	if len(nz) == 0 {
		return 1, 1, 1
	}
	ranks := make([]float64, len(nz))
	for i, v := range nz {
		for _, w := range nz {
			switch {
			case math.Abs(w) < math.Abs(v):
				ranks[i]++
			case math.Abs(w) == math.Abs(v):
				ranks[i] += 0.5
			}
		}
		ranks[i] += 0.5
	}
	at := func(positive func(int) bool) (w, s, m float64) {
		for i, v := range nz {
			if positive(i) {
				w += ranks[i]
				s++
				m += math.Abs(v)
			} else {
				m -= math.Abs(v)
			}
		}
		return w, s, m
	}
	w0, s0, m0 := at(func(i int) bool { return nz[i] > 0 })
	var wLow, wHigh, sLow, sHigh, far float64
	all := 1 << len(nz)
	for mask := range all {
		w, s, m := at(func(i int) bool { return mask>>i&1 == 1 })
		count := func(c *float64, yes bool) {
			if yes {
				*c++
			}
		}
		count(&wLow, w <= w0)
		count(&wHigh, w >= w0)
		count(&sLow, s <= s0)
		count(&sHigh, s >= s0)
		count(&far, math.Abs(m) >= math.Abs(m0)-1e-9)
	}
	n := float64(all)
	return min(1, 2*min(wLow, wHigh)/n), min(1, 2*min(sLow, sHigh)/n), far / n
}

func TestAgainstFullEnumeration(t *testing.T) {
	check := func(x []float64) {
		t.Helper()
		rank, sign, flip := enumerated(x)
		if _, p := WilcoxonSignedRank(x); !near(p, rank, 1e-12) {
			t.Errorf("WilcoxonSignedRank(%v): p = %v, enumerated %v", x, p, rank)
		}
		if _, p := SignTest(x); !near(p, sign, 1e-12) {
			t.Errorf("SignTest(%v): p = %v, enumerated %v", x, p, sign)
		}
		if _, p := SignFlip(x, Options{}); !near(p, flip, 1e-12) {
			t.Errorf("SignFlip(%v): p = %v, enumerated %v", x, p, flip)
		}
	}
	// Every sample of up to five values from {-2 … 2}, so every pattern of ties and zeros; then random ones up to eight.
	for n := 1; n <= 5; n++ {
		x := make([]float64, n)
		for code := range int(math.Pow(5, float64(n))) {
			for i := range x {
				x[i] = float64(code%5 - 2)
				code /= 5
			}
			check(x)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		x := make([]float64, 6+r.IntN(3))
		for i := range x {
			x[i] = float64(r.IntN(13)-6) / 2
			if r.IntN(2) == 0 {
				x[i] += r.NormFloat64()
			}
		}
		check(x)
	}
}

func TestAgainstSciPy(t *testing.T) {
	// Hollander and Wolfe, table 3.1. SciPy: stats.wilcoxon(x, y, method='exact'), alternative='greater' for the statistic
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	for i := range x {
		x[i] -= y[i]
	}
	w, p := WilcoxonSignedRank(x)
	checkNear(t, "V", w, 40, 0)
	checkNear(t, "p", p, 0.0390625, 1e-12)
	// SciPy: stats.wilcoxon([1,1,-1,2,2,-3,0,4], method=stats.PermutationMethod(n_resamples=np.inf)), whose statistic is the
	// smaller rank sum, 8 of 28
	w, p = WilcoxonSignedRank([]float64{1, 1, -1, 2, 2, -3, 0, 4})
	checkNear(t, "V with ties", w, 28-8, 0)
	checkNear(t, "p with ties", p, 0.328125, 1e-12)
	// SciPy: z = np.round(np.sin(np.arange(1,121)*1.7)*3+0.4, 1); stats.wilcoxon(z, correction=True, method='approx')
	z := make([]float64, 120)
	for i := range z {
		z[i] = math.RoundToEven((math.Sin(float64(i+1)*1.7)*3+0.4)*10) / 10
	}
	w, p = WilcoxonSignedRank(z)
	checkNear(t, "V of 120", w, 4471.5, 0)
	checkNear(t, "p of 120", p, 0.01686244074102314, 1e-9)
	// SciPy: stats.binomtest(7, 9).pvalue, stats.binomtest(30, 100).pvalue
	_, p = SignTest([]float64{1, 1, 1, 1, 1, 1, 1, -1, -1, 0})
	checkNear(t, "sign 7 of 9", p, 0.1796875, 1e-12)
	s := make([]float64, 100)
	for i := range s {
		s[i] = 1
		if i < 70 {
			s[i] = -1
		}
	}
	_, p = SignTest(s)
	checkNear(t, "sign 30 of 100", p, 7.85013964559367e-05, 1e-12)
	// SciPy: stats.permutation_test((v,), np.mean, permutation_type='samples', n_resamples=np.inf).pvalue
	_, p = SignFlip([]float64{0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.6, 0.3}, Options{})
	checkNear(t, "sign flip", p, 0.046875, 1e-12)
}

func TestRandomFlipsApproachEnumeration(t *testing.T) {
	x := []float64{0.5, -0.2, 0.3, 0.1, -0.4, 0.6, 0.2, 0.1, -0.3, 0.4, 0.2, -0.1, 0.3, 0.5, -0.2, 0.1, 0.2, -0.6}
	_, p := SignFlip(x, Options{Resamples: 200_000})
	want := enumerateFlips(x, math.Abs(mean(x))*float64(len(x))-1e-9)
	checkNear(t, "random flips", p, want, 0.005)
}

func TestHardTestInputs(t *testing.T) {
	check := func(name string, s, p, wantS, wantP float64) {
		t.Helper()
		if !near(s, wantS, 0) || !near(p, wantP, 0) {
			t.Errorf("%s = %v, %v, want %v, %v", name, s, p, wantS, wantP)
		}
	}
	nan := math.NaN()
	for _, x := range [][]float64{nil, {0, 0, 0}} {
		s, p := WilcoxonSignedRank(x)
		check("WilcoxonSignedRank", s, p, 0, 1)
		s, p = SignTest(x)
		check("SignTest", s, p, 0, 1)
	}
	s, p := SignFlip(nil, Options{})
	check("SignFlip of nothing", s, p, nan, nan)
	s, p = SignFlip([]float64{0, 0}, Options{})
	check("SignFlip of zeros", s, p, 0, 1)
	for _, x := range [][]float64{{nan}, {1, nan, 2}} {
		s, p = WilcoxonSignedRank(x)
		check("WilcoxonSignedRank", s, p, nan, nan)
		s, p = SignTest(x)
		check("SignTest", s, p, nan, nan)
		s, p = SignFlip(x, Options{})
		check("SignFlip", s, p, nan, nan)
	}
}
