package engine

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"slices"
	"strings"

	"sembench"
)

// auditSchema is the connector audit's schema_version that is folded; others are counted and left out.
const auditSchema = 2

// Audit is the SemBlend vLLM connector's audit JSONL, folded per request id. The scheduler and every
// worker rank append to one file; only runtime_materialized confirms anything.
type Audit struct {
	requests   map[string]*auditFold
	ids        []string         // sorted; null until asked for
	forms      map[uint64]int32 // hash of a normalized id → index into ids, or several
	seed       maphash.Seed
	words      map[string]string // one copy of each kind, mode and donor
	limit      int
	report     sembench.AuditReport
	connectors map[string]*connector
	line       int
	unreadable int // lines whose tokens are no count
}

// several marks a normalized id that more than one audit id may stand for.
const several = -1

// connector is one connector object: the scheduler's, or one rank's.
type connector struct {
	layers     int // registered with kv_caches_registered; 0 when unknown
	mostLayers int // the most layers that one load wrote
}

// maxConnectors bounds the connectors kept; one per rank and restart.
const maxConnectors = 4096

func newAudit(limit int) *Audit {
	return &Audit{
		requests: map[string]*auditFold{}, limit: limit, connectors: map[string]*connector{},
		seed: maphash.MakeSeed(), words: map[string]string{},
	}
}

// ReadAudit folds an audit file. Lines may carry log wrappers. A torn line is counted, not fatal; a failing
// reader is an error.
func ReadAudit(r io.Reader) (*Audit, error) {
	a := newAudit(Options{}.withDefaults().MaxRequests)
	u := unwrapper{ranks: newRankTable(), sink: func(rec *record) {
		if rec.header { // a log around the audit
			return
		}
		if rec.object == nil {
			a.report.Lines++
			a.report.MalformedLines++
			return
		}
		a.add(rec.object, a.line)
	}}
	lines := newLineReader(r)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			u.flush()
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		a.line++
		if a.line == 1 {
			line = trimBOM(line)
		}
		u.line(line)
	}
}

// add takes one object of the file.
func (a *Audit) add(obj map[string]any, line int) {
	rep := &a.report
	rep.Lines++
	event, ok := obj["event"].(string)
	if !ok {
		rep.MalformedLines++
		return
	}
	if v := count(obj["schema_version"]); v == nil || *v != auditSchema {
		rep.OtherSchemaVersions++
		return
	}
	if rep.EventCounts == nil {
		rep.EventCounts = map[string]int{}
	}
	if _, ok := rep.EventCounts[event]; !ok && len(rep.EventCounts) >= maxReasons {
		rep.EventCounts["other"]++
	} else {
		rep.EventCounts[clip([]byte(event))]++
	}
	id := text(obj["request_id"])
	switch { // a line counts once
	case unreadable(event, obj):
		rep.MalformedLines++
		a.unreadable++
	case id == "":
		rep.EngineScopeEvents++
	default:
		rep.Events++
	}
	conn := a.connector(text(obj["connector_id"]))
	if id == "" {
		if n := count(obj["layer_count"]); event == "kv_caches_registered" && n != nil {
			conn.layers = max(conn.layers, *n)
		}
		return
	}
	f, ok := a.requests[id]
	if !ok {
		if len(a.requests) >= a.limit || len(id) > maxID {
			rep.RequestsDropped++
			return
		}
		f = &auditFold{}
		a.requests[id] = f
	}
	a.ids, a.forms = nil, nil
	f.add(event, obj, conn, line, a.word)
}

// unreadable says whether the tokens of an event are something other than a count. A load must have them.
func unreadable(event string, obj map[string]any) bool {
	for _, key := range [...]string{"tokens", "token_count"} {
		if v := obj[key]; v != nil && count(v) == nil {
			return true
		}
	}
	return event == "runtime_materialized" && obj["tokens"] == nil
}

// maxWords bounds the strings kept once; donors may be as many as requests.
const maxWords = 1 << 16

// word is the one copy of a string that recurs from request to request.
func (a *Audit) word(s string) string {
	if w, ok := a.words[s]; ok {
		return w
	}
	if len(a.words) < maxWords && len(s) <= maxID {
		a.words[s] = s
	}
	return s
}

func (a *Audit) connector(id string) *connector {
	c, ok := a.connectors[id]
	if !ok {
		if len(a.connectors) >= maxConnectors {
			return &connector{}
		}
		c = &connector{}
		a.connectors[strings.Clone(id)] = c
	}
	return c
}

// index lists the ids and their normalized forms. A form is kept as its hash, some 20 bytes instead of
// 200; Resolve verifies what it finds.
func (a *Audit) index() {
	if a.forms != nil {
		return
	}
	a.ids = sortedKeys(a.requests)
	a.forms = make(map[uint64]int32, 4*len(a.ids))
	for i, id := range a.ids {
		for _, form := range IDForms(id)[1:] {
			h := maphash.String(a.seed, form)
			if _, taken := a.forms[h]; taken {
				a.forms[h] = several
				continue
			}
			a.forms[h] = int32(i)
		}
	}
}

// record is a request's fold, finished: partial layers are judged here, when the layer counts are known.
func (a *Audit) record(id string) *sembench.AuditRecord {
	rec := a.requests[id].record()
	rec.RequestID = id
	return rec
}

// How Resolve found a record.
const (
	MatchExact      = "exact"
	MatchNormalized = "normalized"
	MatchUnmatched  = "unmatched"
	MatchAmbiguous  = "ambiguous"
	MatchMissing    = "missing"
)

// Resolve is the record of a row's request id and how it was found: the id itself, or the one audit id
// that stands for it once the engine's prefix and suffixes are dropped. The record is nil for an empty id
// ("missing"), no candidate ("unmatched") and two or more ("ambiguous"): nothing is guessed.
func (a *Audit) Resolve(id string) (rec *sembench.AuditRecord, how string) {
	if id == "" {
		return nil, MatchMissing
	}
	if _, ok := a.requests[id]; ok {
		return a.record(id), MatchExact
	}
	a.index()
	i, ok := a.forms[maphash.String(a.seed, id)]
	switch {
	case !ok:
		return nil, MatchUnmatched
	case i == several:
		return nil, MatchAmbiguous
	case !slices.Contains(IDForms(a.ids[i]), id):
		return nil, MatchUnmatched
	}
	return a.record(a.ids[i]), MatchNormalized
}

// Records are all folded records, in the order of their ids.
func (a *Audit) Records() iter.Seq[*sembench.AuditRecord] {
	return func(yield func(*sembench.AuditRecord) bool) {
		a.index()
		for _, id := range a.ids {
			if !yield(a.record(id)) {
				return
			}
		}
	}
}

// Report counts what was read; its row members are null until rows were joined.
func (a *Audit) Report() sembench.AuditReport {
	rep := a.report
	rep.Requests = len(a.requests)
	rep.Connectors = len(a.connectors)
	if rep.RequestsDropped > 0 {
		rep.Warnings = append(rep.Warnings, "the audit names more requests than are kept: events of later requests were left out, raise --max-requests")
	}
	if rep.OtherSchemaVersions > 0 {
		rep.Warnings = append(rep.Warnings, "some audit lines have another schema_version and were left out")
	}
	if a.unreadable > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the tokens of %d audit lines are unreadable: they count as malformed, and what they loaded is unknown", a.unreadable))
	}
	return rep
}
