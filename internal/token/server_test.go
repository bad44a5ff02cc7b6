package token

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// engines are the /tokenize endpoints as their projects document them: the fields that each reads, and its answer.
var engines = map[string]struct{ field, answer string }{
	"vllm":     {"prompt", `{"count":2,"max_model_len":4096,"tokens":[9707,1879],"token_strs":null}`},
	"sglang":   {"prompt", `{"tokens":[9707,1879],"count":2,"max_model_len":32768}`},
	"llamacpp": {"content", `{"tokens":[9707,1879]}`},
}

func TestServerSpeaksToEveryEngine(t *testing.T) {
	for name, engine := range engines {
		for _, base := range []string{"", "/", "/v1", "/v1/", "/tokenize"} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != "POST" || r.URL.Path != "/tokenize" {
					http.Error(w, "bad request", http.StatusBadRequest)
					return
				}
				if body[engine.field] != "Hello world" || body["model"] != "m/n" || body["add_special_tokens"] != false {
					http.Error(w, "bad fields", http.StatusBadRequest)
					return
				}
				io.WriteString(w, engine.answer)
			}))
			tok, err := Open(s.URL + base + "?model=m/n")
			if err != nil {
				t.Fatal(err)
			}
			got, err := EncodeContext(t.Context(), tok, []uint32{1}, "Hello world")
			if want := []uint32{1, 9707, 1879}; err != nil || !slices.Equal(got, want) {
				t.Errorf("%s%s: got %d, %v, want %d", name, base, got, err, want)
			}
			if got := tok.Name(); got != "server:"+strings.TrimPrefix(s.URL, "http://")+"/m/n" {
				t.Errorf("Name() = %q", got)
			}
			s.Close()
		}
	}
}

func TestServerErrors(t *testing.T) {
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{404, "<html>nothing here", "status 404: <html>nothing here"},
		{200, "<html>", "reading the answer: invalid character '<' looking for beginning of value"},
		{200, `{"object":"error"}`, `the answer has no tokens: {"object":"error"}`},
		{200, `{"tokens":[]}`, "the answer has no token for text that is not empty"},
		{200, `{"tokens":[1,2],"count":3}`, "the answer counts 3 tokens and lists 2"},
		{200, `{"tokens":[1,-2]}`, "reading the answer: json: cannot unmarshal number -2 into Go struct field .tokens of type uint32"},
		{200, `{"tokens":[1,`, "reading the answer: unexpected end of JSON input"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.answer)
		}))
		tok, err := Open(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		f := tok.(Fallible)
		if f.Err() != nil {
			t.Errorf("Err() = %v before any request", f.Err())
		}
		if got := tok.Encode([]uint32{7}, "x"); !slices.Equal(got, []uint32{7}) {
			t.Errorf("Encode gave %d on failure", got)
		}
		if want := "tokenizing at " + s.URL + "/tokenize: " + c.want; f.Err() == nil || f.Err().Error() != want {
			t.Errorf("got  %v\nwant %s", f.Err(), want)
		}
		s.Close()
	}
	if _, err := Open("http://"); err == nil || err.Error() != `opening tokenizer "http://": no host` {
		t.Errorf("Open(http://): %v", err)
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tok, err := Open(closed.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := EncodeContext(context.Background(), tok, nil, "x"); err == nil {
		t.Error("a closed port is no error")
	}
	if got, err := EncodeContext(context.Background(), tok, nil, ""); got != nil || err != nil {
		t.Errorf("empty text: %v, %v; want nothing sent", got, err)
	}
}
