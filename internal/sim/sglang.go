package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// sglang speaks like SGLang with the fuzzy radix backend (engine-evidence.md, sections 4.5 and 5.6). cached tokens are those
// of the radix cache alone; fuzzily admitted ones stand beside them.
type sglang struct{ plain }

func (s *sglang) routes(mux *http.ServeMux) {
	s.plain.routes(mux)
	e := s.e
	mux.HandleFunc("POST /generate", s.serveGenerate)
	mux.HandleFunc("POST /tokenize", e.serveTokenize)
	mux.HandleFunc("POST /flush_cache", s.serveFlush)
	mux.HandleFunc("GET /flush_cache", s.serveFlush)
	mux.HandleFunc("GET /health_generate", e.serveHealth)
	mux.HandleFunc("GET /get_model_info", s.serveInfo)
	mux.HandleFunc("GET /get_server_info", s.serveInfo)
	mux.Handle("GET /metrics", s.metrics())
}

func (s *sglang) owner() string { return "sglang" }

// name: SGLang takes the client's id as it is.
func (s *sglang) name(_, id string) string { return id }

func (s *sglang) serveInfo(w http.ResponseWriter, _ *http.Request) {
	body, _ := json.Marshal(map[string]any{
		"model_path": s.e.cfg.Model, "version": Version, "page_size": s.e.cfg.BlockSize, "tp_size": s.e.cfg.Ranks, "enable_cache_report": true,
		"is_generation": true, "max_total_num_tokens": s.e.cfg.CapacityBlocks * s.e.cfg.BlockSize,
	})
	writeJSON(w, http.StatusOK, body)
}

