package report

import (
	"slices"
	"strings"
	"testing"

	"sembench"
)

// What the first screen lets a reader conclude, case by case (docs/report-review.md).
func TestStanding(t *testing.T) {
	gate := func(name, metric, outcome string) sembench.GateResult {
		return sembench.GateResult{Name: name, Metric: metric, Outcome: outcome}
	}
	for name, c := range map[string]struct {
		v           *sembench.Verdict
		word, means string
		unsound     bool
	}{
		"nothing gated":          {nil, "NO VERDICT", "Nothing was gated", false},
		"passed, no speed asked": {&sembench.Verdict{Passed: true, Gates: []sembench.GateResult{gate("isolation_canary", "checks.isolation_canary", "pass")}}, "PASS", "No minimum speedup was asked for", false},
		"passed, speed asked":    {&sembench.Verdict{Passed: true, Gates: []sembench.GateResult{gate("min-blended-ttft-speedup", "paired.x", "pass")}}, "PASS", "Every gate that was asked for holds", false},
		"a check fails":          {&sembench.Verdict{Gates: []sembench.GateResult{gate("min-blended-ttft-speedup", "paired.x", "pass"), gate("log_channel", "checks.log_channel", "fail")}}, "FAIL", "Do not quote", true},
		"simulated, not allowed": {&sembench.Verdict{Gates: []sembench.GateResult{gate("not_simulated", "run.simulated", "fail")}}, "FAIL", "Do not quote", true},
		"too slow":               {&sembench.Verdict{Gates: []sembench.GateResult{gate("min-blended-ttft-speedup", "paired.x", "fail")}}, "FAIL", "does not meet what was asked for", false},
		"missing":                {&sembench.Verdict{Gates: []sembench.GateResult{gate("min-semantic-placement-rate", "aggregate.x", "missing")}}, "FAIL", "does not meet", false},
		"open":                   {&sembench.Verdict{Gates: []sembench.GateResult{gate("min-blended-ttft-speedup", "paired.x", "inconclusive")}}, "INCONCLUSIVE", "not a pass", false},
	} {
		in := small("")
		in.Result.Paired.Valid = true
		in.Verdict = c.v
		if s := standingOf(in); s.Word != c.word || !strings.Contains(s.Means, c.means) || s.Unsound != c.unsound {
			t.Errorf("%s: %s, %q, unsound %v", name, s.Word, s.Means, s.Unsound)
		}
	}
	in := small("")
	in.Verdict = &sembench.Verdict{Failures: []string{"measurement_valid: fail", "max-warm-vs-cold-rouge-drop: fail", "isolation_canary: fail"}, Gates: []sembench.GateResult{gate("isolation_canary", "checks.isolation_canary", "fail"), gate("measurement_valid", "paired.valid", "fail")}}
	if got := standingOf(in).Failures; !slices.Equal(got, []string{"isolation_canary: fail", "max-warm-vs-cold-rouge-drop: fail", "measurement_valid: fail"}) {
		t.Errorf("causes do not come first: %v", got)
	}
}

// What must not be concluded from the numbers alone is said beside them.
func TestCautions(t *testing.T) {
	in := small("")
	p := in.Result.Paired
	f := func(x float64) *float64 { return &x }
	p.Valid, p.PairsTotal, p.PairsContaminated, p.HitRateCoverage = true, 5, 2, f(.5)
	p.ContaminationReasons = map[string]int{"cold_cached": 2, "cold_isolation_failed": 1}
	p.SemanticIncrementalTTFTSpeedupMeanCI = &sembench.CI{Lo: f(.9), Hi: f(1.3)}
	p.AATTFTSpeedupGeomean, p.AATTFTSpeedupGeomeanCI = f(1.2), &sembench.CI{Lo: f(1.1), Hi: f(1.3)}
	in.Verdict.AllowMissing, in.Verdict.AcceptChecks = true, []string{"order_effect"}
	said := strings.Join(standingOf(in).Cautions, "\n")
	for _, want := range []string{"embedded engine", "2 of 5 pairs are in no number here: 2 contaminated (cold cached 2, cold isolation failed 1)", "not separated from what prefix caching alone gives", "its interval holds 1",
		"The hit rate covers 50.0 %", "The same arm twice does not agree: A/A 1.20x [1.10x, 1.30x]", "Waived for this verdict: missing metrics, failed check order_effect"} {
		if !strings.Contains(said, want) {
			t.Errorf("nobody says %q:\n%s", want, said)
		}
	}
}
