package engine

import (
	"fmt"
	"slices"
	"strings"

	"sembench"
)

// evidence is the document of everything gathered.
func (c *collector) evidence() *sembench.Evidence {
	ev := &sembench.Evidence{
		Schema:              sembench.EvidenceSchema,
		Engine:              c.recognised(),
		Sources:             sortedKeys(c.sources),
		Errors:              nonNil(c.faults.errors.texts),
		ErrorCount:          c.faults.errors.count,
		RuntimeWarnings:     nonNil(c.faults.warnings.texts),
		RuntimeWarningCount: c.faults.warnings.count,
		WarningLines:        c.faults.warned,
		Events:              c.events,
		EventsDropped:       c.dropped,
		Join:                "none",
		Warnings:            []string{},
	}
	c.input(ev)
	ev.EngineStats = c.stats.stats()
	ev.Transfer = c.stats.transfer
	ev.Prefill = c.prefill()
	ev.KVCacheStats = c.iters.stats()
	ev.LMCache = c.lmcacheReport()
	ev.RouterEstimates = c.router.seen
	ev.Usage = c.usage.summary()
	if c.audit != nil {
		rep := c.audit.Report()
		ev.Audit = &rep
	}
	switch ev.Engine {
	case "vllm":
		c.finishVLLM(ev)
	case "sglang":
		c.finishSGLang(ev)
	case "trtllm":
		c.finishTRT(ev)
	case "lmcache":
		c.finishLMCache(ev)
	}
	c.exactReuse(ev)
	c.finishWarnings(ev)
	return ev
}

// recognised is the engine asked for, or for auto the one whose lines are the strongest sign.
func (c *collector) recognised() string {
	if c.engine != "auto" {
		return c.engine
	}
	has := func(sources ...string) bool {
		return slices.ContainsFunc(sources, func(s string) bool { _, ok := c.sources[s]; return ok })
	}
	switch {
	case has("connector_audit", "vllm_stats", "vllm_transfer"):
		return "vllm"
	case has("sglang_batch", "sglang_fuzzy"):
		return "sglang"
	case has("trtllm_audit", "trtllm_iterations") || c.loggers[loggerTRTLLM]:
		return "trtllm"
	case has("semblend_text") || c.loggers[loggerVLLM] && !has("lmcache"):
		return "vllm"
	case has("lmcache"):
		return "lmcache"
	case has("ollama_cache"):
		return "ollama"
	case has("llamacpp_slots"):
		return "llamacpp"
	case has("usage"):
		return "openai"
	case c.loggers[loggerSGLang]:
		return "sglang"
	}
	return "unknown"
}

func (c *collector) input(ev *sembench.Evidence) {
	in := &ev.Input
	in.Lines, in.Bytes = c.count, c.lines.bytes
	in.InvalidUTF8Lines = c.unwrap.invalid
	in.DamagedLines = c.damaged + c.unwrap.damaged + c.lines.truncated + c.shapes.brokenObjects
	// In an audit a bare line that is no object is damage; a log prints such lines all the time.
	headers := slices.Contains(c.loggers[loggerVLLM:], true)
	if ev.Engine == "trtllm" {
		in.DamagedLines += c.shapes.otherJSON
		if !headers && c.engine == "trtllm" {
			ev.ErrorCount += c.shapes.plain
			for _, t := range c.shapes.plainTexts.texts {
				if len(ev.Errors) < c.opts.MaxErrors {
					ev.Errors = append(ev.Errors, t)
				}
			}
		}
	} else if c.audit != nil && !headers {
		in.DamagedLines += c.shapes.otherJSON + c.shapes.plain
	}
	in.Wrappers = []string{}
	for i, name := range wrapperNames {
		if c.unwrap.seen&(1<<i) != 0 {
			in.Wrappers = append(in.Wrappers, name)
		}
	}
	slices.Sort(in.Wrappers)
	in.Labels = sortedKeys(c.ranks.seen)
}

// tallies folds the kinds that make up the base keys.
type tallies struct {
	hits, other, drops, adverts, donors, materialized folded
}

func (c *collector) tallies() tallies {
	return tallies{
		hits: c.ledger.total(kindHit), other: c.ledger.total(kindHitOther), drops: c.ledger.total(kindDrop),
		adverts: c.ledger.total(kindAdvert), donors: c.ledger.total(kindDonor),
		materialized: c.ledger.total(kindMaterialized),
	}
}

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
		ev.Warnings = append(ev.Warnings, "the serve arguments name a KV connector that printed nothing: its decisions are unmeasured here, give the connector audit")
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
	var sawExact, sawSuperseded, disagree bool
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

