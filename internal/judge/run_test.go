package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"sembench"
	"sembench/internal/engine"
)

// fakeAudit is a connector audit by request id.
type fakeAudit map[string]*sembench.AuditRecord

func (a fakeAudit) Resolve(id string) (*sembench.AuditRecord, string) {
	if r, ok := a[id]; ok {
		return r, engine.MatchExact
	}
	return nil, engine.MatchUnmatched
}

// scene writes the journal of a made-up run in which every source tells the same truth, and the sources beside it.
type scene struct {
	in    Inputs
	audit fakeAudit
	seq   int64
	now   int64
}

// Prompts of the scene are 1,000 tokens: 62 full blocks of 16.
const scenePrompt = 1000

var boot = "boot-1"

func newScene() *scene {
	s := &scene{audit: fakeAudit{}}
	s.in = Inputs{
		Run:    sembench.Run{RunID: "r1", ManifestSHA256: "m", Arm: "paired"},
		Head:   &sembench.JournalHead{RunID: "r1", ManifestSHA256: "m", ConfigSHA256: "c"},
		Audit:  s.audit,
		Engine: &sembench.EngineInfo{Kind: "vllm", Model: "tiny"},
		Evidence: &sembench.Evidence{Sources: []string{"semblend_text"}, MaterializationEvents: new(0), MaterializedTokens: new(0),
			Events: map[string][]map[string]any{}, EventsDropped: map[string]int{}},
		Window:         &sembench.MetricsWindow{Total: sembench.WindowValues{Deltas: map[string]float64{}}},
		ExactElsewhere: true,
		ConfigSHA256:   "c",
	}
	return s
}

