package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Values marked SciPy come from SciPy 1.17.1, NumPy 2.4.6: python3 -m venv v && v/bin/pip install scipy; the expression stands
// beside each.

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*max(1, math.Abs(want)) || math.IsNaN(got) && math.IsNaN(want)
}

func checkNear(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !near(got, want, tolerance) {
		t.Errorf("%s = %v, want %v", name, got, want)
	}
}

var six = []float64{1, 1.2, 1.1, 2.5, 3, 0.9}

func wave(n int) []float64 { // np.exp(np.sin(np.arange(1,n+1)*2.3))
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(math.Sin(float64(i+1) * 2.3))
	}
	return x
}

// estimates lists every estimate of a plain sample with each of its methods.
var estimates = []struct {
	name    string
	of      func([]float64, Options) Interval
	methods []string
}{
	{"Mean", Mean, []string{"", MethodT, MethodPercentile, MethodBCa, MethodBootstrapT, MethodBootstrapTLog}},
	{"Median", Median, []string{"", MethodOrder, MethodOrderInterp}},
	{"GeoMean", GeoMean, []string{"", MethodTLog, MethodPercentile, MethodBCa, MethodBootstrapT}},
	{"HodgesLehmann", HodgesLehmann, []string{""}},
	{"RatioOfSums", func(x []float64, o Options) Interval {
		return RatioOfSums(x, slices.Repeat([]float64{2}, len(x)), o)
	}, []string{"", MethodPercentile, MethodBCa, MethodBootstrapT}},
	{"Bootstrap", func(x []float64, o Options) Interval {
		return Bootstrap(len(x), o, func(idx []int) float64 {
			var s float64
			for _, i := range idx {
				s += x[i]
			}
			return s / float64(len(idx))
		})
	}, []string{"", MethodPercentile, MethodBCa}},
}

func TestHardInputs(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, e := range estimates {
		for _, m := range e.methods {
			name := e.name + " " + m
			o := Options{Method: m, Resamples: 200}
			check := func(x []float64, pointIsNaN, computable, warned bool) {
				t.Helper()
				before := slices.Clone(x)
				iv := e.of(x, o)
				if math.IsNaN(iv.Point) != pointIsNaN || iv.Computable() != computable || (len(iv.Warnings) > 0) != warned {
					t.Errorf("%s of %v = %+v", name, x, iv)
				}
				if math.IsNaN(iv.Lo) != math.IsNaN(iv.Hi) || iv.N != len(x) {
					t.Errorf("%s of %v: one bound without the other, or n = %d", name, x, iv.N)
				}
				for i := range x {
					if math.Float64bits(x[i]) != math.Float64bits(before[i]) {
						t.Errorf("%s changed its input", name)
					}
				}
			}
			check(nil, true, false, true)
			check([]float64{1.5}, false, false, true)
			check([]float64{1, nan, 2}, true, false, true)
			check([]float64{1, inf, 2}, true, false, true)
			check([]float64{1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1}, false, true, true)
			bad := o
			bad.Level = 1.5
			if iv := e.of(six, bad); iv.Computable() || len(iv.Warnings) == 0 {
				t.Errorf("%s at level 1.5 = %+v", name, iv)
			}
			bad = o
			bad.Method = "nonsense"
			if iv := e.of(six, bad); iv.Computable() || len(iv.Warnings) == 0 {
				t.Errorf("%s with an unknown method = %+v", name, iv)
			}
		}
	}
	for _, x := range [][]float64{{0, 1, 2}, {-1, 1, 2}} {
		if iv := GeoMean(x, Options{}); !math.IsNaN(iv.Point) || iv.Computable() {
			t.Errorf("GeoMean(%v) = %+v", x, iv)
		}
	}
}

