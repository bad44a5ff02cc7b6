package judge

import (
	"sembench"
)

// Directions of a gate.
const (
	AtLeast = "at least"
	AtMost  = "at most"
	Within  = "within 1 ±" // a ratio whose truth is 1
	Flag    = "flag"       // asked for or not
)

// leastPairs is how few pairs leave a gate that bench chose itself not judged (contract, section 10).
const leastPairs = 8

// GateSpec is one gate: a flag, the metric that it compares, and what a null means.
type GateSpec struct {
	// Flag is the command line's name without dashes, and the gate's name in the verdict.
	Flag string
	// Metric is the key that it reads, with its section; {statistic} stands for --gate-statistic.
	Metric    string
	Direction string
	// Default is what bench asks for by itself; null when bench does not ask.
	Default *float64
	// Pairs names the count that a gate which bench chose itself needs 8 of; empty when it counts nothing.
	Pairs string
	// Null says when the metric is null; a gate that was asked for then fails.
	Null string
	read func(*gateInput) reading
}

// reading is a metric as a gate sees it.
type reading struct {
	value *float64
	ci    *sembench.CI
	// pairs that the metric rests on; null where the gate counts none.
	pairs *int
	// log: the metric is a ratio, its interval is widened and its n estimated on the log scale.
	log    bool
	detail string
}

// GateTable lists every gate, in the order of verdicts.
func GateTable() []GateSpec {
	zero := new(0.0)
	return []GateSpec{
		{"min-blended-ttft-speedup", "paired.blended_ttft_speedup_{statistic}", AtLeast, nil, "",
			"no pair could be used", readSpeedup},
		{"max-negative-control-speedup-deviation", "paired.negative_control_ttft_speedup_{statistic}", Within, new(0.10), "negative_control_pairs",
			"no negative control is left", readControlSpeedup},
		{"max-negative-control-confirmed-rate", "aggregate.negative_control_backend_confirmed_rate", AtMost, new(0.02), "negative_control_pairs",
			"no negative control reports cached tokens", func(g *gateInput) reading {
				return reading{value: g.result.Aggregate.NegativeControlBackendConfirmedRate, pairs: &g.result.Aggregate.NegativeControlCount}
			}},
		{"max-negative-control-semantic-placement-rate", "aggregate.negative_control_semantic_placement_rate", AtMost, nil, "",
			"no negative control has route metadata", aggregateReading(func(a *sembench.Aggregate) *float64 { return a.NegativeControlSemanticPlacementRate })},
		{"min-backend-confirmed-block-rate", "aggregate.backend_confirmed_block_rate", AtLeast, nil, "",
			"no response reports cached tokens", aggregateReading(func(a *sembench.Aggregate) *float64 { return a.BackendConfirmedBlockRate })},
		{"min-quality-pass-rate", "aggregate.quality_pass_rate", AtLeast, nil, "",
			"no row has reference answers and an output", aggregateReading(func(a *sembench.Aggregate) *float64 { return a.QualityPassRate })},
		{"min-semantic-placement-rate", "aggregate.semantic_placement_rate_by_request", AtLeast, nil, "",
			"no row has route metadata", aggregateReading(func(a *sembench.Aggregate) *float64 { return a.SemanticPlacementRateByRequest })},
		{"max-warm-vs-cold-rouge-drop", "paired.warm_vs_cold_rouge_l_drop", AtMost, new(0.05), "hits with both outputs",
			"no calibration, fewer than 30 floor values in a band of the hits, or no hit", readDrop},
		{"min-materialization-events", "evidence.materialization_events", AtLeast, nil, "",
			"no evidence has such a source", evidenceReading(func(e *sembench.Evidence) *int { return e.MaterializationEvents })},
		{"min-materialized-tokens", "evidence.materialized_tokens", AtLeast, nil, "",
			"no evidence has such a source", evidenceReading(func(e *sembench.Evidence) *int { return e.MaterializedTokens })},
		{"min-materialized-units", "evidence.materialized_units", AtLeast, nil, "",
			"no evidence has such a source", evidenceReading(func(e *sembench.Evidence) *int { return e.MaterializedUnits })},
		{flagMaterialized, "evidence.materialized_semantic_kv_reuse", Flag, nil, "",
			"no evidence was given", readMaterialized},
		{flagNoErrors, "evidence.error_count", Flag, zero, "",
			"no evidence was given", readErrors},
		{"require-contamination-check", "paired.pairs_contaminated", Flag, zero, "",
			"contamination could not be judged: no pair, or pairs without isolation", readContamination},
		{"min-pairs-used", "paired.pairs_used", AtLeast, nil, "",
			"the result has no pairs", func(g *gateInput) reading {
				if g.result.Paired == nil {
					return reading{}
				}
				return reading{value: new(float64(g.result.Paired.PairsUsed))}
			}},
	}
}