const rankWarning = "ranks disagree on a materialization: one rank's largest total is reported, a rank may have lost lines or failed"

// ranksOf fills the rank fields from one folded kind.
func (c *collector) ranksOf(ev *sembench.Evidence, f folded) {
	ev.RankLines = &f.lines
	ev.RanksSeen = []string{}
	for _, i := range f.ranks {
		n := c.ranks.names[i]
		name := strings.TrimSpace(n.rank)
		if n.group != "" {
			name = strings.TrimSpace("DP" + n.group + " " + name)
		}
		if name != "" && !slices.Contains(ev.RanksSeen, name) && len(ev.RanksSeen) < maxReasons {
			ev.RanksSeen = append(ev.RanksSeen, name)
		}
	}
	slices.Sort(ev.RanksSeen)
	if f.disagree {
		ev.Warnings = append(ev.Warnings, rankWarning)
	}
}

func (c *collector) class(ev *sembench.Evidence) {
	if deref(ev.MaterializationEvents) > 0 {
		ev.MaterializationClass = ptr("semantic")
	}
}

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

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// finishTRT joins at file level: lookups and materializations name no request. Units are not tokens.
func (c *collector) finishTRT(ev *sembench.Evidence) {
	t := &c.trt
	if !t.seen {
		return
	}
	ev.DonorRegistrations, ev.SemanticHits = &t.donors, &t.hits
	ev.LoadAdvertisements = new(int)
	ev.MaterializationEvents, ev.MaterializedUnits = &t.materialized, &t.units
	ev.RopeCorrections, ev.EngineBoundaries = &t.rope, &t.boundaries
	ev.RejectionReasons = counts(t.reasons)
	ev.Lookups, ev.LookupsNonBooleanHits = &t.lookups, t.nonBoolean
	ev.LookupMiss = ptr(t.lookups - t.hits)
	ev.HitsDropped = new(int)
	ev.Join = "file_level"
	ev.MaterializedSemanticKVReuse = t.hits > 0 && (t.materialized > 0 || t.units > 0)
	ev.MaterializedSemanticKVReuseFileLevel = ev.MaterializedSemanticKVReuse
	if t.badUnits > 0 {
		ev.Warnings = append(ev.Warnings, fmt.Sprintf("%d materialized events carry no readable count: they count as events with 0 units", t.badUnits))
	}
	c.class(ev)
}

// finishLMCache maps retrieves to the base keys as their old names demand. Exact reuse: no candidate, and
// the flag stays false whatever the file says.
func (c *collector) finishLMCache(ev *sembench.Evidence) {
	lm := ev.LMCache
	if lm == nil {
		return
	}
	ev.DonorRegistrations, ev.SemanticHits, ev.LoadAdvertisements = &lm.StoreEvents, new(int), new(int)
	ev.MaterializationEvents = &lm.RetrieveEvents
	ev.MaterializedTokens = lm.RetrievedTokens
	c.ranksOf(ev, c.ledger.total(kindRetrieved))
	if lm.RetrieveEvents > 0 {
		ev.MaterializationClass = ptr("exact")
	}
}

// lmcacheReport is null when no LMCache line was seen. Sums are one rank's.
func (c *collector) lmcacheReport() *sembench.LMCacheReport {
	lm := &c.lmcache
	if !lm.seen {
		return nil
	}
	retrieved, starts, stored, hits := c.ledger.total(kindRetrieved), c.ledger.total(kindStoreStart), c.ledger.total(kindStored), c.ledger.total(kindLMCHit)
	rep := &sembench.LMCacheReport{
		LookupLines: lm.lookupLines, LookupPending: lm.pending,
		HitLines: hits.lines, HitTokens: hits.measured(),
		RetrieveLines: lm.retrieveLines, RetrieveEvents: retrieved.events,
		EmptyRetrieves:  c.ledger.total(kindEmptyRetrieve).events,
		RequiredTokens:  c.ledger.total(kindRequired).measured(),
		TotalTokens:     c.ledger.total(kindTotal).measured(),
		RetrievedChunks: c.ledger.total(kindChunks).measured(),
		InjectedTokens:  c.ledger.total(kindInjected).measured(),
		StoreStartLines: starts.lines, StoreStarts: starts.events, StoreStartTokens: starts.measured(), StoreStartTotal: lm.storeTotal,
		StoreEvents: stored.events, StoredTokens: stored.measured(),
		StoredChunks:  c.ledger.total(kindStoredChunks).measured(),
		PrefetchLines: lm.prefetchLines, Prefetches: lm.prefetches,
		FailedRetrieves: c.ledger.total(kindRetrieveFailed).events,
		Lookups:         []sembench.LMCacheLookup{},
	}
	if lm.retrieveLines > 0 {
		rep.RetrievedTokens = &retrieved.tokens
	}
	need, sawNeed := 0, false
	for _, id := range sortedKeys(c.ledger.requests) {
		l := c.ledger.requests[id].lookup
		if l == nil {
			continue
		}
		rep.LookupRequests++
		if l.need != nil {
			need += max(0, *l.need)
			sawNeed = true
		}
		if len(rep.Lookups) >= c.opts.MaxEvents {
			rep.LookupsDropped++
			continue
		}
		rep.Lookups = append(rep.Lookups, l.report(id))
	}
	if rep.RetrievedTokens != nil && sawNeed {
		rep.OverRetrieved = ptr(max(0, *rep.RetrievedTokens-need))
	}
	return rep
}