// Whatever the values, no panic, and bounds come in order, both or neither.
func TestTorture(t *testing.T) {
	palette := []float64{
		0, math.Copysign(0, -1), 1, 1, 1, -1, 2, 0.5, 1e-300, 5e-324, 1e308, -1e308, math.MaxFloat64, 1 + 1e-15, math.Pi,
		math.NaN(), math.Inf(1), math.Inf(-1),
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 400 {
		x := make([]float64, r.IntN(12))
		finite := r.IntN(4) > 0
		for i := range x {
			x[i] = palette[r.IntN(len(palette))]
			for finite && (math.IsNaN(x[i]) || math.IsInf(x[i], 0)) {
				x[i] = palette[r.IntN(len(palette))]
			}
		}
		for _, e := range estimates {
			for _, m := range e.methods {
				iv := e.of(x, Options{Method: m, Resamples: 1 + r.IntN(40), Level: []float64{0, 0.5, 0.999999}[r.IntN(3)]})
				if math.IsNaN(iv.Lo) != math.IsNaN(iv.Hi) || iv.Lo > iv.Hi || math.IsInf(iv.Lo, 0) || math.IsInf(iv.Hi, 0) || !iv.Computable() && len(iv.Warnings) == 0 {
					t.Fatalf("%s %s of %v = %+v", e.name, m, x, iv)
				}
			}
		}
		WilcoxonSignedRank(x)
		SignTest(x)
		SignFlip(x, Options{Resamples: 10})
		Holm(x)
		MeanDifference(x, x, Options{})
		Drop([][]float64{x}, x, make([]int, len(x)), Options{Resamples: 10})
	}
}

func TestBoundsEncloseAndWidenWithLevel(t *testing.T) {
	x := wave(40)
	for _, e := range estimates {
		for _, m := range e.methods {
			narrow := e.of(x, Options{Method: m, Level: 0.8})
			wide := e.of(x, Options{Method: m, Level: 0.99})
			if !(wide.Lo < narrow.Lo && narrow.Lo < narrow.Point && narrow.Point < narrow.Hi && narrow.Hi < wide.Hi) {
				t.Errorf("%s %s: %+v within %+v", e.name, m, narrow, wide)
			}
		}
	}
}

func TestScaling(t *testing.T) {
	x := wave(31)
	scaled := slices.Clone(x)
	for i := range scaled {
		scaled[i] *= 8 // a power of two: rounding scales along
	}
	for _, e := range estimates {
		if e.name == "HodgesLehmann" {
			continue // works on logarithms: a shift, below
		}
		for _, m := range e.methods {
			a, b := e.of(x, Options{Method: m, Seed: 5}), e.of(scaled, Options{Method: m, Seed: 5})
			for _, v := range [][2]float64{{a.Point, b.Point}, {a.Lo, b.Lo}, {a.Hi, b.Hi}} {
				checkNear(t, e.name+" "+m+" scaled by 8", v[1], 8*v[0], 1e-9)
			}
		}
	}
	l, _ := logs(x)
	shifted := slices.Clone(l)
	for i := range shifted {
		shifted[i] += 2
	}
	a, b := HodgesLehmann(l, Options{}), HodgesLehmann(shifted, Options{})
	checkNear(t, "HodgesLehmann shifted", b.Lo-a.Lo, 2, 1e-12)
	checkNear(t, "HodgesLehmann shifted", b.Hi-a.Hi, 2, 1e-12)
}

func TestSwappingArmsInverts(t *testing.T) {
	x := wave(30)
	inverse := make([]float64, len(x))
	for i := range x {
		inverse[i] = 1 / x[i]
	}
	check := func(name string, a, b Interval) {
		t.Helper()
		checkNear(t, name+" point", b.Point, 1/a.Point, 1e-12)
		checkNear(t, name+" lo", b.Lo, 1/a.Hi, 1e-12)
		checkNear(t, name+" hi", b.Hi, 1/a.Lo, 1e-12)
	}
	check("GeoMean", GeoMean(x, Options{}), GeoMean(inverse, Options{}))
	lx, _ := logs(x)
	li, _ := logs(inverse)
	check("HodgesLehmann", HodgesLehmann(lx, Options{}).Exp(), HodgesLehmann(li, Options{}).Exp())
	odd := x[:29] // of an even sample the middle of two ratios is not the inverse of the middle of their inverses
	check("Median odd", Median(odd, Options{Method: MethodOrder}), Median(inverse[:29], Options{Method: MethodOrder}))
	// A ratio of sums inverts exactly; its resamples are the same ones, and of 1,001 no quantile is interpolated.
	den := wave(60)[30:]
	check("RatioOfSums", RatioOfSums(x, den, Options{Method: MethodPercentile, Resamples: 1001}), RatioOfSums(den, x, Options{Method: MethodPercentile, Resamples: 1001}))
}

func TestSeeds(t *testing.T) {
	x := wave(25)
	for _, e := range estimates {
		for _, m := range e.methods {
			a, b := e.of(x, Options{Method: m, Seed: 3}), e.of(x, Options{Method: m, Seed: 3})
			if a.Lo != b.Lo || a.Hi != b.Hi {
				t.Errorf("%s %s: the same seed gave %v and %v", e.name, m, a, b)
			}
			if c := e.of(x, Options{Method: m, Seed: 4}); a.Resamples > 0 && a.Lo == c.Lo && a.Hi == c.Hi {
				t.Errorf("%s %s: another seed gave the same bounds", e.name, m)
			}
		}
	}
}

func TestQuantileAndMoments(t *testing.T) {
	s := sortedCopy(six)
	// SciPy: np.quantile([1,1.2,1.1,2.5,3,0.9], [0,.1,.25,.5,.9,1])
	for p, want := range map[float64]float64{0: 0.9, 0.1: 0.95, 0.25: 1.025, 0.5: 1.15, 0.9: 2.75, 1: 3} {
		checkNear(t, "Quantile", Quantile(s, p), want, 1e-12)
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		checkNear(t, "Quantile outside", Quantile(s, p), math.NaN(), 0)
	}
	checkNear(t, "Quantile of nothing", Quantile(nil, 0.5), math.NaN(), 0)
	checkNear(t, "Quantile of one", Quantile([]float64{7}, 0.9), 7, 0)
	// SciPy: stats.skew(six)
	checkNear(t, "Skewness", Skewness(six), 0.764540322192735, 1e-12)
	checkNear(t, "mean of large values", mean([]float64{1e308, 1e308, 1e308}), 1e308, 1e-15)
}

func TestMeanAgainstSciPy(t *testing.T) {
	iv := Mean(six, Options{Method: MethodT})
	// SciPy: stats.t.interval(0.95, 5, loc=w.mean(), scale=stats.sem(w))
	checkNear(t, "t lo", iv.Lo, 0.6747043979176878, 1e-9)
	checkNear(t, "t hi", iv.Hi, 2.558628935415646, 1e-9)
	g := GeoMean(six, Options{})
	// SciPy: np.exp(stats.t.interval(0.95, 5, loc=np.mean(np.log(w)), scale=stats.sem(np.log(w)))), stats.gmean(w)
	checkNear(t, "geomean", g.Point, 1.4398357437580704, 1e-12)
	checkNear(t, "geomean lo", g.Lo, 0.84271156, 1e-7)
	checkNear(t, "geomean hi", g.Hi, 2.46006707, 1e-7)
	// SciPy: stats.bootstrap((data,), np.mean, n_resamples=400000, method=m, random_state=1) with
	// data = np.exp(np.sin(np.arange(1,26)*2.3)); both sides carry Monte Carlo error
	// (random_state 0 to 3 move SciPy's bounds by 0.0015).
	for m, want := range map[string][2]float64{
		MethodPercentile: {0.9813710677771699, 1.6197850376848748},
		MethodBCa:        {0.9919168787402386, 1.6315346161389581},
	} {
		iv := Mean(wave(25), Options{Method: m, Resamples: 200000})
		checkNear(t, m+" lo", iv.Lo, want[0], 0.004)
		checkNear(t, m+" hi", iv.Hi, want[1], 0.004)
	}
}

func TestRatioOfSumsAgainstSciPy(t *testing.T) {
	var num, den []float64
	for i := 1; i < 26; i++ {
		num, den = append(num, float64(i%7)), append(den, float64(10+i%5))
	}
	// SciPy: stats.bootstrap((n, d), lambda a, b, axis: a.sum(axis=axis)/b.sum(axis=axis), paired=True, n_resamples=400000,
	// method=m, random_state=1) with i = np.arange(1,26), n = i%7, d = 10+i%5
	for m, want := range map[string][2]float64{
		MethodPercentile: {0.1806020066889632, 0.30851063829787234},
		MethodBCa:        {0.18151815181518152, 0.30952380952380953},
	} {
		iv := RatioOfSums(num, den, Options{Method: m, Resamples: 100000})
		checkNear(t, m+" point", iv.Point, 0.24333333333333335, 1e-12)
		checkNear(t, m+" lo", iv.Lo, want[0], 0.003)
		checkNear(t, m+" hi", iv.Hi, want[1], 0.003)
	}
	if iv := RatioOfSums(num, den[1:], Options{}); !math.IsNaN(iv.Point) {
		t.Errorf("different lengths: %+v", iv)
	}
	if iv := RatioOfSums([]float64{0, 0}, []float64{0, 0}, Options{}); !math.IsNaN(iv.Point) || iv.Computable() {
		t.Errorf("no denominator: %+v", iv)
	}
	// One row of ten differs: a third of the resamples have no variation.
	few := RatioOfSums([]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, slices.Repeat([]float64{4}, 10), Options{})
	if few.Method != MethodBCa || !few.Computable() || !few.CoverageWarned() {
		t.Errorf("one row differs: %+v", few)
	}
	if iv := RatioOfSums([]float64{1, 3}, []float64{2, 6}, Options{}); iv.Lo != 0.5 || iv.Hi != 0.5 {
		t.Errorf("equal rates: %+v", iv)
	}
}

func TestMeanDifference(t *testing.T) {
	a, b := []float64{1, 1.2, 1.1, 2.5}, []float64{3, 0.9, 1.7}
	iv := MeanDifference(a, b, Options{})
	// SciPy: stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
	checkNear(t, "welch lo", iv.Lo, -2.5512700504468517, 1e-9)
	checkNear(t, "welch hi", iv.Hi, 1.717936717113519, 1e-9)
	swapped := MeanDifference(b, a, Options{})
	if swapped.Lo != -iv.Hi || swapped.Hi != -iv.Lo {
		t.Errorf("swapped: %+v and %+v", iv, swapped)
	}
	if iv := MeanDifference(a, b[:1], Options{}); iv.Computable() || math.IsNaN(iv.Point) {
		t.Errorf("one value on a side: %+v", iv)
	}
	if iv := MeanDifference(nil, b, Options{}); !math.IsNaN(iv.Point) {
		t.Errorf("no values on a side: %+v", iv)
	}
}

func TestMedianRanks(t *testing.T) {
	x := []float64{10, 1, 9, 2, 8, 3, 7, 4, 6, 5}
	// SciPy: stats.quantile_test(np.arange(1,11), p=0.5).confidence_interval(0.95) = (2, 9)
	iv := Median(x, Options{Method: MethodOrder})
	if iv.Point != 5.5 || iv.Lo != 2 || iv.Hi != 9 {
		t.Errorf("Median = %+v, want 5.5 in [2, 9]", iv)
	}
	// By hand from SciPy's 1-2*stats.binom.cdf(k-1,10,.5): 0.978515625 at k = 2, 0.890625 at k = 3.
	i := (0.978515625 - 0.95) / (0.978515625 - 0.890625)
	lambda := 8 * i / (2 + 6*i)
	iv = Median(x, Options{})
	checkNear(t, "interpolated lo", iv.Lo, 2+lambda, 1e-9)
	checkNear(t, "interpolated hi", iv.Hi, 9-lambda, 1e-9)
	// 5 values: [x1, x5] covers 1 - 2/32 = 0.9375 only.
	if iv = Median(x[:5], Options{}); iv.Computable() || math.IsNaN(iv.Point) {
		t.Errorf("Median of 5 = %+v", iv)
	}
	if iv = Median(x[:5], Options{Level: 0.9375, Method: MethodOrder}); iv.Lo != 1 || iv.Hi != 10 {
		t.Errorf("Median of 5 at 0.9375 = %+v", iv)
	}
}

// naiveWalsh returns all Walsh averages, ascending.
func naiveWalsh(x []float64) []float64 {
	var w []float64
	for i := range x {
		for j := i; j < len(x); j++ {
			w = append(w, x[i]/2+x[j]/2)
		}
	}
	slices.Sort(w)
	return w
}

func TestWalshSelection(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		x := make([]float64, 1+r.IntN(30))
		for i := range x {
			x[i] = math.Round(r.NormFloat64()*10) / 4 // ties, zeros, both signs
		}
		s := sortedCopy(x)
		for i, want := range naiveWalsh(x) {
			if got := walshAverage(s, i+1); got != want {
				t.Fatalf("walshAverage(%v, %d) = %v, want %v", s, i+1, got, want)
			}
		}
	}
}

