package engine

import (
	"fmt"
	"slices"

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
	if c.audit != nil {
		rep := c.audit.Report()
		ev.Audit = &rep
	}
	c.input(ev)
	ev.EngineStats = c.stats.stats()
	ev.Transfer = c.stats.transfer
	ev.Prefill = c.prefill()
	ev.KVCacheStats = c.iters.stats()
	ev.LMCache = c.lmcacheReport()
	ev.RouterEstimates = c.router.seen
	ev.Usage = c.usage.summary()
	if c.kv != nil {
		ev.KVEvents = ptr(c.kv.Summary())
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

// recognised is the engine asked for, or for auto the one that the text tells.
func (c *collector) recognised() string {
	if c.engine != "auto" {
		return c.engine
	}
	return c.recognise()
}

// recognise is the engine whose lines are the strongest sign.
func (c *collector) recognise() string {
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
	if c.audit != nil {
		in.DamagedLines += c.audit.unreadable
	}
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
		strangers := c.shapes.otherJSON + c.shapes.plain
		in.DamagedLines += strangers
		ev.Audit.Lines += strangers + c.shapes.brokenObjects
		ev.Audit.MalformedLines += strangers + c.shapes.brokenObjects
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

const rankWarning = "ranks disagree on a materialization: one rank's largest total is reported, a rank may have lost lines or failed"

// ranksOf fills the rank fields from one folded kind.
func (c *collector) ranksOf(ev *sembench.Evidence, f folded) {
	ev.RankLines = &f.lines
	ev.RanksSeen = []string{}
	for _, i := range f.ranks {
		name := c.ranks.names[i].String()
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

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
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
	if headers := slices.Contains(c.loggers[loggerVLLM:], true); headers && c.bare > 0 {
		warn("%d lines of evidence carry no logger header, others do: text printed by a server or a script looks the same", c.bare)
	}
	if kv := ev.KVEvents; kv != nil && kv.Lost > 0 {
		warn("the KV event stream lost %d messages in %d gaps: what is resident is a guess", kv.Lost, kv.Gaps)
	}
	if c.stats.refused > 0 {
		warn("the engine refused %d cache resets: blocks were in use", c.stats.refused)
	}
	if c.ray > 0 {
		warn("Ray folded repeated lines %d times: other requests' lines may be among them; set RAY_DEDUP_LOGS=0", c.ray)
	}
	if c.lines.cut && len(ev.Sources) > 0 {
		warn("the last line has no line end: a number at its end may be cut")
	}
	if other := c.recognise(); c.engine != "auto" && len(ev.Sources) > 0 && other != c.engine && other != "unknown" && ev.SemanticHits == nil && ev.ExactReuse == nil {
		warn("no evidence of %s in this text; it looks like %s", c.engine, other)
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
