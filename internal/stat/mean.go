package stat

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the arithmetic mean and its interval. Methods: bootstrap_t (the default), bootstrap_t_log,
// percentile, bca, t.
// A mean of ratios is biased upwards by noise (contract, section 7); read it beside Median and GeoMean.
// No interval for a mean covers on every distribution (Bahadur and Savage 1956): CoverageWarning says where ours
// was measured to fall short.
// Where bootstrap_t has no finite bounds (few distinct values, so that many resamples have no variation), the t interval takes
// its place, named in Method, with a coverage_warning.
func Mean(x []float64, o Options) Interval {
	iv, ok := begin(x, o.method(MethodBootstrapT), o)
	if !ok {
		return iv
	}
	iv.Point = mean(x)
	sd := StdDev(x)
	if !iv.boundable(sd) {
		return iv
	}
	n := float64(len(x))
	se := sd / math.Sqrt(n)
	switch iv.Method {
	case MethodT:
		iv.student(se)
	case MethodPercentile, MethodBCa, MethodBootstrapT, MethodBootstrapTLog:
		ests, ses := resampledMeans(x, iv.Point, o)
		iv.Resamples, iv.Seed = len(ests), o.Seed
		if iv.Method == MethodPercentile || iv.Method == MethodBCa {
			// The jackknife of a mean in closed form.
			iv.fromReplicates(ests, Skewness(x)/(6*math.Sqrt(n)))
		} else {
			iv.studentized(se, ests, ses)
		}
		if !iv.Computable() && iv.Method == MethodBootstrapT {
			iv.Method, iv.Resamples, iv.Seed, iv.Warnings = MethodT, 0, 0, nil
			iv.student(se)
			iv.warn(WarnCoverage, "%d values too alike for bootstrap_t; t in its place", len(x))
		}
	default:
		iv.unknownMethod()
		return iv
	}
	iv.judgeCoverage(EstimateMean, shapeOf(x, o))
	return iv
}

// student sets the t bounds around iv.Point with standard error se.
func (iv *Interval) student(se float64) {
	q := se * tQuantile(1-(1-iv.Level)/2, float64(iv.N-1))
	iv.bound(iv.Point-q, iv.Point+q)
}

// resampledMeans returns the mean and its standard error of each bootstrap resample of x around its mean m.
//
// This is the hot loop (10,000 resamples of 10,000 pairs are 10^8 draws): each 64-bit word of the generator gives two
// indices by multiply and shift (Lemire 2019 without the rejection), which prefers some indices by at most n/2^32,
// 2 in a million at 10,000 pairs. Centred values keep the sums of squares accurate.
func resampledMeans(x []float64, m float64, o Options) (ests, ses []float64) {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v - m
	}
	ests, ses = make([]float64, o.resamples()), make([]float64, o.resamples())
	r, n := newRand(o.Seed), float64(len(y))
	for b := range ests {
		s1, s2 := resampledSums(r, y)
		ests[b] = m + s1/n
		if ss := s2 - s1*s1/n; ss > 1e-12*s2 { // below is rounding: one value drawn n times has no variation
			ses[b] = math.Sqrt(ss / (n - 1) / n)
		}
	}
	return ests, ses
}

func resampledSums(r *rand.PCG, y []float64) (sum, squares float64) {
	n := uint64(len(y))
	var a1, a2, b1, b2 float64 // two accumulators each: the additions need not wait for one another
	for i := len(y); i > 1; i -= 2 {
		w := r.Uint64()
		u, v := y[(w>>32)*n>>32], y[(w&0xffffffff)*n>>32]
		a1 += u
		a2 += u * u
		b1 += v
		b2 += v * v
	}
	if len(y)%2 == 1 {
		u := y[(r.Uint64()>>32)*n>>32]
		a1 += u
		a2 += u * u
	}
	return a1 + b1, a2 + b2
}

// GeoMean returns the geometric mean of ratios and its interval. Methods: t_log (the default), and bootstrap_t,
// percentile, bca of the mean log ratio.
// A ratio that is zero or negative: not computable.
// Swapping the arms inverts the estimate and swaps and inverts the bounds exactly (t_log), so it is the reading of a
// speedup that noise does not bias.
func GeoMean(ratios []float64, o Options) Interval {
	iv, ok := begin(ratios, o.method(MethodTLog), o)
	if !ok {
		return iv
	}
	l, bad := logs(ratios)
	if bad >= 0 {
		iv.warn(WarnNotComputable, "ratio %d is not positive", bad)
		return iv
	}
	iv.Point = math.Exp(mean(l))
	if allEqual(ratios) {
		iv.Point = ratios[0] // exp(log(r)) need not be r
	}
	if !iv.boundable(StdDev(l)) {
		return iv
	}
	switch iv.Method {
	case MethodTLog:
		q := StdDev(l) / math.Sqrt(float64(len(l))) * tQuantile(1-(1-iv.Level)/2, float64(len(l)-1))
		iv.bound(iv.Point*math.Exp(-q), iv.Point*math.Exp(q))
	case MethodPercentile, MethodBCa, MethodBootstrapT:
		onLogs := Mean(l, Options{Level: o.Level, Resamples: o.Resamples, Seed: o.Seed, Method: iv.Method})
		iv.bound(math.Exp(onLogs.Lo), math.Exp(onLogs.Hi))
		iv.Resamples, iv.Seed = onLogs.Resamples, onLogs.Seed
		if onLogs.Method == MethodT { // bootstrap_t had no finite bounds
			iv.Method = MethodTLog
		}
	default:
		iv.unknownMethod()
		return iv
	}
	iv.judgeCoverage(EstimateGeoMean, shapeOf(ratios, o))
	return iv
}

// MeanDifference returns mean(a) - mean(b) of two independent samples with Welch's t interval (1947); N is the total.
// Used for order effects: log ratios of pairs that ran cold first against those that ran warm first.
// Fewer than two values on a side: the point, where it exists, without bounds.
func MeanDifference(a, b []float64, o Options) Interval {
	o.Hits = nil // marks of one sample
	iv, ok := begin(slices.Concat(a, b), o.method(MethodWelch), o)
	if !ok {
		return iv
	}
	if iv.Method != MethodWelch {
		iv.unknownMethod()
		return iv
	}
	if len(a) == 0 || len(b) == 0 {
		iv.warn(WarnNotComputable, "one side has no values")
		return iv
	}
	iv.Point = mean(a) - mean(b)
	if len(a) < 2 || len(b) < 2 {
		iv.warn(WarnNotComputable, "one value on a side shows no variation")
		return iv
	}
	va, vb := StdDev(a)*StdDev(a)/float64(len(a)), StdDev(b)*StdDev(b)/float64(len(b))
	se := math.Sqrt(va + vb)
	if !iv.boundable(se) {
		return iv
	}
	df := (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	q := se * tQuantile(1-(1-iv.Level)/2, df)
	iv.bound(iv.Point-q, iv.Point+q)
	return iv
}

func tQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}
