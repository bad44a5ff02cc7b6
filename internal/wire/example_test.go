package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"sembench/internal/wire"
)

func ExampleClient_Do() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"delta":{"role":"assistant"}}]}`+"\n\n") // no output yet
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"Paris"}}]}`+"\n\n")
		io.WriteString(w, `data: {"choices":[],"usage":{"prompt_tokens":40,"prompt_tokens_details":{"cached_tokens":32}}}`+"\n\n")
		io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer server.Close()
	client := wire.New(wire.Options{})
	defer client.Close()
	obs := client.Do(context.Background(), wire.Request{API: wire.Chat, BaseURL: server.URL, Model: "m",
		Messages: []any{map[string]any{"role": "user", "content": "What is the capital of France?"}}})
	fmt.Println(obs.Status, *obs.OutputText, len(obs.Chunks), *obs.CachedTokens(), obs.TTFT() != nil)
	// Output: ok Paris 1 32 true
}