// serveFlush clears radix cache and donors; pending requests make it fail with status 400.
func (s *sglang) serveFlush(w http.ResponseWriter, _ *http.Request) {
	call := &resetCall{prefix: true, offload: true, donors: true, busy: true}
	s.e.reset(call)
	status, text := call.status, "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n"
	if !call.success {
		text = "Cache not flushed because there are pending requests.\n"
		status = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone: nothing is left to tell it
}

func (s *sglang) booted() {
	if s.e.donors != nil {
		s.line(0, "[FUZZY] Fuzzy matching initialized: provider=SemanticEmbedding, min_match_length=%d, cache_results=True", s.e.cfg.MinSemanticTokens)
	}
}

func (s *sglang) started(j *job) {
	c, d := j.claims.log, &j.decision
	exact := c.prefix + d.offload
	fuzzy := 0
	if s.e.donors != nil {
		fuzzy = s.fuzzy(j, c)
	}
	batch := fmt.Sprintf("Prefill batch, #new-seq: 1, #new-token: %d, #cached-token: %d", d.prompt-exact-fuzzy, exact)
	if s.e.donors != nil {
		batch += fmt.Sprintf(", #fuzzy-token: %d", fuzzy)
	}
	s.line(0, "%s, full token usage: %.2f, #running-req: %d, #queue-req: %d", batch, s.e.used(), s.e.sched.running-1, len(s.e.sched.queue))
}

// fuzzy writes the fuzzy backend's lines and returns what it admitted.
func (s *sglang) fuzzy(j *job, c claim) int {
	d := &j.decision
	exact := c.prefix + d.offload
	if !c.hit {
		s.line(0, "[FUZZY RADIX] no fuzzy match: rid=%s exact=%d total=%d", j.id, exact, d.prompt)
		return 0
	}
	s.line(0, "[FUZZY RADIX] fuzzy match success: rid=%s cached=%d prompt=%d offset=%d, reuse=%.3f, cosine=1.000, tier=high, gate=True", j.id, c.found, d.prompt, exact, float64(c.found)/float64(d.prompt))
	if c.declined {
		s.line(0, "[FUZZY RADIX] dropping fuzzy match for rid=%s: donor node %d is gone (cache reset or evicted)", j.id, j.index)
	}
	if c.materialized == nil {
		return 0
	}
	s.line(0, "[FUZZY RADIX] match_prefix: rid=%s exact=%d fuzzy=%d miss=%d total=%d cached_start_pos=%d realized_locs=pre-allocated", j.id, exact, c.found, d.prompt-exact-c.found, d.prompt, exact)
	for range c.copies {
		for rank := range s.e.cfg.Ranks {
			if len(d.pieces) > 1 {
				for _, p := range d.pieces {
					s.line(rank, "[FUZZY RADIX] segmented prefill realized donor phase: rid=%s donor_tokens=%d target=[%d,%d) direct_paged_kv=True", j.id, p.length, p.targetStart, p.targetStart+p.length)
				}
				s.line(rank, "[FUZZY] Realized %d fuzzy tokens (%d segments)", *c.materialized, len(d.pieces))
				continue
			}
			from, to := 0, exact
			if len(d.pieces) == 1 {
				from, to = d.pieces[0].donorStart, d.pieces[0].targetStart
			}
			s.line(rank, "[FUZZY] Realized %d fuzzy tokens (contiguous): copied donor KV with RoPE correction from positions [%d..%d] to [%d..%d]",
				*c.materialized, from, from+*c.materialized-1, to, to+*c.materialized-1)
		}
	}
	return *c.materialized
}

func (s *sglang) registered(j *job) {
	s.line(0, "[FUZZY] register_donor_async: ok request_id=%s tokens=%d embed=0.0ms store=0.0ms total=0.0ms", j.id, len(j.ids))
}

func (s *sglang) troubled(j *job, err error) {
	s.line(0, "[FUZZY] register_donor_async failed request_id=%s: %v", j.id, err)
}

func (s *sglang) ended(*job) {}

func (s *sglang) cleared(r *resetCall) {
	if r.success {
		s.line(0, "Cache flushed successfully!")
	}
}

func (s *sglang) line(rank int, format string, args ...any) {
	line := fmt.Appendf(nil, "[%s TP%d] ", s.e.cfg.Clock.Now().UTC().Format("2006-01-02 15:04:05"), rank)
	s.e.log.write(fmt.Appendf(line, format, args...))
}

// split is what usage claims, by tier: radix cache, host tier, and fuzzily admitted.
func (s *sglang) split(j *job) (device, host, fuzzy int) {
	c := j.claims.usage
	host = min(j.decision.offload, c.external)
	return c.prefix, host, c.external - host
}

func (s *sglang) usage(j *job) []byte {
	device, host, fuzzy := s.split(j)
	n := j.decision.prompt
	return fmt.Appendf(nil, `{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"fuzzy_cached_tokens":%d}}`,
		n, n+j.out.tokens, j.out.tokens, device+host, fuzzy)
}

// metrics serves SGLang's families.
func (s *sglang) metrics() http.Handler {
	e := s.e
	return e.metrics([]string{"model_name", "tp_rank"}, []string{e.cfg.Model, "0"}, func(x exposition) {
		c := &e.count
		x.counter("sglang:prompt_tokens_total", "Number of prefill tokens processed.", c.promptTokens)
		x.counter("sglang:generation_tokens_total", "Number of generation tokens processed.", c.outputTokens)
		x.split("sglang:cached_tokens_total", "Number of cached prompt tokens.", "cache_source", map[string]int{"device": c.hits, "host": c.offloadHits})
		x.split("sglang:realtime_tokens_total", "Tokens processed by mode.", "mode", map[string]int{
			"prefill_compute": c.bySource[sourceCompute], "prefill_cache": c.hits + c.externalHits, "decode": c.outputTokens,
		})
		x.counter("sglang:num_requests_total", "Requests processed.", c.requests)
		x.gauge("sglang:token_usage", "Share of the KV pool in use.", e.used())
		x.gauge("sglang:cache_hit_rate", "Hit rate of the last prefill batch.", c.lastRate)
		x.gauge("sglang:num_running_reqs", "Requests that run.", float64(e.sched.running))
		x.gauge("sglang:num_queue_reqs", "Requests that wait.", float64(len(e.sched.queue)))
		x.times("sglang:time_to_first_token_seconds", "Time to first token.", c.ttft)
		x.times("sglang:e2e_request_latency_seconds", "Time from arrival to the last token.", c.e2e)
	})
}

// serveGenerate serves the native endpoint.
func (s *sglang) serveGenerate(w http.ResponseWriter, r *http.Request) {
	e := s.e
	arrival := e.cfg.Clock.Now()
	var q struct {
		Text     json.RawMessage `json:"text"`
		InputIDs json.RawMessage `json:"input_ids"`
		Sampling struct {
			MaxNewTokens *int `json:"max_new_tokens"`
			IgnoreEOS    bool `json:"ignore_eos"`
		} `json:"sampling_params"`
		Stream   bool   `json:"stream"`
		RID      string `json:"rid"`
		ExtraKey string `json:"extra_key"`
	}
	if err := readJSON(w, r, &q); err != nil {
		fail(w, err)
		return
	}
	raw := q.Text
	if !given(raw) {
		raw = q.InputIDs
	}
	p, err := e.textPrompt(raw)
	if err != nil {
		fail(w, badRequest("text", "%v", err))
		return
	}
	j := &job{endpoint: endpointGenerate, salt: q.ExtraKey, limit: 128, fill: q.Sampling.IgnoreEOS, arrival: arrival}
	if q.Sampling.MaxNewTokens != nil {
		j.limit = *q.Sampling.MaxNewTokens
	}
	j.id = e.requestID(j.endpoint, q.RID, r.Header.Get("X-Request-Id"))
	if err := e.fill(j, p); err != nil {
		fail(w, err)
		return
	}
	e.serve(w, r, j, &nativeStream{s: s, j: j, stream: q.Stream})
}

// nativeStream words a job as /generate does: every event carries the whole text so far.
type nativeStream struct {
	s      *sglang
	j      *job
	stream bool
	sofar  string
	chunks int
}

func (n *nativeStream) streamed() bool      { return n.stream }
func (n *nativeStream) contentType() string { return "text/event-stream" }
func (n *nativeStream) head(buf []byte) []byte {
	return buf
}

func (n *nativeStream) chunk(buf []byte, text string) []byte {
	n.sofar += text
	n.chunks++
	buf = append(buf, "data: "...)
	return append(n.event(buf, n.sofar, n.chunks, ""), "\n\n"...)
}

func (n *nativeStream) tail(buf []byte) []byte {
	buf = append(buf, "data: "...)
	buf = n.event(buf, n.j.out.text, n.j.out.tokens, n.j.out.reason)
	return append(buf, "\n\ndata: [DONE]\n\n"...)
}

func (n *nativeStream) failure(buf []byte) []byte {
	return append(append(append(buf, "data: "...), n.failed()...), "\n\ndata: [DONE]\n\n"...)
}

func (n *nativeStream) failed() []byte {
	return []byte(`{"error":{"message":"The engine died."}}`)
}

func (n *nativeStream) whole() []byte {
	return n.event(nil, n.j.out.text, n.j.out.tokens, n.j.out.reason)
}

// event is one object with meta_info; reason empty: not finished.
func (n *nativeStream) event(buf []byte, text string, tokens int, reason string) []byte {
	device, host, fuzzy := n.s.split(n.j)
	buf = append(buf, `{"text":`...)
	buf = appendString(buf, text)
	buf = append(buf, `,"meta_info":{"id":`...)
	buf = appendString(buf, n.j.id)
	buf = append(buf, `,"finish_reason":`...)
	switch reason {
	case "":
		buf = append(buf, "null"...)
	case "length":
		buf = append(buf, `{"type":"length","length":`...)
		buf = append(strconv.AppendInt(buf, int64(n.j.limit), 10), '}')
	default:
		buf = append(buf, `{"type":"stop","matched":null}`...)
	}
	return fmt.Appendf(buf, `,"prompt_tokens":%d,"completion_tokens":%d,"cached_tokens":%d,"cached_tokens_details":{"device":%d,"host":%d,"fuzzy":%d},"e2e_latency":%.6f}}`,
		n.j.decision.prompt, tokens, device+host, device, host, fuzzy, n.j.finish.Sub(n.j.arrival).Seconds())
}
