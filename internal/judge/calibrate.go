package judge

import (
	"math"

	"sembench"
	"sembench/internal/stat"
)

// CalibrationInputs is what a calibration pass left behind: cold and aa twins for the cold/cold floor and A/A, and exact twins
// (the same prompt sent as donor, then as recipient) for the exact_prefix floor.
type CalibrationInputs struct {
	Items        []sembench.Item
	Observations []sembench.Observation
	Protocol     sembench.Protocol
	Model        string
	Engine       string
	// EngineVersion null: the engine does not tell.
	EngineVersion *string
	Simulated     bool
	CreatedAtUTC  string
	Options
}

// Calibrate makes the calibration artifact (contract, section 9). A twin counts when both arms finished with an output,
// neither isolation failed, and
//
//   - cold/cold: neither arm reports reuse above what its probe left;
//   - exact_prefix: the twin reports at least a block of it, and nothing external; a server that reports no cached tokens gives no
//     such floor.
//
// Everything else is counted as errored or contaminated, and never enters a floor.
func Calibrate(in CalibrationInputs) sembench.Calibration {
	out := sembench.Calibration{
		CalibrationVersion: sembench.CalibrationVersion, CreatedAtUTC: in.CreatedAtUTC, Model: in.Model, Engine: in.Engine,
		EngineVersion: in.EngineVersion, Protocol: in.Protocol, Simulated: in.Simulated, Floors: map[string]sembench.Floor{},
	}
	bands := map[string]string{}
	for _, it := range in.Items {
		bands[it.ItemID] = it.Text("length_band")
	}
	j := newJournal(in.Observations)
	est := newEstimator(in.Options)
	floors := map[string]*floorBuilder{floorColdCold: newFloorBuilder(), floorExactPrefix: newFloorBuilder()}
	var aa, ordered []float64
	for _, s := range j.sortedSteps() {
		twin := s.recipient
		base := j.steps[[2]string{twin.PairID, sembench.ArmCold}]
		if base == nil || twin.Arm != sembench.ArmAA && twin.Arm != sembench.ArmExact {
			continue
		}
		cold := base.recipient
		name, clean := floorColdCold, isCold(cold) && isCold(twin)
		if twin.Arm == sembench.ArmExact {
			name, clean = floorExactPrefix, isCold(cold) && isPrefixHit(twin, in.blockSize())
		}
		switch {
		case cold.Status != sembench.StatusOK || twin.Status != sembench.StatusOK || cold.OutputText == nil || twin.OutputText == nil:
			out.PairsErrored++
		case !clean:
			out.PairsContaminated++
		default:
			floors[name].add(bands[twin.ItemID], twin.ItemID, *cold.OutputText, *twin.OutputText)
			if a, b := cold.TTFT(), twin.TTFT(); name == floorColdCold && positive(a) && positive(b) {
				aa = append(aa, *a / *b)
				if r := firstOverSecond(cold.Order, twin.Order, *a / *b); r != nil {
					ordered = append(ordered, *r)
				}
			}
		}
	}
	for name, b := range floors {
		if f := b.floor(est); f.N > 0 {
			out.Floors[name] = f
		}
	}
	flat := out.Floors[floorColdCold]
	out.NPairs, out.RougeLMean, out.RougeLP05, out.RougeLP50, out.RougeLCI = flat.N, flat.Mean, flat.P05, flat.P50, flat.CI
	if len(aa) > 0 {
		mean, _, geomean := est.three(aa, kinds{uniform: true})
		out.TTFTAA = &sembench.TTFTAA{N: len(aa), Mean: point(mean), Geomean: point(geomean), CI: geomean,
			CV: finite(stat.StdDev(logs(aa)) / math.Sqrt2)}
		_, _, first := est.three(ordered, kinds{uniform: true})
		out.TTFTAA.FirstOverSecond, out.TTFTAA.FirstOverSecondCI = point(first), first
	}
	return out
}

// firstOverSecond turns a ratio of arms a over b into that of the arm that ran first over the second; null without orders.
func firstOverSecond(a, b *int, ratio float64) *float64 {
	switch {
	case a == nil || b == nil || *a == *b:
		return nil
	case *a < *b:
		return &ratio
	}
	return new(1 / ratio)
}

// isolated tells that nothing says the step started dirty.
func isolated(o sembench.Observation) bool {
	return o.Isolation != nil && o.Isolation.Status != sembench.IsolationFailed && o.Isolation.Status != sembench.IsolationNone
}

func isCold(o sembench.Observation) bool {
	if !isolated(o) || deref(o.ExternalCachedTokens()) > 0 || deref(fuzzyTokens(o)) > 0 {
		return false
	}
	return deref(o.CachedTokens()) <= deref(o.Isolation.PrimedTokens)
}

func isPrefixHit(o sembench.Observation, blockSize int) bool {
	cached := o.CachedTokens()
	return isolated(o) && cached != nil && *cached >= deref(o.Isolation.PrimedTokens)+blockSize &&
		deref(o.ExternalCachedTokens()) == 0 && deref(fuzzyTokens(o)) == 0
}