// report gives a lookup its derived members. On a full hit LMCache plans one token less, because the last
// one is always recomputed.
func (l *lookup) report(id string) sembench.LMCacheLookup {
	out := sembench.LMCacheLookup{RequestID: id, Total: l.total, Hit: l.hit, NeedToLoad: l.need}
	computed, full := l.computedTokens()
	out.FullHitMinusOne = full
	out.EngineComputed = computed
	switch {
	case l.computed != nil:
		out.EngineComputedSource = "logged"
	case computed != nil:
		out.EngineComputedSource = "derived hit-need"
	}
	if l.need != nil {
		out.ExternalTokens = ptr(max(0, *l.need))
	}
	return out
}

// computedTokens are the engine's own cached tokens: as logged, else hit minus need.
func (l *lookup) computedTokens() (n *int, fullHit bool) {
	fullHit = l.need != nil && l.hit == l.total && l.hit > 0 && *l.need >= 0 && *l.need < l.hit
	if l.computed != nil {
		return l.computed, fullHit && *l.need == l.hit-*l.computed-1
	}
	if l.need == nil {
		return nil, false
	}
	d := l.hit - *l.need
	if fullHit {
		d--
	}
	return ptr(max(0, d)), fullHit
}

// exactReuse picks the file's best account of exact reuse: per-request lookups before sums of batch lines
// before counters. Rolling rates are not turned into tokens.
func (c *collector) exactReuse(ev *sembench.Evidence) {
	if ev.ExactReuse == nil {
		switch {
		case ev.LMCache != nil:
			ev.ExactReuse = c.lmcacheReuse(ev.LMCache)
		case c.router.kvbm > 0:
			ev.ExactReuse = c.kvbmReuse()
		case ev.Prefill != nil && ev.Prefill.Lines > 0:
			p := ev.Prefill
			total := p.CachedTokens + p.NewTokens + deref(p.FuzzyTokens)
			ev.ExactReuse = &sembench.ExactReuse{
				LocalTokens: &p.CachedTokens, QueriedTokens: &total, Ratio: ratio(p.CachedTokens, total),
				Basis: "cached over cached + new + fuzzy tokens of prefill batches", Source: "sglang_prefill",
			}
		case ev.KVCacheStats != nil:
			ev.ExactReuse = &sembench.ExactReuse{
				Ratio: ev.KVCacheStats.CacheHitRate, Basis: "reused over reused + missed blocks, cumulative", Source: "trtllm_iterations",
			}
		case c.slots.ollama+c.slots.llama > 0:
			s := &c.slots
			ev.ExactReuse = &sembench.ExactReuse{
				LocalTokens: &s.used, QueriedTokens: &s.prompt, Ratio: ratio(s.used, s.prompt),
				Basis: "prompt tokens found in the slot", Source: "slot_cache",
			}
		case ev.Usage != nil && ev.Usage.CachedTokens != nil:
			ev.ExactReuse = &sembench.ExactReuse{
				QueriedTokens: &c.usage.with, Ratio: ev.Usage.ExactReuseFraction,
				Basis: "cached_tokens over prompt_tokens, local and external together", Source: "usage",
			}
		}
	}
	if c.lmcache.prefixRate != nil {
		if ev.BlendReuse == nil {
			ev.BlendReuse = &sembench.BlendReuse{Source: "lmcache"}
		}
		ev.BlendReuse.PrefixRate, ev.BlendReuse.NonPrefixRate = c.lmcache.prefixRate, c.lmcache.otherRate
	}
	if lm := ev.LMCache; lm != nil {
		ev.FailedRetrieves = &lm.FailedRetrieves
	}
}

