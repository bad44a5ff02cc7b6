package engine

import (
	"bytes"
	"reflect"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// fuzzEngine reads any bytes under one name: no fault, no negative count, the same in other chunks.
func fuzzEngine(f *testing.F, engine string) {
	for _, s := range loadSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		o := Options{MaxRequests: 8, MaxEvents: 8, MaxErrors: 4}
		ev, err := Summarize(engine, bytes.NewReader(data), o)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, ev)
		again, err := Summarize(engine, iotest.OneByteReader(bytes.NewReader(data)), o)
		if err != nil {
			t.Fatal(err)
		}
		if inJSON(t, ev) != inJSON(t, again) {
			t.Errorf("chunking changed the document:\n%s\n%s", inJSON(t, ev), inJSON(t, again))
		}
	})
}

// loadSeeds are the vectors of this package; the shared samples, where present, stand beside them.
func loadSeeds(f *testing.F) [][]byte {
	f.Helper()
	seeds := [][]byte{
		[]byte(donorLine + hitLine + advertLine + materializedLine),
		[]byte(fillIn(auditAdvert, "0", "1024", "16") + fillIn(auditLoad, "", "1024", "")),
		[]byte("(Worker_TP0 pid=1) [2031-05-01 10:00:00,000] LMCache INFO: Retrieved 512 out of 512 required tokens (from 600 total tokens)\r"),
		[]byte("Reqid: q, Total tokens 64, Inference Engine computed tokens: 0, LMCache hit tokens: 64, need to load: 63\n"),
		[]byte("[2031-05-01 10:00:00 DP1 TP0] Prefill batch, #new-seq: 1, #new-token: 5, #cached-token: 3, #fuzzy-token: 2, cache hit rate: 30.0%\n"),
		[]byte(segment + "300 target=[0,300) direct_paged_kv=True\n[FUZZY] Realized 300 fuzzy tokens (1 segments)\n"),
		[]byte(`{"event":"lookup","found":true}` + "\n[]\n" + `{"event":"materialized","materialized":3}`),
		[]byte("[\n{\"iter\":1,\n\"iterLatencyMS\":1,\"kvCacheStats\":{\"reusedBlocks\":1,\"missedBlocks\":2,\"tokensPerBlock\":4}}\n]\n"),
		[]byte("2031-05-01T10:00:00.1Z stdout P INFO 05-01 10:00:00 [a.py:1] Engine 000: Avg prompt\n2031-05-01T10:00:00.1Z stdout F  throughput: 1.0 tokens/s, Prefix cache hit rate: 5.0%\n"),
		[]byte(`{"log":"\u001b[32mINFO:     x\u001b[0m\r\n","stream":"stderr","time":"2031"}`),
		[]byte("time=2031-01-01T00:00:00Z level=DEBUG source=cache.go:137 msg=\"loading cache slot\" id=0 cache=151 prompt=152 used=142 remaining=10\n"),
		[]byte("slot update_slots: id  0 | task 5 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 152\nslot update_slots: id  0 | task 5 | kv cache rm [142, end)\nslot update_slots: id  0 | task 5 | n_past = 142\n"),
		[]byte("2031-05-01T10:00:00Z  INFO dynamo::x: request complete isl: 10 - cache hits: device: 1, host: 2, disk: 3 - prefilled: 4 request_id=\"R\"\n"),
		[]byte(`{"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":8}}}`),
		[]byte("Traceback (most recent call last):\n  File\nRuntimeError: x\n"),
		[]byte("[pod/a/b] \xff 50%|#| 1/2 [0]x\rI0501 10:00:00.000000 1 a.go:1] x\n"),
	}
	return seeds
}

func FuzzVLLM(f *testing.F)    { fuzzEngine(f, "vllm") }
func FuzzSGLang(f *testing.F)  { fuzzEngine(f, "sglang") }
func FuzzTRTLLM(f *testing.F)  { fuzzEngine(f, "trtllm") }
func FuzzLMCache(f *testing.F) { fuzzEngine(f, "lmcache") }
func FuzzSlots(f *testing.F)   { fuzzEngine(f, "llamacpp") }
func FuzzAuto(f *testing.F)    { fuzzEngine(f, "auto") }

