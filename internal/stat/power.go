package stat

import "math"

// maxPairs bounds PairsNeeded: no run has a hundred million pairs, so a larger answer means "not by measuring more".
const maxPairs = 100_000_000

// MinDetectable returns the smallest speedup (a ratio above 1) that n pairs, whose log ratios scatter with standard
// deviation sdLog, show as different from 1 at the confidence level with probability power. Its inverse is the
// smallest slowdown.
// The usual two-quantile form exp((t[1-(1-level)/2] + t[power]) sd/sqrt(n)) with n-1 degrees of freedom; it agrees with the
// noncentral t within 2 % from n = 5 on.
// Fewer than two pairs, or arguments out of range: NaN. No scatter: 1.
func MinDetectable(n int, sdLog, level, power float64) float64 {
	if n < 2 || !(sdLog >= 0) || math.IsInf(sdLog, 0) || !inUnit(level) || !inUnit(power) {
		return math.NaN()
	}
	return math.Exp(detectableLog(n, sdLog, level, power))
}

func detectableLog(n int, sdLog, level, power float64) float64 {
	df := float64(n - 1)
	return (tQuantile(1-(1-level)/2, df) + tQuantile(power, df)) * sdLog / math.Sqrt(float64(n))
}

// PairsNeeded returns the number of pairs with which an interval around the observed speedup would exclude the
// threshold with probability power, if the observed speedup is the true one and log ratios scatter by sdLog.
// power 0.5 asks for the interval's expected bound only.
// 0 when no number decides: observed equals threshold, arguments out of range, or more than 10^8 pairs. No scatter: 2.
func PairsNeeded(threshold, observed, sdLog, level, power float64) int {
	gap := math.Abs(math.Log(observed / threshold))
	if !(threshold > 0) || !(observed > 0) || !(gap > 0) || math.IsInf(gap, 0) ||
		!(sdLog >= 0) || math.IsInf(sdLog, 0) || !inUnit(level) || !(power >= 0.5 && power < 1) {
		return 0
	}
	enough := func(n int) bool { return detectableLog(n, sdLog, level, power) <= gap }
	if !enough(maxPairs) {
		return 0
	}
	lo, hi := 1, maxPairs // enough(hi); the detectable gap falls with n
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

func inUnit(p float64) bool { return p > 0 && p < 1 }
