package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestCoverageWarning(t *testing.T) {
	nan := math.NaN()
	unknown := Shape{N: 20, Hits: Unknown, Misses: Unknown, LogScatter: nan, LogTails: nan}
	kinds := func(n, hits int) Shape { return Shape{N: n, Hits: hits, Misses: n - hits, LogScatter: 0.2} }
	uniform := func(n int) Shape { return Shape{N: n, Hits: Unknown, Misses: Unknown, Uniform: true, LogScatter: 0.2} }
	with := func(s Shape, change func(*Shape)) Shape { change(&s); return s }
	check := func(estimate string, s Shape, want string) {
		t.Helper()
		got := CoverageWarning(estimate, s)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("CoverageWarning(%s, %+v) = %q, want %q", estimate, s, got, want)
		}
	}
	for _, e := range []string{EstimateMean, EstimateGeoMean, EstimateRatioOfSums, EstimateDrop} {
		check(e, unknown, "")
		check(e, with(unknown, func(s *Shape) { s.N = 19 }), "19 values, fewer than 20")
	}
	for _, e := range []string{EstimateMean, EstimateGeoMean} {
		check(e, kinds(20, 5), "")
		check(e, kinds(20, 4), "4 hits and 16 misses")
		check(e, kinds(20, 16), "16 hits and 4 misses")
		check(e, kinds(20, 0), "")
		check(e, kinds(20, 20), "")
		check(e, kinds(19, 9), "fewer than 20")
		check(e, uniform(8), "")
		check(e, uniform(7), "fewer than 20")
	}
	check(EstimateMean, with(uniform(8), func(s *Shape) { s.LogScatter = 0.51 }), "fewer than 20")
	check(EstimateMean, with(uniform(8), func(s *Shape) { s.LogScatter = nan }), "fewer than 20")
	check(EstimateMean, with(uniform(8), func(s *Shape) { s.LogTails, s.Tails = 1.1, 2.1 }), "fewer than 20")
	check(EstimateGeoMean, with(uniform(8), func(s *Shape) { s.LogScatter = 2 }), "")
	check(EstimateRatioOfSums, uniform(8), "fewer than 20")
	wild := func(s *Shape) { s.LogScatter = 0.71 }
	check(EstimateMean, with(kinds(199, 100), wild), "scatter")
	check(EstimateMean, with(kinds(200, 100), wild), "")
	check(EstimateMean, with(kinds(200, 100), func(s *Shape) { s.LogScatter = 1.2 }), "scatter")
	check(EstimateGeoMean, with(kinds(50, 25), wild), "")
	tails := func(s *Shape) { s.LogTails, s.Tails = 1.1, 2.1 }
	check(EstimateMean, with(kinds(50, 25), tails), "heavy tails")
	check(EstimateGeoMean, with(kinds(50, 25), tails), "")
	check(EstimateMean, with(kinds(50, 25), func(s *Shape) { s.LogTails = 9 }), "")
	check(EstimateMean, with(kinds(50, 25), func(s *Shape) { s.Tails = 9 }), "")
	check(EstimateMean, with(unknown, func(s *Shape) { s.Skewness = -1.2 }), "skewness")
	check(EstimateGeoMean, with(unknown, func(s *Shape) { s.LogSkewness = 1.2 }), "skewness")
	check(EstimateGeoMean, with(unknown, func(s *Shape) { s.Skewness = 9 }), "")
	check(EstimateMedian, kinds(10, 1), "")
	check(EstimateHodgesLehmann, uniform(10), "")
	check(EstimateHodgesLehmann, kinds(50, 25), "not symmetric")
	check(EstimateHodgesLehmann, kinds(50, 50), "")
}

