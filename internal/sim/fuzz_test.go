package sim

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever a client sends, the engine answers with JSON: a completion, or an error in the OpenAI shape that leaves no trace
// in the truth.
func FuzzRequests(f *testing.F) {
	paths := []string{"/v1/chat/completions", "/v1/completions", "/generate", "/tokenize"}
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"max_tokens":3}`, `{"prompt":"hi","stream":true,"stream_options":{"include_usage":true}}`,
		`{"prompt":[1,2,3],"ignore_eos":true,"max_tokens":9223372036854775807}`, `{"text":"hi","sampling_params":{"max_new_tokens":2}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{}]}`, `{"prompt":"a"} x`, `[`, ``, `{"prompt":"\ud800"}`,
	} {
		for i := range paths {
			f.Add(uint8(i), body)
		}
	}
	e, err := New(Config{As: "sglang", Tokenizer: "regex", Semantic: true, MaxModelLen: 500})
	if err != nil {
		f.Fatal(err)
	}
	handler := e.Handler()
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		before := len(e.Truth())
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("POST", paths[int(which)%len(paths)], strings.NewReader(body)))
		text := w.Body.String()
		if w.Code == 200 {
			if !strings.HasPrefix(text, "data: ") && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%q: %q", body, text)
			}
			return
		}
		var got struct {
			Error struct {
				Message string
				Code    int
			}
		}
		if json.Unmarshal(w.Body.Bytes(), &got) != nil || got.Error.Message == "" || got.Error.Code != w.Code || w.Code < 400 || w.Code > 499 || len(e.Truth()) != before {
			t.Errorf("%q: status %d, %q", body, w.Code, text)
		}
	})
}

func FuzzParseFaults(f *testing.F) {
	f.Add("noop_reset,inband_error=0.5, cut=NaN,=,role_chunk_early=-1")
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := ParseFaults(strings.Split(text, ","))
		if err != nil && !strings.HasPrefix(err.Error(), "parsing faults: ") {
			t.Error(err)
		}
		for _, fault := range faults {
			if !(fault.Set >= 0 && fault.Set <= 1e9) {
				t.Errorf("%q: %s=%v", text, fault.Name, fault.Set)
			}
		}
	})
}