const (
	flagMaterialized = "require-materialized-reuse"
	flagNoErrors     = "require-no-engine-errors"
	// The gates that nobody asks for.
	gateNotSimulated = "not_simulated"
	gateValid        = "measurement_valid"
)

func aggregateReading(of func(*sembench.Aggregate) *float64) func(*gateInput) reading {
	return func(g *gateInput) reading { return reading{value: of(&g.result.Aggregate)} }
}

// evidenceReading sums over all evidence given; null when no document has the source.
func evidenceReading(of func(*sembench.Evidence) *int) func(*gateInput) reading {
	return func(g *gateInput) (r reading) {
		for i := range g.Evidence {
			if n := of(&g.Evidence[i]); n != nil {
				if r.value == nil {
					r.value = new(0.0)
				}
				*r.value += float64(*n)
			}
		}
		return r
	}
}

func readSpeedup(g *gateInput) reading {
	p := g.result.Paired
	if p == nil {
		return reading{}
	}
	out := reading{pairs: &p.PairsUsed, log: true}
	switch g.Statistic {
	case "median":
		out.value, out.ci = p.BlendedTTFTSpeedupMedian, p.BlendedTTFTSpeedupMedianCI
	case "geomean":
		out.value, out.ci = p.BlendedTTFTSpeedupGeomean, p.BlendedTTFTSpeedupGeomeanCI
	default:
		out.value, out.ci = p.BlendedTTFTSpeedupMean, p.BlendedTTFTSpeedupMeanCI
		if out.ci == nil {
			out.ci = p.BlendedTTFTSpeedupCI // the public name, in documents of other producers
		}
	}
	return out
}

func readControlSpeedup(g *gateInput) reading {
	p := g.result.Paired
	if p == nil {
		return reading{}
	}
	out := reading{pairs: &p.NegativeControlPairs, log: true}
	switch g.Statistic {
	case "median":
		out.value, out.ci = p.NegativeControlTTFTSpeedupMedian, p.NegativeControlTTFTSpeedupMedianCI
	case "geomean":
		out.value, out.ci = p.NegativeControlTTFTSpeedupGeomean, p.NegativeControlTTFTSpeedupGeomeanCI
	default:
		out.value, out.ci = p.NegativeControlTTFTSpeedupMean, p.NegativeControlTTFTSpeedupMeanCI
	}
	out.detail = "mean " + number3(p.NegativeControlTTFTSpeedupMean) + ", geomean " + number3(p.NegativeControlTTFTSpeedupGeomean)
	return out
}

func readDrop(g *gateInput) reading {
	p := g.result.Paired
	if p == nil {
		return reading{}
	}
	out := reading{value: p.RougeLDropVsFloor, ci: p.RougeLDropVsFloorCI, pairs: &p.WarmVsColdRougeLHitN}
	if p.NoiseFloor != nil {
		out.detail = "floor " + *p.NoiseFloor
	}
	return out
}

// readMaterialized is 1 when some evidence shows a semantic hit and its materialization.
func readMaterialized(g *gateInput) reading {
	if len(g.Evidence) == 0 {
		return reading{}
	}
	for i := range g.Evidence {
		if g.Evidence[i].MaterializedSemanticKVReuse {
			return reading{value: new(1.0), detail: "join " + g.Evidence[i].Join}
		}
	}
	return reading{value: new(0.0)}
}

func readErrors(g *gateInput) reading {
	if len(g.Evidence) == 0 {
		return reading{}
	}
	out := reading{value: new(0.0)}
	for i := range g.Evidence {
		*out.value += float64(g.Evidence[i].ErrorCount)
		if out.detail == "" && len(g.Evidence[i].Errors) > 0 {
			out.detail = clip(g.Evidence[i].Errors[0], 200)
		}
	}
	return out
}

func readContamination(g *gateInput) reading {
	p := g.result.Paired
	if p == nil || !p.ContaminationJudged {
		return reading{}
	}
	return reading{value: new(float64(p.PairsContaminated))}
}
