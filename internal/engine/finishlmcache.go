package engine

import (
	"sembench"
)

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
