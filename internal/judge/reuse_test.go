package judge

import (
	"testing"

	"sembench"
)

// What each combination of sources proves for one request (contract, section 4).
func TestSemanticProof(t *testing.T) {
	usage := func(cached, external any) map[string]any {
		details := map[string]any{"cached_tokens": cached}
		if external != nil {
			details["external_cached_tokens"] = external
		}
		return map[string]any{"prompt_tokens": num(scenePrompt), "prompt_tokens_details": details}
	}
	audit := func(materialized, exact *int) fakeAudit {
		return fakeAudit{"id": {RequestID: "id", Materialized: materialized, ExactMaterialized: exact}}
	}
	log := func(hit, materialized int) *sembench.Evidence {
		e := &sembench.Evidence{Sources: []string{"semblend_text"}, Events: map[string][]map[string]any{}}
		if hit > 0 {
			e.Events["semantic_hits"] = []map[string]any{{"request_id": "chatcmpl-id", "reusable_tokens": num(hit)}}
		}
		if materialized > 0 {
			e.Events["materialized"] = []map[string]any{{"request_id": "chatcmpl-id", "tokens": num(materialized)}}
		}
		return e
	}
	serve := "vllm serve m --kv-transfer-config '{\"kv_connector\":\"SemBlendConnector\"}'"
	tests := []struct {
		name      string
		in        Inputs
		usage     map[string]any
		external  *int
		semantic  *int
		mechanism string
	}{
		{"nothing known", Inputs{}, nil, nil, nil, ""},
		{"cached only", Inputs{}, usage(num(640), nil), nil, nil, MechanismExact},
		{"external, nothing else: exact", Inputs{}, usage(num(640), num(640)), new(640), nil, MechanismExactExternal},
		{"external 0, nothing else: no signal", Inputs{}, usage(num(640), num(0)), new(0), nil, MechanismExact},
		{"audit proves it", Inputs{Audit: audit(new(640), nil)}, usage(num(640), num(640)), new(640), new(640), MechanismExternal},
		{"audit knows the request and no materialization: a confirmed miss", Inputs{Audit: audit(nil, nil)}, usage(num(640), num(640)), new(640), new(0), MechanismExactExternal},
		{"exact_prefix kinds are not semantic", Inputs{Audit: audit(nil, new(640))}, usage(num(640), nil), new(640), new(0), MechanismExactExternal},
		{"the audit alone", Inputs{Audit: audit(new(640), nil)}, usage(num(700), nil), new(640), new(640), MechanismExternal},
		{"audit says more than the response", Inputs{Audit: audit(new(640), nil)}, usage(num(320), num(320)), new(320), new(320), MechanismExternal},
		{"audit of another request", Inputs{Audit: fakeAudit{"x": {}}}, usage(num(640), num(640)), new(640), nil, MechanismExactExternal},
		{"audit that mixes two requests", Inputs{Audit: fakeAudit{"id": {Materialized: new(640), RequestIDReused: true}}}, usage(num(640), num(640)), new(640), nil, MechanismExactExternal},
		{"log: hit and materialized", Inputs{Evidence: log(640, 640)}, usage(num(640), num(640)), new(640), new(640), MechanismExternal},
		{"log: materialized without a hit", Inputs{Evidence: log(0, 640)}, usage(num(640), num(640)), new(640), new(0), MechanismExactExternal},
		{"log: hit without materialization", Inputs{Evidence: log(640, 0)}, usage(num(640), num(640)), new(640), new(0), MechanismExactExternal},
		{"declared without such a connector", Inputs{ConnectorKind: "semantic", Environment: sembench.Environment{ServeLine: new("vllm serve m")}},
			usage(num(640), num(640)), new(640), nil, MechanismExactExternal},
		{"declared with it", Inputs{ConnectorKind: "semantic", Environment: sembench.Environment{ServeLine: &serve}},
			usage(num(640), num(640)), new(640), new(640), MechanismExternal},
		{"the connector without a declaration", Inputs{Environment: sembench.Environment{ServeLine: &serve}},
			usage(num(640), num(640)), new(640), nil, MechanismExactExternal},
		{"below 64 tokens", Inputs{Audit: audit(new(63), nil)}, usage(num(63), num(63)), new(63), new(63), MechanismNone},
		{"at 64 tokens", Inputs{Audit: audit(new(64), nil)}, usage(num(64), num(64)), new(64), new(64), MechanismExternal},
	}
	for _, test := range tests {
		o := sembench.Observation{RequestID: "id", Usage: test.usage}
		j := newJournal([]sembench.Observation{o})
		r := newSources(test.in, j).of(o)
		if !equal(r.external, test.external) || !equal(r.semantic, test.semantic) {
			t.Errorf("%s: external %v, semantic %v; want %v, %v", test.name, show(r.external), show(r.semantic), show(test.external), show(test.semantic))
		}
		if got := r.mechanism(nil, 16); test.mechanism == "" && got != nil || test.mechanism != "" && !is(got, test.mechanism) {
			t.Errorf("%s: mechanism %v, want %q", test.name, show(got), test.mechanism)
		}
	}
}

