package judge

import (
	"math"
	"testing"

	"sembench"
)

// A failed canary speaks for every step since the last passed one, an unjudged one shields nothing.
func TestIsolationBrackets(t *testing.T) {
	passes := func(outcomes ...string) (list []canaryPass) {
		for i, outcome := range outcomes {
			list = append(list, canaryPass{first: int64(i * 10), last: int64(i*10 + 1), outcome: outcome})
		}
		return list
	}
	accepted := &sembench.Isolation{Method: sembench.IsolationSalt, Status: sembench.IsolationAccepted}
	tests := []struct {
		name   string
		passes []canaryPass
		want   string
	}{
		{"both passed", passes(canaryPassed, canaryPassed), sembench.IsolationSaltVerified},
		{"failed before", passes(canaryFailed, canaryPassed), sembench.IsolationFailed},
		{"failed after", passes(canaryPassed, canaryFailed), sembench.IsolationFailed},
		{"none after", passes(canaryPassed), sembench.IsolationAccepted},
		{"none at all", nil, sembench.IsolationAccepted},
		{"unjudged after", passes(canaryPassed, canaryUnjudged, canaryPassed), sembench.IsolationAccepted},
		{"unjudged, then failed", passes(canaryPassed, canaryUnjudged, canaryFailed), sembench.IsolationFailed},
		{"a later failure after a pass", passes(canaryPassed, canaryPassed, canaryFailed), sembench.IsolationSaltVerified},
	}
	for _, test := range tests {
		s := &step{recipient: sembench.Observation{Isolation: accepted}, seqs: [2]int64{5, 6}}
		if got := newJournal(nil).isolation(s, test.passes); *got != test.want {
			t.Errorf("%s: %s, want %s", test.name, *got, test.want)
		}
	}
	// A claim of a verified status without canaries is no proof.
	s := &step{recipient: sembench.Observation{Isolation: &sembench.Isolation{Method: sembench.IsolationReset, Status: sembench.IsolationResetVerified}}}
	if got := newJournal(nil).isolation(s, nil); *got != sembench.IsolationAccepted {
		t.Errorf("claimed status: %s", *got)
	}
}

// A fresh process is one that served this arm alone, and each recipient once.
func TestFreshProcess(t *testing.T) {
	line := func(seq int64, item, pair, arm, boot string) sembench.Observation {
		o := sembench.Observation{Seq: seq, ItemID: item, PairID: pair, Arm: arm, Role: sembench.RoleRecipient,
			Isolation: &sembench.Isolation{Method: sembench.IsolationFreshProcess, Status: sembench.IsolationAccepted}}
		if boot != "" {
			o.BootID = &boot
		}
		return o
	}
	for name, c := range map[string]struct {
		lines []sembench.Observation
		want  string
	}{
		"two processes": {[]sembench.Observation{line(1, "i", "i#0", "cold", "a"), line(2, "j", "j#0", "cold", "a"), line(3, "i", "i#0", "warm", "b")}, sembench.IsolationFreshProcess},
		"one process":   {[]sembench.Observation{line(1, "i", "i#0", "cold", "a"), line(2, "i", "i#0", "warm", "a")}, sembench.IsolationAccepted},
		"unnamed":       {[]sembench.Observation{line(1, "i", "i#0", "cold", ""), line(2, "i", "i#0", "warm", "")}, sembench.IsolationAccepted},
		"twice":         {[]sembench.Observation{line(1, "i", "i#0", "cold", "a"), line(2, "i", "i#1", "cold", "a")}, sembench.IsolationAccepted},
	} {
		j := newJournal(c.lines)
		if got := j.isolation(j.sortedSteps()[0], nil); *got != c.want {
			t.Errorf("%s: %s, want %s", name, *got, c.want)
		}
	}
}

// Exactly half lost is still a measurement; one more is not.
func TestValidity(t *testing.T) {
	for lost := 7; lost <= 9; lost++ {
		s := newScene()
		s.canary(0, 0)
		for range 16 {
			s.item(arms{transform: "fuzzy_edit", cold: 100, warm: 100, donorMS: 9})
		}
		s.canary(0, 0)
		n := 0
		s.recipients(func(o *sembench.Observation) {
			if n++; o.Arm == sembench.ArmWarm && n <= 2*lost {
				o.Status, o.Error = sembench.StatusFailed, &sembench.RequestError{Class: sembench.ErrorTruncated}
			}
		})
		p := build(t, s).Paired
		if p.Valid != (lost <= 8) {
			t.Errorf("%d of 16 lost: valid %v (%v)", lost, p.Valid, show(p.InvalidReason))
		}
	}
}

// The order effect of a randomised design: full enumeration of a small case, and strata that keep transforms apart.
func TestOrderEffect(t *testing.T) {
	row := func(ratio float64, coldFirst, isHit bool) *pair {
		order := map[bool][2]int{true: {0, 1}, false: {1, 0}}[coldFirst]
		tokens := map[bool]int{true: 640}[isHit]
		return &pair{class: classUsed, cold: &sembench.Row{TTFTMS: &ratio, Order: &order[0]},
			warm: &sembench.Row{TTFTMS: new(1.0), Order: &order[1], SemanticConfirmedTokens: &tokens}}
	}
	one := func(*pair) string { return "x" }
	// Three cold first at 2, three warm first at 1: of 20 assignments 2 are as extreme, p = 0.1.
	var pairs []*pair
	for i := range 6 {
		pairs = append(pairs, row(map[bool]float64{true: 2, false: 1}[i < 3], i < 3, false))
	}
	effect, p, n := orderEffect(pairs, one, 1)
	near(t, "effect", effect, 2)
	if math.Abs(*p-0.1) > 0.02 || n != 6 {
		t.Errorf("p = %v, n = %d, want about 0.1 of 6", *p, n)
	}
	// A fast transform happens to run cold first more often; within each the orders are alike.
	pairs = nil
	for i := range 12 {
		fast := i < 6
		p := row(map[bool]float64{true: 5, false: 1}[fast], i%6 < 4 == fast, false)
		p.warm.Transform = map[bool]string{true: "fast", false: "slow"}[fast]
		pairs = append(pairs, p)
	}
	effect, _, _ = orderEffect(pairs, func(p *pair) string { return p.warm.Transform }, 1)
	near(t, "effect within transforms", effect, 1)
	if effect, p, n := orderEffect(pairs[:1], one, 1); effect != nil || p != nil || n != 0 {
		t.Errorf("one order only: %v %v %d", effect, p, n)
	}
}

// The last rung counts hits that got faster, no other pair.
func TestLadderFaster(t *testing.T) {
	s := newScene()
	s.canary(0, 0)
	s.item(arms{transform: "a", cold: 100, warm: 50, warmReuse: reused{0, 640}, donorMS: 9})
	s.item(arms{transform: "a", cold: 100, warm: 120, warmReuse: reused{0, 640}, donorMS: 9}) // a hit that is slower
	s.item(arms{transform: "a", cold: 100, warm: 90, donorMS: 9})                             // a faster miss
	s.item(arms{transform: "a", cold: 100, warm: 110, donorMS: 9})
	s.canary(0, 0)
	r := build(t, s)
	near(t, "faster", r.Ladder[len(r.Ladder)-1].Rate, 0.25)
	for _, rung := range r.Ladder {
		if rung.Name == "advertised" {
			near(t, "advertised", rung.Rate, 1280.0/4000)
		}
	}
}
