package sim

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	endpointChat        = "chat"
	endpointCompletions = "completions"
	endpointGenerate    = "generate" // SGLang's own
)

// maxBody bounds a request's body: 64 MiB hold any prompt within any context.
const maxBody = 64 << 20

// openAIRequest is what the engine reads of a request. Other fields are ignored, as engines do.
type openAIRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               json.RawMessage `json:"tools"`
	Prompt              json.RawMessage `json:"prompt"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	// Logprobs is a boolean in chats, a number in completions.
	Logprobs    json.RawMessage `json:"logprobs"`
	TopLogprobs int             `json:"top_logprobs"`
	Stop        json.RawMessage `json:"stop"`

	IgnoreEOS bool   `json:"ignore_eos"`
	CacheSalt string `json:"cache_salt"`
	ExtraKey  string `json:"extra_key"` // SGLang's name for it
	RequestID string `json:"request_id"`
}

// apiError is an answer in the OpenAI shape.
type apiError struct {
	status  int
	kind    string
	param   string
	message string
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", param, fmt.Sprintf(format, args...)}
}

func (e *apiError) body() []byte {
	var param any
	if e.param != "" {
		param = e.param
	}
	out, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": e.message, "type": e.kind, "param": param, "code": e.status,
	}})
	return out
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone: nothing is left to tell it
}

func fail(w http.ResponseWriter, err error) {
	var api *apiError
	if !errors.As(err, &api) {
		api = &apiError{http.StatusInternalServerError, "InternalServerError", "", err.Error()}
	}
	writeJSON(w, api.status, api.body())
}

// readJSON reads a request's body into v.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	err := decoder.Decode(v)
	if err == nil {
		if _, more := decoder.Token(); more != io.EOF {
			err = errors.New("something follows the JSON value")
		}
	}
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &apiError{http.StatusRequestEntityTooLarge, "BadRequestError", "", "the body is larger than 64 MiB"}
	}
	return badRequest("", "reading the body: %v", err)
}

// complete serves one chat or text completion.
func (e *Engine) complete(w http.ResponseWriter, r *http.Request, endpoint string) {
	arrival := e.cfg.Clock.Now()
	var q openAIRequest
	if err := readJSON(w, r, &q); err != nil {
		fail(w, err)
		return
	}
	j, err := e.newJob(&q, endpoint, r.Header.Get("X-Request-Id"))
	if err != nil {
		fail(w, err)
		return
	}
	logprobs, err := q.wanted(endpoint)
	if err != nil {
		fail(w, err)
		return
	}
	j.arrival = arrival
	e.serve(w, r, j, &openAIStream{
		e: e, j: j, chat: endpoint == endpointChat, stream: q.Stream, usage: q.StreamOptions.IncludeUsage, created: arrival.Unix(), logprobs: logprobs,
	})
}

// wanted is how many alternatives the request wants for each token; nil: it wants no log probabilities.
func (q *openAIRequest) wanted(endpoint string) (*int, error) {
	var flag bool
	n := q.TopLogprobs
	switch {
	case !given(q.Logprobs):
		return nil, nil
	case endpoint == endpointChat && json.Unmarshal(q.Logprobs, &flag) == nil:
		if !flag {
			return nil, nil
		}
	case endpoint == endpointCompletions && json.Unmarshal(q.Logprobs, &n) == nil:
	default:
		return nil, badRequest("logprobs", "logprobs: want true or false in a chat, a number in a completion")
	}
	if n < 0 || n > maxTopLogprobs {
		return nil, badRequest("top_logprobs", "%d log probabilities for each token: want 0 to %d", n, maxTopLogprobs)
	}
	return &n, nil
}

// stops are the texts at which an answer ends: one or several.
func (q *openAIRequest) stops() ([]string, error) {
	var one string
	var list []string
	switch {
	case !given(q.Stop):
		return nil, nil
	case json.Unmarshal(q.Stop, &one) == nil:
		return []string{one}, nil
	case json.Unmarshal(q.Stop, &list) == nil:
		return list, nil
	}
	return nil, badRequest("stop", "stop: want a string or a list of strings")
}

// newJob checks a request and turns it into a job. Nothing of it has reached the engine yet.
func (e *Engine) newJob(q *openAIRequest, endpoint, header string) (*job, error) {
	if q.Model != "" && q.Model != e.cfg.Model {
		return nil, &apiError{http.StatusNotFound, "NotFoundError", "model", fmt.Sprintf("The model `%s` does not exist.", q.Model)}
	}
	if q.N != nil && *q.N != 1 {
		return nil, badRequest("n", "n is %d: only 1 is served", *q.N)
	}
	j := &job{endpoint: endpoint, salt: q.CacheSalt, fill: q.IgnoreEOS}
	if j.salt == "" && e.cfg.As == "sglang" {
		j.salt = q.ExtraKey
	}
	var p prompt
	var err error
	param := "messages"
	if endpoint == endpointChat {
		p, err = e.chatPrompt(q.Messages, q.Tools)
		j.limit = 256
	} else {
		param = "prompt"
		p, err = e.textPrompt(q.Prompt)
		j.limit = 16 // the OpenAI default
	}
	if err != nil {
		return nil, badRequest(param, "%v", err)
	}
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n != nil {
			j.limit = *n
		}
	}
	stops, err := q.stops()
	if err != nil {
		return nil, err
	}
	j.id = e.requestID(endpoint, header, q.RequestID)
	return j, e.fill(j, p, stops...)
}

// fill gives a job its prompt and its own answer, or reports that it does not fit the model.
func (e *Engine) fill(j *job, p prompt, stops ...string) error {
	switch {
	case j.limit < 1:
		return badRequest("max_tokens", "max_tokens must be at least 1, got %d", j.limit)
	case len(p.ids) == 0:
		return badRequest("prompt", "the prompt has no tokens")
	case j.limit > e.cfg.MaxModelLen-len(p.ids): // not their sum, which may overflow
		return badRequest("messages", "This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains %d input tokens.",
			e.cfg.MaxModelLen, j.limit, len(p.ids))
	}
	j.ids, j.text, j.question = p.ids, p.plain, p.question
	j.hashes = chain(p.ids, e.cfg.BlockSize, j.salt)
	answer := reply(p.plain, p.question)
	for _, s := range stops {
		// An answer that would begin with the stop text stays: it is never empty.
		if i := strings.Index(answer, s); i > 0 {
			answer = answer[:i]
		}
	}
	j.out = e.cut(answer, j.limit, j.fill)
	return nil
}

// requestID is the engine's own id, made of the client's or of a random one.
func (e *Engine) requestID(endpoint, header, body string) string {
	id := header
	if id == "" {
		id = body
	}
	if id == "" {
		id = randomID(16)
	}
	return e.voice.name(endpoint, id)
}

// randomID is n random bytes in hex. It names things and decides nothing.
func randomID(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}