func TestMechanismOfFuzzyMass(t *testing.T) {
	for _, c := range []struct {
		cached, fuzzy, primed int
		want                  string
	}{{100, 200, 0, MechanismScatter}, {200, 200, 0, MechanismHead}, {100, 63, 0, MechanismExact}, {100, 0, 36, MechanismExact}, {100, 0, 37, MechanismNone}} {
		if got := (reuse{cached: &c.cached, fuzzy: &c.fuzzy}).mechanism(&c.primed, 16); *got != c.want {
			t.Errorf("cached %d, fuzzy %d, primed %d: %s, want %s", c.cached, c.fuzzy, c.primed, *got, c.want)
		}
	}
	// The threshold is a block where blocks are larger than 64 tokens.
	if got := (reuse{cached: new(100)}).mechanism(nil, 128); *got != MechanismNone {
		t.Errorf("100 tokens under blocks of 128: %s", *got)
	}
	// Fuzzy mass counts as semantic only where its provider goes by meaning.
	o := sembench.Observation{Usage: map[string]any{"prompt_tokens_details": map[string]any{"fuzzy_tokens": num(300)}}}
	for provider, want := range map[string]*int{"SemanticEmbedding": new(300), "ExactHash": nil, "TokenBlockMatch": nil} {
		s := newSources(Inputs{Evidence: &sembench.Evidence{Provider: &provider}}, newJournal(nil))
		if got := s.of(o).semantic; !equal(got, want) {
			t.Errorf("provider %s: semantic %v, want %v", provider, show(got), show(want))
		}
	}
}

// Whole blocks beyond the exact prefix are wrong; what a chat template and block alignment may add is not.
func TestWrongReuse(t *testing.T) {
	row := func(cached int, semantic *int) sembench.Row {
		return sembench.Row{ControlKind: new("entity_swap"), PromptTokens: 1010, LocalPromptTokens: new(1000), ExactPrefixHitBlocks: new(4),
			BackendConfirmedTokens: &cached, SemanticConfirmedTokens: semantic}
	}
	for _, c := range []struct {
		cached   int
		semantic *int
		want     int
	}{{64, nil, 0}, {64 + 10 + 15, nil, 0}, {64 + 10 + 16, nil, 16}, {64 + 10 + 33, nil, 32}, {640, new(0), 0}, {64, new(320), 320}} {
		if got := wrongReuse(row(c.cached, c.semantic), 16); got == nil || *got != c.want {
			t.Errorf("cached %d, semantic %v: %v, want %d", c.cached, show(c.semantic), show(got), c.want)
		}
	}
	if got := wrongReuse(sembench.Row{BackendConfirmedTokens: new(5)}, 16); got != nil {
		t.Errorf("an ordinary row has wrong reuse %d", *got)
	}
	if got := wrongReuse(sembench.Row{ControlKind: new("x"), ExactPrefixHitBlocks: new(4)}, 16); got != nil {
		t.Errorf("a control without cached tokens has wrong reuse %d", *got)
	}
}
