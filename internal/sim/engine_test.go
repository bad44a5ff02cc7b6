package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sembench/internal/engine"
	"sembench/internal/sim"
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