// The interval must be the set of shifts that the enumerated test does not reject.
func TestHodgesLehmannInvertsWilcoxon(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 40 {
		x := make([]float64, 6+r.IntN(15))
		for i := range x {
			x[i] = r.NormFloat64()
		}
		iv := HodgesLehmann(x, Options{})
		w := naiveWalsh(x)
		mid := len(w) / 2
		want := w[mid]
		if len(w)%2 == 0 {
			want = (w[mid-1] + w[mid]) / 2
		}
		checkNear(t, "pseudomedian", iv.Point, want, 1e-14)
		rejected := func(shift float64) bool {
			y := make([]float64, len(x))
			for i := range x {
				y[i] = x[i] - shift
			}
			_, p := WilcoxonSignedRank(y)
			return p <= 0.05
		}
		if rejected(iv.Lo+1e-9) || rejected(iv.Hi-1e-9) || !rejected(iv.Lo-1e-9) || !rejected(iv.Hi+1e-9) {
			t.Errorf("n = %d: %+v is not the set of unrejected shifts", len(x), iv)
		}
	}
	if iv := HodgesLehmann(make([]float64, 5), Options{}); iv.Point != 0 {
		t.Errorf("five zeros: %+v", iv)
	}
	if iv := HodgesLehmann([]float64{1, 2, 3, 4, 5}, Options{}); iv.Computable() {
		t.Errorf("five values at 95 %%: %+v", iv)
	}
}

