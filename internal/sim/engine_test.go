package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/sim"
	"sembench/internal/wire"
)

// The project's own parsers of foreign text read what the voices write; they were made from captured samples of the real
// engines, not from sim.

// house is an engine with its files.
type house struct {
	t          *testing.T
	e          *sim.Engine
	url        string
	log, audit bytes.Buffer
}

func open(t *testing.T, c sim.Config) *house {
	t.Helper()
	h := &house{t: t}
	c.Tokenizer, c.Log, c.Audit = "regex", &h.log, &h.audit
	e, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e.Handler())
	t.Cleanup(server.Close)
	h.e, h.url = e, server.URL
	return h
}

func (h *house) post(path, body, id string) string {
	h.t.Helper()
	req, _ := http.NewRequest("POST", h.url+path, strings.NewReader(body))
	req.Header.Set("X-Request-Id", id)
	return h.do(req)
}

func (h *house) get(path string) string {
	h.t.Helper()
	req, _ := http.NewRequest("GET", h.url+path, nil)
	return h.do(req)
}

func (h *house) do(req *http.Request) string {
	h.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		h.t.Fatalf("%s: status %d, %v, %s", req.URL, res.StatusCode, err, text)
	}
	return string(text)
}

// chats sends a donor, the same document shifted, the donor again and something else.
func (h *house) chats() {
	h.t.Helper()
	document := ""
	for i := range 300 {
		document += fmt.Sprintf("word%d ", i*i%97+i)
	}
	for i, text := range []string{"Header.\\n" + document, "A quite different header of other length.\\n" + document, "Header.\\n" + document, "Nothing in common, and short."} {
		h.post("/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"%s"}],"max_tokens":8}`, text), fmt.Sprintf("r%d", i))
	}
}

// totals sums the truth.
func (h *house) totals() (prompt, prefix, semantic int) {
	for _, t := range h.e.Truth() {
		prompt, prefix, semantic = prompt+t.PromptTokens, prefix+t.PrefixTokens, semantic+t.SemanticTokens
	}
	return prompt, prefix, semantic
}

func TestVLLMVoicePassesTheParsers(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		h := open(t, sim.Config{Semantic: true, Ranks: ranks})
		h.chats()
		prompt, prefix, semantic := h.totals()
		if semantic < 200 || prefix < 200 {
			t.Fatalf("prefix %d semantic %d: nothing to see", prefix, semantic)
		}
		for _, text := range []string{h.log.String(), h.audit.String()} {
			ev, err := engine.Summarize("vllm", strings.NewReader(text), engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if ev.MaterializedTokens == nil || *ev.MaterializedTokens != semantic || *ev.SemanticHits != 1 || *ev.DonorRegistrations != 3 ||
				!ev.MaterializedSemanticKVReuse || ev.Join != "per_request" || ev.ErrorCount != 0 || ev.Input.DamagedLines != 0 {
				t.Errorf("%d ranks: evidence %+v, want %d tokens", ranks, ev, semantic)
			}
		}
		audit, err := engine.ReadAudit(strings.NewReader(h.audit.String()))
		if err != nil {
			t.Fatal(err)
		}
		rec, how := audit.Resolve("r1")
		if rec == nil || rec.Materialized == nil || *rec.Materialized != semantic || rec.DonorIDs[0] != "chatcmpl-r0" || *rec.AdvertisedTokens != semantic {
			t.Errorf("audit of r1 (%s): %+v", how, rec)
		}
		metrics, err := engine.ParseMetrics(strings.NewReader(h.get("/metrics")))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"vllm_prefix_cache_hits": prefix, "vllm_prefix_cache_queries": prompt, "vllm_external_prefix_cache_hits": semantic} {
			if got, ok := metrics.Counters[name]; !ok || got != float64(want) {
				t.Errorf("%s is %v (%v), want %d", name, got, ok, want)
			}
		}
	}
}

// ids are the tokens of a prompt, as the engine tells them.
func (h *house) ids(prompt string) []int64 {
	h.t.Helper()
	var got struct{ Tokens []int64 }
	if err := json.Unmarshal([]byte(h.post("/tokenize", fmt.Sprintf(`{"prompt":%q}`, prompt), "")), &got); err != nil {
		h.t.Fatal(err)
	}
	return got.Tokens
}

