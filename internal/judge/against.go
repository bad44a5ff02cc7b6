package judge

import (
	"slices"

	"sembench"
)

// AgainstFloor judges a finished result's answers against a calibration: the drop below the noise floor is computed anew from
// the rows, and the A/A taken over where the run had none. A calibration of another model, engine or protocol, an unknown floor, and
// a result without pairs or whose rows are in another file are Refused. The result given is not changed.
func AgainstFloor(r sembench.Result, c sembench.Calibration, o Options) (sembench.Result, error) {
	if r.Paired == nil || len(r.Requests) == 0 {
		return r, refuse("comparing with the noise floor: the result has no pairs with rows")
	}
	in := Inputs{Run: r.Run, Engine: r.Engine}
	if r.Protocol != nil {
		in.Protocol = *r.Protocol
	}
	if err := in.fits(c); err != nil {
		return r, err
	}
	f, err := chooseFloor(&c, o.NoiseFloor)
	if err != nil {
		return r, err
	}
	if r.BlockSize > 0 {
		o.BlockSize = r.BlockSize
	}
	pairs := pairUp(slices.Clone(r.Requests), nil)
	g := pairing{pairs: pairs, est: newEstimator(o), blockSize: o.blockSize(), floor: f, transform: func(*pair) string { return "" }}
	fresh := *r.Paired
	fresh.NoiseFloor, fresh.RougeLDropVsFloor, fresh.RougeLDropVsFloorCI = nil, nil, nil
	g.agreement(&fresh, g.of(classUsed))
	if fresh.AATTFTSpeedupGeomean == nil && c.TTFTAA != nil {
		fresh.AATTFTSpeedupMean, fresh.AATTFTSpeedupGeomean, fresh.AATTFTSpeedupGeomeanCI = c.TTFTAA.Mean, c.TTFTAA.Geomean, c.TTFTAA.CI
		fresh.AAFirstOverSecond, fresh.AAFirstOverSecondCI = c.TTFTAA.FirstOverSecond, c.TTFTAA.FirstOverSecondCI
	}
	r.Paired, r.Calibration = &fresh, &c
	return r, nil
}
