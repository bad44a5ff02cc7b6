package wire

import (
	"maps"
	"net/http"
	"strings"

	"sembench"
)

// API is the endpoint family that a request speaks.
type API string

// The endpoint families.
const (
	Chat        API = "chat"        // /v1/chat/completions
	Completions API = "completions" // /v1/completions
	Generate    API = "generate"    // SGLang's native /generate
)

// Request is one streaming generation request. BaseURL may end in /v1 or not.
type Request struct {
	API     API
	BaseURL string
	Model   string
	// Messages and Tools are sent by Chat, Prompt by the other two.
	Messages []any
	Tools    []any
	Prompt   string
	// MaxTokens limits the output; 0 leaves it to the server.
	MaxTokens   int
	Temperature float64
	Seed        *int64
	// Salt is sent as cache_salt (Generate: extra_key); "" sends none.
	Salt string
	// RequestID is sent as header X-Request-Id and, unless HeaderIDOnly, in the body (request_id; Generate: rid).
	RequestID    string
	HeaderIDOnly bool
	// NoUsage leaves stream_options out, for servers that refuse it.
	NoUsage bool
	// ExtraBody is laid over the body: objects are merged, null removes a key, anything else replaces it.
	ExtraBody map[string]any
	// Header adds to the client's own headers.
	Header map[string]string
	// Scheduled is when the request should have been sent on the client's clock, nil without a schedule.
	Scheduled *int64
}

// URL is where the request goes.
func (r Request) URL() string {
	switch r.API {
	case Generate:
		return Join(r.BaseURL, "/generate")
	case Completions:
		return Join(r.BaseURL, "/v1/completions")
	}
	return Join(r.BaseURL, "/v1/chat/completions")
}

// Join puts a server path behind a base URL that may end in /v1: the part is not doubled for /v1 paths and left out
// for others (/metrics, /reset_prefix_cache).
func Join(base, path string) string {
	base = strings.TrimRight(base, "/")
	return strings.TrimSuffix(base, "/v1") + path
}

// Body is the JSON that is sent: keys sorted, so that equal requests are equal bytes.
func (r Request) Body() []byte {
	body := map[string]any{"stream": true}
	limit, salt, id := "max_tokens", "cache_salt", "request_id"
	params := body
	switch r.API {
	case Generate:
		params = map[string]any{}
		body["text"], body["sampling_params"] = r.Prompt, params
		limit, salt, id = "max_new_tokens", "extra_key", "rid"
	case Completions:
		body["prompt"] = r.Prompt
	default:
		body["messages"] = r.Messages
		if len(r.Tools) > 0 {
			body["tools"] = r.Tools
		}
	}
	params["temperature"] = r.Temperature
	if r.MaxTokens > 0 {
		params[limit] = r.MaxTokens
	}
	if r.API != Generate {
		body["model"] = r.Model
		if r.Seed != nil {
			body["seed"] = *r.Seed
		}
		if !r.NoUsage {
			body["stream_options"] = map[string]any{"include_usage": true}
		}
	}
	if r.Salt != "" {
		body[salt] = r.Salt
	}
	if r.RequestID != "" && !r.HeaderIDOnly {
		body[id] = r.RequestID
	}
	return sembench.Marshal(overlay(body, r.ExtraBody))
}

// overlay gives base with over laid on it; neither is changed.
func overlay(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	for key, value := range over {
		below, isObject := out[key].(map[string]any)
		above, both := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isObject && both:
			out[key] = overlay(below, above)
		default:
			out[key] = value
		}
	}
	return out
}

func (r Request) setHeaders(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	for name, value := range r.Header {
		h.Set(name, value)
	}
	if r.RequestID != "" {
		h.Set("X-Request-Id", r.RequestID)
	}
}
