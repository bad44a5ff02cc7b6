package judge

import (
	"slices"
	"strings"

	"sembench"
)

// Mechanisms of reuse, from the rarest claim to the plainest (contract, section 4).
const (
	MechanismScatter       = "scatter"        // fuzzily admitted mass above what is cached
	MechanismHead          = "head"           // fuzzily admitted
	MechanismExternal      = "external"       // proven semantic, over a connector
	MechanismExactExternal = "exact_external" // over a connector, not proven semantic
	MechanismExact         = "exact"          // the engine's own prefix cache
	MechanismNone          = "none"
)

// Sources of external tokens.
const (
	sourceUsage = "per_request_usage"
	sourceAudit = "connector_audit"
)

// hitTokens is the least reuse that counts as a hit: a block, and 64 tokens.
func hitTokens(blockSize int) int { return max(64, blockSize) }

// semanticConnectors are parts of a serve line that name a connector which reuses by meaning.
var semanticConnectors = []string{"semblend"}

// semanticProviders are matchers of fuzzy admission that go by meaning; the others match hashes and are exact reuse at
// another position.
var semanticProviders = []string{"semanticembedding", "semblend"}

// reuse is what every source says that the engine reused for one request, in tokens; null is a source that said nothing.
type reuse struct {
	cached, external, fuzzy *int
	externalSource          *string
	semantic                *int
	audit                   *sembench.AuditRecord
	auditJoined             *bool
}

// sources answers what is known of one request beyond its own response.
type sources struct {
	in  Inputs
	log map[string]logged // by request id of this run
	// stock are the endpoints of an engine whose log, audit and counters these are not.
	stock map[string]bool
	// logKnows: the log names materializations by request and kept every one, so that a request it does not name had none.
	logKnows bool
	// logOwn and logForeign count the log's events that name a request of this run, and one that is none of it.
	logOwn, logForeign int
	declared           bool // the user declared a semantic connector and the serve line names one
	fuzzy              bool // fuzzily admitted mass goes by meaning
}

// logged is what the text log says of one request.
type logged struct {
	hit, materialized int // tokens: proposed, and written by one rank
	ranks             map[string]int
	donors            []string
}

func newSources(in Inputs, j *journal) *sources {
	s := &sources{in: in, log: map[string]logged{}, stock: stockEndpoints(in)}
	if line := in.Environment.ServeLine; line != nil && in.ConnectorKind == "semantic" {
		s.declared = containsAny(*line, semanticConnectors)
	}
	e := in.Evidence
	if e == nil {
		return s
	}
	if e.Provider != nil {
		s.fuzzy = containsAny(*e.Provider, semanticProviders)
	}
	s.logKnows = slices.Contains(e.Sources, "semblend_text") &&
		e.EventsDropped["materialized"] == 0 && e.EventsDropped["semantic_hits"] == 0
	for _, events := range e.Events {
		for _, event := range events {
			if id, _ := event["request_id"].(string); id == "" {
				continue
			} else if o, ambiguous := j.find(id); o != nil || ambiguous {
				s.logOwn++
			} else {
				s.logForeign++
			}
		}
	}
	s.note(j, e.Events["semantic_hits"], func(l *logged, event map[string]any) { l.hit = max(l.hit, wholeNumber(event["reusable_tokens"])) })
	// Every rank prints its own materialized lines; one rank's total counts.
	s.note(j, e.Events["materialized"], func(l *logged, event map[string]any) {
		rank, _ := event["rank"].(string)
		if l.ranks == nil {
			l.ranks = map[string]int{}
		}
		l.ranks[rank] += wholeNumber(event["tokens"])
		l.materialized = max(l.materialized, l.ranks[rank])
	})
	return s
}

func (s *sources) note(j *journal, events []map[string]any, add func(*logged, map[string]any)) {
	for _, event := range events {
		id, _ := event["request_id"].(string)
		o, _ := j.find(id)
		if o == nil {
			continue
		}
		l := s.log[o.RequestID]
		add(&l, event)
		if donor, _ := event["donor_id"].(string); donor != "" && !slices.Contains(l.donors, donor) {
			l.donors = append(l.donors, donor)
		}
		s.log[o.RequestID] = l
	}
}

// elsewhere tells that a line was served by an engine of which log, audit and counters say nothing.
func (s *sources) elsewhere(o sembench.Observation) bool {
	return s.stock[o.Endpoint] || o.Arm == sembench.ArmExact && s.in.ExactElsewhere
}

