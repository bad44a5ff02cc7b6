package report

import (
	"fmt"
	"slices"
	"strings"

	"sembench"
)

// standing is what the first screen says: whether the numbers may be used, and what they must not be taken for.
type standing struct {
	Word  string // PASS, FAIL, INCONCLUSIVE, NO VERDICT
	Class string // pass, fail, open, none: the colour
	// Means is the word in a sentence.
	Means string
	// Unsound: the measurement itself is in doubt, so that its numbers are not to be quoted.
	Unsound bool
	// Failures are the verdict's, causes before what follows from them.
	Failures []string
	// Cautions are what a reader of the first screen alone would otherwise get wrong.
	Cautions []string
}

// soundness are gates about the measurement that are not checks by name.
var soundness = []string{"measurement_valid", "require-contamination-check", "require-no-engine-errors", "not_simulated", "max-negative-control-speedup-deviation", "max-negative-control-confirmed-rate"}

// standingOf reads a verdict; it decides nothing that the verdict did not decide.
func standingOf(in Input) standing {
	s := standing{Word: "NO VERDICT", Class: "none", Means: "Nothing was gated: these are observations without a judgement."}
	if v := in.Verdict; v != nil {
		s = standingOfVerdict(v)
		s.Failures = causesFirst(v)
	}
	if p := in.Result.Paired; p != nil && !p.Valid {
		s.Unsound = true
	}
	s.Cautions = cautions(in)
	return s
}

func standingOfVerdict(v *sembench.Verdict) standing {
	if v.Passed {
		means := "Every gate that was asked for holds."
		if !asksForSpeed(v) {
			means = "The measurement holds: its checks, controls and quality gates pass. No minimum speedup was asked for, so this does not say that the speedup is enough."
		}
		return standing{Word: "PASS", Class: "pass", Means: means}
	}
	var unsound, missed, open []string
	for _, g := range v.Gates {
		bad := g.Outcome == sembench.Fail || g.Outcome == sembench.Missing
		switch {
		case bad && (strings.HasPrefix(g.Metric, "checks.") || slices.Contains(soundness, g.Name)):
			unsound = append(unsound, g.Name)
		case bad:
			missed = append(missed, g.Name)
		case g.Outcome == sembench.Inconclusive:
			open = append(open, g.Name)
		}
	}
	switch {
	case len(unsound) > 0:
		return standing{Word: "FAIL", Class: "fail", Unsound: true, Means: "The measurement itself does not hold. Do not quote any number of this page; they are shown to find the cause."}
	case len(missed) > 0:
		return standing{Word: "FAIL", Class: "fail", Means: "The measurement holds, and what it shows does not meet what was asked for."}
	case len(open) > 0:
		return standing{Word: "INCONCLUSIVE", Class: "open", Means: "The data neither meet the limit nor miss it. That is not a pass: more pairs, or a quieter machine, would decide."}
	}
	return standing{Word: "FAIL", Class: "fail", Unsound: true, Means: "The verdict failed outside its gates."}
}

// consequences are gates that fail because something else did.
var consequences = []string{"measurement_valid", "pairs_valid", "require-contamination-check"}

// causesFirst puts failed checks of the measurement first and what merely follows last: a reader starts at the top.
func causesFirst(v *sembench.Verdict) []string {
	rank := func(failure string) int {
		name, _, _ := strings.Cut(failure, ":")
		switch {
		case slices.Contains(consequences, name):
			return 2
		case slices.ContainsFunc(v.Gates, func(g sembench.GateResult) bool {
			return g.Name == name && strings.HasPrefix(g.Metric, "checks.")
		}):
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(v.Failures), func(a, b string) int { return rank(a) - rank(b) })
}

func asksForSpeed(v *sembench.Verdict) bool {
	return slices.ContainsFunc(v.Gates, func(g sembench.GateResult) bool { return g.Name == "min-blended-ttft-speedup" })
}

func cautions(in Input) []string {
	r, p, v := in.Result, in.Result.Paired, in.Verdict
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Run.Simulated {
		add("Made on the embedded engine: times, reuse and answers follow a script. It shows that the instrument works and says nothing about any GPU, model or cache.")
	}
	if p == nil {
		if r.Engine == nil {
			add("Offline: what token ids and plans allow. No engine loaded anything, so nothing here says that reuse happens or is faster.")
		} else {
			add("One arm: there are no pairs, so nothing here says that anything became faster.")
		}
		return out
	}
	if p.InvalidReason != nil && (v == nil || v.Passed) {
		add("Not valid: %s.", *p.InvalidReason)
	}
	if lost := p.PairsTotal - p.PairsUsed - p.NegativeControlPairs - p.WrongReusePairs; lost > 0 {
		add("%d of %s are in no number here: %s.", lost, plural(p.PairsTotal, "pair"), lostWhy(p))
	}
	if p.PairsUsed > 0 && p.ExactBaselineTTFTSpeedupMean == nil {
		add("No exact arm ran: the gain is not separated from what prefix caching alone gives.")
	}
	if ci := p.SemanticIncrementalTTFTSpeedupMeanCI; ci != nil && ci.Lo != nil && *ci.Lo <= 1 {
		add("What the semantic layer adds to prefix caching is not shown to differ from nothing: its interval holds 1.")
	}
	if p.HitRateCoverage != nil && *p.HitRateCoverage < 1 {
		add("The hit rate covers %s of the used pairs; the others have no semantic signal.", percent(p.HitRateCoverage))
	}
	if ci := p.AATTFTSpeedupGeomeanCI; ci != nil && ci.Lo != nil && ci.Hi != nil && (*ci.Lo > 1 || *ci.Hi < 1) {
		add("The same arm twice does not agree: A/A %s %s. Something besides the cache changes times.", ratio(p.AATTFTSpeedupGeomean), interval(ci))
	}
	if ci := p.BlendedTTFTSpeedupMeanCI; ci != nil {
		for _, w := range ci.Warnings {
			add("Headline interval: %s.", warningWords(w))
		}
	}
	if v == nil {
		return out
	}
	if waived := waivers(v); waived != "" {
		add("Waived for this verdict: %s.", waived)
	}
	var unjudged []string
	for _, g := range v.Gates {
		if g.Outcome == sembench.NotJudged {
			unjudged = append(unjudged, g.Name)
		}
	}
	if len(unjudged) > 0 {
		add("Not judged for want of data: %s.", strings.Join(unjudged, ", "))
	}
	return out
}

// warningWords turns "coverage_warning: 16 values, fewer than 20" into words.
func warningWords(w string) string {
	if rest, ok := strings.CutPrefix(w, "coverage_warning: "); ok {
		return rest + ": it may cover less than it claims"
	}
	return strings.ReplaceAll(w, "_", " ")
}

// lostWhy is excluded without the controls, which are judged apart.
func lostWhy(p *sembench.Paired) string {
	bare := *p
	bare.NegativeControlPairs, bare.WrongReusePairs = 0, 0
	return excluded(&bare)
}

// waivers names what the verdict was allowed to overlook.
func waivers(v *sembench.Verdict) string {
	var out []string
	if v.AllowMissing {
		out = append(out, "missing metrics")
	}
	if v.AllowInconclusive {
		out = append(out, "inconclusive gates")
	}
	for _, c := range v.AcceptChecks {
		out = append(out, "failed check "+c)
	}
	return strings.Join(out, ", ")
}
