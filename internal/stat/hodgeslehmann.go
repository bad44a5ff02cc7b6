package stat

import (
	"math"
)

// HodgesLehmann returns the pseudomedian of log ratios, the median of all Walsh averages (x[i]+x[j])/2, i <= j, in the
// unit of its input (Exp makes it a ratio), and the shifts that a signed-rank test does not reject as bounds.
// Method: wilcoxon_inversion, exact ranks up to 100 values, normal ones above.
// Ties make it conservative. Too few values for the level (6 at 95 %): the point without bounds.
// For symmetric data it estimates the mean and the median; for hits mixed with misses it is a robust middle of its own.
// Source: Hodges and Lehmann 1963; Hollander, Wolfe and Chicken 2014, section 3.3.
func HodgesLehmann(logRatios []float64, o Options) Interval {
	iv, ok := begin(logRatios, o.method(MethodWilcoxon), o)
	if !ok {
		return iv
	}
	s := sortedCopy(logRatios)
	n := len(s)
	walsh := n * (n + 1) / 2
	iv.Point = (walshAverage(s, (walsh+1)/2) + walshAverage(s, walsh/2+1)) / 2
	if !iv.boundable(s[n-1] - s[0]) {
		return iv
	}
	if iv.Method != MethodWilcoxon {
		iv.unknownMethod()
		return iv
	}
	k := rankSumQuantile(n, (1-iv.Level)/2)
	if k < 1 {
		iv.warn(WarnNotComputable, "%d values are too few for a %v signed-rank interval", n, iv.Level)
		return iv
	}
	iv.bound(walshAverage(s, k), walshAverage(s, walsh+1-k))
	iv.judgeCoverage(EstimateHodgesLehmann, shapeOf(logRatios, o)) // only the counts matter here, not the logs of logs
	return iv
}

// rankSumQuantile returns the largest k with P(V < k) <= tail, V the signed-rank sum of n untied values; 0 when none.
func rankSumQuantile(n int, tail float64) int {
	if n > exactRanks {
		f := float64(n)
		mid, sd := f*(f+1)/4, math.Sqrt(f*(f+1)*(2*f+1)/24)
		return int(math.Floor(mid + 0.5 + sd*normal.Quantile(tail)))
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	var below float64
	for s, p := range rankSumDistribution(ranks) {
		if below+p > tail {
			return s
		}
		below += p
	}
	return 0
}

// walshAverage returns the k-th smallest (from 1) Walsh average of ascending values. The n(n+1)/2 averages are never
// stored: it bisects over the floating-point numbers themselves, at most 64 counts of O(n), and is exact.
func walshAverage(s []float64, k int) float64 {
	lo, hi := orderedBits(s[0]), orderedBits(s[len(s)-1])
	width := hi - lo
	// Search returns the smallest offset whose number has at least k averages at or below it.
	for step := width; step > 0; {
		half := step / 2
		if countWalsh(s, fromOrderedBits(lo+half)) >= k {
			step = half
		} else {
			lo += half + 1
			step -= half + 1
		}
	}
	return fromOrderedBits(lo)
}

// countWalsh returns how many Walsh averages are <= t: as i rises, the largest j that still fits only falls.
func countWalsh(s []float64, t float64) int {
	count, j := 0, len(s)
	for i := range s {
		for j > i && s[i]/2+s[j-1]/2 > t {
			j--
		}
		if j <= i {
			break
		}
		count += j - i
	}
	return count
}

// orderedBits maps finite numbers to integers that ascend as they do.
func orderedBits(v float64) uint64 {
	b := math.Float64bits(v)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func fromOrderedBits(b uint64) float64 {
	if b>>63 == 1 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}
