package judge

import (
	"sembench"
	"sembench/internal/stat"
)

const (
	floorColdCold    = "cold_cold"
	floorExactPrefix = "exact_prefix"
	bandAll          = "all" // the band of rows that state none
	// leastFloor is how many calibration pairs a length band needs before its floor counts.
	leastFloor = 30
)

// floor is one noise floor of a calibration.
type floor struct {
	name  string
	bands map[string]sembench.FloorBand
}

// chooseFloor takes the floor asked for, by default exact_prefix where it was measured: blaming semantic reuse for what any
// prefix cache does would be unfair. Null: there is no calibration, or it has not measured that floor.
func chooseFloor(c *sembench.Calibration, name string) (*floor, error) {
	if c == nil {
		return nil, nil
	}
	switch name {
	case "":
		name = floorColdCold
		if c.Floors[floorExactPrefix].N > 0 {
			name = floorExactPrefix
		}
	case floorColdCold, floorExactPrefix:
	default:
		return nil, refuse("noise floor %q is unknown: want %s or %s", name, floorColdCold, floorExactPrefix)
	}
	f, ok := c.Floors[name]
	if !ok || f.N == 0 {
		return nil, nil
	}
	return &floor{name, f.PerLengthBand}, nil
}

// drop is how far the answers of hits agree less with their cold twins than the floor does: the floor's mean, weighted by
// the hits' own length bands, minus the hits' mean (stat.Drop). Its interval resamples both sides, the floor by item: repetitions
// of an item are not independent. Null without hits, and when a band of theirs has fewer than 30 floor values: the gate is then
// missing, never passed.
func (f *floor) drop(hits []float64, bands []string, o stat.Options) *sembench.CI {
	index := map[string]int{}
	var floors [][]float64
	places := make([]int, len(bands))
	for i, name := range bands {
		place, known := index[name]
		if !known {
			values := f.bands[name].Values
			if len(values) < leastFloor {
				return nil
			}
			place = len(floors)
			index[name], floors = place, append(floors, itemMeans(values))
		}
		places[i] = place
	}
	return ci(stat.Drop(floors, hits, places, o), "pair")
}

// itemMeans averages the floor values of each item, in the order of item ids.
func itemMeans(values []sembench.FloorValue) []float64 {
	groups := map[string][]float64{}
	for _, v := range values {
		groups[v.ItemID] = append(groups[v.ItemID], v.V)
	}
	out := make([]float64, 0, len(groups))
	for _, id := range sortedKeys(groups) {
		out = append(out, *average(groups[id]))
	}
	return out
}