func TestKindsReachTheWarning(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	x, hits := make([]float64, 40), make([]bool, 40)
	for i := range x {
		x[i] = math.Exp(0.1 * r.NormFloat64())
		if hits[i] = i < 6; hits[i] {
			x[i] *= 10
		}
	}
	if iv := Mean(x, Options{}); !iv.CoverageWarned() {
		t.Errorf("kinds unknown: %v", iv.Warnings)
	}
	told := Mean(x, Options{Hits: hits})
	if told.CoverageWarned() {
		t.Errorf("kinds told: %v", told.Warnings)
	}
	if blind := Mean(x, Options{}); blind.Lo != told.Lo || blind.Hi != told.Hi {
		t.Error("telling the kinds changed the bounds")
	}
	misses := x[6:]
	iv := GeoMean(misses, Options{Hits: make([]bool, len(misses))})
	if iv.CoverageWarned() || !slices.ContainsFunc(iv.Warnings, func(w string) bool { return strings.HasPrefix(w, WarnOneKind) }) {
		t.Errorf("no hits: %v", iv.Warnings)
	}
	if iv = GeoMean(misses, Options{Uniform: true}); len(iv.Warnings) != 0 {
		t.Errorf("uniform: %v", iv.Warnings)
	}
	if iv = Mean(x, Options{Hits: hits[1:]}); !math.IsNaN(iv.Point) || iv.Computable() {
		t.Errorf("39 marks for 40 values: %+v", iv)
	}
}

func TestWithinKindsRemovesTheMixture(t *testing.T) {
	got := withinKinds([]float64{1, 10, 3, 14}, []bool{false, true, false, true})
	if want := []float64{-1, -2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("withinKinds = %v, want %v", got, want)
	}
	// SciPy: stats.kurtosis([1,2,3,4,10])
	checkNear(t, "excessKurtosis", excessKurtosis([]float64{1, 2, 3, 4, 10}), -0.21199999999999974, 1e-12)
}

// Of 10 values with one odd one out, a third of the resamples have no variation: bootstrap_t has no bounds, t takes its place.
func TestMeanFallsBackToT(t *testing.T) {
	x := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1.5}
	iv, byT := Mean(x, Options{}), Mean(x, Options{Method: MethodT})
	if iv.Method != MethodT || iv.Lo != byT.Lo || iv.Hi != byT.Hi || !iv.CoverageWarned() || iv.Resamples != 0 {
		t.Errorf("Mean = %+v", iv)
	}
}

func TestBootstrapTAgainstNumPy(t *testing.T) {
	x := make([]float64, 15)
	for i := range x {
		x[i] = math.Pow(float64(i+1), 3) / 500
	}
	check := func(m string, lo, hi float64) {
		t.Helper()
		iv := Mean(x, Options{Method: m, Resamples: 400_000})
		checkNear(t, m+" lo", iv.Lo, lo, 0.006)
		checkNear(t, m+" hi", iv.Hi, hi, 0.006)
	}
	// NumPy: x = np.arange(1,16)**3/500.; xs = x[rng.integers(0,15,(400000,15))]; t = (xs.mean(1)-m)/(xs.std(axis=1,ddof=1)/15**.5);
	// m - np.quantile(t,[.975,.025])*se; the log form with np.log(xs.mean(1)/m); rng = np.random.default_rng(0 to 3), whose mean is taken.
	check(MethodBootstrapT, 0.9108, 3.6353)
	check(MethodBootstrapTLog, 0.9968, 3.5540)
	// SciPy: stats.bootstrap((x,), np.mean, n_resamples=400000, method='BCa', random_state=0 to 2), whose mean is taken.
	check(MethodBCa, 1.0294, 3.2186)

	var num, den []float64
	for i := 1; i < 26; i++ {
		num, den = append(num, float64(i%7)), append(den, float64(10+i%5))
	}
	// NumPy: the same of R = sum(num)/sum(den) with se = np.sqrt(((num-R*den)**2).sum()*25/24)/den.sum()
	iv := RatioOfSums(num, den, Options{Resamples: 200_000})
	checkNear(t, "ratio bootstrap_t lo", iv.Lo, 0.1771, 0.002)
	checkNear(t, "ratio bootstrap_t hi", iv.Hi, 0.3150, 0.002)
}
