package stat

import "gonum.org/v1/gonum/stat/distuv"

// Median returns the median (type 7) and an interval from order statistics, which assumes nothing about the
// distribution. Methods: order_statistic_interp (the default) interpolates between the two exact rank intervals that enclose
// the level; order_statistic takes the outer one, which covers at least as often as asked.
// Fewer values than any rank interval needs (6 at 95 %): the point without bounds.
// Source: Hettmansperger and Sheather 1986 for the interpolation, Conover 1999 section 3.2 for the ranks.
func Median(x []float64, o Options) Interval {
	iv, ok := begin(x, o.method(MethodOrderInterp), o)
	if !ok {
		return iv
	}
	s := sortedCopy(x)
	iv.Point = Quantile(s, 0.5)
	if !iv.boundable(s[len(s)-1] - s[0]) {
		return iv
	}
	if iv.Method != MethodOrderInterp && iv.Method != MethodOrder {
		iv.unknownMethod()
		return iv
	}
	k, outer, inner := medianRank(len(s), iv.Level)
	if k == 0 {
		iv.warn(WarnNotComputable, "%d values are too few for a %v interval of the median", len(s), iv.Level)
		return iv
	}
	lo, hi := s[k-1], s[len(s)-k]
	if iv.Method == MethodOrderInterp && k < len(s)-k {
		// lambda weighs the next inner order statistic; linear in the level at lambda = 0 and 1 only, hence this form.
		j := (outer - iv.Level) / (outer - inner)
		n, kk := float64(len(s)), float64(k)
		lambda := (n - kk) * j / (kk + (n-2*kk)*j)
		lo += lambda * (s[k] - s[k-1])
		hi -= lambda * (s[len(s)-k] - s[len(s)-k-1])
	}
	iv.bound(lo, hi)
	iv.judgeCoverage(EstimateMedian, shapeOf(x, o))
	return iv
}

// medianRank returns the largest k for which [x(k), x(n+1-k)] covers the median with probability at least level, that
// coverage, and the coverage of the next inner interval; k = 0 when even [x(1), x(n)] falls short.
func medianRank(n int, level float64) (k int, outer, inner float64) {
	b := distuv.Binomial{N: float64(n), P: 0.5}
	coverage := func(k int) float64 { return 1 - 2*b.CDF(float64(k-1)) }
	inner = coverage(1)
	for k+1 <= (n+1)/2 && inner >= level {
		k++
		outer, inner = inner, coverage(k+1)
	}
	return k, outer, inner
}
