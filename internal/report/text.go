package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sembench"
)

// summary writes labelled lines.
type summary struct {
	out    strings.Builder
	colour bool
	width  int
}

// labelled is how wide the labels of a summary are.
const labelled = 21

func (s *summary) line(label, format string, args ...any) {
	s.flagged("", label, format, args...)
}

// flagged is a line whose label is painted.
func (s *summary) flagged(code, label, format string, args ...any) {
	padded := fmt.Sprintf("%-*s", labelled, label)
	if code != "" {
		padded = s.paint(code, padded)
	}
	fmt.Fprintf(&s.out, "  %s%s\n", padded, wrap(fmt.Sprintf(format, args...), s.width-labelled-2, labelled+2))
}

func (s *summary) head(title string) { fmt.Fprintf(&s.out, "\n%s\n", s.paint("1", title)) }

// paint puts a terminal colour around text.
func (s *summary) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Text writes the one-screen summary: what could be reused, what was, what it bought, and whether anyone may believe it.
// Width below 60 counts as 100.
func Text(w io.Writer, in Input, width int, colour bool) error {
	if width < 60 {
		width = 100
	}
	s := &summary{colour: colour, width: width}
	r := in.Result
	simulated := ""
	if r.Run.Simulated {
		simulated = s.paint("1;33", "   SIMULATED: the embedded engine, not a GPU")
	}
	fmt.Fprintf(&s.out, "%s  %s%s\n", s.paint("1", "sembench"), r.Run.RunID, simulated)
	s.could(r)
	if r.Paired != nil {
		s.bought(r.Paired)
		s.believe(r)
	}
	s.verdict(in)
	_, err := io.WriteString(w, s.out.String())
	return err
}

func (s *summary) could(r *sembench.Result) {
	a := r.Aggregate
	local := a.TotalBlocks
	if a.LocalTotalBlocks != nil {
		local = *a.LocalTotalBlocks
	}
	s.head(fmt.Sprintf("What could be reused   %s, %d full blocks%s", plural(a.RequestCount, "recipient"), local, engineCount(a.TotalBlocks, local)))
	if a.RequestCount == 0 && r.Paired != nil {
		s.line("", "no recipient is clean, so nothing is counted here; what the workload offers: sembench run-offline %s", r.Run.ManifestPath)
		return
	}
	s.line("exact", "%s blocks (%s) stand in a donor; %s as its prefix", count(&a.ExactHitBlocks, local), percent(a.ExactBlockHitRate), percent(a.ExactPrefixBlockHitRate))
	if a.SemanticCandidateBlocks == nil {
		s.line("candidate, eligible", "not measured: the planner semblend did not run, or failed on every item")
	} else {
		s.line("candidate", "%s blocks (%s) proposed by semblend", count(a.SemanticCandidateBlocks, local), percent(a.SemanticCandidateBlockRate))
		s.line("eligible", "%s blocks (%s) loadable as blocks; %s novel, no exact hit", count(a.SemanticEligibleBlocks, local), percent(a.SemanticEligibleBlockRate), percent(a.SemanticNovelBlockRate))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Planners)) {
		switch p := a.Planners[name]; {
		case name == "semblend":
		case p.EligibleBlockRate == nil:
			s.line("  planner "+name+" ", "not measured%s", failures(p.Errors))
		default:
			s.line("  planner "+name+" ", "%d eligible blocks (%s), %s novel%s", p.EligibleBlocks, percent(p.EligibleBlockRate), percent(p.NovelBlockRate), failures(p.Errors))
		}
	}
	if r.Paired != nil {
		s.line("confirmed", "%s blocks (%s) reused, says the engine: prefix cache and connector together", count(a.BackendConfirmedBlocks, a.TotalBlocks), percent(a.BackendConfirmedBlockRate))
		prompts, known := a.PromptTokens, ""
		if c, n := a.SemanticConfirmedCoverage, a.SemanticConfirmedPromptTokens; c != nil && n != nil && *c < 1 {
			prompts, known = *n, ", known of "+percent(c)+" of the rows"
		}
		s.line("  of it semantic", "%s of %d prompt tokens (%s)%s", tokens(a.SemanticConfirmedTokens), prompts, percent(a.SemanticConfirmedTokenWeightedReuseRate), known)
	}
}

// engineCount tells the engine's own count of blocks where it differs: a chat template adds tokens that were not counted here.
func engineCount(engine, local int) string {
	if engine == local {
		return ""
	}
	return fmt.Sprintf(" (%d as the engine counts)", engine)
}

func failures(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d planner errors, not counted as zero", n)
}

func tokens(n *int) string {
	if n == nil {
		return unmeasured
	}
	return fmt.Sprint(*n)
}

