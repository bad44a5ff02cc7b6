package engine

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"sembench"
)

// want is what a vector of engine-evidence.md section 3 demands; -1 is not asked.
type want struct{ donors, hits, adverts, events, tokens, units, errors, warnings int }

func (w want) check(t *testing.T, ev *sembench.Evidence, flag bool) {
	t.Helper()
	get := func(p *int) int {
		if p == nil {
			return -2
		}
		return *p
	}
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"donor_registrations", get(ev.DonorRegistrations), w.donors},
		{"semantic_hits", get(ev.SemanticHits), w.hits},
		{"load_advertisements", get(ev.LoadAdvertisements), w.adverts},
		{"materialization_events", get(ev.MaterializationEvents), w.events},
		{"materialized_tokens", get(ev.MaterializedTokens), w.tokens},
		{"materialized_units", get(ev.MaterializedUnits), w.units},
		{"errors", ev.ErrorCount, w.errors},
		{"runtime_warnings", ev.RuntimeWarningCount, w.warnings},
	} {
		if c.want != -1 && c.got != c.want {
			t.Errorf("%s = %d, want %d", c.name, c.got, c.want)
		}
	}
	if ev.MaterializedSemanticKVReuse != flag {
		t.Errorf("flag = %v, want %v", ev.MaterializedSemanticKVReuse, flag)
	}
}

// Lines of the vllm connector for request r.
const (
	donorLine         = "SemBlend donor registered request_id=d namespace=ns tokens=640 blocks=40\n"
	hitLine           = "SemBlend semantic lookup hit request_id=r donor_id=d similarity=0.88 kind=k reusable_tokens=480 reason=ok\n"
	advertLine        = "SemBlend request-local experimental load advertised request_id=r donor_id=d tokens=480\n"
	materializingLine = "SemBlend materializing request_id=r donor_id=d tokens=480\n"
	materializedLine  = "SemBlend materialized request_id=r donor_id=d tokens=480\n"
	segment           = "[FUZZY RADIX] segmented prefill realized donor phase: rid=r donor_tokens="
)

