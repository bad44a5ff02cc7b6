package judge

import (
	"fmt"
	"math"
	"slices"

	"sembench"
)

// Channels through which the engine's reuse is known.
const (
	channelUsage   = "usage"
	channelAudit   = "audit"
	channelLog     = "log"
	channelCounter = "counter"
)

// Canonical counter names of a metrics window.
const (
	counterPrefixHits   = "vllm_prefix_cache_hits"
	counterExternalHits = "vllm_external_prefix_cache_hits"
	counterLocalSource  = "vllm_prompt_tokens_local_cache_hit" // a second count of the first, made elsewhere in the engine
	counterAllCached    = "sglang_cached_tokens"
)

// comparison is how channels agree on reused tokens: requests on which each was heard, stood alone against others that
// agree, or differed from a single other, which accuses neither.
type comparison struct {
	compared, accused, disputed map[string]int
	claims, unmaterialized      int // requests that claim a load, and those of them of which nothing was written
	silentUsage                 bool
	resetCounters               bool
}

// witness is what the channels say that came over the connector for one request, in tokens.
type witness map[string]int

// compareChannels asks all channels about every finished request of the engine: recipients, donors, probes, canaries.
//
// Two numbers agree when they differ by less than a block: an engine may recompute the last tokens of what was loaded. A
// request that claims a load of which neither audit nor log shows the writing is no dispute about numbers; it is what the check
// hits_materialize counts.
func (f *facts) compareChannels() {
	c := comparison{compared: map[string]int{}, accused: map[string]int{}, disputed: map[string]int{}}
	f.channels = &c
	c.silentUsage = f.usageSilent()
	var consensus, cached, local int
	complete, split := true, true // every request has a number; every response splits its cached tokens
	totals := map[string]int{}
	unsettled := false
	for _, o := range f.lines() {
		if o.Status != sembench.StatusOK {
			complete = complete && o.Stamps.WriteStart == nil // a failed request may have been counted
			continue
		}
		w, r := f.hear(o, &c)
		if n := o.CachedTokens(); n != nil {
			cached += *n
		}
		if n := localCached(o); n != nil {
			local += *n
		} else {
			split = false
		}
		if f.claimed(o, r, &c) {
			complete = false
			continue
		}
		for channel, n := range w {
			totals[channel] += n
		}
		value, odd, settled := vote(w, f.in.blockSize())
		if len(w) > 1 {
			for channel := range w {
				c.compared[channel]++
			}
		}
		switch {
		case len(w) == 0:
			complete = false
		case !settled:
			unsettled = true
			f.contradict("request %s: %s", o.RequestID, describe(w))
			for channel := range w {
				c.disputed[channel]++
			}
		default:
			consensus += value
			if odd != "" {
				c.accused[odd]++
				f.contradict("request %s: %s", o.RequestID, describe(w))
			}
		}
	}
	f.compareCounters(&c, totals, consensus, cached, local, complete, split, unsettled)
	f.compareFuzzy(&c)
}

// compareFuzzy holds the fuzzy tokens that responses claim against what the log realized. SGLang's realization lines name no
// request, so that only sums compare; the log may hold more than this run, never less. The share that nothing covers counts like as
// many loads.
func (f *facts) compareFuzzy(c *comparison) {
	e := f.in.Evidence
	if e == nil || !slices.Contains(e.Sources, "sglang_fuzzy") {
		return
	}
	realized := e.MaterializedTokens
	if e.BlendReuse != nil && e.BlendReuse.Tokens != nil {
		realized = e.BlendReuse.Tokens
	}
	if realized == nil {
		return
	}
	claims, claimed := 0, 0
	for _, o := range f.lines() {
		if n := fuzzyTokens(o); o.Status == sembench.StatusOK && n != nil && *n > 0 {
			claims, claimed = claims+1, claimed+*n
		}
	}
	if claims == 0 {
		return
	}
	missing := max(0, claimed-*realized)
	c.claims += claims
	c.unmaterialized += int(math.Ceil(float64(claims) * float64(missing) / float64(claimed)))
	if missing > 0 {
		f.contradict("responses claim %d fuzzy tokens, the log realized %d", claimed, *realized)
	}
}

