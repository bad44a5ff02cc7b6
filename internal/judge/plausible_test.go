package judge

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/engine"
)

// Offline rows that no analysis of this manifest can have found are refused.
func TestImplausibleOfflineRows(t *testing.T) {
	for name, damage := range map[string]func(s *scene){
		"two rows of one item":        func(s *scene) { s.in.Offline = append(s.in.Offline, s.in.Offline[0]) },
		"an item without a row":       func(s *scene) { s.in.Offline = s.in.Offline[1:] },
		"no rows at all":              func(s *scene) { s.in.Offline = []sembench.Row{} },
		"a foreign row":               func(s *scene) { s.in.Offline[0].ItemID = "foreign" },
		"more hits than blocks":       func(s *scene) { s.in.Offline[3].ExactHitBlocks = 63 },
		"more prefix than blocks":     func(s *scene) { s.in.Offline[3].ExactPrefixHitBlocks = new(63) },
		"more eligible than blocks":   func(s *scene) { s.in.Offline[3].SemanticEligibleBlocks = new(1000) },
		"a negative count":            func(s *scene) { s.in.Offline[3].SemanticNovelBlocks = new(-1) },
		"a negative prompt":           func(s *scene) { s.in.Offline[3].PromptTokens = -5 },
		"more blocks than tokens":     func(s *scene) { s.in.Offline[3].LocalTotalBlocks = new(900) },
		"more tokens than the prompt": func(s *scene) { s.in.Offline[3].SemanticEligibleTokens = new(1001) },
		"a planner beyond the prompt": func(s *scene) {
			s.in.Offline[3].Planners = map[string]sembench.PlannerRow{"span": {EligibleBlocks: new(63)}}
		},
		"a planner's negative numbers": func(s *scene) {
			s.in.Offline[3].Planners = map[string]sembench.PlannerRow{"span": {CopiedTokens: new(-63)}}
		},
	} {
		s := honest()
		damage(s)
		var refused *Refused
		if _, err := Build(s.in); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Build(honest().in); err != nil {
		t.Errorf("honest rows: %v", err)
	}
}

// An interval over orders of magnitude is printed, and doubted.
func TestAbsurdIntervalsAreDoubted(t *testing.T) {
	e := newEstimator(Options{Seed: 1})
	wide := []float64{0.9, 1.1, 1, 3000, 0.95, 1.2, 2, 2000, 0.02, 1, 1.1, 0.9}
	for name, k := range map[string]kinds{"unknown": {}, "uniform": {uniform: true}} {
		mean, median, geomean := e.three(wide, k)
		for _, c := range []*sembench.CI{mean, median, geomean, e.hodgesLehmann(wide, k)} {
			if *c.Hi > doubtfulWidth**c.Lo && coverageWarning(c) == "" {
				t.Errorf("%s, %s: [%g, %g] without a warning", name, c.Method, *c.Lo, *c.Hi)
			}
		}
		if coverageWarning(mean) == "" {
			t.Errorf("%s: the mean's interval [%g, %g] is not doubted", name, *mean.Lo, *mean.Hi)
		}
	}
	c := doubt(interval(0.08, 14, 2664.08, 12))
	if coverageWarning(c) == "" || *c.Lo != 0.08 || *c.Hi != 2664.08 {
		t.Errorf("got %+v", c)
	}
	if c := doubt(interval(1.2, 2, 3, 30)); coverageWarning(c) != "" || math.Abs(*c.Hi-3) > 0 {
		t.Errorf("an ordinary interval is doubted: %+v", c)
	}
}

// An audit of a schema that names no requests is no audit of another run.
func TestAuditThatNamesNoRequests(t *testing.T) {
	for text, want := range map[string]string{
		`{"event": "donor_registered", "request_id": 3}`: sembench.NotJudged,
		``: sembench.Fail,
	} {
		s := honest()
		audit, err := engine.ReadAudit(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		s.in.Audit = audit
		for _, c := range build(t, s).Checks {
			if c.Name == "audit_joins" && c.Outcome != want {
				t.Errorf("%q: %+v, want %s", text, c, want)
			}
		}
	}
}

// The measurement of a prefix between canaries and steps is no canary pass, whatever its arm is called: it hides none.
func TestPrefixMeasurementIsNoPass(t *testing.T) {
	s := newScene()
	s.canary(0, 0)
	s.line("prefix-1", armCanary, "probe", "", 20, reused{})
	s.line("prefix-1", armCanary, "probe-measure", "", 20, reused{prefix: 48})
	for range 8 {
		s.item(arms{transform: "exact", cold: 100, warm: 25, donorMS: 90, warmReuse: reused{64, 640}})
	}
	s.canary(0, 0)
	if r := build(t, s); r.Paired.PairsContaminated != 0 || r.Paired.PairsUsed != 8 {
		t.Errorf("%d pairs used, %d contaminated: %v", r.Paired.PairsUsed, r.Paired.PairsContaminated, r.Paired.ContaminationReasons)
	}
}
