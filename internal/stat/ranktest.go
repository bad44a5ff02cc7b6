package stat

import (
	"math"
	"slices"
)

// exactRanks is the largest sample whose signed-rank distribution is computed exactly: the work grows with n cubed (1 ms at
// 100), and the normal approximation is good to three digits there.
const exactRanks = 100

// WilcoxonSignedRank returns the rank sum of the positive values (R's V) and the two-sided p-value of the hypothesis
// that x is symmetric about zero.
// Zeros are dropped, ties get mean ranks (Wilcoxon 1945).
// Up to 100 non-zero values p is exact, given the ties: the distribution over all 2^n sign choices by dynamic
// programming over doubled ranks, which are integers. Above, the normal approximation with tie and continuity correction.
// No non-zero values: 0 and p = 1. A NaN: both NaN.
func WilcoxonSignedRank(x []float64) (stat, p float64) {
	ranks, positive, ok := signedRanks(x)
	if !ok {
		return math.NaN(), math.NaN()
	}
	w := 0
	for i, r := range ranks {
		if positive[i] {
			w += r
		}
	}
	if len(ranks) == 0 {
		return 0, 1
	}
	if len(ranks) > exactRanks {
		return float64(w) / 2, approximateRankP(ranks, w)
	}
	return float64(w) / 2, twoSided(rankSumDistribution(ranks), w)
}

// signedRanks returns twice the mean rank of each non-zero value by size, and its sign; false when a value is NaN.
func signedRanks(x []float64) (doubled []int, positive []bool, ok bool) {
	nz := make([]float64, 0, len(x))
	for _, v := range x {
		if math.IsNaN(v) {
			return nil, nil, false
		}
		if v != 0 {
			nz = append(nz, v)
		}
	}
	slices.SortFunc(nz, func(a, b float64) int {
		switch d := math.Abs(a) - math.Abs(b); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	doubled, positive = make([]int, len(nz)), make([]bool, len(nz))
	for i := 0; i < len(nz); {
		j := i
		for j < len(nz) && math.Abs(nz[j]) == math.Abs(nz[i]) {
			j++
		}
		for k := i; k < j; k++ {
			doubled[k] = i + 1 + j // mean of ranks i+1..j, twice
			positive[k] = nz[k] > 0
		}
		i = j
	}
	return doubled, positive, true
}

// rankSumDistribution returns P(sum of a fair random subset of ranks = s) for each s.
func rankSumDistribution(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	prob := make([]float64, total+1)
	prob[0] = 1
	reach := 0
	for _, r := range ranks {
		reach += r
		for s := reach; s >= 0; s-- { // downwards, so that each rank is used once
			v := prob[s] / 2
			if s >= r {
				v += prob[s-r] / 2
			}
			prob[s] = v
		}
	}
	return prob
}

// twoSided doubles the smaller tail at w, at most 1.
func twoSided(prob []float64, w int) float64 {
	var lower, upper float64
	for s, v := range prob {
		if s <= w {
			lower += v
		}
		if s >= w {
			upper += v
		}
	}
	return min(1, 2*min(lower, upper))
}

func approximateRankP(doubled []int, w int) float64 {
	var total, squares float64
	for _, r := range doubled {
		total += float64(r)
		squares += float64(r) * float64(r)
	}
	d := math.Abs(float64(w) - total/2)
	d = max(0, d-1)               // continuity: half a rank, doubled
	z := d / math.Sqrt(squares/4) // Var = sum of rank^2 / 4; ties are in the ranks already
	return min(1, 2*normal.CDF(-z))
}