// lmcacheReuse credits LMCache with what it promised (need to load) and what it delivered (retrieved, at
// most what was needed), and the engine's own cache with hit minus need. The ratio needs both legs.
func (c *collector) lmcacheReuse(lm *sembench.LMCacheReport) *sembench.ExactReuse {
	e := &sembench.ExactReuse{RetrievedTokens: lm.RetrievedTokens, Source: "lmcache", Basis: "tokens retrieved; no lookups in this log"}
	if lm.LookupRequests == 0 {
		return e
	}
	e.Basis = "last lookup of each request; external as promised, ratio as delivered"
	for _, q := range c.ledger.requests {
		l := q.lookup
		if l == nil {
			continue
		}
		add(&e.QueriedTokens, l.total)
		if l.need != nil {
			add(&e.NeedToLoadTokens, max(0, *l.need))
		}
		if n, _ := l.computedTokens(); n != nil {
			add(&e.LocalTokens, min(*n, l.total))
		}
	}
	e.ExternalTokens = e.NeedToLoadTokens
	need := deref(e.NeedToLoadTokens)
	if e.LocalTokens != nil && (need == 0 || lm.RetrievedTokens != nil) {
		e.Ratio = ratio(deref(e.LocalTokens)+min(need, deref(lm.RetrievedTokens)), *e.QueriedTokens)
	}
	return e
}

func (c *collector) kvbmReuse() *sembench.ExactReuse {
	t := &c.router
	hit := sum(t.tiers)
	external := t.tiers["host"] + t.tiers["disk"]
	return &sembench.ExactReuse{
		LocalTokens: ptr(t.tiers["device"]), ExternalTokens: &external, QueriedTokens: &t.isl, Ratio: ratio(hit, t.isl),
		Basis: "cache hits over input length per request", Source: "kvbm", Tiers: &t.tiers,
	}
}

// ratio is a over b in [0,1], null when b is not positive or the parts exceed the whole.
func ratio(a, b int) *float64 {
	if b <= 0 || a > b || a < 0 {
		return nil
	}
	return ptr(float64(a) / float64(b))
}

func (c *collector) finishWarnings(ev *sembench.Evidence) {
	warn := func(format string, args ...any) { ev.Warnings = append(ev.Warnings, fmt.Sprintf(format, args...)) }
	if c.ledger.overflow > 0 {
		warn("%d records name requests beyond the %d kept: they count, but join no request; raise --max-requests", c.ledger.overflow, c.opts.MaxRequests)
	}
	if c.lines.truncated > 0 {
		warn("%d lines are longer than %d MiB: only their heads were read", c.lines.truncated, maxLine>>20)
	}
	if ev.Input.DamagedLines > 0 {
		warn("%d damaged lines: counts are lower bounds", ev.Input.DamagedLines)
	}
	if c.ranks.full {
		warn("more than %d distinct ranks: some were merged", maxRanks)
	}
	if c.router.broken > 0 {
		warn("%d KVBM records do not sum to their input length", c.router.broken)
	}
	if s := ev.EngineStats; s != nil && deref(s.Preemptions) > 0 {
		warn("the engine preempted requests: recomputed prefixes count as cache hits in its rates")
	}
	if ev.Prefill != nil && ev.Prefill.HitRateConsistent != nil && !*ev.Prefill.HitRateConsistent {
		warn("the logged cumulative hit rate does not equal the sums: this log is not the whole run")
	}
	if ev.Audit != nil {
		ev.Warnings = append(ev.Warnings, ev.Audit.Warnings...)
		if text := c.ledger.total(kindMaterialized); text.lines > 0 && text.tokens != deref(ev.MaterializedTokens)+deref(ev.SupersededTokens) {
			warn("text log and audit contradict each other: %d against %d materialized tokens; the audit is reported", text.tokens, deref(ev.MaterializedTokens))
		}
	}
	if c.engine == "auto" && ev.Engine == "unknown" {
		warn("no engine was recognised: name it with --engine")
	}
}

func (st *vllmStats) stats() *sembench.EngineStats {
	if st.lines == 0 && st.spec == 0 {
		return nil
	}
	return &sembench.EngineStats{
		Lines: st.lines, SpecDecodeLines: st.spec, Engines: sortedKeys(st.engines),
		Samples: st.samples, SamplesDropped: st.dropped, Last: st.last, Preemptions: st.preempt,
	}
}

// counts is a measured map: empty rather than null.
func counts(m map[string]int) *map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	return &m
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