func TestVectors(t *testing.T) {
	any := -1
	for _, v := range []struct {
		name, engine, in string
		want             want
		flag             bool
	}{
		{"V1", "vllm", donorLine + hitLine + advertLine + materializingLine + materializedLine, want{1, 1, 1, 1, 480, -2, 0, 0}, true},
		{"V1 in a log", "vLLM", "INFO 05-01 10:00:00 [c.py:1] " + strings.ReplaceAll(strings.TrimSpace(donorLine+hitLine+advertLine+materializedLine), "\n", "\nINFO 05-01 10:00:00 [c.py:1] "), want{1, 1, 1, 1, 480, -2, 0, 0}, true},
		{"V2", "vllm", hitLine, want{any, 1, any, 0, 0, -2, 0, 0}, false},
		{"V3", "vllm", materializedLine, want{any, 0, any, 1, 480, -2, 0, 0}, false},
		{"V4", "vllm", hitLine + "[E:onnxruntime:, executor.cc:1 Run] Non-zero status code returned\nERROR something broke\n", want{any, 1, any, any, any, -2, 1, 1}, false},
		{"V5", "vllm", strings.TrimSpace(hitLine) + " latency_ms=3.25\n", want{any, 1, any, 0, 0, -2, 0, 0}, false},
		{"V6", "trt-llm", `{"event":"lookup","found":false,"rejection_reason":"no_donor_match"}
{"event":"lookup","found":true}
{"event":"engine_blend_boundary","request_ids":[1],"boundary_layer":2}
{"event":"materialized","materialized":333,"requires_rope_correction":true}
{"event":"donor_registered","request_id":1}
`, want{1, 1, any, 1, -2, 333, 0, 0}, true},
		{"V7 text", "trtllm", "this is no JSON\n", want{any, any, any, any, any, any, 1, 0}, false},
		{"V7 onnx", "trtllm", "2026-01-01 10:00:00.123 [E:onnxruntime:, executor.cc:1 Run] Non-zero status code returned\n", want{any, any, any, any, any, any, 0, 1}, false},
		{"V8 string", "trtllm", `{"event":"lookup","found":"true"}` + "\n", want{any, 0, any, 0, any, 0, 0, 0}, false},
		{"V8 number", "trtllm", `{"event":"lookup","found":1}` + "\n", want{any, 0, any, 0, any, 0, 0, 0}, false},
		{"V10", "sglang", "[FUZZY] register_donor: ok request_id=d tokens=900\nsemantic hit similarity=0.9 tokens=256\n[FUZZY RADIX] Fuzzy match success: cached=256, prompt=300, offset=0\n[FUZZY] Realized 256 fuzzy tokens\n", want{1, 1, any, 1, 256, -2, 0, 0}, true},
		{"V11", "sglang", "[FUZZY RADIX] Fuzzy match success: cached=256, prompt=300, offset=0, quality_cosine=0.91\n", want{any, 1, any, 0, 0, -2, 0, 0}, false},
		{"V12", "sglang", segment + "300 target=[0,300) direct_paged_kv=True\n" + segment + "420 target=[300,720) direct_paged_kv=True\n[FUZZY] Realized 720 fuzzy tokens (2 segments)\n", want{any, 0, any, 2, 720, -2, 0, 0}, false},
		{"V13", "sglang", segment + "300 target=[0,300) direct_paged_kv=True\n" + segment + "420 target=[300,720) direct_paged_kv=True\n[FUZZY] Realized 720 fuzzy tokens (2 segments)\n[FUZZY] Realized 128 fuzzy tokens (contiguous): copied\n", want{any, 0, any, 3, 848, -2, 0, 0}, false},
		{"V14", "lmcache", "Retrieved 1024 / 2048 tokens\nStoring 2048 new tokens\nRetrieved 0 / 1024 tokens\n", want{1, 0, any, 1, 1024, -2, 0, 0}, false},
		{"V15", "lmcache", "Reusing 700 out of 1400 tokens\ncache hit for request q, tokens: 700\nStored 1400 tokens\n", want{1, 0, any, 1, 700, -2, 0, 0}, false},
		{"V16", "lmcache", "[req_id=q] Stored 900 out of total 900 tokens. size: 0.1 gb\n", want{1, 0, any, 0, -2, -2, 0, 0}, false},
		{"V19 vllm", "vllm", "", want{-2, -2, -2, -2, -2, -2, 0, 0}, false},
		{"V19 sglang", "sglang", "", want{-2, -2, -2, -2, -2, -2, 0, 0}, false},
		{"V19 trtllm", "trtllm", "", want{-2, -2, -2, -2, -2, -2, 0, 0}, false},
		{"V19 lmcache", "lmcache", "", want{-2, -2, -2, -2, -2, -2, 0, 0}, false},
	} {
		t.Run(v.name, func(t *testing.T) { v.want.check(t, summarize(t, v.engine, []byte(v.in)), v.flag) })
	}
}

func TestVectorDetails(t *testing.T) {
	ev := summarize(t, "tensorrt_llm", []byte(`{"event":"lookup","found":false,"rejection_reason":"no_donor_match"}
{"event":"engine_blend_boundary"}
{"event":"materialized","materialized":1,"requires_rope_correction":true}`))
	if (*ev.RejectionReasons)["no_donor_match"] != 1 || *ev.RopeCorrections != 1 || *ev.EngineBoundaries != 1 {
		t.Errorf("V6: reasons %v rope %d boundaries %d", *ev.RejectionReasons, *ev.RopeCorrections, *ev.EngineBoundaries)
	}
	for _, in := range []string{"[]\n", "7\n"} { // V9
		if ev := summarize(t, "trtllm", []byte(in)); ev.Input.DamagedLines != 1 || ev.ErrorCount != 0 {
			t.Errorf("V9 %q: damaged %d errors %d", in, ev.Input.DamagedLines, ev.ErrorCount)
		}
	}
	if ev := summarize(t, "lmcache", []byte("Retrieved 1024 / 2048 tokens\nRetrieved 0 / 1024 tokens\n")); ev.LMCache.EmptyRetrieves != 1 {
		t.Errorf("V14: empty retrieves %d", ev.LMCache.EmptyRetrieves)
	}
	if ev := summarize(t, "lmcache", []byte("cache hit for request q, tokens: 700\n")); ev.LMCache.HitLines != 1 || *ev.LMCache.HitTokens != 700 {
		t.Errorf("V15: %+v", ev.LMCache)
	}
	check := func(in string, total, hit, need, computed int) {
		t.Helper()
		ev := summarize(t, "lmcache", []byte(in))
		l := ev.LMCache.Lookups[0]
		if l.RequestID != "q" || l.Total != total || l.Hit != hit || *l.NeedToLoad != need || *l.EngineComputed != computed {
			t.Errorf("%q: %+v need %d computed %d", in, l, *l.NeedToLoad, *l.EngineComputed)
		}
	}
	check("Reqid: q, Total tokens 3000, Inference Engine computed tokens: 1000, LMCache hit tokens: 1500, need to load: 500\n", 3000, 1500, 500, 1000) // V17
	check("Reqid: q, Total tokens 3000, LMCache hit tokens: 1500, need to load: 500\n", 3000, 1500, 500, 1000)                                         // V18
	if _, err := Summarize("nonesuch", strings.NewReader(""), Options{}); !errors.Is(err, ErrUnknownEngine) {                                          // V20
		t.Errorf("V20: %v", err)
	}
}

