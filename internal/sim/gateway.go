package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// gateway is a router in front of several vLLM engines. It knows what every worker holds, as one that subscribes to their
// events, and sends a request where most of it can be reused. Workers are reachable at /workers/N as well.
type gateway struct {
	plain
	mu   sync.Mutex
	next int // the worker that the next request without affinity gets
}

func newGateway(e *Engine) (voice, error) {
	g := &gateway{plain: plain{e}}
	if !slices.Contains(RouteFamilies(), e.cfg.RouteFamily) {
		return nil, fmt.Errorf("route family %q is unknown: use %s", e.cfg.RouteFamily, strings.Join(RouteFamilies(), ", "))
	}
	shared := e.cfg
	shared.As, shared.Events = "vllm", nil // one sequence of events belongs to one engine
	shared.Log, shared.Audit = &sharedWriter{w: e.cfg.Log}, &sharedWriter{w: e.cfg.Audit}
	for i := range e.cfg.Workers {
		c := shared
		c.Seed += uint64(i)
		w, err := New(c)
		if err != nil {
			return nil, fmt.Errorf("worker %d: %w", i, err)
		}
		w.arrivals = e.arrivals
		e.workers = append(e.workers, w)
	}
	return g, nil
}

func (g *gateway) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/chat/completions", g.forward)
	mux.HandleFunc("POST /v1/completions", g.forward)
	mux.HandleFunc("POST /tokenize", g.e.serveTokenize)
	mux.HandleFunc("GET /v1/models", g.e.serveModels)
	mux.HandleFunc("GET /health", g.e.serveHealth)
	mux.HandleFunc("GET /version", g.e.serveVersion)
	mux.HandleFunc("POST /reset_prefix_cache", g.serveReset)
	for i, w := range g.e.workers {
		prefix := "/workers/" + strconv.Itoa(i)
		mux.Handle(prefix+"/", http.StripPrefix(prefix, w.Handler()))
	}
}

// serveReset passes a reset on to every worker; it succeeded if all did.
func (g *gateway) serveReset(w http.ResponseWriter, r *http.Request) {
	external, running := r.URL.Query().Get("reset_external") == "true", r.URL.Query().Get("reset_running_requests") == "true"
	success, status := true, http.StatusOK
	for _, worker := range g.e.workers {
		call := &resetCall{prefix: true, offload: external, donors: external, busy: !running}
		worker.reset(call)
		success, status = success && call.success, max(status, call.status)
	}
	writeJSON(w, status, fmt.Appendf(nil, `{"success": %t}`, success))
}

// sharedWriter lets several engines write whole lines into one file.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	if s.w == nil {
		return len(p), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// placement is where a request goes and why.
type placement struct {
	worker          int
	outcome         string // semantic, exact or cold
	semantic, total float64
	reason          string
}

// forward chooses a worker and lets it answer. What the gateway cannot read the worker refuses.
func (g *gateway) forward(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, badRequest("", "reading the body: %v", err))
		return
	}
	p := g.place(body, r.URL.Path)
	routeHeaders(w.Header(), g.e.cfg.RouteFamily, p)
	r.Body = io.NopCloser(bytes.NewReader(body))
	endpoint := endpointCompletions
	if strings.HasPrefix(r.URL.Path, "/v1/chat") {
		endpoint = endpointChat
	}
	g.e.workers[p.worker].complete(w, r, endpoint)
}

// place goes by exact reuse first, then by semantic, and takes turns otherwise.
func (g *gateway) place(body []byte, path string) placement {
	var q openAIRequest
	var prompt prompt
	err := json.Unmarshal(body, &q)
	if err == nil && strings.HasPrefix(path, "/v1/chat") {
		prompt, err = g.e.chatPrompt(q.Messages, q.Tools)
	} else if err == nil {
		prompt, err = g.e.textPrompt(q.Prompt)
	}
	best := placement{worker: -1}
	if n := len(prompt.ids); err == nil && n > 0 {
		for i, w := range g.e.workers {
			exact, semantic := w.peek(prompt.ids, prompt.plain, q.CacheSalt)
			p := placement{worker: i, semantic: float64(semantic) / float64(n), total: float64(exact+semantic) / float64(n)}
			switch {
			case exact > semantic:
				p.outcome, p.reason = "exact", "prefix_affinity"
			case semantic > 0:
				p.outcome, p.reason = "semantic", "donor_affinity"
			}
			if p.total > best.total {
				best = p
			}
		}
	}
	if best.worker < 0 {
		g.mu.Lock()
		best = placement{worker: g.next, outcome: "cold", reason: "no_affinity"}
		g.next = (g.next + 1) % len(g.e.workers)
		g.mu.Unlock()
	}
	return best
}

// peek is what an engine could reuse now, in tokens.
func (e *Engine) peek(ids []uint32, text, salt string) (exact, semantic int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance(e.cfg.Clock.Now())
	d := e.decide(&job{ids: ids, text: text, hashes: chain(ids, e.cfg.BlockSize, salt)})
	return d.prefix + d.offload, d.semantic
}

// RouteFamilies are the header families in which the gateway voice tells its routing.
func RouteFamilies() []string {
	return []string{
		"x-synapse-route", "x-semblend-routing", "x-semrouter-path", "x-semantic-route", "x-gateway-route", "x-route", "x-vsr", "x-gateway-destination-endpoint",
	}
}

func routeHeaders(h http.Header, family string, p placement) {
	endpoint := "worker-" + strconv.Itoa(p.worker)
	score := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
	switch family {
	case "x-synapse-route", "x-semblend-routing":
		h.Set(family+"-outcome", p.outcome)
		h.Set(family+"-endpoint", endpoint)
		h.Set(family+"-semantic-score", score(p.semantic))
		h.Set(family+"-total-score", score(p.total))
		h.Set(family+"-reason", p.reason)
	case "x-vsr":
		h.Set("x-vsr-selected-decision", p.outcome)
		h.Set("x-vsr-selected-endpoint", endpoint)
		h.Set("x-vsr-selected-reasoning", p.reason)
	case "x-gateway-destination-endpoint":
		h.Set(family, endpoint)
	default: // one header with the outcome alone
		h.Set(family, p.outcome)
	}
}
