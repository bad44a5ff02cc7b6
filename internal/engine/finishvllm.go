package engine

import (
	"slices"
	"strings"

	"sembench"
)

// finishVLLM fills the base keys from the connector audit if there is one, else from the text log. Without
// any line of the engine or its connector they stay null.
func (c *collector) finishVLLM(ev *sembench.Evidence) {
	if c.audit != nil {
		c.finishAudit(ev)
		return
	}
	_, connector := c.sources["semblend_text"]
	if !connector && !c.loggers[loggerVLLM] && ev.EngineStats == nil {
		return
	}
	if !connector && c.semblend.hidden {
		ev.Warnings = append(ev.Warnings, "the serve line names a KV connector that printed nothing: its decisions are unmeasured here, give the connector audit")
		return
	}
	if !connector {
		ev.Warnings = append(ev.Warnings, "no SemBlend line in this log: the connector prints its decisions only with log_decisions on, so 0 is what this log says; the connector audit is independent of it")
	}
	t := c.tallies()
	exact := c.exactRequests()
	t.materialized.events -= exact.events
	t.materialized.tokens -= exact.tokens
	ev.DonorRegistrations = &t.donors.events
	ev.SemanticHits = ptr(max(t.hits.events, t.other.events))
	ev.LoadAdvertisements = &t.adverts.events
	ev.MaterializationEvents = &t.materialized.events
	ev.MaterializedTokens = &t.materialized.tokens
	c.ranksOf(ev, t.materialized)
	if connector {
		ev.LookupMiss = &c.semblend.misses
		ev.Lookups = ptr(*ev.SemanticHits + c.semblend.misses)
		ev.LookupSkips = counts(c.semblend.skips)
		ev.HitsDropped = new(int)
		ev.Join = "per_request"
		c.joinRequests(ev)
	}
	if c.semblend.rope > 0 {
		ev.RopeCorrections = &c.semblend.rope
	}
	if c.semblend.provider != "" {
		ev.Provider = &c.semblend.provider
	}
	ev.MaterializedSemanticKVReuseFileLevel = *ev.SemanticHits > 0 && *ev.MaterializationEvents > 0
	c.class(ev)
}

// exactRequests are materializations of requests whose plan was an exact prefix.
func (c *collector) exactRequests() folded {
	var sum folded
	for _, q := range c.ledger.requests {
		if q.exact {
			f := q.fold(kindMaterialized, c.ranks.names)
			sum.events += f.events
			sum.tokens += f.tokens
		}
	}
	return sum
}

// joinRequests counts requests by what was seen of them. The flag needs both on one request, and tokens:
// a materialization of nothing proves nothing.
func (c *collector) joinRequests(ev *sembench.Evidence) {
	var j requestJoin
	for _, q := range c.ledger.requests {
		hits := q.fold(kindHit, c.ranks.names).events - q.fold(kindDrop, c.ranks.names).events
		m := q.fold(kindMaterialized, c.ranks.names)
		j.add(q.id, hits > 0, m.tokens > 0 && !q.exact)
	}
	nameless := c.ledger.none.fold(kindMaterialized, c.ranks.names).events
	j.fill(ev, nameless)
}

// maxJoined bounds the request ids listed as proof.
const maxJoined = 100

type requestJoin struct {
	hit, materialized, both int
	ids                     []string
}

func (j *requestJoin) add(id string, hit, materialized bool) {
	if hit {
		j.hit++
	}
	if materialized {
		j.materialized++
	}
	if hit && materialized {
		j.both++
		j.ids = append(j.ids, id)
	}
}

func (j *requestJoin) fill(ev *sembench.Evidence, nameless int) {
	slices.Sort(j.ids)
	if len(j.ids) > maxJoined {
		j.ids = slices.Clone(j.ids[:maxJoined])
	}
	ev.Requests = sembench.EvidenceRequests{
		Hit: &j.hit, Materialized: &j.materialized, HitAndMaterialized: &j.both,
		HitNotMaterialized: ptr(j.hit - j.both), MaterializedNoHit: ptr(j.materialized - j.both),
		MaterializedWithoutID: &nameless, HitAndMaterializedIDs: nonNil(j.ids),
	}
	ev.MaterializedSemanticKVReuse = j.both > 0
}

// finishAudit fills the base keys from the connector audit alone: it is independent of the text log's
// switch, and the only one that confirms.
func (c *collector) finishAudit(ev *sembench.Evidence) {
	ev.Join = "per_request"
	var hits, misses, adverts, events, tokens, partial, failed, superseded, lines, exact int
	var sawExact, sawSuperseded, sawTokens, disagree bool
	donors := c.audit.report.EventCounts["donor_registered"]
	skips := map[string]int{}
	for name, n := range c.audit.report.EventCounts {
		if reason, ok := strings.CutPrefix(name, "lookup_skipped_"); ok {
			skips[reason] = n
		}
	}
	ev.LookupSkips = &skips
	misses = c.audit.report.EventCounts["semantic_lookup_miss"]
	var j requestJoin
	for r := range c.audit.Records() {
		if r.SemanticLookupHit {
			hits++
		}
		adverts += r.AdvertiseCount
		events += r.MaterializedEvents
		tokens += deref(r.Materialized)
		sawTokens = sawTokens || r.Materialized != nil
		partial += r.PartialEvents
		superseded += deref(r.SupersededTokens)
		sawSuperseded = sawSuperseded || r.SupersededTokens != nil
		lines += r.MaterializationLogs
		failed += len(r.Failures)
		exact += deref(r.ExactMaterialized)
		sawExact = sawExact || r.ExactMaterialized != nil
		disagree = disagree || r.RanksDisagree
		j.add(r.RequestID, r.SemanticLookupHit, deref(r.Materialized) > 0)
	}
	j.fill(ev, 0)
	ev.DonorRegistrations, ev.SemanticHits, ev.LoadAdvertisements = &donors, &hits, &adverts
	ev.MaterializationEvents, ev.MaterializedTokens, ev.RankLines = &events, &tokens, &lines
	if c.audit.unreadable > 0 && !sawTokens {
		ev.MaterializedTokens = nil
	}
	ev.PartialMaterializations, ev.FailedMaterializations, ev.HitsDropped = &partial, &failed, new(int)
	ev.LookupMiss, ev.Lookups = &misses, ptr(hits+misses)
	ev.SupersededTokens = &superseded
	ev.RanksSeen = []string{}
	for _, id := range sortedKeys(c.audit.connectors) {
		if id != "" && len(ev.RanksSeen) < maxReasons {
			ev.RanksSeen = append(ev.RanksSeen, id)
		}
	}
	if disagree {
		ev.Warnings = append(ev.Warnings, rankWarning)
	}
	if sawExact {
		ev.ExactReuse = &sembench.ExactReuse{ExternalTokens: &exact, Basis: "connector materializations of kind exact_prefix", Source: "connector_audit"}
	}
	ev.MaterializedSemanticKVReuseFileLevel = hits > 0 && events > 0
	c.class(ev)
}
