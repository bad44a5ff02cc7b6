package token

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// server asks an engine for ids: POST /tokenize of vLLM and SGLang ({"prompt"} -> {"tokens","count"}) and of
// llama.cpp ({"content"} -> {"tokens"}). One request body serves all three; each ignores the others' fields.
//
// No special tokens are added, as with every tokenizer of this package; special tokens in the text are found.
type server struct {
	endpoint string // …/tokenize
	shown    string // the same without a password
	host     string
	model    string
	client   *http.Client

	mu  sync.Mutex
	err error
}

const (
	// serverTimeout bounds one request. Engines tokenize megabytes in well under a second, but answer late while
	// a prefill holds their event loop.
	serverTimeout = 60 * time.Second
	// maxAnswer bounds an answer: 10 million ids of 7 characters and a comma.
	maxAnswer = 80 << 20
)

// openServer takes a base URL, with or without /v1 or /tokenize at its end; ?model=NAME names the model to a server
// that serves several.
func openServer(address string) (Tokenizer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer: %w", err)
	}
	if u.Host == "" {
		return nil, fmt.Errorf("opening tokenizer %q: no host", address)
	}
	s := &server{model: u.Query().Get("model"), host: u.Host, client: &http.Client{Timeout: serverTimeout}}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/tokenize"), "/v1")
	u.Path, u.RawQuery, u.Fragment = path+"/tokenize", "", ""
	s.endpoint, s.shown = u.String(), u.Redacted()
	return s, nil
}

// Name implements Tokenizer. It leaves out the path and any password.
func (s *server) Name() string {
	if s.model != "" {
		return "server:" + s.host + "/" + s.model
	}
	return "server:" + s.host
}

type tokenizeRequest struct {
	Model string `json:"model,omitempty"`
	// vLLM 0.9 to 0.11, entrypoints/openai/protocol.py TokenizeCompletionRequest; SGLang 0.5 TokenizeRequest.
	Prompt           string `json:"prompt"`
	AddSpecialTokens bool   `json:"add_special_tokens"`
	// llama.cpp, tools/server.
	Content    string `json:"content"`
	AddSpecial bool   `json:"add_special"`
}

// EncodeContext implements Fallible.
func (s *server) EncodeContext(ctx context.Context, dst []uint32, text string) ([]uint32, error) {
	if text == "" {
		return dst, nil
	}
	ids, err := s.ask(ctx, text, false)
	if err != nil {
		return dst, fmt.Errorf("tokenizing at %s: %w", s.shown, err)
	}
	return append(dst, ids...), nil
}

// ask gets the ids of text, behind those that the model puts in front of a raw prompt when special is set.
func (s *server) ask(ctx context.Context, text string, special bool) ([]uint32, error) {
	body, err := json.Marshal(tokenizeRequest{Model: s.model, Prompt: text, AddSpecialTokens: special, Content: text, AddSpecial: special})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %.200s", response.StatusCode, answer)
	}
	return readTokens(answer)
}

// readTokens reads {"tokens":[…],"count":n}. A count that is not the number of tokens, an empty list for text that is
// not empty and a negative id are errors.
func readTokens(answer []byte) ([]uint32, error) {
	var reply struct {
		Tokens *[]uint32 `json:"tokens"`
		Count  *int      `json:"count"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	switch {
	case reply.Tokens == nil:
		return nil, fmt.Errorf("the answer has no tokens: %.200s", answer)
	case len(*reply.Tokens) == 0:
		return nil, errors.New("the answer has no token for text that is not empty")
	case reply.Count != nil && *reply.Count != len(*reply.Tokens):
		return nil, fmt.Errorf("the answer counts %d tokens and lists %d", *reply.Count, len(*reply.Tokens))
	}
	return *reply.Tokens, nil
}

// Encode implements Tokenizer: on failure it appends nothing and Err tells.
func (s *server) Encode(dst []uint32, text string) []uint32 {
	dst, err := s.EncodeContext(context.Background(), dst, text)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return dst
}

// Err implements Fallible.
func (s *server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Pieces implements Tokenizer. A server does not say where its tokens end in text, so all of it is one piece.
func (s *server) Pieces(text string) []string { return cutAt(text, nil) }
