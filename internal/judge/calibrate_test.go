package judge

import (
	"fmt"
	"math"
	"testing"

	"sembench"
)

// twins writes calibration pairs: an item, its cold arm and a twin.
func twins(n int, band func(i int) string, twin string, cold, other float64, r reused, output func(i int) string) CalibrationInputs {
	s := newScene()
	for i := range n {
		id := fmt.Sprintf("item-%02d", i)
		s.in.Items = append(s.in.Items, sembench.Item{ItemID: id, Metadata: map[string]any{"length_band": band(i)}})
		for _, arm := range []string{sembench.ArmCold, twin} {
			ms, reuse, text := cold, reused{}, "a b c d"
			if arm == twin {
				ms, reuse, text = other, r, output(i)
			}
			o := s.line(id, arm, sembench.RoleRecipient, id+"#0", ms, reuse)
			o.OutputText = &text
			o.Order = new(map[bool]int{true: 1}[(arm == twin) == (i%2 == 0)])
			o.Isolation = &sembench.Isolation{Method: sembench.IsolationReset, Status: sembench.IsolationAccepted, PrimedTokens: new(0)}
		}
	}
	return CalibrationInputs{Items: s.in.Items, Observations: s.in.Observations, Model: "tiny"}
}

func TestCalibrateClosedForm(t *testing.T) {
	// Half of the outputs are equal, half share 3 of 4 tokens on both sides: ROUGE-L 1 and 0.75.
	c := Calibrate(twins(40, func(int) string { return "1k" }, sembench.ArmAA, 110, 100, reused{}, func(i int) string {
		return []string{"a b c d", "a b c x"}[i%2]
	}))
	f := c.Floors[floorColdCold]
	count(t, "n", f.N, 40)
	near(t, "mean", f.Mean, 0.875)
	near(t, "p05", f.P05, 0.75)
	near(t, "flat mean", c.RougeLMean, 0.875)
	count(t, "band", f.PerLengthBand["1k"].N, 40)
	near(t, "A/A", c.TTFTAA.Geomean, 1.1)
	near(t, "cv", c.TTFTAA.CV, 0)
	near(t, "first over second of balanced orders", c.TTFTAA.FirstOverSecond, 1)
	if len(c.Floors) != 1 {
		t.Errorf("floors = %v", sortedKeys(c.Floors))
	}
}

func TestCalibrateExactPrefix(t *testing.T) {
	same := func(int) string { return "a b c d" }
	band := func(int) string { return "" }
	c := Calibrate(twins(3, band, sembench.ArmExact, 100, 50, reused{prefix: 480}, same))
	count(t, "exact", c.Floors[floorExactPrefix].N, 3)
	count(t, "in all", c.Floors[floorExactPrefix].PerLengthBand[bandAll].N, 3)
	if c.TTFTAA != nil {
		t.Error("exact twins are no A/A")
	}
	// A twin that hit nothing says nothing of prefix reuse; one with external tokens is not the prefix cache's alone.
	for _, r := range []reused{{}, {prefix: 480, semantic: 64}} {
		c = Calibrate(twins(3, band, sembench.ArmExact, 100, 50, r, same))
		count(t, "contaminated", c.PairsContaminated, 3)
		count(t, "exact", c.Floors[floorExactPrefix].N, 0)
	}
	c = Calibrate(twins(3, band, sembench.ArmAA, 100, 50, reused{prefix: 16}, same))
	count(t, "contaminated A/A", c.PairsContaminated, 3)
	null(t, "mean", c.RougeLMean)
}

