package sim

import (
	"encoding/json"
	"net/http"

	"sembench"
)

// SimulatedHeader is on every response of the embedded engine, so that any client can mark its results.
const SimulatedHeader = "X-Sembench-Simulated"

// Version is what /version answers: it begins with "sim-".
const Version = "sim-1"

// Handler serves the engine's API. It does not need Serve.
func (e *Engine) Handler() http.Handler {
	mux := http.NewServeMux()
	e.voice.routes(mux)
	mux.HandleFunc("GET /truth", e.serveTruth)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(SimulatedHeader, "true")
		if id := r.Header.Get("X-Request-Id"); id != "" {
			w.Header().Set("X-Request-Id", id)
		}
		mux.ServeHTTP(w, r)
	})
}

func (e *Engine) serveTruth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl")
	for _, t := range e.Truth() {
		if _, err := w.Write(append(sembench.Marshal(t), '\n')); err != nil {
			return
		}
	}
}

func (e *Engine) serveChat(w http.ResponseWriter, r *http.Request) { e.complete(w, r, endpointChat) }

func (e *Engine) serveCompletions(w http.ResponseWriter, r *http.Request) {
	e.complete(w, r, endpointCompletions)
}

func (e *Engine) serveModels(w http.ResponseWriter, _ *http.Request) {
	body, _ := json.Marshal(map[string]any{"object": "list", "data": []any{map[string]any{
		"id": e.cfg.Model, "object": "model", "created": e.boot.started.Unix(), "owned_by": e.voice.owner(), "root": e.cfg.Model, "max_model_len": e.cfg.MaxModelLen,
	}}})
	writeJSON(w, http.StatusOK, body)
}

func (e *Engine) serveHealth(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (e *Engine) serveVersion(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []byte(`{"version":"`+Version+`"}`))
}

// serveTokenize gives the ids that the engine would see: of messages under the chat template, or of a prompt as it is.
func (e *Engine) serveTokenize(w http.ResponseWriter, r *http.Request) {
	var q openAIRequest
	if err := readJSON(w, r, &q); err != nil {
		fail(w, err)
		return
	}
	p, param, err := prompt{}, "prompt", error(nil)
	if q.Messages != nil {
		param = "messages"
		p, err = e.chatPrompt(q.Messages, q.Tools)
	} else {
		p, err = e.textPrompt(q.Prompt)
	}
	if err != nil {
		fail(w, badRequest(param, "%v", err))
		return
	}
	if p.ids == nil {
		p.ids = []uint32{}
	}
	body, _ := json.Marshal(map[string]any{"count": len(p.ids), "max_model_len": e.cfg.MaxModelLen, "tokens": p.ids, "token_strs": nil})
	writeJSON(w, http.StatusOK, body)
}
