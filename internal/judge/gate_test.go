package judge

import (
	"fmt"
	"strings"
	"testing"

	"sembench"
)

// interval is an interval record around a point.
func interval(lo, v, hi float64, n int, warnings ...string) *sembench.CI {
	return &sembench.CI{Point: &v, Lo: &lo, Hi: &hi, Level: 0.95, N: n, Unit: "pair", Warnings: warnings}
}

// gateCase says how a document states one gate's metric.
type gateCase struct {
	ask       Ask
	set       func(r *sembench.Result, e *sembench.Evidence, v *float64, c *sembench.CI)
	good, bad float64
	hasCI     bool
}

func ints(v *float64) *int {
	if v == nil {
		return nil
	}
	return new(int(*v))
}

func gateCases() []gateCase {
	return []gateCase{
		{ask: Ask{"min-blended-ttft-speedup", 1.5}, good: 3, bad: 1.1, hasCI: true, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, c *sembench.CI) {
			r.Paired.BlendedTTFTSpeedupMean, r.Paired.BlendedTTFTSpeedupMeanCI = v, c
		}},
		{ask: Ask{"max-negative-control-speedup-deviation", 0.1}, good: 1.01, bad: 1.5, hasCI: true, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, c *sembench.CI) {
			r.Paired.NegativeControlTTFTSpeedupMean, r.Paired.NegativeControlTTFTSpeedupMeanCI = v, c
		}},
		{ask: Ask{"max-negative-control-confirmed-rate", 0.02}, good: 0, bad: 0.2, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, _ *sembench.CI) {
			r.Aggregate.NegativeControlBackendConfirmedRate = v
		}},
		{ask: Ask{"max-negative-control-semantic-placement-rate", 0.05}, good: 0.05, bad: 0.06, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, _ *sembench.CI) {
			r.Aggregate.NegativeControlSemanticPlacementRate = v
		}},
		{ask: Ask{"min-backend-confirmed-block-rate", 0.3}, good: 0.3, bad: 0.29, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, _ *sembench.CI) {
			r.Aggregate.BackendConfirmedBlockRate = v
		}},
		{ask: Ask{"min-quality-pass-rate", 0.8}, good: 0.9, bad: 0.7, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, _ *sembench.CI) {
			r.Aggregate.QualityPassRate = v
		}},
		{ask: Ask{"min-semantic-placement-rate", 0.5}, good: 0.5, bad: 0.1, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, _ *sembench.CI) {
			r.Aggregate.SemanticPlacementRateByRequest = v
		}},
		{ask: Ask{"max-warm-vs-cold-rouge-drop", 0.05}, good: 0.01, bad: 0.2, hasCI: true, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, c *sembench.CI) {
			r.Paired.RougeLDropVsFloor, r.Paired.RougeLDropVsFloorCI = v, c
		}},
		{ask: Ask{"min-materialization-events", 2}, good: 2, bad: 1, set: func(_ *sembench.Result, e *sembench.Evidence, v *float64, _ *sembench.CI) {
			e.MaterializationEvents = ints(v)
		}},
		{ask: Ask{"min-materialized-tokens", 500}, good: 640, bad: 100, set: func(_ *sembench.Result, e *sembench.Evidence, v *float64, _ *sembench.CI) {
			e.MaterializedTokens = ints(v)
		}},
		{ask: Ask{"min-materialized-units", 3}, good: 3, bad: 2, set: func(_ *sembench.Result, e *sembench.Evidence, v *float64, _ *sembench.CI) {
			e.MaterializedUnits = ints(v)
		}},
		{ask: Ask{"min-pairs-used", 8}, good: 8, bad: 7, set: func(r *sembench.Result, _ *sembench.Evidence, v *float64, _ *sembench.CI) {
			if v == nil {
				r.Paired = nil
				return
			}
			r.Paired.PairsUsed = int(*v)
		}},
	}
}

func bare() (sembench.Result, sembench.Evidence) {
	return sembench.Result{Paired: &sembench.Paired{Valid: true, PairsUsed: 20, NegativeControlPairs: 20, WarmVsColdRougeLHitN: 20, ContaminationJudged: true},
		Aggregate: sembench.Aggregate{NegativeControlCount: 20}}, sembench.Evidence{}
}

