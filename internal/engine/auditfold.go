package engine

import (
	"cmp"
	"slices"
	"strings"

	"sembench"
)

// order is an event's place within its connector. Sequence numbers start at 0, so absent is -1.
type order struct{ request, event, line int }

func (o order) compare(p order) int {
	return cmp.Or(cmp.Compare(o.request, p.request), cmp.Compare(o.event, p.event), cmp.Compare(o.line, p.line))
}

// load is what one rank wrote for a request.
type load struct {
	conn      *connector
	tokens    int // in full, at or after the last advert
	partial   int
	before    int // superseded by a later advert
	events    int
	partials  int
	minLayers int // fewest layers of a load at or after the last advert; 0 unknown
	lines     int
}

// requestSeq is the request number that a connector gave the id.
type requestSeq struct {
	conn *connector
	n    int
}

// auditFold is one request's state while its events stream by.
type auditFold struct {
	rec       sembench.AuditRecord
	advert    order
	adverted  bool
	segmented *int // boundary of the last segment advert
	spanAt    *int // boundary of the last span event
	loads     []*load
	exact     []*load
	sequences []requestSeq
	layersOut bool // semantic_span_layers_declined was seen
	scheduler *connector
}

// add takes one event of the request. Adverts and loads come from different processes; between them only
// the order of lines in the file is claimed.
func (f *auditFold) add(event string, obj map[string]any, conn *connector, line int, word func(string) string) {
	at := order{-1, -1, line}
	if n := count(obj["request_seq"]); n != nil {
		at.request = *n
		f.sequence(conn, *n)
	}
	if n := count(obj["event_seq"]); n != nil {
		at.event = *n
	}
	if schedules(event) {
		// One scheduler owns a request; a second one means another run or another request of the same name.
		f.rec.RequestIDReused = f.rec.RequestIDReused || (f.scheduler != nil && f.scheduler != conn)
		f.scheduler = conn
	}
	r := &f.rec
	if n := count(obj["prompt_tokens"]); n != nil {
		r.PromptTokens = n
	}
	if kindOf := text(obj["materialization_kind"]); kindOf != "" && event == "runtime_materialized" {
		r.MaterializationKinds = insert(r.MaterializationKinds, word(kindOf))
	}
	if d := text(obj["donor_id"]); d != "" && len(r.DonorIDs) < 64 && !slices.Contains(r.DonorIDs, d) {
		r.DonorIDs = append(r.DonorIDs, word(d))
	}
	switch {
	case strings.HasPrefix(event, "lookup_skipped_"):
		r.LookupSkipped = insert(r.LookupSkipped, strings.TrimPrefix(word(event), "lookup_skipped_"))
	case strings.HasSuffix(event, "_advertised"):
		f.advertised(word(event), obj, at)
	case strings.HasPrefix(event, "semantic_span_") && event != "semantic_span_layers_declined":
		f.spanEvent(word(event), obj)
	default:
		f.other(word(event), obj, conn, word)
	}
}

// schedules says whether only the scheduler writes the event.
func schedules(event string) bool {
	return event == "request_first_seen" || strings.HasPrefix(event, "semantic_lookup_") ||
		strings.HasPrefix(event, "lookup_skipped_") || strings.HasSuffix(event, "_advertised")
}

// sequence notes that an id names more than one request of a connector.
func (f *auditFold) sequence(conn *connector, n int) {
	for _, s := range f.sequences {
		if s.conn == conn {
			f.rec.RequestIDReused = f.rec.RequestIDReused || s.n != n
			return
		}
	}
	if len(f.sequences) < maxRanks {
		f.sequences = append(f.sequences, requestSeq{conn, n})
	}
}

