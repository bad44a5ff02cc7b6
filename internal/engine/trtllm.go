package engine

import (
	"encoding/json"
	"fmt"

	"sembench"
)

// trtAudit gathers SemBlend's TensorRT-LLM audit JSONL (lookup, materialized, donor_registered,
// engine_blend_boundary). Lookup and materialized name no request.
type trtAudit struct {
	seen                      bool
	lookups, hits, nonBoolean int
	donors, materialized      int
	units                     int
	badUnits                  int
	rope, boundaries          int
	reasons                   map[string]int
}

// trtEvent reads one audit object. A hit is found being identical to true: "true" and 1 are not.
func (c *collector) trtEvent(obj map[string]any, event string) {
	t := &c.trt
	t.seen = true
	c.saw("trtllm_audit")
	switch event {
	case "lookup":
		t.lookups++
		found, isBool := obj["found"].(bool)
		if found {
			t.hits++
		}
		if _, present := obj["found"]; present && !isBool {
			t.nonBoolean++
		}
	case "donor_registered":
		t.donors++
	case "materialized":
		t.materialized++
		if n := count(obj["materialized"]); n != nil {
			t.units += *n
		} else {
			t.badUnits++
		}
		if v, ok := obj["requires_rope_correction"].(bool); ok && v {
			t.rope++
		}
	case "engine_blend_boundary":
		t.boundaries++
	}
	if reason := text(obj["rejection_reason"]); reason != "" {
		if t.reasons == nil {
			t.reasons = map[string]int{}
		}
		if _, ok := t.reasons[reason]; !ok && len(t.reasons) >= maxReasons {
			reason = "other"
		}
		t.reasons[clip([]byte(reason))]++
	}
	if event == "" {
		event = "unknown"
	}
	if len(c.events) < maxReasons || len(c.events[event]) > 0 {
		if c.keep(event) {
			c.event(nil, event, obj)
		}
	}
}

// finishTRT joins at file level: lookups and materializations name no request. Units are not tokens.
func (c *collector) finishTRT(ev *sembench.Evidence) {
	t := &c.trt
	if !t.seen {
		c.finishTRTText(ev)
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

// finishTRTText takes the older in-process integration's lines: proposals and corrections, and nothing that
// says what was written.
func (c *collector) finishTRTText(ev *sembench.Evidence) {
	if _, ok := c.sources["semblend_text"]; !ok {
		return
	}
	hits := c.ledger.total(kindHitOther)
	ev.SemanticHits, ev.RopeCorrections = &hits.events, &c.semblend.rope
}

// iterations gathers TensorRT-LLM's GET /metrics objects. Their counters are cumulative.
type iterations struct {
	count          int
	reused, missed *int
	rate           *float64
	perBlock       *int
	reset          bool
}

func (it *iterations) add(obj map[string]any) {
	it.count++
	kv, ok := obj["kvCacheStats"].(map[string]any)
	if !ok {
		return
	}
	reused, missed := count(kv["reusedBlocks"]), count(kv["missedBlocks"])
	if reused != nil && it.reused != nil && *reused < *it.reused {
		it.reset = true
	}
	if reused != nil {
		it.reused = reused
	}
	if missed != nil {
		it.missed = missed
	}
	if f := number(kv["cacheHitRate"]); f != nil && *f >= 0 && *f <= 1 {
		it.rate = f
	}
	if n := count(kv["tokensPerBlock"]); n != nil && *n < 1<<20 {
		it.perBlock = n
	}
}

func (it *iterations) stats() *sembench.KVCacheStats {
	if it.count == 0 {
		return nil
	}
	s := &sembench.KVCacheStats{
		Iterations: it.count, ReusedBlocks: it.reused, MissedBlocks: it.missed,
		CacheHitRate: it.rate, TokensPerBlock: it.perBlock, CounterReset: it.reset,
	}
	if it.reused != nil && it.perBlock != nil {
		s.ReusedTokensUpperBound = ptr(*it.reused * *it.perBlock)
	}
	return s
}

// shapes counts bare lines by what they look like; whether they are damage depends on what the file is.
type shapes struct {
	brokenObjects int // begin like an object and are none
	otherJSON     int // valid JSON that is no object
	plain         int
	plainTexts    textLog
	objects       int // objects of no known shape
}

func (s *shapes) bare(b []byte) {
	switch c := b[0]; {
	case c == '{':
		s.brokenObjects++
	case (c == '[' || c == '"' || c == '-' || digit(c) || c == 't' || c == 'f' || c == 'n') && json.Valid(b):
		s.otherJSON++
	default:
		if _, glued := progressBar(append(b[:len(b):len(b)], 'x')); glued {
			return
		}
		s.plain++
		s.plainTexts.limit = 50
		s.plainTexts.add(b)
	}
}

// object takes a JSON line to the parser that knows its shape.
func (c *collector) object(r *record) {
	obj := r.object
	event := text(obj["event"])
	_, hasSchema := obj["schema_version"]
	switch {
	case hasSchema && event != "" || text(obj["source"]) == "semblend_vllm_connector":
		c.saw("connector_audit")
		if c.audit == nil {
			c.audit = newAudit(c.opts.MaxRequests)
		}
		c.audit.add(obj, c.count)
	case obj["kvCacheStats"] != nil || obj["iterLatencyMS"] != nil:
		c.saw("trtllm_iterations")
		c.iters.add(obj)
	case obj["data"] != nil && obj["event_id"] != nil || isObject(obj["event"]) || recorded(obj):
		c.kvEvent(kvObject(obj))
	case obj["usage"] != nil:
		c.usageObject(obj)
	case event != "" || c.engine == "trtllm":
		c.trtEvent(obj, event)
	default:
		c.shapes.objects++
	}
}
