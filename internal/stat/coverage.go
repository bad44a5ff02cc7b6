package stat

import (
	"fmt"
	"math"
	"slices"
)

// Estimates that CoverageWarning knows.
const (
	EstimateMean          = "mean"
	EstimateMedian        = "median"
	EstimateGeoMean       = "geomean"
	EstimateRatioOfSums   = "ratio_of_sums"
	EstimateHodgesLehmann = "hodges_lehmann"
	EstimateDrop          = "drop"
)

// Unknown stands for a number of hits or misses that the caller did not tell.
const Unknown = -1

// Shape is what CoverageWarning looks at: how many values of which kinds, and how they scatter.
type Shape struct {
	// N is the number of values.
	N int
	// Hits and Misses count the two kinds of pairs; both Unknown when the caller did not tell.
	Hits, Misses int
	// Uniform: the values are of one kind by construction.
	Uniform bool
	// Skewness of the values, or of the residuals of a ratio of sums; NaN when undefined.
	Skewness float64
	// Tails is the excess kurtosis of the values; NaN when undefined.
	Tails float64
	// LogSkewness, LogScatter (standard deviation) and LogTails (excess kurtosis) of the logarithms; for the last two around the mean
	// of each value's kind. NaN when a value is not positive; the last two also when the kinds are unknown.
	LogSkewness, LogScatter, LogTails float64
}

// shapeOf returns the shape of x under the options' knowledge of kinds.
func shapeOf(x []float64, o Options) Shape {
	nan := math.NaN()
	s := Shape{
		N: len(x), Hits: Unknown, Misses: Unknown, Uniform: o.Uniform, Skewness: Skewness(x), Tails: excessKurtosis(x),
		LogSkewness: nan, LogScatter: nan, LogTails: nan,
	}
	if o.Hits != nil {
		s.Hits = countTrue(o.Hits)
		s.Misses = len(x) - s.Hits
	}
	l, bad := logs(x)
	if bad >= 0 {
		return s
	}
	s.LogSkewness = Skewness(l)
	if o.Uniform || o.Hits != nil {
		r := withinKinds(l, o.Hits)
		s.LogScatter, s.LogTails = StdDev(r), excessKurtosis(r)
	}
	return s
}

// CoverageWarning returns why the default interval of an estimate covers less than 93 % of the time at a nominal 95 % on
// data like these, or "" where the coverage study (docs/statistics.md) measured 93 % or more. It is the only such rule.
//
// Where each number comes from, in the study's terms:
//
//   - Median: covers on every population, also 10 values.
//   - Fewer than 20 values: with few hits the mean and the geometric mean cover 64 % at 10 values. Values of one kind by construction
//     are fine from 8 on; for the mean they must scatter little (93 % at sigma 0.5 of the logs, 90 % at 1).
//   - Fewer than 5 of either kind: a mixture's mean depends on how many of the rare kind were drawn; 86 % at 2 expected.
//   - Mean, log scatter above 0.7: 91 to 92 % at sigma 1 below 100 values. Above 1.1 nothing was measured.
//   - Mean, heavy tails: 58 to 91 % where 5 % of the arms stall; such samples show excess kurtosis in the logs (above 1) and in the
//     values (above 2). One of the two alone is harmless: a mixture has the second, stalls small beside the hits the first.
//   - Kinds unknown: skewness above sqrt(n)/4 stands in for all of this, and warns more often than needed.
//   - Hodges-Lehmann: 91 to 93 % on mixtures, because they are not symmetric; covers on one kind.
func CoverageWarning(estimate string, s Shape) string {
	if estimate == EstimateMedian {
		return ""
	}
	mixed := s.Hits > 0 && s.Misses > 0 && !s.Uniform
	told := s.Uniform || s.Hits != Unknown
	if estimate == EstimateHodgesLehmann {
		if mixed {
			return fmt.Sprintf("%d hits mixed with %d misses are not symmetric", s.Hits, s.Misses)
		}
		return ""
	}
	calm := s.Uniform && s.N >= 8 && (estimate == EstimateGeoMean || estimate == EstimateMean && s.LogScatter <= 0.5 && !s.heavyTails())
	if s.N < 20 && !calm {
		return fmt.Sprintf("%d values, fewer than 20", s.N)
	}
	if mixed && min(s.Hits, s.Misses) < 5 {
		return fmt.Sprintf("%d hits and %d misses, fewer than 5 of a kind", s.Hits, s.Misses)
	}
	if told && !math.IsNaN(s.LogScatter) {
		if estimate != EstimateMean {
			return ""
		}
		return meanShapeWarning(s)
	}
	skewness := s.Skewness
	if estimate == EstimateGeoMean {
		skewness = s.LogSkewness
	}
	if limit := math.Sqrt(float64(s.N)) / 4; math.Abs(skewness) > limit {
		return fmt.Sprintf("skewness %.1f of %d values, more than %.1f", skewness, s.N, limit)
	}
	return ""
}

func (s Shape) heavyTails() bool { return s.LogTails > 1 && s.Tails > 2 }

func meanShapeWarning(s Shape) string {
	limit := 0.7
	if s.N >= 200 {
		limit = 1.1
	}
	switch {
	case s.LogScatter > limit:
		return fmt.Sprintf("logarithms scatter by %.2f within a kind, more than %.1f", s.LogScatter, limit)
	case s.heavyTails():
		return fmt.Sprintf("heavy tails: excess kurtosis %.1f of the logarithms, %.1f of the values", s.LogTails, s.Tails)
	}
	return ""
}

// judgeCoverage adds the coverage_warning, and the one_kind note where values that could have been of two kinds were of one.
func (iv *Interval) judgeCoverage(estimate string, s Shape) {
	if !iv.Computable() {
		return
	}
	if reason := CoverageWarning(estimate, s); reason != "" && !iv.CoverageWarned() {
		iv.warn(WarnCoverage, "%s", reason)
	}
	if !s.Uniform && (s.Hits == 0 || s.Misses == 0) {
		kind := "hits"
		if s.Misses == 0 {
			kind = "misses"
		}
		// Rule of three (Hanley and Lippman-Hand 1983): 0 of n leaves up to 3/n at 95 %.
		iv.warn(WarnOneKind, "no %s among %d values; a share of up to %.2f could have gone unseen", kind, s.N, min(1, 3/float64(s.N)))
	}
}

// withinKinds returns x minus the mean of its kind; nil hits means one kind.
func withinKinds(x []float64, hits []bool) []float64 {
	if hits == nil {
		hits = make([]bool, len(x))
	}
	var kinds [2][]float64
	index := func(hit bool) int {
		if hit {
			return 1
		}
		return 0
	}
	for i, v := range x {
		k := index(hits[i])
		kinds[k] = append(kinds[k], v)
	}
	means := [2]float64{mean(kinds[0]), mean(kinds[1])}
	out := slices.Clone(x)
	for i := range out {
		out[i] -= means[index(hits[i])]
	}
	return out
}

func countTrue(b []bool) int {
	n := 0
	for _, v := range b {
		if v {
			n++
		}
	}
	return n
}