// lines are the observations of the engine that the evidence is about.
func (f *facts) lines() (out []sembench.Observation) {
	for _, o := range f.joined.journal.lines {
		if !f.joined.sources.elsewhere(o) {
			out = append(out, o)
		}
	}
	return out
}

// hear collects what each channel says of a request. A response whose own numbers do not add up is accused at once.
func (f *facts) hear(o sembench.Observation, c *comparison) (witness, reuse) {
	w, r := witness{}, f.joined.sources.of(o)
	if r.auditJoined != nil && *r.auditJoined {
		w[channelAudit] = deref(r.audit.Materialized) + deref(r.audit.ExactMaterialized)
	}
	if f.joined.sources.logKnows {
		w[channelLog] = f.joined.sources.log[o.RequestID].materialized
	}
	if c.silentUsage {
		return w, r
	}
	external, cached, local := o.ExternalCachedTokens(), o.CachedTokens(), localCached(o)
	if external == nil {
		return w, r
	}
	if cached != nil && (*external > *cached || local != nil && *local+*external != *cached) {
		c.compared[channelUsage]++
		c.accused[channelUsage]++
		f.contradict("request %s: the response says %d cached tokens, and %d external", o.RequestID, *cached, *external)
		return w, r
	}
	w[channelUsage] = *external
	return w, r
}

// claimed notes a request for which a load was announced, and tells whether nothing shows that it was written. A load that
// the engine declined by name is no claim.
func (f *facts) claimed(o sembench.Observation, r reuse, c *comparison) bool {
	logged := f.joined.sources.log[o.RequestID]
	joined := r.auditJoined != nil && *r.auditJoined
	written, declined, claim := 0, false, logged.hit > 0
	if joined {
		written = deref(r.audit.Materialized) + deref(r.audit.ExactMaterialized)
		declined = len(r.audit.DeclinedReasons) > 0 || r.audit.SpanDeclineEvent != nil || r.audit.BoundaryMissReason != nil
		// The audit tells apart what the log's hit line does not: a hit whose load was never announced.
		claim = deref(r.audit.AdvertisedTokens) > 0 || deref(r.audit.LoadAllocated) > 0
		if !claim && logged.hit > 0 && written == 0 && !r.audit.SemanticLookupHit {
			claim = true // the audit knows nothing of a hit that the log announces
		}
	}
	written = max(written, logged.materialized)
	if !joined && !f.joined.sources.logKnows {
		return false
	}
	if !claim && logged.hit == 0 && written > 0 && !(joined && r.audit.SemanticLookupHit) {
		c.claims, c.unmaterialized = c.claims+1, c.unmaterialized+1 // written down for a request that announced nothing
		return true
	}
	if !claim || declined && written == 0 {
		return false
	}
	c.claims++
	if written > 0 {
		return false
	}
	c.unmaterialized++
	return true
}

// vote settles what witnesses of one request say: the value that most agree on and who stands alone against at least two.
// Two that differ, or three of which no two agree, settle nothing.
func vote(w witness, block int) (value int, odd string, settled bool) {
	names := sortedKeys(w)
	agree := func(a, b string) bool { return max(w[a], w[b])-min(w[a], w[b]) < block }
	switch len(names) {
	case 0:
		return 0, "", false
	case 1:
		return w[names[0]], "", true
	case 2:
		return w[names[0]], "", agree(names[0], names[1])
	}
	for i, name := range names {
		others := slices.Delete(slices.Clone(names), i, i+1)
		if agree(others[0], others[1]) {
			if !agree(name, others[0]) && !agree(name, others[1]) {
				return w[others[0]], name, true
			}
		}
	}
	first := w[names[0]]
	return first, "", agree(names[0], names[1]) && agree(names[1], names[2])
}