// stockEndpoints are the endpoints that only the exact arm's steps used, when that arm ran on an engine of its own: the canaries and
// warm-ups that this engine got are elsewhere too.
func stockEndpoints(in Inputs) map[string]bool {
	out := map[string]bool{}
	if !in.ExactElsewhere {
		return out
	}
	for _, o := range in.Observations {
		if o.Arm == sembench.ArmExact {
			out[o.Endpoint] = true
		}
	}
	for _, o := range in.Observations {
		if o.Role == sembench.RoleRecipient && o.Arm != sembench.ArmExact {
			delete(out, o.Endpoint)
		}
	}
	delete(out, "") // journals without endpoints say nothing
	return out
}

// audit gives the connector's record of a request. Joined is null without an audit, false when it names no such request.
func (s *sources) audit(o sembench.Observation) (record *sembench.AuditRecord, joined *bool) {
	if s.in.Audit == nil || s.elsewhere(o) {
		return nil, nil
	}
	for _, id := range []*string{&o.RequestID, o.EngineRequestID, o.EngineResponseID} {
		if id == nil || *id == "" {
			continue
		}
		if record, _ := s.in.Audit.Resolve(*id); record != nil {
			return record, new(!record.RequestIDReused)
		}
	}
	return nil, new(false)
}

// of gathers what all sources say of one request.
//
// External tokens are the response's split where it gives one, else the audit's. They are semantic as far as the audit shows
// semantic materialization, without an audit as far as the log does, else only by the user's declaration. Where response and
// audit differ the smaller number stands, and the difference is a contradiction that checks report.
func (s *sources) of(o sembench.Observation) reuse {
	r := reuse{cached: o.CachedTokens(), external: o.ExternalCachedTokens(), fuzzy: fuzzyTokens(o)}
	if r.external != nil {
		r.externalSource = new(sourceUsage)
	}
	r.audit, r.auditJoined = s.audit(o)
	var proven *int
	if r.auditJoined != nil && *r.auditJoined {
		proven = new(deref(r.audit.Materialized))
		if r.external == nil {
			r.external = new(*proven + deref(r.audit.ExactMaterialized))
			r.externalSource = new(sourceAudit)
		}
	} else if s.logKnows && !s.elsewhere(o) {
		proven = new(0)
		if l := s.log[o.RequestID]; l.hit > 0 { // a materialization without a semantic hit proves nothing semantic
			proven = new(l.materialized)
		}
	}
	switch {
	case proven != nil && r.external != nil:
		r.semantic = new(min(*proven, *r.external))
	case proven != nil && r.cached != nil:
		r.semantic = new(min(*proven, *r.cached))
	case proven != nil:
		r.semantic = proven
	case r.external != nil && s.declared:
		r.semantic = new(*r.external)
	}
	// External tokens without proof stay unmeasured, 0 among them: counted as misses beside unmeasured rows they would make a hit
	// rate of misses alone.
	if r.fuzzy != nil && s.fuzzy {
		r.semantic = new(max(deref(r.semantic), *r.fuzzy))
	}
	return r
}

// mechanism names how tokens were reused; null when no source measured anything. Primed tokens are taken from cached ones only.
func (r reuse) mechanism(primed *int, blockSize int) *string {
	if r.cached == nil && r.external == nil && r.fuzzy == nil && r.semantic == nil {
		return nil
	}
	least := hitTokens(blockSize)
	cached := max(0, deref(r.cached)-deref(primed))
	fuzzy := deref(r.fuzzy)
	switch {
	case fuzzy >= least && fuzzy > cached:
		return new(MechanismScatter)
	case fuzzy >= least:
		return new(MechanismHead)
	case deref(r.semantic) >= least:
		return new(MechanismExternal)
	case deref(r.external) >= least:
		return new(MechanismExactExternal)
	case cached >= least:
		return new(MechanismExact)
	}
	return new(MechanismNone)
}

// fuzzyTokens is the fuzzily admitted mass that a response reports; null when it reports none.
func fuzzyTokens(o sembench.Observation) *int {
	for _, place := range []string{"prompt_tokens_details", "cached_tokens_details"} {
		if details, ok := o.Usage[place].(map[string]any); ok {
			for _, key := range []string{"fuzzy_cached_tokens", "fuzzy_tokens", "fuzzy"} {
				if n, ok := details[key]; ok && n != nil {
					return new(wholeNumber(n))
				}
			}
		}
	}
	return nil
}

func containsAny(text string, parts []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// deref is the number, 0 for null: only where null was told apart before.
func deref(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}
