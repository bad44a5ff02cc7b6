package judge

import (
	"sembench"
	"sembench/internal/quality"
)

// floorBuilder gathers one floor's values by length band.
type floorBuilder struct {
	bands map[string][]sembench.FloorValue
}

func newFloorBuilder() *floorBuilder { return &floorBuilder{map[string][]sembench.FloorValue{}} }

func (b *floorBuilder) add(band, itemID, one, other string) {
	if band == "" {
		band = bandAll
	}
	b.bands[band] = append(b.bands[band], sembench.FloorValue{ItemID: itemID, V: quality.ROUGEL(one, other)})
}

func (b *floorBuilder) floor(est estimator) sembench.Floor {
	out := sembench.Floor{PerLengthBand: map[string]sembench.FloorBand{}}
	var all []float64
	for _, name := range sortedKeys(b.bands) {
		values := make([]float64, len(b.bands[name]))
		for i, v := range b.bands[name] {
			values[i] = v.V
		}
		all = append(all, values...)
		out.PerLengthBand[name] = sembench.FloorBand{N: len(values), Mean: average(values), P05: quantile(values, 0.05, 1), Values: b.bands[name]}
	}
	mean, _, _ := est.three(all, kinds{})
	out.N, out.Mean, out.CI = len(all), average(all), mean
	out.P05, out.P50 = quantile(all, 0.05, 1), quantile(all, 0.5, 1)
	return out
}