const (
	auditHead   = `{"schema_version":2,"source":"semblend_vllm_connector","connector_id":"s","request_id":"cmpl-abc-0","request_seq":0,`
	auditAdvert = auditHead + `"event":"semantic_span_load_advertised","event_seq":%,"token_count":$,"target_start":@,"boundary":@}` + "\n"
	auditLoad   = `{"schema_version":2,"connector_id":"w","request_id":"cmpl-abc-0","event":"runtime_materialized","tokens":$,"materialization_kind":"semantic_span"}` + "\n"
)

func fillIn(s string, seq, tokens, start string) string {
	return strings.NewReplacer("%", seq, "$", tokens, "@", start).Replace(s)
}

func readAudit(t *testing.T, in string) *Audit {
	t.Helper()
	a, err := ReadAudit(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAuditVectors(t *testing.T) {
	a := readAudit(t, fillIn(auditAdvert, "0", "1024", "16")+fillIn(auditLoad, "", "1024", "")+
		fillIn(auditAdvert, "1", "512", "528")+fillIn(auditLoad, "", "512", ""))
	r, how := a.Resolve("abc")
	if how != MatchNormalized || *r.Materialized != 512 || *r.SupersededTokens != 1024 || r.AdvertiseCount != 2 { // V21
		t.Errorf("V21: %s %+v", how, r)
	}
	// Two runs appended to one file, the second by another scheduler.
	two := fillIn(auditAdvert, "0", "16", "0")
	a = readAudit(t, two+strings.ReplaceAll(two, `"connector_id":"s"`, `"connector_id":"s2"`))
	if r, _ := a.Resolve("cmpl-abc-0"); !r.RequestIDReused {
		t.Errorf("two schedulers: %+v", r)
	}
	if r, _ := readAudit(t, two+two).Resolve("cmpl-abc-0"); r.RequestIDReused {
		t.Errorf("one scheduler: %+v", r)
	}
	if rep := readAudit(t, "INFO 05-01 10:00:00 [a.py:1] started\n"+two).Report(); rep.MalformedLines != 0 || rep.Lines != 1 {
		t.Errorf("log around an audit: %+v", rep)
	}
	a = readAudit(t, auditHead+`"event":"load_allocated","tokens":512}`)
	if r, _ := a.Resolve("cmpl-abc-0"); *r.LoadAllocated != 512 || r.Materialized != nil { // V22
		t.Errorf("V22: %+v", r)
	}
	first := fillIn(auditLoad, "", "1", "")
	if _, how := readAudit(t, first+strings.ReplaceAll(first, "abc-0", "abc-1")).Resolve("abc"); how != MatchAmbiguous { // V23
		t.Errorf("V23: %s", how)
	}
	if _, how := readAudit(t, strings.ReplaceAll(first, "abc-0", "abc-0-1a2b3c4d")).Resolve("abc"); how != MatchNormalized { // V24
		t.Errorf("V24: %s", how)
	}
	if _, how := a.Resolve(""); how != MatchMissing {
		t.Errorf("empty id: %s", how)
	}
	if _, how := a.Resolve("other"); how != MatchUnmatched {
		t.Errorf("other id: %s", how)
	}
}

func scrape(t *testing.T, text string) []*Metrics {
	t.Helper()
	m, err := ParseMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m.Endpoint = "http://127.0.0.1:1/metrics"
	return []*Metrics{m}
}

func TestWindowVectors(t *testing.T) {
	const q, h = "vllm:external_prefix_cache_queries_total ", "vllm:external_prefix_cache_hits_total "
	w := Window(scrape(t, q+"100\n"+h+"40\n"), scrape(t, q+"160\n"+h+"70\n")) // V25
	if w.Total.Deltas["vllm_external_prefix_cache_queries"] != 60 || w.Total.Deltas["vllm_external_prefix_cache_hits"] != 30 ||
		*w.Total.ExternalPrefixCacheHitRatio != 0.5 || w.CounterResetDetected || w.EndpointsPaired != 1 {
		t.Errorf("V25: %+v", w)
	}
	w = Window(scrape(t, q+"100\n"), scrape(t, q+"5\n")) // V26
	if w.Total.Deltas["vllm_external_prefix_cache_queries"] != -95 || !w.CounterResetDetected || w.Total.ExternalPrefixCacheHitRatio != nil {
		t.Errorf("V26: %+v", w)
	}
}

func TestRequestTimes(t *testing.T) {
	for _, in := range []string{`{"time_to_first_token_ms": 42.5}`, `{"ttft": 0.0425}`, `{"first_token_time": 10.0425, "first_scheduled_time": 10}`} { // V27
		ttft, queue, err := RequestTimes([]byte(in))
		if err != nil || queue != nil || ttft == nil || *ttft < 42.4999 || *ttft > 42.5001 {
			t.Errorf("%s: %v %v %v", in, ttft, queue, err)
		}
	}
	if _, _, err := RequestTimes([]byte(`[]`)); err == nil {
		t.Error("an array passed")
	}
	if ttft, _, _ := RequestTimes([]byte(`{"first_token_time": 1, "first_scheduled_time": 2}`)); ttft != nil {
		t.Errorf("negative difference gave %v", *ttft)
	}
}

// A twin with and without _total is one family; a second label set is not.
func TestTotalTwin(t *testing.T) {
	m := scrape(t, "vllm:prompt_tokens{engine=\"0\"} 5\nvllm:prompt_tokens_total{engine=\"0\"} 5\nvllm:prompt_tokens_total{engine=\"1\"} 7\n")[0]
	if got := m.Counters["vllm_prompt_tokens"]; got != 12 {
		t.Errorf("twins gave %g, want 12", got)
	}
}

func TestBlocksUnit(t *testing.T) {
	m := scrape(t, "# HELP vllm:gpu_prefix_cache_queries_total GPU prefix cache queries, in terms of number of queried blocks.\n# TYPE vllm:gpu_prefix_cache_queries_total counter\nvllm:gpu_prefix_cache_queries_total 9\n")[0]
	if m.Units["vllm_prefix_cache_queries"] != "blocks" || len(m.Warnings) != 1 {
		t.Errorf("units %v warnings %v", m.Units, m.Warnings)
	}
}

func TestExemplar(t *testing.T) {
	in := "vllm:prompt_tokens_total{model_name=\"a # {b\"} 5 # {trace_id=\"x\"} 1.0\n# EOF\n"
	if m := scrape(t, in)[0]; m.Counters["vllm_prompt_tokens"] != 5 {
		t.Errorf("got %v", m.Counters)
	}
	if _, err := ParseMetrics(bytes.NewReader(nil)); err == nil {
		t.Error("an empty scrape passed")
	}
}

func TestWindowChecks(t *testing.T) {
	const sources = `vllm:prompt_tokens_by_source_total{source="local_compute"} %
vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 50
vllm:prompt_tokens_by_source_total{source="external_kv_transfer"} 10
`
	at := func(s string, n string) []*Metrics { return scrape(t, strings.ReplaceAll(s, "%", n)) }
	has := func(w sembench.MetricsWindow, want string) bool {
		return strings.Contains(strings.Join(w.Warnings, "\n"), want)
	}
	start := at("vllm:prompt_tokens_total 0\n"+strings.NewReplacer("50", "0", "10", "0").Replace(sources), "0")
	if w := Window(start, at("vllm:prompt_tokens_total 100\n"+sources, "40")); has(w, "by source") {
		t.Errorf("sums agree: %q", w.Warnings)
	}
	if w := Window(start, at("vllm:prompt_tokens_total 100\n"+sources, "20")); !has(w, "prompt tokens by source sum to 80, prompt_tokens says 100") {
		t.Errorf("sums differ: %q", w.Warnings)
	}
	// The figures of UCM issue 970: 44460 - 14592 = 29868.
	const prefix = "vllm:prefix_cache_queries_total %\nvllm:prefix_cache_hits_total 14592\nvllm:external_prefix_cache_queries_total 29868\n"
	zero := scrape(t, "vllm:prefix_cache_queries_total 0\nvllm:prefix_cache_hits_total 0\nvllm:external_prefix_cache_queries_total 0\n")
	if w := Window(zero, at(prefix, "44460")); len(w.Warnings) != 0 || *w.Total.PrefixCacheHitRatio != 14592.0/44460 {
		t.Errorf("%+v", w)
	}
	if w := Window(zero, at(prefix, "54460")); !has(w, "queries minus hits 39868") {
		t.Errorf("%q", w.Warnings)
	}
	// A restart hides in counters that grew past their old value; the start time tells.
	a := scrape(t, "process_start_time_seconds 100\nvllm:prefix_cache_queries_total 10\n")
	b := scrape(t, "process_start_time_seconds 200\nvllm:prefix_cache_queries_total 90\n")
	if w := Window(a, b); !w.CounterResetDetected || !has(w, "restarted") {
		t.Errorf("%+v", w)
	}
	// A labelled counter appears with its first increment; without a start time that cannot be told.
	b = scrape(t, "process_start_time_seconds 100\nvllm:prefix_cache_queries_total 10\nsglang:cached_tokens_total{cache_source=\"device\"} 7\n")
	if w := Window(a, b); w.Total.Deltas["sglang_cached_tokens_device"] != 7 || !has(w, "taken as starting at 0") {
		t.Errorf("%+v", w)
	}
	// One endpoint of two answers at the end only.
	failed := "connection refused"
	other := &Metrics{Endpoint: "http://127.0.0.1:2/metrics", Error: &failed}
	if w := Window(append(scrape(t, "vllm:prefix_cache_queries_total 1\n"), other), scrape(t, "vllm:prefix_cache_queries_total 3\n")); w.EndpointsPaired != 1 || w.EndpointsFailed != 1 || len(w.ScrapeErrors) != 1 || w.Total.Deltas["vllm_prefix_cache_queries"] != 2 {
		t.Errorf("%+v", w)
	}
	// TensorRT-LLM's iterations are cumulative: the last value counts, not the sum.
	m := scrape(t, `[{"kvCacheStats":{"reusedBlocks":1,"missedBlocks":3}},{"kvCacheStats":{"reusedBlocks":5,"missedBlocks":5}}]`)
	n := scrape(t, `[{"kvCacheStats":{"reusedBlocks":8,"missedBlocks":6}}]`)
	if w := Window(m, n); *w.Total.PrefixCacheHitRatio != 0.75 || w.Total.Deltas["trtllm_reused_blocks"] != 3 {
		t.Errorf("%+v", w)
	}
	// Histograms lose nothing but what was there before.
	const h = "# TYPE vllm:time_to_first_token_seconds histogram\nvllm:time_to_first_token_seconds_bucket{le=\"0.1\"} %\nvllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 9\nvllm:time_to_first_token_seconds_sum 2.5\nvllm:time_to_first_token_seconds_count 9\n"
	w := Window(at(h, "4"), at(strings.ReplaceAll(strings.ReplaceAll(h, "9", "12"), "2.5", "4"), "6"))
	if got := w.Total.Histograms["vllm_time_to_first_token_seconds"]; got.Count != 3 || got.Sum != 1.5 || got.Buckets[0] != [2]float64{0.1, 2} {
		t.Errorf("%+v", got)
	}
}