func TestBootstrapLeavesOutUndefinedResamples(t *testing.T) {
	iv := Bootstrap(5, Options{Resamples: 500}, func(idx []int) float64 {
		if slices.Contains(idx, 0) {
			return 1
		}
		return math.NaN()
	})
	if iv.Point != 1 || iv.Computable() {
		t.Errorf("a third of the resamples is undefined: %+v", iv)
	}
}

func TestPowerAndPairs(t *testing.T) {
	// SciPy, noncentral t: the d at which 1-nct.cdf(c,n-1,d*sqrt(n))+nct.cdf(-c,n-1,d*sqrt(n)) = 0.8, c = t.ppf(.975,n-1)
	for n, d := range map[int]float64{5: 1.6819969659555543, 10: 0.9960013714554238, 20: 0.6604416546230262, 50: 0.40418300213604325, 200: 0.19906417540672033} {
		checkNear(t, "MinDetectable", math.Log(MinDetectable(n, 0.3, 0.95, 0.8)), 0.3*d, 0.02*0.3*d)
	}
	if v := MinDetectable(10, 0, 0.95, 0.8); v != 1 {
		t.Errorf("no scatter: %v", v)
	}
	for _, v := range []float64{MinDetectable(1, 1, 0.95, 0.8), MinDetectable(9, -1, 0.95, 0.8), MinDetectable(9, 1, 1, 0.8), MinDetectable(9, math.NaN(), 0.95, 0.8)} {
		checkNear(t, "MinDetectable out of range", v, math.NaN(), 0)
	}
	// The smallest n: n is enough, n-1 is not.
	n := PairsNeeded(1.1, 1.3, 0.4, 0.95, 0.8)
	if MinDetectable(n, 0.4, 0.95, 0.8) > 1.3/1.1 || MinDetectable(n-1, 0.4, 0.95, 0.8) <= 1.3/1.1 {
		t.Errorf("PairsNeeded = %d", n)
	}
	if m := PairsNeeded(1.3, 1.1, 0.4, 0.95, 0.8); m != n {
		t.Errorf("PairsNeeded is not symmetric: %d and %d", m, n)
	}
	for _, v := range []int{
		PairsNeeded(1, 1, 0.1, 0.95, 0.8), PairsNeeded(0, 1, 0.1, 0.95, 0.8), PairsNeeded(1, math.NaN(), 0.1, 0.95, 0.8),
		PairsNeeded(1, 1.0000001, 1, 0.95, 0.8), PairsNeeded(1, 2, math.Inf(1), 0.95, 0.8), PairsNeeded(1, -2, 1, 0.95, 0.8),
	} {
		if v != 0 {
			t.Errorf("PairsNeeded of no answer = %d", v)
		}
	}
}

func TestHolm(t *testing.T) {
	// statsmodels 0.14: multipletests([.01,.04,.03,.005,.2], method='holm')[1]
	p := []float64{.01, .04, .03, .005, .2}
	want := []float64{.04, .09, .09, .025, .2}
	for i, v := range Holm(p) {
		checkNear(t, "Holm", v, want[i], 1e-12)
	}
	got := Holm([]float64{math.NaN(), 0.03, 0.9})
	if !math.IsNaN(got[0]) || got[1] != 0.06 || got[2] != 0.9 {
		t.Errorf("Holm with NaN = %v", got)
	}
	if len(Holm(nil)) != 0 {
		t.Error("Holm of nothing is not empty")
	}
}
