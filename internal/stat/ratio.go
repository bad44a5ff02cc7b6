package stat

import (
	"math"
)

// RatioOfSums returns sum(num)/sum(den) and a paired bootstrap interval: num[i] and den[i] are drawn together.
// Methods: bootstrap_t (the default), percentile, bca. This is how a rate over blocks or tokens aggregates (contract: sum over
// sum, never a mean of row rates).
// Where bootstrap_t has no finite bounds (few rows differ), bca takes its place, named in Method, with a coverage_warning.
// The bounds of a rate may leave [0,1]: the method does not know that it is one.
// Slices of different length, or sum(den) = 0: not computable.
// The standard error inside bootstrap_t is the linearised one of a ratio estimator (Cochran 1977, section 6.4).
func RatioOfSums(num, den []float64, o Options) Interval {
	iv, ok := begin(num, o.method(MethodBootstrapT), o)
	if !ok {
		return iv
	}
	if len(num) != len(den) {
		iv.warn(WarnNotComputable, "%d numerators and %d denominators", len(num), len(den))
		return iv
	}
	if bad, ok := begin(den, iv.Method, o); !ok {
		return bad
	}
	estimate := func(idx []int) float64 {
		var sn, sd float64
		for _, i := range idx {
			sn += num[i]
			sd += den[i]
		}
		if sd == 0 {
			return math.NaN()
		}
		return sn / sd
	}
	if iv.Method != MethodBootstrapT {
		o.Method = iv.Method
		return Bootstrap(len(num), o, estimate)
	}
	out := BootstrapT(len(num), o, func(idx []int) (float64, float64) {
		r := estimate(idx)
		var ss, sd float64
		for _, i := range idx {
			e := num[i] - r*den[i]
			ss += e * e
			sd += den[i]
		}
		n := float64(len(idx))
		se := math.Sqrt(ss*n/(n-1)) / sd
		if se < 1e-15*math.Abs(r) { // rounding of equal rates, not variation
			se = 0
		}
		return r, se
	})
	if out.Resamples > 0 && !out.Computable() {
		o.Method = MethodBCa
		out = Bootstrap(len(num), o, estimate)
		if out.Computable() {
			out.warn(WarnCoverage, "%d rows too alike for bootstrap_t; bca in its place", len(num))
		}
		return out
	}
	if out.Computable() {
		e := make([]float64, len(num))
		for i := range e {
			e[i] = num[i] - out.Point*den[i]
		}
		hits := 0 // rows that add to the numerator: the rarer kind decides, as for a mixture's mean
		for _, v := range num {
			if v > 0 {
				hits++
			}
		}
		out.judgeCoverage(EstimateRatioOfSums, Shape{
			N: len(num), Hits: hits, Misses: len(num) - hits, Uniform: o.Uniform, Skewness: Skewness(e),
			LogScatter: math.NaN(), LogTails: math.NaN(),
		})
	}
	return out
}