// Every gate, with its metric good, bad, null and straddling, under every flag that may waive something: the exit code and the
// outcome in the document.
func TestGateMatrix(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range gateCases() {
		covered[c.ask.Flag] = true
		threshold := c.ask.Threshold
		states := map[string]struct {
			v       *float64
			ci      *sembench.CI
			outcome string // with --gate-on ci
			atPoint string // with --gate-on point
		}{
			"good": {&c.good, interval(c.good, c.good, c.good, 20), sembench.Pass, sembench.Pass},
			"bad":  {&c.bad, interval(c.bad, c.bad, c.bad, 20), sembench.Fail, sembench.Fail},
			"null": {nil, nil, sembench.Missing, sembench.Missing},
		}
		if c.hasCI {
			lo, hi := min(c.good, threshold)-0.3, max(c.good, threshold)+0.3
			states["straddling"] = struct {
				v       *float64
				ci      *sembench.CI
				outcome string
				atPoint string
			}{&c.good, interval(lo, c.good, hi, 20), sembench.Inconclusive, sembench.Pass}
			states["no bounds"] = struct {
				v       *float64
				ci      *sembench.CI
				outcome string
				atPoint string
			}{&c.good, &sembench.CI{Point: &c.good, N: 1}, sembench.Inconclusive, sembench.Pass}
		}
		for name, state := range states {
			for mask := range 16 {
				o := GateOptions{Asks: []Ask{c.ask}, AllowMissing: mask&1 > 0, AllowInconclusive: mask&2 > 0, On: []string{"ci", "point"}[mask>>2&1],
					Bench: mask&8 > 0}
				want, extra := state.outcome, 0
				if o.On == "point" {
					want = state.atPoint
				}
				r, e := bare()
				c.set(&r, &e, state.v, state.ci)
				o.Evidence = []sembench.Evidence{e}
				if o.Bench { // bench's own gates hold in this document, but for the ones that it leaves null
					for _, d := range gateCases() {
						if d.ask.Flag != c.ask.Flag && r.Paired != nil {
							d.set(&r, &o.Evidence[0], &d.good, interval(d.good, d.good, d.good, 20))
						}
					}
					if r.Paired == nil {
						extra = 3 // control deviation, rouge drop and contamination are missing too
					}
				}
				v, err := Gate(r, o)
				if err != nil {
					t.Fatal(err)
				}
				label := fmt.Sprintf("%s %s %+v", c.ask.Flag, name, o)
				got := find(v, c.ask.Flag)
				if got.Outcome != want {
					t.Errorf("%s: outcome %s, want %s", label, got.Outcome, want)
				}
				fails := want == sembench.Fail || want == sembench.Missing && !o.AllowMissing || want == sembench.Inconclusive && !o.AllowInconclusive
				if extra > 0 && !o.AllowMissing {
					fails = true
				}
				if v.Passed == fails || v.ExitCode != map[bool]int{true: 1}[fails] {
					t.Errorf("%s: passed %v, exit %d, failures %q", label, v.Passed, v.ExitCode, v.Failures)
				}
				if v.AllowMissing != o.AllowMissing || v.AllowInconclusive != o.AllowInconclusive || v.GateOn != o.On {
					t.Errorf("%s: waivers are not in the verdict", label)
				}
				if (want == sembench.Missing) != (len(v.MissingMetrics) > 0) && extra == 0 {
					t.Errorf("%s: missing metrics %q", label, v.MissingMetrics)
				}
				if v.RequestedGates[c.ask.Flag] != threshold {
					t.Errorf("%s: requested gates %v", label, v.RequestedGates)
				}
			}
		}
	}
	for _, spec := range GateTable() {
		if spec.Direction != Flag && !covered[spec.Flag] {
			t.Errorf("gate %s is in no case of this matrix", spec.Flag)
		}
	}
}

func find(v sembench.Verdict, name string) sembench.GateResult {
	for _, g := range v.Gates {
		if g.Name == name {
			return g
		}
	}
	return sembench.GateResult{}
}