func (s *summary) bought(p *sembench.Paired) {
	s.head(fmt.Sprintf("What it bought   TTFT cold over warm, %d of %d pairs used", p.PairsUsed, p.PairsTotal))
	s.line("headline", "%s %s mean, misses included; median %s, geomean %s", ratio(p.BlendedTTFTSpeedupMean), interval(p.BlendedTTFTSpeedupMeanCI), ratio(p.BlendedTTFTSpeedupMedian), ratio(p.BlendedTTFTSpeedupGeomean))
	hits := unmeasured
	if p.Hits != nil {
		hits = fmt.Sprint(*p.Hits)
	}
	if p.HitRateCoverage != nil && *p.HitRateCoverage < 1 || p.HitsUnverifiedExternal > 0 {
		hits += fmt.Sprintf(" hits; %d unverified, coverage %s", p.HitsUnverifiedExternal, percent(p.HitRateCoverage))
	} else {
		hits += " hits"
	}
	s.line("hit rate", "%s (%s); on hits alone %s %s", percent(p.HitRate), hits, ratio(p.HitOnlyTTFTSpeedupMean), interval(p.HitOnlyTTFTSpeedupMeanCI))
	if p.ExactBaselineTTFTSpeedupMean == nil {
		s.line("prefix caching alone", "gain not separated from prefix caching: no exact arm ran")
	} else {
		s.line("prefix caching alone", "%s %s; the semantic layer adds %s %s", ratio(p.ExactBaselineTTFTSpeedupMean), interval(p.ExactBaselineTTFTSpeedupMeanCI),
			ratio(p.SemanticIncrementalTTFTSpeedupMean), interval(p.SemanticIncrementalTTFTSpeedupMeanCI))
		s.line("what it costs", "miss tax %s; donors %s a pair", milliseconds(p.MissTaxMS), milliseconds(p.DonorCostMS))
	}
	s.line("TTFT", "cold p50 %s, warm p50 %s", milliseconds(p.TTFTColdP50MS), milliseconds(p.TTFTWarmP50MS))
}

func (s *summary) believe(r *sembench.Result) {
	p, a := r.Paired, r.Aggregate
	s.head("Whether to believe it")
	s.line("negative controls", "%s over %s (truth 1); confirmed reuse %s", ratio(p.NegativeControlTTFTSpeedupMean), plural(p.NegativeControlPairs, "pair"), percent(a.NegativeControlBackendConfirmedRate))
	s.line("same arm twice", "A/A geomean %s %s (truth 1)", ratio(p.AATTFTSpeedupGeomean), interval(p.AATTFTSpeedupGeomeanCI))
	quality := "not judged: no noise floor"
	if r.Calibration != nil {
		quality = "not judged against the floor: too few hits with both answers, or too few floor values in their length"
	}
	if p.RougeLDropVsFloor != nil && p.NoiseFloor != nil {
		quality = fmt.Sprintf("answers on hits fall %s below the %s floor", decimal(p.RougeLDropVsFloor), strings.ReplaceAll(*p.NoiseFloor, "_", "-"))
	}
	s.line("quality", "%s; answers that pass %s", quality, percent(a.QualityPassRate))
	if p.WrongReusePairs > 0 {
		s.line("wrong reuse", "%s of the prompt on near-identical texts with another truth; the donor's answer leaked %s", percent(a.WrongReuseRate), percent(a.LeakRate))
	}
	s.line("excluded", "%s", excluded(p))
	if p.Hits != nil && p.PairsUsed > *p.Hits {
		s.line("", "a hit is semantic reuse of 64 tokens or more: pairs that the prefix cache served are misses, and stay in the headline")
	}
	for _, c := range r.Checks {
		if c.Outcome == sembench.Fail || c.Outcome == sembench.Inconclusive {
			s.flagged("31", c.Outcome, "%s: %s", c.Name, c.Detail)
		}
	}
	if p.InvalidReason != nil {
		s.flagged("31", "NOT VALID", "%s", *p.InvalidReason)
	}
}

// excluded says which pairs are in no headline and why; the numbers add up to pairs_total - pairs_used.
func excluded(p *sembench.Paired) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(p.NegativeControlPairs, "negative controls (judged apart)")
	add(p.WrongReusePairs, "wrong-reuse controls (judged apart)")
	add(p.PairsContaminated, "contaminated"+reasons(p.ContaminationReasons))
	add(p.PairsErrored, "errored")
	add(p.PairsUnpaired, "unpaired")
	for _, reason := range slices.Sorted(maps.Keys(p.PairsExcluded)) {
		add(p.PairsExcluded[reason], strings.ReplaceAll(reason, "_", " "))
	}
	if len(parts) == 0 {
		return "no pair"
	}
	return strings.Join(parts, ", ")
}

// reasons lists why pairs are contaminated, most frequent first; one pair may have several.
func reasons(n map[string]int) string {
	if len(n) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), n[name]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (s *summary) verdict(in Input) {
	if v := in.Verdict; v != nil {
		word := s.paint("1;32", "PASS")
		if !v.Passed {
			word = s.paint("1;31", "FAIL")
		}
		s.head(fmt.Sprintf("%s   %s", word, gateCounts(v)))
		for _, f := range v.Failures {
			fmt.Fprintf(&s.out, "  - %s\n", wrap(f, s.width-4, 4))
		}
		for _, g := range v.Gates {
			if g.Outcome == sembench.NotJudged {
				fmt.Fprintf(&s.out, "  - %s: %s\n", g.Name, wrap(g.Detail, s.width-6, 4))
			}
		}
	}
	if in.ReportPath != "" {
		s.line("report", "%s", in.ReportPath)
	}
}

// gateCounts is like "7 gates: 6 pass, 1 fail".
func gateCounts(v *sembench.Verdict) string {
	n := map[string]int{}
	for _, g := range v.Gates {
		n[g.Outcome]++
	}
	var parts []string
	for _, outcome := range []string{sembench.Pass, sembench.Fail, sembench.Missing, sembench.Inconclusive, sembench.NotJudged} {
		if n[outcome] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[outcome], strings.ReplaceAll(outcome, "_", " ")))
		}
	}
	return plural(len(v.Gates), "gate") + ": " + strings.Join(parts, ", ")
}
