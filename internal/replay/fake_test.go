package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sembench"
)

// engine is a tiny engine for tests: words are tokens, blocks are four words, and every fault is a switch. It knows nothing
// of this package.
type engine struct {
	mu       sync.Mutex
	blocks   map[string]bool // hash chains that are cached
	donors   []string        // texts of finished requests, for the semantic tier
	salted   bool            // cache_salt partitions the prefix cache
	resets   int
	boot     string
	ids      map[string]int // request ids seen
	order    []string
	bodies   []map[string]any
	tokenize http.HandlerFunc
	handler  func(w http.ResponseWriter, r *http.Request, body map[string]any) bool // takes a request over

	semantic, noopReset, donorsSurvive, noReset, noUsage, zeroOmitted, simulated bool
	busy                                                                         int // resets that are refused first
	template                                                                     string
	server                                                                       *httptest.Server
}

const fakeBlock = 16

func newEngine(t testing.TB) *engine {
	e := &engine{blocks: map[string]bool{}, ids: map[string]int{}, boot: "100.5", salted: true}
	e.server = httptest.NewServer(e)
	t.Cleanup(e.server.Close)
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.simulated {
		w.Header().Set("X-Sembench-Simulated", "true")
	}
	switch r.URL.Path {
	case "/v1/models":
		io.WriteString(w, `{"object":"list","data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}`)
	case "/version":
		io.WriteString(w, `{"version":"0.29.0"}`)
	case "/metrics":
		fmt.Fprintf(w, "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %s\n"+
			`vllm:cache_config_info{_block_size_resolved="True",block_size="16",effective_attention_block_size="32"} 1.0`+"\n", e.boot)
	case "/tokenize":
		if e.tokenize == nil {
			http.NotFound(w, r)
			return
		}
		e.tokenize(w, r)
	case "/reset_prefix_cache":
		e.reset(w, r)
	case "/v1/chat/completions":
		var body map[string]any
		json.NewDecoder(r.Body).Decode(&body)
		e.bodies = append(e.bodies, body)
		id := r.Header.Get("X-Request-Id")
		e.ids[id]++
		e.order = append(e.order, id)
		if e.handler == nil || !e.handler(w, r, body) {
			e.complete(w, body)
		}
	default:
		http.NotFound(w, r)
	}
}

func (e *engine) reset(w http.ResponseWriter, r *http.Request) {
	if e.noReset || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	if e.busy > 0 {
		e.busy--
		io.WriteString(w, `{"success": false}`)
		return
	}
	e.resets++
	if !e.noopReset {
		e.blocks = map[string]bool{}
		if !e.donorsSurvive {
			e.donors = nil
		}
	}
	io.WriteString(w, `{"success": true}`)
}

func render(body map[string]any) string {
	var text strings.Builder
	for _, m := range body["messages"].([]any) {
		message := m.(map[string]any)
		fmt.Fprintf(&text, "<%s> %s ", message["role"], message["content"])
	}
	return text.String()
}

func (e *engine) complete(w http.ResponseWriter, body map[string]any) {
	text := e.template + render(body)
	words := strings.Fields(text)
	salt := ""
	if e.salted {
		salt, _ = body["cache_salt"].(string)
	}
	local, chain := 0, salt
	hit := true
	for i := 0; i+fakeBlock <= len(words)-1; i += fakeBlock {
		chain += "|" + strings.Join(words[i:i+fakeBlock], " ")
		if hit = hit && e.blocks[chain]; hit {
			local += fakeBlock
		}
		e.blocks[chain] = true
	}
	external := 0
	if e.semantic && len(words)-local > 40 {
		middle := strings.Join(words[len(words)-30:], " ")
		for _, d := range e.donors {
			if strings.Contains(d, middle) {
				external = 32
			}
		}
	}
	e.donors = append(e.donors, text)
	usage := map[string]any{"prompt_tokens": len(words), "completion_tokens": 1}
	if !e.noUsage && (!e.zeroOmitted || local+external > 0) {
		details := map[string]any{"cached_tokens": local + external}
		if e.semantic {
			details["local_cached_tokens"], details["external_cached_tokens"] = local, external
		}
		usage["prompt_tokens_details"] = details
	}
	last, _ := json.Marshal(map[string]any{"choices": []any{}, "usage": usage})
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, `data: {"id":"chatcmpl-1","choices":[{"delta":{"role":"assistant"}}]}`+"\n\n"+
		`data: {"choices":[{"delta":{"content":"answer"},"finish_reason":"stop"}]}`+"\n\ndata: "+string(last)+"\n\ndata: [DONE]\n\n")
}

// items gives n items with one donor each; every third is a control.
func someItems(n int) []sembench.Item {
	items := make([]sembench.Item, n)
	for i := range items {
		r := rng(9, "item", fmt.Sprint(i))
		text := randomWords(r, 80)
		items[i] = sembench.Item{
			ItemID: fmt.Sprintf("item-%02d", i), Dataset: "d", SourceID: fmt.Sprint(i), Transform: "exact", RecipientPrompt: text,
			DonorPrompts:    []sembench.Donor{{DonorID: "d0", Text: text}},
			NegativeControl: i%3 == 0, Metadata: map[string]any{"length_band": "short"},
		}
		if i%3 == 0 {
			items[i].Transform, items[i].DonorPrompts[0].Text = "diverse", randomWords(r, 80)
		}
	}
	return items
}

func (e *engine) config() Config {
	return Config{RunID: "run-1", Seed: 3, BaseURL: e.server.URL, Model: "m", CanaryEvery: -1}
}

func openTestJournal(t testing.TB, resume bool, path string) *Journal {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "observations.jsonl")
	}
	j, err := OpenJournal(path, sembench.JournalHead{RunID: "run-1", ManifestSHA256: "m", ConfigSHA256: "c", StartedAtUTC: "2026-12-01T00:00:00Z"}, resume)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.file.Close() })
	return j
}

// lines reads a journal back.
func readBack(t testing.TB, j *Journal) (list []sembench.Observation) {
	t.Helper()
	file := openFile(t, j.path)
	defer file.Close()
	_, lines, err := sembench.ReadJournal(file, j.path)
	if err != nil {
		t.Fatal(err)
	}
	for o, err := range lines {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

func replayed(t testing.TB, e *engine, cfg Config, items []sembench.Item) (Summary, []sembench.Observation) {
	t.Helper()
	j := openTestJournal(t, false, "")
	summary, err := Run(context.Background(), cfg, items, j, nil)
	if err != nil {
		t.Fatal(err)
	}
	return summary, readBack(t, j)
}
