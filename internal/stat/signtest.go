package stat

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactFlips is the largest sample whose sign choices are all enumerated (65,536 sums).
const exactFlips = 16

// SignTest returns the number of positive values and the exact two-sided binomial p-value of the hypothesis that a
// non-zero value is as often positive as negative. Zeros are dropped.
// No non-zero values: 0 and p = 1. A NaN: both NaN.
func SignTest(x []float64) (stat, p float64) {
	var pos, n float64
	for _, v := range x {
		switch {
		case math.IsNaN(v):
			return math.NaN(), math.NaN()
		case v > 0:
			pos++
			n++
		case v < 0:
			n++
		}
	}
	if n == 0 {
		return 0, 1
	}
	return pos, min(1, 2*distuv.Binomial{N: n, P: 0.5}.CDF(min(pos, n-pos)))
}

// SignFlip returns the mean of x and the two-sided permutation p-value of the hypothesis that x is symmetric about
// zero: the share of sign choices whose mean lies at least as far from zero.
// Up to 16 values all choices are enumerated; above, o.Resamples random ones are drawn and p is
// (1 + as far)/(1 + drawn), never 0 (Phipson and Smyth 2010).
// No values: NaN and NaN. A NaN or infinite value: both NaN. All zero: p = 1.
func SignFlip(x []float64, o Options) (stat, p float64) {
	if _, ok := begin(x, "", o); !ok {
		return math.NaN(), math.NaN()
	}
	var sum, size float64
	for _, v := range x {
		sum += v
		size += math.Abs(v)
	}
	// Sums that are equal on paper differ by rounding; the tolerance counts them as equal.
	far := math.Abs(sum) - 1e-12*size
	if len(x) <= exactFlips {
		return mean(x), enumerateFlips(x, far)
	}
	r := rand.New(newRand(o.Seed))
	hits := 0
	for range o.resamples() {
		var s float64
		for i := 0; i < len(x); i += 64 {
			w := r.Uint64()
			for _, v := range x[i:min(i+64, len(x))] {
				if w&1 == 1 {
					v = -v
				}
				s += v
				w >>= 1
			}
		}
		if math.Abs(s) >= far {
			hits++
		}
	}
	return mean(x), float64(1+hits) / float64(1+o.resamples())
}

func enumerateFlips(x []float64, far float64) float64 {
	hits := 0
	for mask := range 1 << len(x) {
		var s float64
		for i, v := range x {
			if mask>>i&1 == 1 {
				v = -v
			}
			s += v
		}
		if math.Abs(s) >= far {
			hits++
		}
	}
	return float64(hits) / float64(int(1)<<len(x))
}
