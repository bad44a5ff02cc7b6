package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Estimates that CoverageWarning knows.
const (
	EstimateMean          = "mean"
	EstimateMedian        = "median"
	EstimateGeoMean       = "geomean"
	EstimateRatioOfSums   = "ratio_of_sums"
	EstimateHodgesLehmann = "hodges_lehmann"
)

// Unknown stands for a number of hits or misses that the caller does not know or that has no meaning.
const Unknown = -1

// CoverageWarning returns why the default interval of an estimate covers less than 93 % of the time at a nominal 95 % on
// data like these, or "" where the coverage study (docs/statistics.md) measured 93 % or more.
// n is the number of values; skewness that of the values themselves for mean, of the logarithms for geomean; hits and misses
// count the two kinds of pairs in a blended estimate, Unknown where there is only one kind.
func CoverageWarning(estimate string, n int, skewness float64, hits, misses int) string {
	if estimate == EstimateMedian {
		return ""
	}
	if n < 20 {
		return fmt.Sprintf("%d values, fewer than 20", n)
	}
	if hits > 0 && misses > 0 && min(hits, misses) < 5 {
		return fmt.Sprintf("%d hits and %d misses, fewer than 5 of a kind", hits, misses)
	}
	if limit := math.Sqrt(float64(n)) / 4; math.Abs(skewness) > limit {
		return fmt.Sprintf("skewness %.1f of %d values, more than %.1f", skewness, n, limit)
	}
	return ""
}

// WithHits returns the interval with the coverage warning of a blended estimate judged again, now that the numbers of hits and
// misses among its values are known. estimate is one of the Estimate names.
func (iv Interval) WithHits(estimate string, hits, misses int) Interval {
	iv.Warnings = slices.Clone(iv.Warnings)
	if iv.Computable() && !iv.CoverageWarned() {
		iv.addCoverage(CoverageWarning(estimate, iv.N, math.NaN(), hits, misses))
	}
	return iv
}

func (iv *Interval) addCoverage(reason string) {
	if reason != "" && iv.Computable() {
		iv.warn(WarnCoverage, "%s", reason)
	}
}

func (iv *Interval) dropCoverage() {
	iv.Warnings = slices.DeleteFunc(iv.Warnings, func(w string) bool { return strings.HasPrefix(w, WarnCoverage) })
}
