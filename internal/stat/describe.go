package stat

import (
	"math"
	"slices"
)

// Quantile returns the p-quantile of ascending values by linear interpolation between the order statistics at
// position p(n-1), type 7 of Hyndman and Fan (1996): what R and NumPy do by default.
// No values, a NaN p or p outside [0,1]: NaN.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	if w := at - float64(i); w > 0 {
		return sorted[i] + w*(sorted[i+1]-sorted[i])
	}
	return sorted[i]
}

// Skewness returns the sample skewness m3/m2^1.5 (moments over n).
// Fewer than three values, or no variation: NaN.
func Skewness(x []float64) float64 {
	if len(x) < 3 {
		return math.NaN()
	}
	m := mean(x)
	var m2, m3 float64
	for _, v := range x {
		d := v - m
		m2 += d * d
		m3 += d * d * d
	}
	n := float64(len(x))
	if m2 == 0 {
		return math.NaN()
	}
	return (m3 / n) / math.Pow(m2/n, 1.5)
}

// excessKurtosis returns m4/m2^2 - 3 (moments over n), 0 for a normal distribution.
// Fewer than four values, or no variation: NaN.
func excessKurtosis(x []float64) float64 {
	if len(x) < 4 {
		return math.NaN()
	}
	m := mean(x)
	var m2, m4 float64
	for _, v := range x {
		d := (v - m) * (v - m)
		m2 += d
		m4 += d * d
	}
	if m2 == 0 {
		return math.NaN()
	}
	return m4*float64(len(x))/(m2*m2) - 3
}

// StdDev returns the sample standard deviation over n-1, in the unit of x. Fewer than two values: NaN.
func StdDev(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	m := mean(x)
	var ss float64
	for _, v := range x {
		ss += (v - m) * (v - m)
	}
	return math.Sqrt(ss / float64(len(x)-1))
}

// mean in two passes: the second removes the rounding of the first, so that equal values give exactly that value
// and no spurious variation. No values: 0.
func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	n := float64(len(x))
	var s float64
	for _, v := range x {
		s += v / n // divided first: the sum of large finite values must not overflow
	}
	var r float64
	for _, v := range x {
		r += v - s
	}
	return s + r/n
}

func sortedCopy(x []float64) []float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return s
}

// logs returns the logarithms, and the index of the first value that has none (-1 when all have one).
func logs(x []float64) ([]float64, int) {
	l := make([]float64, len(x))
	for i, v := range x {
		if v <= 0 {
			return nil, i
		}
		l[i] = math.Log(v)
	}
	return l, -1
}

func allEqual(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}