// compareCounters holds the engine's counters against the sum over requests, and lets them decide where two channels differ.
// Sums agree within a block and one percent: counters include what a preemption computed twice.
func (f *facts) compareCounters(c *comparison, totals map[string]int, consensus, cached, local int, complete, split, unsettled bool) {
	window := f.in.Window
	if window == nil {
		return
	}
	if c.resetCounters = window.CounterResetDetected; c.resetCounters {
		return
	}
	external, hasExternal := window.Total.Deltas[counterExternalHits]
	prefix, hasPrefix := window.Total.Deltas[counterPrefixHits]
	near := func(counter float64, sum int) bool {
		slack := float64(f.in.blockSize()) + 0.01*float64(sum)
		return counter >= float64(sum)-slack && (!complete || counter <= float64(sum)+slack)
	}
	if hasExternal && unsettled {
		f.decide(c, func(channel string) bool { return near(external, totals[channel]) })
	} else if hasExternal && len(totals) > 0 {
		c.compared[channelCounter]++
		if !near(external, consensus) {
			f.contradict("counter %s rose by %g, the requests say %d tokens", counterExternalHits, external, consensus)
			if len(totals) > 1 {
				c.accused[channelCounter]++
			} else {
				c.disputed[channelCounter]++
				c.disputed[sortedKeys(totals)[0]]++
			}
		}
	}
	if c.silentUsage {
		return
	}
	sum, counter, name, has := local, prefix, counterPrefixHits, hasPrefix
	switch all, ok := window.Total.Deltas[counterAllCached]; {
	case ok:
		sum, counter, name, has = cached, all, counterAllCached, true
	case !split:
		sum, counter, name = cached, prefix+external, counterPrefixHits+" and "+counterExternalHits
	}
	if !has {
		return
	}
	c.compared[channelCounter]++
	c.compared[channelUsage]++
	if near(counter, sum) || c.accused[channelUsage] > 0 || c.accused[channelCounter] > 0 {
		return
	}
	f.contradict("counter %s rose by %g, the responses say %d tokens", name, counter, sum)
	switch second, ok := window.Total.Deltas[counterLocalSource]; {
	case ok && hasPrefix && split && near(second, sum):
		c.accused[channelCounter]++ // the engine's other count sides with the responses
	case ok && hasPrefix && split && !near(second, sum) && math.Abs(second-prefix) <= float64(f.in.blockSize())+0.01*prefix:
		c.accused[channelUsage]++ // both counts side against them
	default:
		c.disputed[channelCounter]++
		c.disputed[channelUsage]++
	}
}

// decide ends a dispute between channels when the counter sides with one of them.
func (f *facts) decide(c *comparison, near func(channel string) bool) {
	var right, wrong []string
	for _, channel := range sortedKeys(c.disputed) {
		if near(channel) {
			right = append(right, channel)
		} else {
			wrong = append(wrong, channel)
		}
	}
	c.compared[channelCounter]++
	if len(right) == 0 || len(wrong) != 1 {
		return
	}
	c.accused[wrong[0]] += c.disputed[wrong[0]]
	c.disputed = map[string]int{}
}

// usageSilent tells that responses report no cached token at all although another channel saw reuse.
func (f *facts) usageSilent() bool {
	elsewhere := false
	for _, o := range f.lines() {
		if n := o.CachedTokens(); n != nil && *n > 0 {
			return false
		}
		if o.Status != sembench.StatusOK {
			continue
		}
		if r, joined := f.joined.sources.audit(o); joined != nil && *joined && deref(r.Materialized)+deref(r.ExactMaterialized) > 0 {
			elsewhere = true
		}
		elsewhere = elsewhere || f.joined.sources.log[o.RequestID].materialized > 0
	}
	if w := f.in.Window; w != nil && !w.CounterResetDetected {
		elsewhere = elsewhere || w.Total.Deltas[counterPrefixHits] > 0 || w.Total.Deltas[counterExternalHits] > 0
	}
	return elsewhere
}

// localCached is the response's local split; null when it gives none.
func localCached(o sembench.Observation) *int {
	details, ok := o.Usage["prompt_tokens_details"].(map[string]any)
	if !ok || details["local_cached_tokens"] == nil {
		return nil
	}
	return new(wholeNumber(details["local_cached_tokens"]))
}

func describe(w witness) string {
	text := ""
	for i, channel := range sortedKeys(w) {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s says %d", channel, w[channel])
	}
	return text + " tokens"
}

// shownContradictions bounds the list in a result; all are counted.
const shownContradictions = 50

func (f *facts) contradict(format string, args ...any) {
	f.contradictionCount++
	if len(f.contradictions) < shownContradictions {
		f.contradictions = append(f.contradictions, fmt.Sprintf(format, args...))
	}
}
