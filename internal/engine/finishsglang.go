package engine

import (
	"fmt"
	"slices"

	"sembench"
)

// finishSGLang joins at file level: realization lines name no request. Segmented phases and the summary
// lines of those phases are one fact; contiguous realizations are others.
func (c *collector) finishSGLang(ev *sembench.Evidence) {
	s := &c.sglang
	if !s.fuzzySeen && ev.Prefill == nil && !c.loggers[loggerSGLang] {
		return
	}
	t := c.tallies()
	segments, sums := c.ledger.total(kindSegment), c.ledger.total(kindSegmentRealized)
	phases := segments
	if segments.lines == 0 {
		phases = sums
	} else if sums.lines > 0 && sums.tokens != segments.tokens {
		ev.Warnings = append(ev.Warnings, fmt.Sprintf("segmented phases hold %d tokens, the lines that sum them up %d: the phases are reported", segments.tokens, sums.tokens))
	}
	m := t.materialized
	m.events += phases.events
	m.tokens += phases.tokens
	m.lines += phases.lines
	m.disagree = m.disagree || phases.disagree
	for _, r := range phases.ranks {
		if !slices.Contains(m.ranks, r) {
			m.ranks = append(m.ranks, r)
		}
	}
	surviving := max(0, max(t.hits.events, t.other.events)-t.drops.events)
	ev.DonorRegistrations = &t.donors.events
	ev.HitsDropped = &t.drops.events
	ev.LoadAdvertisements = &t.adverts.events
	provider := "unknown"
	if s.provider != "" {
		provider = s.provider
	}
	if s.fuzzySeen {
		ev.Provider = &provider
		ev.LookupMiss = &s.misses
		ev.LookupSkips = counts(s.skips)
		ev.FailedMaterializations = ptr(sum(s.skips))
	}
	c.ranksOf(ev, m)
	if p := ev.Prefill; p != nil && p.FuzzyTokens != nil && m.lines > 0 {
		p.FuzzyMatchesRealized = ptr(*p.FuzzyTokens == m.tokens)
		if *p.FuzzyTokens != m.tokens {
			ev.Warnings = append(ev.Warnings, fmt.Sprintf("prefill lines admit %d fuzzy tokens, realization lines %d", *p.FuzzyTokens, m.tokens))
		}
	}
	if p := ev.Prefill; p != nil && deref(p.FuzzyTokens) > 0 && m.lines == 0 {
		ev.SemanticHits, ev.Join, ev.RankLines = &surviving, "file_level", nil
		ev.Warnings = append(ev.Warnings, fmt.Sprintf("prefill lines admit %d fuzzy tokens, but no realization line is in this log: materialization is unmeasured", *p.FuzzyTokens))
		return
	}
	if s.exactProvider() {
		// Identical tokens at another position: reuse, but neither candidate nor materialization of a semantic kind.
		ev.BlendReuse = &sembench.BlendReuse{Events: &m.events, Tokens: &m.tokens, Source: "sglang_fuzzy:" + provider}
		ev.SemanticHits, ev.MaterializationEvents, ev.MaterializedTokens = new(int), new(int), new(int)
		return
	}
	ev.SemanticHits, ev.MaterializationEvents, ev.MaterializedTokens = &surviving, &m.events, &m.tokens
	if s.fuzzySeen {
		ev.Join = "file_level"
		if s.provider == "" && m.events > 0 {
			ev.Warnings = append(ev.Warnings, "the fuzzy provider's start line is not in this log: provider unknown, taken as semantic")
		}
	}
	ev.MaterializedSemanticKVReuse = surviving > 0 && m.tokens > 0
	ev.MaterializedSemanticKVReuseFileLevel = ev.MaterializedSemanticKVReuse
	c.class(ev)
}