func (f *auditFold) other(event string, obj map[string]any, conn *connector, word func(string) string) {
	r := &f.rec
	switch event {
	case "semantic_lookup_hit":
		if strings.HasPrefix(text(obj["materialization_kind"]), "exact_prefix") {
			return
		}
		r.SemanticLookupHit = true
		r.LookupHitBoundary = count(obj["already_computed_tokens"])
		r.LookupReusableTokens = count(obj["reusable_tokens"])
		r.LookupSimilarity = number(obj["similarity"])
		r.LookupLatencyMS = number(obj["latency_ms"])
	case "semantic_lookup_miss":
		r.SemanticLookupMiss = true
	case "load_allocated":
		if n := count(obj["tokens"]); n != nil {
			add(&r.LoadAllocated, *n)
		}
	case "runtime_materialized":
		f.materialized(obj, conn)
	case "runtime_materialization_declined":
		reason := text(obj["declined_reason"])
		if reason == "" {
			reason = "unspecified"
		}
		r.DeclinedReasons = insert(r.DeclinedReasons, word(reason))
	case "semantic_span_layers_declined":
		f.layersOut = true
	case "runtime_materialization_failed_loud", "load_error_blocks_reported", "lookup_error", "materialized_without_forward":
		r.Failures = insert(r.Failures, event)
	case "prefix_cache_blocks_evicted":
		if n := count(obj["blocks_evicted"]); n != nil {
			add(&r.PrefixBlocksEvicted, *n)
		}
	case "donor_registered":
		r.DonorRegistered = true
	}
}

// advertised takes a plan that the scheduler offered. A later plan supersedes what was written for an
// earlier one, except that the segments of a segmented prefill add up while their boundary rises.
func (f *auditFold) advertised(event string, obj map[string]any, at order) {
	r := &f.rec
	r.AdvertiseKinds = insert(r.AdvertiseKinds, strings.TrimSuffix(event, "_advertised"))
	if strings.HasPrefix(event, "exact_prefix") {
		return
	}
	r.AdvertiseCount++
	if f.adverted && at.compare(f.advert) < 0 {
		return
	}
	f.advert, f.adverted = at, true
	tokens := count(obj["token_count"])
	if tokens == nil {
		tokens = count(obj["tokens"])
	}
	boundary := count(obj["boundary"])
	if event == "segmented_prefill_segment_advertised" {
		continues := f.segmented != nil && boundary != nil && *boundary > *f.segmented
		f.segmented = boundary
		if continues {
			if tokens != nil {
				add(&r.AdvertisedTokens, *tokens)
			}
			return
		}
	} else {
		f.segmented = nil
	}
	f.supersede()
	r.AdvertisedTokens = tokens
	r.AdvertisedTargetStart = count(obj["target_start"])
	r.ObservedBoundary = boundary
	r.Attempt = count(obj["attempt"])
	r.BoundaryAtSpanStart = boundaryAtStart(obj, boundary)
}

// boundaryAtStart is null without spans, else whether any span or piece starts at the boundary.
func boundaryAtStart(obj map[string]any, boundary *int) *bool {
	spans, _ := obj["snapped_spans"].([]any)
	if len(spans) == 0 {
		return nil
	}
	at := false
	for _, s := range spans {
		var start *int
		switch span := s.(type) {
		case map[string]any:
			start = count(span["target_start"])
		case []any: // positional form, target start first
			if len(span) > 0 {
				start = count(span[0])
			}
		}
		at = at || (start != nil && boundary != nil && *start == *boundary)
	}
	return &at
}

// supersede moves what was written so far behind a new plan.
func (f *auditFold) supersede() {
	for _, l := range f.loads {
		l.before += l.tokens + l.partial
		l.tokens, l.partial, l.events, l.partials, l.minLayers = 0, 0, 0, 0, 0
	}
}

func (f *auditFold) materialized(obj map[string]any, conn *connector) {
	tokens := count(obj["tokens"])
	if tokens == nil { // damage; 0 would deny a load that took place
		return
	}
	list := &f.loads
	if strings.HasPrefix(text(obj["materialization_kind"]), "exact_prefix") {
		list = &f.exact
	}
	i := slices.IndexFunc(*list, func(l *load) bool { return l.conn == conn })
	if i < 0 {
		i = len(*list)
		*list = append(*list, &load{conn: conn})
	}
	l := (*list)[i]
	l.lines++
	layers, bare := count(obj["layers_materialized"]), count(obj["layers_without_attn_metadata"])
	if layers != nil {
		conn.mostLayers = max(conn.mostLayers, *layers)
	}
	if (layers != nil && *layers == 0) || (bare != nil && *bare > 0) {
		l.partial += *tokens
		l.partials++
		return
	}
	l.tokens += *tokens
	l.events++
	if layers != nil && (l.minLayers == 0 || *layers < l.minLayers) {
		l.minLayers = *layers
	}
}