// FuzzUnwrap: whatever the envelope, a record's slices lie within reason and its text is valid UTF-8.
func FuzzUnwrap(f *testing.F) {
	for _, s := range loadSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records := 0
		u := unwrapper{ranks: newRankTable(), sink: func(r *record) {
			records++
			if !utf8.Valid(r.text) || len(r.msg) > len(r.text) && r.object == nil {
				t.Errorf("record %q of %q", r.msg, r.text)
			}
		}}
		lines := newLineReader(bytes.NewReader(data))
		n := 0
		for {
			line, err := lines.next()
			if err != nil {
				break
			}
			if bytes.ContainsAny(line, "\r\n") || blank(line) {
				t.Errorf("line %q", line)
			}
			n++
			u.line(line)
		}
		u.flush()
		if lines.bytes != len(data) {
			t.Errorf("read %d of %d bytes", lines.bytes, len(data))
		}
		if records > n+len(data)/8 { // only docker envelopes hold several records
			t.Errorf("%d records of %d lines", records, n)
		}
	})
}

func FuzzAudit(f *testing.F) {
	f.Add([]byte(fillIn(auditAdvert, "0", "1024", "16") + fillIn(auditLoad, "", "1024", "")))
	f.Add([]byte(`{"schema_version":2,"event":"runtime_materialized","request_id":"a","tokens":-1,"layers_materialized":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadAudit(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		rep := a.Report()
		if rep.Events+rep.EngineScopeEvents+rep.MalformedLines+rep.OtherSchemaVersions != rep.Lines {
			t.Errorf("the lines do not add up: %+v", rep)
		}
		for r := range a.Records() {
			if _, how := a.Resolve(r.RequestID); how != MatchExact {
				t.Errorf("%q is %s", r.RequestID, how)
			}
			for name, n := range map[string]*int{"materialized": r.Materialized, "superseded": r.SupersededTokens, "partial": r.PartialTokens, "allocated": r.LoadAllocated} {
				if n != nil && *n < 0 {
					t.Errorf("%s = %d", name, *n)
				}
			}
		}
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# HELP vllm:prompt_tokens_total x\n# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total{engine=\"0\"} 5 # {a=\"b\"} 1\n# EOF\n"))
	f.Add([]byte(`[{"kvCacheStats":{"reusedBlocks":1,"missedBlocks":2}}]`))
	f.Add([]byte("vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 1\nvllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} NaN\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMetrics(bytes.NewReader(data))
		if err != nil {
			return
		}
		inJSON(t, m) // NaN and infinities would fail here
		w := Window([]*Metrics{m}, []*Metrics{m})
		for key, d := range w.Total.Deltas {
			if d != 0 {
				t.Errorf("a window from a scrape to itself: %s = %g", key, d)
			}
		}
	})
}

func FuzzKVBatch(f *testing.F) {
	for _, p := range payloads(f) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := DecodeKVBatch(data)
		if err == nil {
			NewKVState().Apply(b)
		}
	})
}

func FuzzKVReader(f *testing.F) {
	f.Add([]byte("[1.5, [{'type': 'BlockStored', 'block_hashes': [18000000000000000002, b'\\xab'], 'parent_block_hash': None, 'token_ids': [1, 2], 'block_size': 2}], 0]\n"))
	f.Add([]byte(`{"event_id":1,"data":{"type":"stored","parent_hash":null,"blocks":[{"block_hash":5,"tokens":[{"token_id":5}]}]}}`))
	f.Add([]byte(`{"worker_id":7,"event":{"event_id":6,"data":"cleared","dp_rank":0}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		state := NewKVState()
		for b, err := range ReadKVEvents(bytes.NewReader(data)) {
			if err == nil {
				state.Apply(b)
			}
		}
		s := state.Summary()
		if s.Resident < 0 || s.Resident > s.BlocksStored || s.MaxResident > s.BlocksStored {
			t.Errorf("%+v", s)
		}
	})
}

func FuzzServeLine(f *testing.F) {
	f.Add(cleanLine)
	f.Add(`X=1 vllm serve 'm' -O.cudagraph_mode=FULL --kv-transfer-config '{"kv_role":"x"}' --no-enable-prefix-caching`)
	f.Fuzz(func(t *testing.T, line string) {
		c, err := ParseServeLine(line, nil)
		if err != nil {
			return
		}
		again, err := ParseServeLine(line, nil)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Error("two readings differ")
		}
		if c.FlagsOK != (len(c.Violations) == 0) {
			t.Errorf("%+v", c)
		}
	})
}

func FuzzResolveID(f *testing.F) {
	f.Add("cmpl-abc-0-1a2b3c4d", "abc")
	f.Fuzz(func(t *testing.T, id, known string) {
		match, ambiguous := ResolveID(id, func(s string) bool { return s == known })
		if ambiguous || (match != "" && match != known) {
			t.Errorf("%q against %q: %q %v", id, known, match, ambiguous)
		}
	})
}