// A consumer that follows the events knows what the cache holds: what it finds for a prompt is what the engine then finds,
// across evictions and resets, for vLLM's events and for TensorRT-LLM's.
func TestKVEventsTellTheCache(t *testing.T) {
	for _, voice := range []string{"vllm", "trtllm"} {
		state := engine.NewKVState()
		c := sim.Config{As: voice, CapacityBlocks: 30}
		if voice == "vllm" {
			c.Events = func(b sim.KVBatch) {
				payload, err := b.Payload()
				if err != nil {
					t.Error(err)
				}
				batch, err := engine.DecodeKVBatch(payload)
				if err != nil {
					t.Error(err)
				}
				batch.Seq = &b.Sequence
				state.Apply(batch)
			}
		}
		h := open(t, c)
		tok := open(t, sim.Config{}) // TensorRT-LLM has no /tokenize
		found := 0
		for i := range 60 {
			if i%13 == 12 {
				h.post("/reset_prefix_cache", "", "")
			}
			text := strings.TrimSpace(strings.Repeat(fmt.Sprintf("first%d ", i%3), 40+i%30) + strings.Repeat(fmt.Sprintf("then%d ", i%5), 60))
			if voice == "trtllm" {
				for batch, err := range engine.ReadKVEvents(strings.NewReader(h.post("/kv_cache_events", "", ""))) {
					if err != nil {
						t.Fatal(err)
					}
					state.Apply(batch)
				}
			}
			ids := tok.ids(text)
			want := min(state.CachedPrefix(ids), (len(ids)-1)/16*16)
			h.post("/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, text), "")
			truth := h.e.Truth()
			if got := truth[len(truth)-1].PrefixTokens; got != want {
				t.Errorf("%s: request %d: the engine found %d tokens, the events say %d", voice, i, got, want)
			}
			found += want
		}
		if sum := state.Summary(); found == 0 || sum.Gaps != 0 || sum.UnknownRemovals != 0 || sum.BlocksRemoved == 0 {
			t.Errorf("%s: found %d, %+v", voice, found, sum)
		}
	}
}

// What subscribers decode is what the cache did: every prefix that the engine found had been stored.
func TestKVEventsOverZMQ(t *testing.T) {
	pub, err := sim.Publish("tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	h := open(t, sim.Config{CapacityBlocks: 30, Events: pub.Send})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	enough := errors.New("enough")
	seen := map[string]int{}
	recorded := make(chan error, 1)
	var rec engine.KVRecording
	first := make(chan struct{})
	go func() {
		var err error
		rec, err = engine.RecordKV(ctx, pub.Endpoint(), sim.KVTopic, func(b engine.KVBatch) error {
			if len(seen) == 0 {
				close(first)
			}
			for _, e := range b.Events {
				seen[e.Kind]++
				if e.Kind == engine.KVStored && len(e.TokenIDs) != 16*len(e.Hashes) {
					return fmt.Errorf("%d tokens for %d hashes", len(e.TokenIDs), len(e.Hashes))
				}
			}
			if seen[engine.KVRemoved] > 0 && seen[engine.KVCleared] > 1 {
				return enough
			}
			return nil
		})
		recorded <- err
	}()
	// A subscription takes a moment to arrive: clear until the first event is there.
	for waiting := true; waiting; {
		h.post("/reset_prefix_cache", "", "")
		select {
		case <-first:
			waiting = false
		case <-time.After(5 * time.Millisecond):
		case err := <-recorded:
			t.Fatal(err)
		}
	}
	h.chats()
	h.post("/reset_prefix_cache", "", "")
	if err := <-recorded; !errors.Is(err, enough) || rec.Gaps != 0 || rec.Undecodable != 0 || seen[engine.KVStored] < 2 {
		t.Errorf("%v: %+v, seen %v", err, rec, seen)
	}
}

// summarize reads what a voice wrote.
func (h *house) summarize(name, text string) *sembench.Evidence {
	h.t.Helper()
	ev, err := engine.Summarize(name, strings.NewReader(text), engine.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	if ev.Input.DamagedLines != 0 || ev.ErrorCount != 0 {
		h.t.Errorf("%s: damaged %d, errors %v in\n%s", name, ev.Input.DamagedLines, ev.Errors, text)
	}
	return ev
}

// counters checks a scrape.
func (h *house) counters(want map[string]int) {
	h.t.Helper()
	metrics, err := engine.ParseMetrics(strings.NewReader(h.get("/metrics")))
	if err != nil {
		h.t.Fatal(err)
	}
	for name, n := range want {
		if got, ok := metrics.Counters[name]; !ok || got != float64(n) {
			h.t.Errorf("%s is %v (%v), want %d", name, got, ok, n)
		}
	}
}

func TestSGLangVoicePassesTheParsers(t *testing.T) {
	h := open(t, sim.Config{As: "sglang", Semantic: true, Ranks: 2})
	h.chats()
	prompt, prefix, semantic := h.totals()
	ev := h.summarize("sglang", h.log.String())
	p := ev.Prefill
	if *ev.MaterializedTokens != semantic || *ev.SemanticHits != 1 || *ev.DonorRegistrations != 3 || *ev.Provider != "SemanticEmbedding" || !ev.MaterializedSemanticKVReuse ||
		p.CachedTokens != prefix || *p.FuzzyTokens != semantic || p.NewTokens != prompt-prefix-semantic {
		t.Errorf("evidence %+v\nprefill %+v\nwant prompt %d prefix %d semantic %d", ev, p, prompt, prefix, semantic)
	}
	h.counters(map[string]int{"sglang_prompt_tokens": prompt, "sglang_cached_tokens_device": prefix, "sglang_realtime_tokens_prefill_compute": prompt - prefix - semantic})
	if got := h.post("/flush_cache", "", ""); !strings.HasPrefix(got, "Cache flushed.") {
		t.Error(got)
	}

	// The native endpoint, by the project's own client.
	client := wire.New(wire.Options{})
	defer client.Close()
	text := strings.Repeat("The lake is 7 m deep. ", 30) + "How deep is the lake?"
	for i, want := range []int{0, 208} {
		o := client.Do(t.Context(), wire.Request{API: wire.Generate, BaseURL: h.url, Prompt: text, MaxTokens: 32, RequestID: fmt.Sprint("g", i)})
		if o.Status != sembench.StatusOK || *o.OutputText != "The lake is 7 m deep." || *o.CachedTokens() != want || *o.EngineResponseID != fmt.Sprint("g", i) || len(o.Chunks) < 5 {
			t.Errorf("generate: %+v", o)
		}
	}
}

func TestTensorRTVoicePassesTheParsers(t *testing.T) {
	h := open(t, sim.Config{As: "trtllm", Semantic: true})
	h.chats()
	_, prefix, semantic := h.totals()
	ev := h.summarize("trtllm", h.audit.String())
	if *ev.MaterializedUnits != semantic || *ev.SemanticHits != 1 || *ev.DonorRegistrations != 3 || *ev.EngineBoundaries != 1 || *ev.RopeCorrections != 1 || !ev.MaterializedSemanticKVReuse {
		t.Errorf("evidence %+v, want %d", ev, semantic)
	}
	stats := h.summarize("trtllm", h.get("/metrics")).KVCacheStats
	if stats == nil || stats.Iterations != 4 || *stats.ReusedBlocks*16 != prefix+semantic {
		t.Errorf("iterations %+v, want %d tokens", stats, prefix+semantic)
	}
	if again := h.get("/metrics"); again != "[]" {
		t.Errorf("reading did not drain: %s", again)
	}
}

func TestLMCacheVoicePassesTheParsers(t *testing.T) {
	h := open(t, sim.Config{As: "lmcache"})
	h.chats()
	h.post("/reset_prefix_cache", "", "") // the local cache alone
	h.chats()
	external := 0
	for _, r := range h.e.Truth() {
		external += r.ExternalTokens
	}
	ev := h.summarize("lmcache", h.log.String())
	if external < 600 || ev.LMCache == nil || *ev.MaterializedTokens != external || *ev.MaterializationClass != "exact" || ev.MaterializedSemanticKVReuse {
		t.Errorf("evidence %+v, want %d tokens", ev, external)
	}
	if *ev.ExactReuse.ExternalTokens != external {
		t.Errorf("exact reuse %+v, want %d tokens", ev.ExactReuse, external)
	}
}

func TestLlamaCppVoicePassesTheParsers(t *testing.T) {
	h := open(t, sim.Config{As: "llamacpp"})
	h.chats()
	h.chats()
	prompt, prefix, _ := h.totals()
	ev := h.summarize("llamacpp", h.log.String())
	if r := ev.ExactReuse; prefix == 0 || r == nil || *r.LocalTokens != prefix || *r.QueriedTokens != prompt {
		t.Errorf("exact reuse %+v, want %d of %d", r, prefix, prompt)
	}
	before := len(h.e.Truth())
	if got := h.post("/slots/0?action=erase", "", ""); !strings.Contains(got, `"n_erased":`) {
		t.Error(got)
	}
	h.chats()
	if first := h.e.Truth()[before]; first.PrefixTokens != 0 {
		t.Errorf("after erasing: %+v", first)
	}
}

func TestGatewayRoutes(t *testing.T) {
	for _, family := range sim.RouteFamilies() {
		h := open(t, sim.Config{As: "gateway", Workers: 3, Semantic: true, RouteFamily: family})
		document := ""
		for i := range 300 {
			document += fmt.Sprintf("word%d ", i*i%97+i)
		}
		body := func(header string) string {
			return fmt.Sprintf(`{"messages":[{"role":"user","content":"%s %s"}],"max_tokens":8}`, header, document)
		}
		h.post("/workers/2/v1/chat/completions", body("Donor."), "donor")
		client := wire.New(wire.Options{})
		defer client.Close()
		ask := func(text string) sembench.Observation {
			return client.Do(t.Context(), wire.Request{API: wire.Chat, BaseURL: h.url, Messages: []any{map[string]any{"role": "user", "content": text}}, MaxTokens: 8, RequestID: "x"})
		}
		for _, c := range []struct{ text, outcome, worker string }{
			{"Nothing in common with that at all.", "cold", "worker-0"},
			{"Header of another length. " + document, "semantic", "worker-2"},
			{"Donor. " + document, "exact", "worker-2"},
		} {
			o := ask(c.text)
			want := c.outcome
			if family == "x-gateway-destination-endpoint" {
				want = c.worker
			}
			found := false
			for name, value := range o.Headers {
				found = found || strings.HasPrefix(name, family) && value == want
			}
			if !found || o.Status != sembench.StatusOK {
				t.Errorf("%s: headers %v, want %s", family, o.Headers, want)
			}
		}
		truth := h.e.Truth()
		if len(truth) != 4 || truth[2].SemanticTokens < 200 || truth[3].PrefixTokens < 200 {
			t.Errorf("truth %+v", truth)
		}
	}
}