func TestFlagGates(t *testing.T) {
	tests := []struct {
		flag   string
		change func(r *sembench.Result, e *sembench.Evidence)
		none   bool // no evidence given
		want   string
	}{
		{"require-materialized-reuse", func(_ *sembench.Result, e *sembench.Evidence) { e.MaterializedSemanticKVReuse = true }, false, sembench.Pass},
		{"require-materialized-reuse", func(*sembench.Result, *sembench.Evidence) {}, false, sembench.Fail},
		{"require-materialized-reuse", func(_ *sembench.Result, e *sembench.Evidence) { e.MaterializedSemanticKVReuseFileLevel = true }, false, sembench.Fail},
		{"require-materialized-reuse", func(*sembench.Result, *sembench.Evidence) {}, true, sembench.Missing},
		{"require-no-engine-errors", func(*sembench.Result, *sembench.Evidence) {}, false, sembench.Pass},
		{"require-no-engine-errors", func(_ *sembench.Result, e *sembench.Evidence) { e.ErrorCount = 1 }, false, sembench.Fail},
		{"require-no-engine-errors", func(*sembench.Result, *sembench.Evidence) {}, true, sembench.Missing},
		{"require-contamination-check", func(*sembench.Result, *sembench.Evidence) {}, false, sembench.Pass},
		{"require-contamination-check", func(r *sembench.Result, _ *sembench.Evidence) { r.Paired.PairsContaminated = 1 }, false, sembench.Fail},
		{"require-contamination-check", func(r *sembench.Result, _ *sembench.Evidence) { r.Paired.ContaminationJudged = false }, false, sembench.Missing},
		{"require-contamination-check", func(r *sembench.Result, _ *sembench.Evidence) { r.Paired = nil }, false, sembench.Missing},
	}
	for _, test := range tests {
		r, e := bare()
		test.change(&r, &e)
		o := GateOptions{Asks: []Ask{{Flag: test.flag}}, Evidence: []sembench.Evidence{e}}
		if test.none {
			o.Evidence = nil
		}
		v, err := Gate(r, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := find(v, test.flag).Outcome; got != test.want || v.Passed != (test.want == sembench.Pass) {
			t.Errorf("%s: %s, want %s; passed %v", test.flag, got, test.want, v.Passed)
		}
	}
}

// A gate that bench chose itself is not judged below 8 pairs; the same gate typed by the user decides.
func TestBenchGatesWithFewPairs(t *testing.T) {
	r, e := bare()
	r.Paired.NegativeControlPairs, r.Aggregate.NegativeControlCount, r.Paired.WarmVsColdRougeLHitN = 2, 2, 7
	r.Paired.NegativeControlTTFTSpeedupMean, r.Paired.NegativeControlTTFTSpeedupMeanCI = new(2.0), interval(1.9, 2, 2.1, 2)
	v, err := Gate(r, GateOptions{Bench: true, Evidence: []sembench.Evidence{e}})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(v, "max-negative-control-speedup-deviation"); got.Outcome != sembench.NotJudged || !strings.HasPrefix(got.Detail, "not judged: 2 of 8") {
		t.Errorf("gate = %+v", got)
	}
	if got := find(v, "max-warm-vs-cold-rouge-drop"); got.Detail != "not judged: 7 of 8" {
		t.Errorf("gate = %+v", got)
	}
	if !v.Passed {
		t.Errorf("failures = %q", v.Failures)
	}
	v, _ = Gate(r, GateOptions{Bench: true, Evidence: []sembench.Evidence{e}, Asks: []Ask{{"max-negative-control-speedup-deviation", 0.1}}})
	if got := find(v, "max-negative-control-speedup-deviation"); got.Outcome != sembench.Fail || v.ExitCode != 1 {
		t.Errorf("typed gate = %+v, exit %d", got, v.ExitCode)
	}
}

func TestStandingGates(t *testing.T) {
	check := func(name string, r sembench.Result, o GateOptions, exit int, gate, outcome string) {
		t.Helper()
		v, err := Gate(r, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := find(v, gate); v.ExitCode != exit || got.Outcome != outcome {
			t.Errorf("%s: exit %d, %s is %q; failures %q", name, v.ExitCode, gate, got.Outcome, v.Failures)
		}
	}
	r, _ := bare()
	check("real", r, GateOptions{}, 0, "not_simulated", sembench.Pass)
	r.Run.Simulated = true
	check("simulated", r, GateOptions{}, 1, "not_simulated", sembench.Fail)
	check("simulated, allowed", r, GateOptions{AllowSimulated: true}, 0, "not_simulated", sembench.Pass)
	r, _ = bare()
	r.Checks = []sembench.CheckResult{{Name: "order_effect", Outcome: sembench.Fail}, {Name: "usage_channel", Outcome: sembench.NotJudged}}
	check("failed check", r, GateOptions{}, 1, "order_effect", sembench.Fail)
	check("accepted check", r, GateOptions{AcceptChecks: []string{"order_effect"}}, 0, "order_effect", sembench.NotJudged)
	r.Checks[0].Outcome = sembench.Inconclusive
	check("inconclusive check", r, GateOptions{}, 1, "order_effect", sembench.Inconclusive)
	check("inconclusive check, allowed", r, GateOptions{AllowInconclusive: true}, 0, "order_effect", sembench.Inconclusive)
	r, _ = bare()
	r.Paired.Valid, r.Paired.InvalidReason = false, new("no pair could be used")
	check("a document without the key", sembench.Result{Paired: &sembench.Paired{PairsUsed: 5, PairsTotal: 9}}, GateOptions{}, 0, "measurement_valid", sembench.Pass)
	check("and with too few pairs", sembench.Result{Paired: &sembench.Paired{PairsUsed: 3, PairsTotal: 9, PairsErrored: 5}}, GateOptions{}, 4, "measurement_valid", sembench.Fail)
	check("invalid", r, GateOptions{AllowMissing: true, AllowInconclusive: true}, 4, "measurement_valid", sembench.Fail)
}

func TestGateRefusals(t *testing.T) {
	r, _ := bare()
	for want, o := range map[string]GateOptions{
		`gate "min-luck" is unknown`:        {Asks: []Ask{{"min-luck", 1}}},
		`gate-on is "mean"`:                 {On: "mean"},
		`gate-statistic is "mode"`:          {Statistic: "mode"},
		`check "order" is unknown`:          {AcceptChecks: []string{"order"}},
		"threshold is -0.1, want 0 or more": {Asks: []Ask{{"max-negative-control-speedup-deviation", -0.1}}},
	} {
		if _, err := Gate(r, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// The control gate asks |mean - 1| <= d, or |ln geomean| <= ln(1+d): the bounds of both are symmetric in their own sense.
func TestControlGateBounds(t *testing.T) {
	for _, c := range []struct {
		statistic string
		v         float64
		pass      bool
	}{{"mean", 1.1, true}, {"mean", 0.9, true}, {"mean", 1.101, false}, {"mean", 0.899, false},
		{"geomean", 1.1, true}, {"geomean", 1 / 1.1, true}, {"geomean", 0.9, false}, {"median", 0.9, true}} {
		r, _ := bare()
		p := r.Paired
		p.NegativeControlTTFTSpeedupMean, p.NegativeControlTTFTSpeedupGeomean, p.NegativeControlTTFTSpeedupMedian = &c.v, &c.v, &c.v
		v, err := Gate(r, GateOptions{Asks: []Ask{{"max-negative-control-speedup-deviation", 0.1}}, Statistic: c.statistic, On: "point"})
		if err != nil {
			t.Fatal(err)
		}
		if v.Passed != c.pass {
			t.Errorf("%s %v: passed %v", c.statistic, c.v, v.Passed)
		}
		if !strings.HasSuffix(v.Gates[0].Metric, c.statistic) || !strings.Contains(v.Gates[0].Detail, "geomean") {
			t.Errorf("gate = %+v", v.Gates[0])
		}
	}
	// An interval far wider than the band on both sides decides nothing, though neither bound is inside.
	r, _ := bare()
	r.Paired.NegativeControlTTFTSpeedupMean, r.Paired.NegativeControlTTFTSpeedupMeanCI = new(1.0), interval(0.5, 1, 1.5, 8)
	v, _ := Gate(r, GateOptions{Asks: []Ask{{"max-negative-control-speedup-deviation", 0.1}}})
	if v.Gates[0].Outcome != sembench.Inconclusive || v.Gates[0].NNeeded == nil || *v.Gates[0].NNeeded <= 8 {
		t.Errorf("gate = %+v", v.Gates[0])
	}
}

// With a coverage_warning the gate passes at twice the width only, and fails as ever.
func TestCoverageWarningGate(t *testing.T) {
	ask := []Ask{{"min-blended-ttft-speedup", 1.5}}
	for _, c := range []struct {
		lo, v, hi float64
		want      string
	}{{1.9, 2, 2.2, sembench.Pass}, {1.6, 2, 2.2, sembench.Inconclusive}, {1.3, 1.4, 1.49, sembench.Fail}} {
		r, _ := bare()
		r.Paired.BlendedTTFTSpeedupMean = &c.v
		r.Paired.BlendedTTFTSpeedupMeanCI = interval(c.lo, c.v, c.hi, 12, "coverage_warning: 12 values, fewer than 20")
		v, err := Gate(r, GateOptions{Asks: ask})
		if err != nil {
			t.Fatal(err)
		}
		if v.Gates[0].Outcome != c.want {
			t.Errorf("lower bound %v: %+v, want %s", c.lo, v.Gates[0], c.want)
		}
	}
}

// n_needed agrees with the textbook: sd 0.5 in logs, observed 2, threshold 1.5, 80 % power, 95 % interval.
func TestPairsNeeded(t *testing.T) {
	// se of a 95 % interval of 16 pairs with sd 0.5 is 0.125; half width 1.96 x 0.125 = 0.245.
	// n = ((1.96 + 0.8416) 0.5 / ln(2/1.5))^2 = 23.7; t quantiles add two.
	r, _ := bare()
	r.Paired.BlendedTTFTSpeedupMean = new(2.0)
	r.Paired.BlendedTTFTSpeedupMeanCI = interval(2*0.78270, 2, 2*1.27762, 16)
	r.Paired.BlendedTTFTSpeedupMeanCI.Lo = new(1.4)
	r.Paired.BlendedTTFTSpeedupMeanCI.Hi = new(1.4 * 1.6323) // exp(2 x 0.245)
	v, err := Gate(r, GateOptions{Asks: []Ask{{"min-blended-ttft-speedup", 1.5}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := v.Gates[0].NNeeded; n == nil || *n < 24 || *n > 27 {
		t.Errorf("n_needed = %v", show(n))
	}
}