// The drop is the floor weighted by the hits' own bands minus the hits: here 0.5 of 0.9 and 0.5 of 0.7, minus 0.6.
func TestDropWeighsBands(t *testing.T) {
	values := func(v float64) (out []sembench.FloorValue) {
		for i := range 30 {
			out = append(out, sembench.FloorValue{ItemID: fmt.Sprint(i % 10), V: v})
		}
		return out
	}
	f := floor{floorColdCold, map[string]sembench.FloorBand{"1k": {Values: values(0.9)}, "4k": {Values: values(0.7)}, "8k": {Values: values(0.1)[:29]}}}
	drop := f.drop([]float64{0.6, 0.6}, []string{"1k", "4k"}, newEstimator(Options{}).o)
	near(t, "drop", drop.Point, 0.2)
	if got := f.drop([]float64{0.6, 0.6}, []string{"1k", "8k"}, newEstimator(Options{}).o); got != nil {
		t.Errorf("a band of 29 values gives %+v", got)
	}
	if got := f.drop(nil, nil, newEstimator(Options{}).o); got != nil {
		t.Errorf("no hits give %+v", got)
	}
	// Repetitions of an item count once in the resampling.
	means := itemMeans([]sembench.FloorValue{{ItemID: "b", V: 1}, {ItemID: "a", V: 0.5}, {ItemID: "b", V: 0}})
	if len(means) != 2 || means[0] != 0.5 || means[1] != 0.5 {
		t.Errorf("item means = %v", means)
	}
}

// In a run with hits the drop comes from the floor asked for, by default exact_prefix; an unknown floor is Refused.
func TestFloorChoice(t *testing.T) {
	floorOf := func(v float64) sembench.Floor {
		var values []sembench.FloorValue
		for i := range 30 {
			values = append(values, sembench.FloorValue{ItemID: fmt.Sprint(i), V: v})
		}
		return sembench.Floor{N: 30, PerLengthBand: map[string]sembench.FloorBand{"1k": {N: 30, Values: values}}}
	}
	s := honest()
	s.in.Calibration = &sembench.Calibration{Model: "tiny", Floors: map[string]sembench.Floor{floorColdCold: floorOf(0.9), floorExactPrefix: floorOf(0.8)}}
	p := build(t, s).Paired
	near(t, "drop from exact_prefix", p.RougeLDropVsFloor, math.Round((0.8-1)*1e12)/1e12)
	if !is(p.NoiseFloor, floorExactPrefix) {
		t.Errorf("floor = %v", show(p.NoiseFloor))
	}
	s.in.NoiseFloor = floorColdCold
	near(t, "drop from cold_cold", build(t, s).Paired.RougeLDropVsFloor, math.Round((0.9-1)*1e12)/1e12)
	s.in.NoiseFloor = "warm"
	if _, err := Build(s.in); err == nil {
		t.Error("an unknown floor is accepted")
	}
}

// A result judged against a calibration later has the numbers that it would have had at once, and is not changed itself.
func TestAgainstFloor(t *testing.T) {
	var values []sembench.FloorValue
	for i := range 30 {
		values = append(values, sembench.FloorValue{ItemID: fmt.Sprint(i), V: 0.9})
	}
	c := quietAA()
	c.Floors = map[string]sembench.Floor{floorColdCold: {N: 30, PerLengthBand: map[string]sembench.FloorBand{"1k": {N: 30, Values: values}}}}
	s := honest()
	s.in.Calibration = c
	whole := build(t, s)
	s = honest()
	s.in.Calibration = nil
	bare := build(t, s)
	later, err := AgainstFloor(bare, *c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "drop", later.Paired.RougeLDropVsFloor, *whole.Paired.RougeLDropVsFloor)
	near(t, "A/A", later.Paired.AATTFTSpeedupGeomean, 1)
	near(t, "headline", later.Paired.BlendedTTFTSpeedupMean, *whole.Paired.BlendedTTFTSpeedupMean)
	if string(sembench.Marshal(later.Paired)) != string(sembench.Marshal(whole.Paired)) {
		t.Error("the paired blocks differ")
	}
	null(t, "drop of the result given", bare.Paired.RougeLDropVsFloor)
	c.Model = "other"
	if _, err := AgainstFloor(bare, *c, Options{}); err == nil {
		t.Error("the calibration of another model is accepted")
	}
	if _, err := AgainstFloor(sembench.Result{}, *c, Options{}); err == nil {
		t.Error("a result without pairs is accepted")
	}
}
