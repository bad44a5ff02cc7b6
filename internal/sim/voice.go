package sim

import (
	"fmt"
	"net/http"
	"strings"
)

// voice is how an engine speaks: its endpoints, usage, log, audit and counters. All but routes, usage, extras and route
// are called under the engine's lock.
type voice interface {
	routes(mux *http.ServeMux)
	// booted writes what an engine says when it starts.
	booted()
	// started tells what was decided for a job.
	started(j *job)
	// ended tells that a job has sent its last token.
	ended(j *job)
	// registered tells that a finished prompt became a donor, troubled that it did not.
	registered(j *job)
	troubled(j *job, err error)
	cleared(r *resetCall)
	// usage is the JSON usage object, extras more keys of the last event, each with a leading comma.
	usage(j *job) []byte
	extras(j *job) []byte
	// route sets response headers.
	route(w http.ResponseWriter, j *job)
}

// Voices are the engines that sim can speak like.
func Voices() []string { return []string{"vllm"} }

func newVoice(e *Engine) (voice, error) {
	switch e.cfg.As {
	case "vllm":
		return &vllm{e: e}, nil
	}
	return nil, fmt.Errorf("voice %q is unknown: use %s", e.cfg.As, strings.Join(Voices(), ", "))
}

// RouteFamilies are the header families in which the gateway voice tells its routing.
func RouteFamilies() []string { return []string{"x-synapse-route"} }
