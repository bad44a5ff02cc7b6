package replay

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"sembench"
)

// A server that echoes the key wherever it can does not get it into the journal, the report or a message.
func TestKeysAppearNowhere(t *testing.T) {
	const key, header = "sk-0123456789-the-key", "another-secret-of-the-user"
	e := newEngine(t)
	n := 0
	e.handler = func(w http.ResponseWriter, r *http.Request, _ map[string]any) bool {
		echo := r.Header.Get("Authorization") + " " + r.Header.Get("X-Private")
		if !strings.Contains(echo, key) || !strings.Contains(echo, header) {
			t.Error("the key was not sent")
		}
		w.Header().Set("X-Route-Reason", echo)
		w.Header().Set("X-Request-Id", echo)
		w.Header().Set("Via", echo)
		if n++; n > 20 && n%5 == 4 {
			w.WriteHeader(500)
			io.WriteString(w, echo)
			return true
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event, _ := json.Marshal(map[string]any{"id": echo, "model": echo, "choices": []any{map[string]any{"delta": map[string]any{"content": echo}, "finish_reason": "stop"}},
			"usage": map[string]any{"prompt_tokens": 9, echo: echo}, "metrics": map[string]any{"x": []any{echo}}})
		io.WriteString(w, "data: "+string(event)+"\n\ndata: [DONE]\n\n")
		return true
	}
	cfg := e.config()
	cfg.APIKey, cfg.Header = key, map[string]string{"X-Private": header}
	cfg.BaseURL = strings.Replace(cfg.BaseURL, "http://", "http://user:"+header+"@", 1)
	report, err := Preflight(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	j := openTestJournal(t, false, "")
	if _, err := Run(t.Context(), report.Apply(cfg), someItems(6), j, nil); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"journal": string(written), "report": string(sembench.Marshal(report))} {
		for _, secret := range []string{key, header} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("the %s has a secret: …%s…", name, text[max(0, i-80):i+len(secret)])
			}
		}
	}
}