// declines are the span events that give a plan up; supply_clamped is none.
var declines = map[string]string{
	"semantic_span_declined_unaligned_boundary":    "unaligned_boundary",
	"semantic_span_declined_below_min_after_clamp": "below_min_after_clamp",
	"semantic_span_boundary_missed":                "boundary_missed",
}

func (f *auditFold) spanEvent(event string, obj map[string]any) {
	boundary := count(obj["boundary"])
	if boundary != nil {
		f.spanAt = boundary
	}
	reason, declined := declines[event]
	if !declined {
		return
	}
	r := &f.rec
	r.SpanDeclineEvent, r.SpanDeclineReason, r.SpanDeclinedAt = ptr(event), ptr(reason), boundary
	if event == "semantic_span_boundary_missed" {
		r.BoundaryMissReason, r.BoundaryMissedAt = ptr(missReason(obj)), boundary
	}
}

// missReason says why no span could start at the boundary.
func missReason(obj map[string]any) string {
	stored, beyond := count(obj["stored_donor_tokens"]), count(obj["segments_beyond_capture"])
	raw, segments, wrong := count(obj["n_raw_segments"]), count(obj["n_segments"]), count(obj["segments_wrong_donor"])
	spans, _ := obj["snapped_spans"].([]any)
	switch {
	case stored == nil && beyond == nil && raw == nil && segments == nil:
		return "unclassified"
	case stored != nil && *stored == 0:
		return "donor_not_captured"
	case beyond != nil && *beyond > 0:
		return "donor_too_short"
	case beyond == nil && raw != nil && *raw == 0 && segments != nil && *segments > 0 && (wrong == nil || *wrong == 0):
		return "donor_too_short"
	case raw != nil && *raw > 0 && len(spans) == 0:
		return "below_min_semantic_span"
	}
	return "true_misalignment"
}

// record is the fold's result. One rank's total is the logical value; the maximum over ranks, because a
// torn line may cost one of them an event.
func (f *auditFold) record() *sembench.AuditRecord {
	r := f.rec
	if r.ObservedBoundary == nil {
		r.ObservedBoundary = f.spanAt
	}
	first := true
	for _, l := range f.loads {
		tokens, partial, partials, events := l.tokens, l.partial, l.partials, l.events
		layers := max(l.conn.layers, l.conn.mostLayers)
		if f.layersOut || (l.minLayers > 0 && l.minLayers < layers) {
			partial, partials, tokens, events = partial+tokens, partials+events, 0, 0
		}
		r.MaterializationLogs += l.lines
		r.MaterializedRanks++
		if l.before > 0 {
			add(&r.SupersededRankSum, l.before)
			r.SupersededTokens = ptr(max(deref(r.SupersededTokens), l.before))
		}
		if l.events+l.partials == 0 {
			continue
		}
		r.RanksDisagree = r.RanksDisagree || (!first && (tokens != *r.Materialized || l.before != deref(r.SupersededTokens)))
		first = false
		add(&r.MaterializedRankSum, tokens)
		r.Materialized = ptr(max(deref(r.Materialized), tokens))
		r.MaterializedEvents = max(r.MaterializedEvents, events)
		if partials > 0 {
			r.PartialTokens = ptr(max(deref(r.PartialTokens), partial))
			r.PartialEvents = max(r.PartialEvents, partials)
		}
	}
	for _, l := range f.exact {
		r.ExactMaterialized = ptr(max(deref(r.ExactMaterialized), l.tokens))
	}
	return &r
}

func deref(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// insert adds to a sorted set of at most maxReasons strings.
func insert(set []string, s string) []string {
	i, found := slices.BinarySearch(set, s)
	if found || len(set) >= maxReasons {
		return set
	}
	return slices.Insert(set, i, s)
}
