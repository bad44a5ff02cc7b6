package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Drop returns how far run values lie below their noise floor: the mean over run of (mean floor of the value's band - value),
// so that the floor is weighted by the run's own bands (contract, section 9). floor holds the floor's values per band, band
// names the index in floor for each run value. N is len(run). Positive means worse than the floor.
// Both sides are resampled: run values together with their bands, floor values within each band. Methods: bootstrap_se (the default,
// Satterthwaite's degrees of freedom), percentile, bootstrap_t.
// A run value whose band is outside floor or has no floor values, or a value that is not finite: not computable.
func Drop(floor [][]float64, run []float64, band []int, o Options) Interval {
	o.Hits = nil // marks of pairs, not of floor values
	iv, ok := begin(run, o.method(MethodBootstrapSE), o)
	if !ok {
		return iv
	}
	if len(band) != len(run) {
		iv.warn(WarnNotComputable, "%d bands for %d values", len(band), len(run))
		return iv
	}
	for i, k := range band {
		if k < 0 || k >= len(floor) || len(floor[k]) == 0 {
			iv.warn(WarnNotComputable, "value %d lies in band %d, which has no floor", i, k)
			return iv
		}
	}
	if bad, ok := begin(slices.Concat(floor...), iv.Method, o); !ok {
		bad.N = len(run)
		return bad
	}
	s := dropSample{floor: floor, run: run, band: band}
	s.reset()
	var se, df float64
	iv.Point, se, df = s.estimate()
	if !iv.boundable(se) {
		return iv
	}
	if iv.Method != MethodBootstrapSE && iv.Method != MethodPercentile && iv.Method != MethodBootstrapT {
		iv.unknownMethod()
		return iv
	}
	r := newRand(o.Seed)
	ests, ses := make([]float64, o.resamples()), make([]float64, o.resamples())
	for b := range ests {
		s.resample(r)
		ests[b], ses[b], _ = s.estimate()
	}
	iv.Resamples, iv.Seed = o.resamples(), o.Seed
	switch iv.Method {
	case MethodBootstrapSE:
		q := tQuantile(1-(1-iv.Level)/2, df) * StdDev(ests)
		iv.bound(iv.Point-q, iv.Point+q)
	case MethodPercentile:
		iv.fromReplicates(ests, 0)
	case MethodBootstrapT:
		iv.studentized(se, ests, ses)
	}
	d := make([]float64, len(run))
	for i, v := range run {
		d[i] = mean(floor[band[i]]) - v
	}
	iv.judgeCoverage(EstimateDrop, Shape{N: len(run), Hits: Unknown, Misses: Unknown, Skewness: Skewness(d), LogScatter: math.NaN()})
	return iv
}

// dropSample is one sample, or resample, of both sides: the values at the drawn indices.
type dropSample struct {
	floor [][]float64
	run   []float64
	band  []int
	// drawn indices of each floor band and of the run
	floorIdx [][]int
	runIdx   []int
	means    []float64
	shares   []float64 // of run values per band
}

func (s *dropSample) reset() {
	count := func(n int) []int {
		idx := make([]int, n)
		for i := range idx {
			idx[i] = i
		}
		return idx
	}
	s.floorIdx = make([][]int, len(s.floor))
	for k, f := range s.floor {
		s.floorIdx[k] = count(len(f))
	}
	s.runIdx = count(len(s.run))
	s.means, s.shares = make([]float64, len(s.floor)), make([]float64, len(s.floor))
}

func (s *dropSample) resample(r *rand.PCG) {
	for k, f := range s.floor {
		if len(f) > 0 {
			draw(r, s.floorIdx[k], len(f))
		}
	}
	draw(r, s.runIdx, len(s.run))
}

// estimate returns the drop, its standard error and the error's degrees of freedom: that of the run's mean distance to the floor, and
// that of each band's floor mean times the band's share of the run, are independent.
func (s *dropSample) estimate() (drop, se, df float64) {
	n := float64(len(s.run))
	clear(s.shares)
	for _, i := range s.runIdx {
		s.shares[s.band[i]] += 1 / n
	}
	var variance, weighted float64 // weighted is Satterthwaite's sum of v^2/df
	part := func(v float64, n int) {
		variance += v
		weighted += v * v / float64(max(1, n-1))
	}
	for k, f := range s.floor {
		if len(f) == 0 {
			continue
		}
		m, v := momentsAt(f, s.floorIdx[k])
		s.means[k] = m
		part(s.shares[k]*s.shares[k]*v/float64(len(f)), len(f))
	}
	var sum, squares float64
	for _, i := range s.runIdx {
		d := s.means[s.band[i]] - s.run[i]
		sum += d
		squares += d * d
	}
	if n > 1 {
		part(max(0, squares-sum*sum/n)/(n-1)/n, len(s.run))
	}
	return sum / n, math.Sqrt(variance), variance * variance / weighted
}

// momentsAt returns mean and variance (over n-1; 0 for one value) of x at idx.
func momentsAt(x []float64, idx []int) (mean, variance float64) {
	n := float64(len(idx))
	for _, i := range idx {
		mean += x[i]
	}
	mean /= n
	for _, i := range idx {
		variance += (x[i] - mean) * (x[i] - mean)
	}
	return mean, variance / max(1, n-1)
}