// num is a number as a journal gives it.
func num(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// reused is what one request reused, in tokens.
type reused struct{ prefix, semantic int }

func (s *scene) line(itemID, arm, role, pairID string, ms float64, r reused) *sembench.Observation {
	start := s.now
	s.now += int64(ms*1e6) + 1e6
	first, done := start+int64(ms*1e6), start+int64(ms*1e6)
	o := sembench.Observation{
		Seq: s.seq, RequestID: fmt.Sprintf("id-%04d", s.seq), ItemID: itemID, Arm: arm, Role: role, PairID: pairID,
		Status: sembench.StatusOK, BootID: &boot, OutputText: new("the answer is blue"), OutputSHA256: new("h"),
		Stamps: sembench.Stamps{WriteStart: &start, Written: &start, FirstEvent: &first, FirstOutput: &first, LastOutput: &done, Done: &done},
		Usage: map[string]any{"prompt_tokens": num(scenePrompt), "completion_tokens": num(4), "prompt_tokens_details": map[string]any{
			"cached_tokens": num(r.prefix + r.semantic), "local_cached_tokens": num(r.prefix), "external_cached_tokens": num(r.semantic)}},
	}
	if arm == sembench.ArmExact {
		o.BootID = new("boot-stock")
	}
	o.EngineResponseID = new("chatcmpl-" + o.RequestID)
	o.EngineMetrics = map[string]any{"time_to_first_token_ms": ms - 0.5}
	s.seq++
	s.in.Observations = append(s.in.Observations, o)
	if arm != sembench.ArmExact {
		s.say(o.RequestID, r)
	}
	return &s.in.Observations[len(s.in.Observations)-1]
}

// say makes audit, log and counters tell what a request reused.
func (s *scene) say(id string, r reused) {
	record := &sembench.AuditRecord{RequestID: "chatcmpl-" + id}
	d := s.in.Window.Total.Deltas
	d[counterPrefixHits] += float64(r.prefix)
	d[counterLocalSource] += float64(r.prefix)
	d[counterExternalHits] += float64(r.semantic)
	if r.semantic > 0 {
		record.AdvertisedTokens, record.LoadAllocated, record.Materialized = new(r.semantic), new(r.semantic), new(r.semantic)
		record.SemanticLookupHit = true
		e := s.in.Evidence
		e.Events["semantic_hits"] = append(e.Events["semantic_hits"], map[string]any{"request_id": "chatcmpl-" + id, "reusable_tokens": r.semantic})
		e.Events["materialized"] = append(e.Events["materialized"], map[string]any{"request_id": "chatcmpl-" + id, "tokens": r.semantic})
		*e.MaterializationEvents++
		*e.MaterializedTokens += r.semantic
		e.MaterializedSemanticKVReuse, e.Join = true, "per_request"
	}
	s.audit[id] = record
}

// retime gives a request another time to first token, on both sides.
func retime(o *sembench.Observation, ms float64) {
	o.Stamps.FirstOutput = new(*o.Stamps.WriteStart + int64(ms*1e6))
	o.Stamps.FirstEvent = o.Stamps.FirstOutput
	o.EngineMetrics = map[string]any{"time_to_first_token_ms": ms - 0.5}
}

// canary writes a pass whose controls come out as told.
func (s *scene) canary(prefix, external float64) {
	item := fmt.Sprintf("canary-%d", s.seq)
	for _, role := range []string{"canary-a-seed", "canary-b-seed"} {
		s.line(item, armCanary, role, "", 50, reused{})
	}
	s.line(item, armCanary, "canary-a-positive", "", 10, reused{prefix: 480})
	s.line(item, armCanary, "canary-b-positive", "", 10, reused{semantic: 480})
	s.line(item, armCanary, "canary-a-negative", "", 50, reused{prefix: int(prefix)})
	last := s.line(item, armCanary, "canary-b-negative", "", 50, reused{semantic: int(external)})
	outcome := func(v float64) string { return map[bool]string{true: sembench.Pass, false: sembench.Fail}[v == 0] }
	last.Isolation = &sembench.Isolation{Method: sembench.IsolationReset, Status: sembench.IsolationAccepted, Canary: []sembench.CanaryCheck{
		{Tier: tierPrefix, Control: controlPositive, Field: "cached_tokens", Expected: new(0.0), Observed: new(480.0), Outcome: sembench.Pass},
		{Tier: "external", Control: controlPositive, Field: "external_cached_tokens", Expected: new(0.0), Observed: new(480.0), Outcome: sembench.Pass},
		{Tier: tierPrefix, Control: controlNegative, Field: "cached_tokens", Expected: new(0.0), Observed: &prefix, Outcome: outcome(prefix)},
		{Tier: "external", Control: controlNegative, Field: "external_cached_tokens", Expected: new(0.0), Observed: &external, Outcome: outcome(external)},
	}}
}

// arms of one item of the scene.
type arms struct {
	transform   string
	control     bool
	kind        string // of a wrong-reuse control
	cold, warm  float64
	exact       float64 // 0: no exact arm
	warmReuse   reused
	exactReuse  reused
	warmOutput  string
	donorMS     float64
	warmIsFirst bool
}

func (s *scene) item(a arms) string {
	id := fmt.Sprintf("item-%02d", len(s.in.Items))
	it := sembench.Item{ItemID: id, Dataset: "d", SourceID: id, Transform: a.transform, RecipientPrompt: "p", NegativeControl: a.control,
		DonorPrompts: []sembench.Donor{{DonorID: "d0", Text: "t"}}, Answers: []string{"blue"}, Metadata: map[string]any{"length_band": "1k"}}
	if a.kind != "" {
		it.Metadata["control_kind"], it.Metadata["divergent_donor_value"] = a.kind, "red"
	}
	s.in.Items = append(s.in.Items, it)
	row := bareRow(it)
	row.LocalPromptTokens, row.LocalTotalBlocks = new(scenePrompt), new(62)
	row.PromptTokens, row.TotalBlocks, row.PromptTokensSource = scenePrompt, 62, new("local")
	row.ExactHitBlocks, row.ExactHitTokens, row.ExactPrefixHitBlocks = 10, 160, new(4)
	row.SemanticCandidateBlocks, row.SemanticEligibleBlocks, row.SemanticNovelBlocks = new(30), new(20), new(12)
	row.SemanticCandidateTokens, row.SemanticEligibleTokens = new(480), new(320)
	s.in.Offline = append(s.in.Offline, row)
	cold := func(order int) {
		s.recipient(id, sembench.ArmCold, order, a.cold, reused{}, nil, "")
	}
	warm := func(order int) {
		donor := s.line(id, sembench.ArmWarm, "donor-0", id+"#0", a.donorMS, reused{})
		s.recipient(id, sembench.ArmWarm, order, a.warm, a.warmReuse, donor, a.warmOutput)
	}
	if a.warmIsFirst {
		warm(0)
		cold(1)
	} else {
		cold(0)
		warm(1)
	}
	if a.exact > 0 {
		s.recipient(id, sembench.ArmExact, 2, a.exact, a.exactReuse, nil, "")
	}
	return id
}

func (s *scene) recipient(id, arm string, order int, ms float64, r reused, donor *sembench.Observation, output string) {
	var sent []sembench.DonorStatus
	if donor != nil {
		sent = []sembench.DonorStatus{{ID: "d0", Status: sembench.StatusOK, Attempts: 1, RequestID: donor.RequestID, LatencyMS: donor.Latency()}}
	}
	o := s.line(id, arm, sembench.RoleRecipient, id+"#0", ms, r)
	o.Order, o.Donors = &order, sent
	o.Isolation = &sembench.Isolation{Method: sembench.IsolationReset, Status: sembench.IsolationAccepted, PrimedTokens: new(0)}
	if output != "" {
		o.OutputText, o.OutputSHA256 = &output, &output
	}
	if donor != nil && r.semantic > 0 {
		s.audit[o.RequestID].DonorIDs = []string{"chatcmpl-" + donor.RequestID}
	}
}

// quietAA is a calibration that found no difference between an arm and itself.
func quietAA() *sembench.Calibration {
	return &sembench.Calibration{Model: "tiny", TTFTAA: &sembench.TTFTAA{N: 30, Mean: new(1.0), Geomean: new(1.0), CI: interval(0.99, 1, 1.01, 30)}}
}

// honest is a run of 4 hits (cold 100, warm 25, exact 80), 4 misses (cold 100, warm 110, exact 100), 8 controls and one
// entity_swap, between two canary passes.
func honest() *scene {
	s := newScene()
	s.canary(0, 0)
	for i := range 4 {
		s.item(arms{transform: "rag_reorder@2", cold: 100, warm: 25, exact: 80, warmReuse: reused{64, 640}, exactReuse: reused{64, 0},
			donorMS: 90, warmIsFirst: i%2 == 0})
	}
	for i := range 4 {
		s.item(arms{transform: "fuzzy_edit", cold: 100, warm: 110, exact: 100, donorMS: 90, warmIsFirst: i%2 == 0})
	}
	s.canary(0, 0)
	for i := range 8 {
		s.item(arms{transform: "negative_control", control: true, cold: 100 + float64(i%2), warm: 100, donorMS: 90, warmIsFirst: i%4 < 2})
	}
	s.item(arms{transform: "entity_swap", kind: "entity_swap", cold: 100, warm: 50, donorMS: 90, warmReuse: reused{64, 320}, warmOutput: "it is red"})
	s.canary(0, 0)
	s.in.Calibration = quietAA()
	return s
}

func build(t *testing.T, s *scene) sembench.Result {
	t.Helper()
	r, err := Build(s.in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is null, want %v", what, want)
	} else if d := *got - want; d > 1e-9 || d < -1e-9 {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

func null[T any](t *testing.T, what string, got *T) {
	t.Helper()
	if got != nil {
		t.Errorf("%s = %v, want null", what, *got)
	}
}

func count(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %d, want %d", what, got, want)
	}
}
