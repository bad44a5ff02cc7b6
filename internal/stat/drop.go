package stat

import (
	"math"
	"slices"
)

// Drop returns how far run values lie below their noise floor: the mean over run of (mean floor of the value's band - value),
// so that the floor is weighted by the run's own bands (contract, section 9). floor holds the floor's values per band, band
// names the index in floor for each run value. N is len(run). Positive means worse than the floor.
// The percentile interval resamples both sides: run values together with their bands, floor values within each band.
// A run value whose band is outside floor or has no floor values, or a value that is not finite: not computable.
func Drop(floor [][]float64, run []float64, band []int, o Options) Interval {
	o.Hits = nil // marks of pairs, not of floor values
	iv, ok := begin(run, o.method(MethodPercentile), o)
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
	means := make([]float64, len(floor))
	spread := 0.0
	for k := range floor {
		means[k] = mean(floor[k])
		if len(floor[k]) > 1 {
			spread += StdDev(floor[k])
		}
	}
	d := make([]float64, len(run))
	for i, v := range run {
		d[i] = means[band[i]] - v
	}
	iv.Point = mean(d)
	if iv.Method != MethodPercentile {
		iv.unknownMethod()
		return iv
	}
	if len(run) > 1 {
		spread += StdDev(d)
	}
	if !iv.boundable(spread) {
		return iv
	}
	iv.Resamples, iv.Seed = o.resamples(), o.Seed
	iv.fromReplicates(resampledDrops(floor, run, band, o), 0)
	iv.judgeCoverage(EstimateDrop, Shape{N: len(run), Hits: Unknown, Misses: Unknown, Skewness: Skewness(d), LogScatter: math.NaN()})
	return iv
}

func resampledDrops(floor [][]float64, run []float64, band []int, o Options) []float64 {
	r := newRand(o.Seed)
	longest := len(run)
	for _, f := range floor {
		longest = max(longest, len(f))
	}
	idx, means := make([]int, longest), make([]float64, len(floor))
	reps := make([]float64, o.resamples())
	for b := range reps {
		for k, f := range floor {
			if len(f) == 0 {
				continue
			}
			draw(r, idx[:len(f)], len(f))
			var s float64
			for _, i := range idx[:len(f)] {
				s += f[i]
			}
			means[k] = s / float64(len(f))
		}
		draw(r, idx[:len(run)], len(run))
		var s float64
		for _, i := range idx[:len(run)] {
			s += means[band[i]] - run[i]
		}
		reps[b] = s / float64(len(run))
	}
	return reps
}
