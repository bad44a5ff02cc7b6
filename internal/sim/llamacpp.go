package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// llamacpp speaks like llama.cpp's server with one slot: the slot keeps the tokens of its last prompt, and the next
// prompt reuses their longest common beginning, token by token.
type llamacpp struct{ plain }

func (l *llamacpp) routes(mux *http.ServeMux) {
	e := l.e
	mux.HandleFunc("POST /v1/chat/completions", e.serveChat)
	mux.HandleFunc("POST /v1/completions", e.serveCompletions)
	mux.HandleFunc("GET /v1/models", e.serveModels)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`)) })
	mux.HandleFunc("POST /tokenize", l.serveTokenize)
	mux.HandleFunc("GET /props", l.serveProps)
	mux.HandleFunc("POST /slots/{id}", l.serveSlot)
	mux.Handle("GET /metrics", e.metrics(nil, nil, func(x exposition) {
		c := &e.count
		x.counter("llamacpp:prompt_tokens_total", "Number of prompt tokens processed.", c.bySource[sourceCompute])
		x.counter("llamacpp:tokens_predicted_total", "Number of generation tokens processed.", c.outputTokens)
		x.number(1, "llamacpp:prompt_seconds_total", "Prompt process time.", c.prefill.sum)
		x.gauge("llamacpp:requests_processing", "Number of requests processing.", float64(e.sched.running))
		x.gauge("llamacpp:requests_deferred", "Number of requests deferred.", float64(len(e.sched.queue)))
	}))
}

func (l *llamacpp) owner() string { return "llamacpp" }
func (l *llamacpp) oneSlot() bool { return true }

func (l *llamacpp) serveProps(w http.ResponseWriter, _ *http.Request) {
	body, _ := json.Marshal(map[string]any{
		"default_generation_settings": map[string]any{"id": 0, "n_ctx": l.e.cfg.MaxModelLen}, "total_slots": 1, "model_path": l.e.cfg.Model, "build_info": Version,
	})
	writeJSON(w, http.StatusOK, body)
}

func (l *llamacpp) serveTokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Content string `json:"content"`
	}
	if err := readJSON(w, r, &q); err != nil {
		fail(w, err)
		return
	}
	body, _ := json.Marshal(map[string]any{"tokens": l.e.tok.Encode([]uint32{}, q.Content)})
	writeJSON(w, http.StatusOK, body)
}

// serveSlot erases the slot: the only reset that there is.
func (l *llamacpp) serveSlot(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") != "0" || r.URL.Query().Get("action") != "erase" {
		fail(w, badRequest("action", "only slot 0 and action=erase are served"))
		return
	}
	l.e.mu.Lock()
	held := len(l.e.prefix.blocks)
	l.e.mu.Unlock()
	call := &resetCall{prefix: true, offload: true, donors: true, busy: true}
	l.e.reset(call)
	if !call.success {
		fail(w, &apiError{http.StatusServiceUnavailable, "unavailable_error", "", "the slot is processing"})
		return
	}
	writeJSON(w, call.status, fmt.Appendf(nil, `{"id_slot":0,"n_erased":%d}`, held))
}

// extras are llama.cpp's timings.
func (l *llamacpp) extras(j *job) []byte {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	c := j.claims.usage
	body, _ := json.Marshal(map[string]any{
		"cache_n": c.prefix + c.external, "prompt_n": j.decision.prompt - c.prefix - c.external, "prompt_ms": ms(j.charge.prefill),
		"predicted_n": j.out.tokens, "predicted_ms": ms(j.finish.Sub(j.first)),
	})
	return append([]byte(`,"timings":`), body...)
}

func (l *llamacpp) started(j *job) {
	c, n := j.claims.log, j.decision.prompt
	past := c.prefix + c.external
	l.slot(j, "new prompt, n_ctx_slot = %d, n_keep = 0, n_prompt_tokens = %d", l.e.cfg.MaxModelLen, n)
	l.slot(j, "n_past = %d, memory_seq_rm [%d, end)", past, past)
	l.slot(j, "prompt processing progress, n_past = %d, n_tokens = %d, progress = %.6f", n, n-past, float64(n-past)/float64(n))
	l.slot(j, "prompt done, n_past = %d, n_tokens = %d", n, n-past)
}

func (l *llamacpp) slot(j *job, format string, args ...any) {
	line := fmt.Appendf(nil, "slot update_slots: id  0 | task %d | ", j.index)
	l.e.log.write(fmt.Appendf(line, format, args...))
}
