package sim_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"sembench/internal/sim"
)

// An engine that takes no time, asked over HTTP. The answer is the sentence that is nearest to the question, and
// Truth says what was reused.
func Example() {
	engine, err := sim.New(sim.Config{BlockSize: 4, Tokenizer: "regex"})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(engine.Handler())
	defer server.Close()
	for range 2 {
		body := `{"prompt": "The lake is 7 m deep. The hill is green. How deep is the lake?"}`
		res, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(strings.Contains(string(answer), `"text":"The lake is 7 m deep."`))
	}
	for _, t := range engine.Truth() {
		fmt.Println(t.PromptTokens, "prompt tokens,", t.PrefixTokens, "from the prefix cache")
	}
	// Output:
	// true
	// true
	// 18 prompt tokens, 0 from the prefix cache
	// 18 prompt tokens, 16 from the prefix cache
}
