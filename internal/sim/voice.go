package sim

import (
	"fmt"
	"net/http"
	"strings"
)

// voice is how an engine speaks, and what its kind of cache is. All but routes, usage, extras, route and name are called under
// the engine's lock.
type voice interface {
	routes(mux *http.ServeMux)
	// owner is what the model list says who owns the model.
	owner() string
	// name is the engine's id for a client's request id.
	name(endpoint, id string) string
	// booted writes what an engine says when it starts.
	booted()
	// started tells what was decided for a job.
	started(j *job)
	// ended tells that a job has sent its last token.
	ended(j *job)
	// registered tells that a finished prompt became a donor, troubled that it did not.
	registered(j *job)
	troubled(j *job, err error)
	// offloaded tells how many tokens a job's blocks added to the offload tier.
	offloaded(j *job, tokens int)
	cleared(r *resetCall)
	// usage is the JSON usage object, extras more keys of the last event, each with a leading comma.
	usage(j *job) []byte
	extras(j *job) []byte
	// route sets response headers.
	route(w http.ResponseWriter, j *job)
	// oneSlot: the cache holds the last prompt and no other. writesThrough: the offload tier takes every block when it is
	// stored, not when it is evicted.
	oneSlot() bool
	writesThrough() bool
}

// Voices are the engines that sim can speak like.
func Voices() []string {
	return []string{"vllm", "sglang", "trtllm", "lmcache", "llamacpp", "gateway"}
}

func newVoice(e *Engine) (voice, error) {
	base := plain{e}
	switch e.cfg.As {
	case "vllm":
		return &vllm{plain: base}, nil
	case "lmcache":
		return &lmcache{vllm{plain: base}}, nil
	case "sglang":
		return &sglang{base}, nil
	case "trtllm":
		return newTRTLLM(e), nil
	case "llamacpp":
		return &llamacpp{plain: base}, nil
	case "gateway":
		return newGateway(e)
	}
	return nil, fmt.Errorf("voice %q is unknown: use %s", e.cfg.As, strings.Join(Voices(), ", "))
}

// plain is an engine that speaks the OpenAI API and nothing else; voices embed it and say more.
type plain struct{ e *Engine }

func (p plain) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/chat/completions", p.e.serveChat)
	mux.HandleFunc("POST /v1/completions", p.e.serveCompletions)
	mux.HandleFunc("GET /v1/models", p.e.serveModels)
	mux.HandleFunc("GET /health", p.e.serveHealth)
	mux.HandleFunc("GET /version", p.e.serveVersion)
}

func (plain) owner() string { return "sembench" }

func (plain) name(endpoint, id string) string {
	switch endpoint {
	case endpointChat:
		return "chatcmpl-" + id
	case endpointCompletions:
		return "cmpl-" + id + "-0"
	}
	return id
}

// usage reports every cached token in one field, as the OpenAI API has it.
func (plain) usage(j *job) []byte {
	c, n := j.claims.usage, j.decision.prompt
	return fmt.Appendf(nil, `{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		n, n+j.out.tokens, j.out.tokens, c.prefix+c.external)
}

func (plain) booted()                         {}
func (plain) started(*job)                    {}
func (plain) ended(*job)                      {}
func (plain) registered(*job)                 {}
func (plain) troubled(*job, error)            {}
func (plain) offloaded(*job, int)             {}
func (plain) cleared(*resetCall)              {}
func (plain) extras(*job) []byte              { return nil }
func (plain) route(http.ResponseWriter, *job) {}
func (plain) oneSlot() bool                   { return false }
func (plain) writesThrough() bool             { return false }
