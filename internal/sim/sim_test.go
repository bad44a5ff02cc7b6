package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sembench"
)

// bench is an engine behind a real loopback server.
type rig struct {
	t          *testing.T
	e          *Engine
	url        string
	log, audit *bytes.Buffer
}

func start(t *testing.T, c Config) *rig {
	t.Helper()
	r := &rig{t: t, log: &bytes.Buffer{}, audit: &bytes.Buffer{}}
	c.Log, c.Audit = r.log, r.audit
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e.Handler())
	t.Cleanup(server.Close)
	r.e, r.url = e, server.URL
	return r
}

// post sends JSON and gives status and body.
func (r *rig) post(path string, body any, id string) (int, string) {
	r.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	req, _ := http.NewRequest("POST", r.url+path, bytes.NewReader(text))
	if id != "" {
		req.Header.Set("X-Request-Id", id)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, string(all) + "<" + err.Error() + ">"
	}
	return res.StatusCode, string(all)
}

func (r *rig) get(path string) string {
	r.t.Helper()
	res, err := http.Get(r.url + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	all, _ := io.ReadAll(res.Body)
	return string(all)
}

type answerBody struct {
	ID      string
	Choices []struct {
		Message struct{ Content string }
		Text    string
		Reason  string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached   int `json:"cached_tokens"`
			Local    int `json:"local_cached_tokens"`
			External int `json:"external_cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

func chatBody(text string) map[string]any {
	return map[string]any{"model": "sembench-sim", "messages": []any{map[string]any{"role": "user", "content": text}}, "max_tokens": 64}
}

func (r *rig) chat(text, id string) answerBody {
	r.t.Helper()
	status, body := r.post("/v1/chat/completions", chatBody(text), id)
	var a answerBody
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != 200 {
		r.t.Fatalf("status %d, body %s", status, body)
	}
	return a
}

// prose is n words of seeded text in sentences.
func prose(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d", r.IntN(5000))
		if i%12 == 11 {
			b.WriteString(". ")
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func law() Config {
	return Config{Tokenizer: "regex", BaseMS: 3, PrefillUSPerToken: 10, LoadUSPerToken: 1, LookupMS: 1, ITLMS: 0.2, Semantic: true}
}

// The law by hand: 3 ms base, 1 ms lookup, 10 us a computed token, 1 us a loaded one.
func TestLawIsChargedToTheNanosecond(t *testing.T) {
	r := start(t, law())
	doc := prose(7, 400)
	r.chat("One header.\n"+doc, "a")
	r.chat("Quite another header, which is longer than it.\n"+doc, "b")
	r.chat("One header.\n"+doc, "c")
	for _, got := range r.e.Truth() {
		want := int64(3e6) + got.LookupNS + 10_000*int64(got.PromptTokens-got.PrefixTokens-got.SemanticTokens) + 1000*int64(got.SemanticTokens)
		if got.LawTTFTNS != want {
			t.Errorf("%s: law %d, want %d", got.RequestID, got.LawTTFTNS, want)
		}
		if late := got.EmittedFirstNS - got.LawTTFTNS; late < 0 {
			t.Errorf("%s: emitted %d ns before the law", got.RequestID, -late)
		}
	}
	a, b, c := r.e.Truth()[0], r.e.Truth()[1], r.e.Truth()[2]
	if a.PrefixTokens+a.SemanticTokens != 0 || a.LookupNS != 1e6 {
		t.Errorf("first request: %+v", a)
	}
	if b.SemanticTokens < 350 || b.PrefixTokens != 0 || b.DonorRequestID != "chatcmpl-a" {
		t.Errorf("shifted document: %+v", b)
	}
	if want := (c.PromptTokens - 1) / 16 * 16; c.PrefixTokens != want || c.SemanticTokens != 0 || c.LookupNS != 0 {
		t.Errorf("repeat: %+v, want prefix %d", c, want)
	}
}

func TestUsageSaysWhatHappened(t *testing.T) {
	r := start(t, law())
	doc := prose(7, 400)
	r.chat("One header.\n"+doc, "a")
	b := r.chat("Quite another header, which is longer than it.\n"+doc, "b")
	truth := r.e.Truth()[1]
	u := b.Usage
	if u.Prompt != truth.PromptTokens || u.Details.Local != truth.PrefixTokens || u.Details.External != truth.SemanticTokens ||
		u.Details.Cached != truth.PrefixTokens+truth.SemanticTokens || u.Total != u.Prompt+u.Completion {
		t.Errorf("usage %+v, truth %+v", u, truth)
	}
	if b.ID != "chatcmpl-b" {
		t.Errorf("id %q", b.ID)
	}
}

// Prefix hits and LRU evictions, computed again from nothing but the streams of ids: blocks named by their whole prefix,
// recency kept in a list.
func TestTruthEqualsIndependentPrefixCache(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		size, capacity := 1+rng.IntN(20), 1+rng.IntN(60)
		e, err := New(Config{Tokenizer: "regex", BlockSize: size, CapacityBlocks: capacity})
		if err != nil {
			t.Fatal(err)
		}
		var recency []string // newest first
		for range 150 {
			ids := make([]uint32, 1+rng.IntN(12*size))
			for i := range ids {
				ids[i] = uint32(rng.IntN(3))
				if i < 8*size && rng.IntN(30) > 0 {
					ids[i] = 7
				}
			}
			salt := []string{"", "x"}[rng.IntN(2)]

			want := 0
			for n := size; n <= len(ids)-1 && slices.Contains(recency, fmt.Sprint(salt, ids[:n])); n += size {
				want = n
			}
			for n := len(ids) / size * size; n > 0; n -= size {
				key := fmt.Sprint(salt, ids[:n])
				recency = append([]string{key}, slices.DeleteFunc(recency, func(k string) bool { return k == key })...)
			}
			recency = recency[:min(len(recency), capacity)]

			j := &job{ids: ids, salt: salt, hashes: chain(ids, size, salt), limit: 1, arrival: e.cfg.Clock.Now(), out: output{chunks: []string{"x"}, tokens: 1, reason: "stop"}}
			if err := e.submit(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			if err := e.done(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			if j.decision.prefix != want {
				t.Fatalf("seed %d request %d: prefix %d, want %d", seed, j.index, j.decision.prefix, want)
			}
		}
	}
}

// events reads a stream's data lines.
func events(t *testing.T, body string) []map[string]any {
	t.Helper()
	var out []map[string]any
	s := bufio.NewScanner(strings.NewReader(body))
	done := false
	for s.Scan() {
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("event %q: %v", data, err)
		}
		out = append(out, ev)
	}
	if !done {
		t.Error("no [DONE]")
	}
	return out
}

func TestStreamCarriesTheSameTextAndUsage(t *testing.T) {
	r := start(t, Config{})
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		text := "The pump P-7 tolerates 14 bar — größer nicht. 水泵很旧。\nThe fan is green.\nQuestion: how many bar does pump P-7 tolerate?\nAnswer:"
		body := map[string]any{"model": "sembench-sim", "prompt": text, "messages": chatBody(text)["messages"], "max_tokens": 64}
		_, whole := r.post(path, body, "w")
		var a answerBody
		if err := json.Unmarshal([]byte(whole), &a); err != nil {
			t.Fatal(err)
		}
		want := a.Choices[0].Message.Content + a.Choices[0].Text
		if want != "The pump P-7 tolerates 14 bar — größer nicht." {
			t.Errorf("%s: answer %q", path, want)
		}
		body["stream"], body["stream_options"] = true, map[string]any{"include_usage": true}
		_, streamed := r.post(path, body, "s")
		evs := events(t, streamed)
		got, chunks := "", 0
		for _, ev := range evs {
			for _, c := range ev["choices"].([]any) {
				choice := c.(map[string]any)
				piece, _ := choice["text"].(string)
				if delta, ok := choice["delta"].(map[string]any); ok {
					piece, _ = delta["content"].(string)
				}
				if piece != "" {
					chunks++
				}
				got += piece
			}
		}
		last := evs[len(evs)-1]
		usage, _ := last["usage"].(map[string]any)
		if got != want || usage["completion_tokens"] != float64(a.Usage.Completion) || chunks < 10 {
			t.Errorf("%s: streamed %q in %d chunks with usage %v", path, got, chunks, usage)
		}
	}
}

func TestErrorsHaveTheOpenAIShape(t *testing.T) {
	r := start(t, Config{MaxModelLen: 100})
	user := []any{map[string]any{"role": "user", "content": "hi"}}
	for _, c := range []struct {
		path   string
		body   any
		status int
		says   string
	}{
		{"/v1/chat/completions", map[string]any{"model": "other", "messages": user}, 404, "The model `other` does not exist."},
		{"/v1/chat/completions", map[string]any{"messages": []any{}}, 400, "messages is empty"},
		{"/v1/chat/completions", map[string]any{"messages": user, "max_tokens": 0}, 400, "max_tokens must be at least 1, got 0"},
		{"/v1/chat/completions", map[string]any{"messages": user, "n": 2, "max_tokens": 1}, 400, "n is 2: only 1 is served"},
		{"/v1/chat/completions", map[string]any{"messages": []any{map[string]any{"role": "user", "content": 7}}}, 400, "messages[0].content: want a string or a list of text parts"},
		{"/v1/completions", map[string]any{"prompt": strings.Repeat("word ", 200)}, 400, "maximum context length is 100 tokens"},
		{"/v1/completions", map[string]any{"prompt": map[string]any{}}, 400, "prompt: want a string"},
		{"/v1/completions", "not an object", 400, "reading the body"},
	} {
		status, body := r.post(c.path, c.body, "")
		var got struct {
			Error struct {
				Message, Type string
				Code          int
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != c.status || got.Error.Code != c.status || !strings.Contains(got.Error.Message, c.says) {
			t.Errorf("%s: status %d body %s, want %d %q", c.path, status, body, c.status, c.says)
		}
	}
	if n := len(r.e.Truth()); n != 0 {
		t.Errorf("refused requests left %d truth records", n)
	}
}

func TestTokenizeAgreesWithUsage(t *testing.T) {
	r := start(t, Config{})
	body := chatBody("How deep is the lake?")
	_, chat := r.post("/tokenize", body, "")
	rendered, _, _, err := render([]message{{Role: "user", Content: json.RawMessage(`"How deep is the lake?"`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, plain := r.post("/tokenize", map[string]any{"prompt": rendered}, "")
	if chat != plain {
		t.Errorf("messages %s\nprompt %s", chat, plain)
	}
	var got struct{ Count int }
	if err := json.Unmarshal([]byte(chat), &got); err != nil || got.Count != r.chat("How deep is the lake?", "").Usage.Prompt {
		t.Errorf("count %d (%v)", got.Count, err)
	}
}

func TestSaltPartitionsThePrefixCacheOnly(t *testing.T) {
	r := start(t, law())
	body := chatBody(prose(3, 300))
	for _, salt := range []string{"x", "x", "y"} {
		body["cache_salt"] = salt
		r.post("/v1/chat/completions", body, "")
	}
	truth := r.e.Truth()
	if truth[1].PrefixTokens == 0 || truth[2].PrefixTokens != 0 || truth[2].SemanticTokens == 0 {
		t.Errorf("same salt %+v\nother salt %+v", truth[1], truth[2])
	}
}

func TestResets(t *testing.T) {
	doc := prose(3, 300)
	check := func(name, query string, faults []string, wantPrefix, wantSemantic bool) {
		t.Helper()
		c := law()
		c.Faults = faults
		r := start(t, c)
		r.chat(doc, "")
		if status, body := r.post("/reset_prefix_cache"+query, nil, ""); status != 200 || body != `{"success": true}` {
			t.Errorf("%s: %d %s", name, status, body)
		}
		r.chat(doc, "")
		got := r.e.Truth()[1]
		if got.PrefixTokens > 0 != wantPrefix || got.SemanticTokens > 0 != wantSemantic || got.ResetsSeen != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	check("local", "", nil, false, true)
	check("external", "?reset_external=true", nil, false, false)
	check("noop", "?reset_external=true", []string{"noop_reset"}, true, false)
	check("donors stay", "?reset_external=true", []string{"donor_store_survives"}, false, true)
}

// What a request is called must not matter, nor whether it has a name at all.
func TestNamesDecideNothing(t *testing.T) {
	run := func(name func(i int) string) []sembench.SimTruth {
		c := law()
		c.Jitter = 0.2
		r := start(t, c)
		for i := range 12 {
			r.chat(fmt.Sprintf("Header %d.\n", i%5)+prose(uint64(i%3), 200), name(i))
		}
		truth := r.e.Truth()
		for i := range truth {
			truth[i].RequestID, truth[i].EmittedFirstNS = "", 0
			if truth[i].SemanticTokens > 0 && truth[i].DonorRequestID == "" {
				t.Error("donor without a name")
			}
			truth[i].DonorRequestID = ""
		}
		return truth
	}
	named := run(func(i int) string { return fmt.Sprintf("sembench-warm-%06d-recipient-%d", i, i) })
	permuted := run(func(i int) string { return fmt.Sprintf("sembench-cold-%06d-donor-0-%d", 11-i, 99-i) })
	random := run(func(int) string { return "" })
	a, b, c := fmt.Sprint(named), fmt.Sprint(permuted), fmt.Sprint(random)
	if a != b || a != c {
		t.Errorf("truth depends on names:\n%s\n%s\n%s", a, b, c)
	}
}

func TestUnknownFaultNamesTheKnown(t *testing.T) {
	_, err := ParseFaults([]string{"noop_rest"})
	if err == nil || !strings.HasPrefix(err.Error(), `parsing faults: "noop_rest" is unknown, known are noop_reset, reset_says_false`) {
		t.Error(err)
	}
	if _, err := ParseFaults([]string{"noop_reset=1"}); err == nil || err.Error() != "parsing faults: noop_reset takes no value" {
		t.Error(err)
	}
	if _, err := ParseFaults([]string{"role_chunk_early=soon"}); err == nil {
		t.Error("a bad value was taken")
	}
}

// In virtual time the client's clock stands still between writes, so gaps are exact.
func TestRoleChunkEarly(t *testing.T) {
	for fault, want := range map[string]time.Duration{"role_chunk_early=50": 50 * time.Millisecond, "comment_early=30": 30 * time.Millisecond} {
		_, m, client := inMemory(t, Config{BaseMS: 80, Tokenizer: "regex", Faults: []string{fault}})
		body := chatBody("How deep is the lake?")
		body["stream"] = true
		text, _ := json.Marshal(body)
		res, err := client.Post("http://sim/v1/chat/completions", "application/json", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		first := m.Now()
		s := bufio.NewScanner(res.Body)
		for s.Scan() && !strings.Contains(s.Text(), `"content":"`+"How") {
		}
		if gap := time.Duration(m.Now() - first); gap != want {
			t.Errorf("%s: %v before the first output, want %v", fault, gap, want)
		}
	}
}

func TestInbandError(t *testing.T) {
	r := start(t, Config{Faults: []string{"inband_error=0.5"}})
	failed := 0
	for range spared + 40 {
		body := chatBody("How deep is the lake?")
		body["stream"] = true
		status, text := r.post("/v1/chat/completions", body, "")
		if status != 200 {
			t.Fatal(status)
		}
		if strings.Contains(text, `data: {"error":`) {
			failed++
		}
	}
	if failed < 8 || failed > 32 {
		t.Errorf("%d of 40 failed, want about half", failed)
	}
}

func TestHitNotMaterialized(t *testing.T) {
	c := law()
	c.Faults = []string{"hit_not_materialized"}
	r := start(t, c)
	doc := prose(7, 400)
	r.chat("One header.\n"+doc, "a")
	b := r.chat("Quite another header, which is longer than it.\n"+doc, "b")
	truth := r.e.Truth()[1]
	if truth.SemanticTokens != 0 || truth.LoadNS != 0 || truth.PrefillNS != 10_000*int64(truth.PromptTokens) || b.Usage.Details.External < 350 {
		t.Errorf("truth %+v usage %+v", truth, b.Usage)
	}
	if !strings.Contains(r.log.String(), "semantic lookup hit request_id=chatcmpl-b") || strings.Contains(r.log.String(), "SemBlend materialized") {
		t.Error(r.log.String())
	}
	if strings.Contains(r.audit.String(), `"runtime_materialized"`) || !strings.Contains(r.audit.String(), `"load_allocated"`) {
		t.Error(r.audit.String())
	}
}

func TestAuditAndLogAgreeWithTruth(t *testing.T) {
	r := start(t, law())
	doc := prose(7, 400)
	r.chat("One header.\n"+doc, "a")
	r.chat("Quite another header, which is longer than it.\n"+doc, "b")
	truth := r.e.Truth()[1]
	line := fmt.Sprintf("SemBlend materialized request_id=chatcmpl-b donor_id=chatcmpl-a tokens=%d\n", truth.SemanticTokens)
	if !strings.Contains(r.log.String(), line) {
		t.Errorf("no %q in\n%s", line, r.log)
	}
	materialized := 0
	for line := range strings.Lines(r.audit.String()) {
		var rec struct {
			Schema int `json:"schema_version"`
			Event  string
			ID     string `json:"request_id"`
			Tokens int
			Layers int `json:"layers_materialized"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.Schema != 2 {
			t.Fatalf("%q: %v", line, err)
		}
		if rec.Event == "runtime_materialized" {
			materialized++
			if rec.ID != "chatcmpl-b" || rec.Tokens != truth.SemanticTokens || rec.Layers != 24 {
				t.Errorf("%+v, truth %+v", rec, truth)
			}
		}
	}
	if materialized != 1 {
		t.Errorf("%d materializations:\n%s", materialized, r.audit)
	}
}

func TestMetricsAndSmallEndpoints(t *testing.T) {
	r := start(t, law())
	doc := prose(7, 400)
	r.chat("One header.\n"+doc, "a")
	r.chat("Quite another header, which is longer than it.\n"+doc, "b")
	truth := r.e.Truth()
	metrics := r.get("/metrics")
	for _, want := range []string{
		fmt.Sprintf(`vllm:prefix_cache_queries_total{engine="0",model_name="sembench-sim"} %d`, truth[0].PromptTokens+truth[1].PromptTokens),
		`vllm:prefix_cache_hits_total{engine="0",model_name="sembench-sim"} 0`,
		fmt.Sprintf(`vllm:external_prefix_cache_hits_total{engine="0",model_name="sembench-sim"} %d`, truth[1].SemanticTokens),
		fmt.Sprintf(`vllm:prompt_tokens_by_source_total{engine="0",model_name="sembench-sim",source="external_kv_transfer"} %d`, truth[1].SemanticTokens),
		`vllm:time_to_first_token_seconds_count{engine="0",model_name="sembench-sim"} 2`,
		"process_start_time_seconds ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q in\n%s", want, metrics)
		}
	}
	if v := r.get("/version"); !strings.Contains(v, `"sim-`) {
		t.Error(v)
	}
	if m := r.get("/v1/models"); !strings.Contains(m, `"id":"sembench-sim"`) {
		t.Error(m)
	}
	lines := 0
	for line := range strings.Lines(r.get("/truth")) {
		var got sembench.SimTruth
		if err := sembench.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		lines++
	}
	if lines != 2 {
		t.Errorf("%d truth lines", lines)
	}
}

// A fact question is answered from the prompt's facts, in every script, and no prompt gets an empty answer.
func TestReply(t *testing.T) {
	for _, c := range []struct{ text, question, want string }{
		{"Pump P-7 runs at 14 bar. Pump P-8 runs at 20 bar.", "What pressure does pump P-8 run at?", "Pump P-8 runs at 20 bar."},
		{"The report was filed late.\nTemperature of unit K9 was measured as 71 C.\nUse the report.", "Which temperature did they measure for K9?", "Temperature of unit K9 was measured as 71 C."},
		{"红色的门在左边。蓝色的窗户很高。", "窗户怎么样？", "蓝色的窗户很高。"},
		{"", "", "."},
		{" \n\t", "", "."},
		{"?", "?", "?"},
	} {
		if got := reply(c.text, c.question); got != c.want {
			t.Errorf("reply(%q, %q) = %q, want %q", c.text, c.question, got, c.want)
		}
	}
	if got := ask("Context: a b c.\nQuestion: who came?\nAnswer:"); got != "Question: who came?" {
		t.Errorf("asked %q", got)
	}
}

func TestJitterHasMeanOneAndItsDeviation(t *testing.T) {
	for _, model := range []string{jitterLognormal, jitterHeavytail, jitterDrift} {
		c := Config{Jitter: 0.1, JitterModel: model, Seed: 3}
		sum, square, n := 0.0, 0.0, 200_000
		for i := range n {
			f := c.jitter(i)
			sum, square = sum+f, square+f*f
		}
		mean := sum / float64(n)
		if sd := square/float64(n) - mean*mean; mean < 0.997 || mean > 1.003 || model == jitterLognormal && (sd < 0.0097 || sd > 0.0103) {
			t.Errorf("%s: mean %v variance %v", model, mean, sd)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("The lake is 7 m deep. How deep?", 3)
	f.Add("\xff\xfe?。", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 4000 {
			return
		}
		e, err := New(Config{Tokenizer: "regex"})
		if err != nil {
			t.Fatal(err)
		}
		out := e.cut(reply(text, ask(text)), 1+max(0, limit%64), false)
		if out.text == "" || len(out.chunks) == 0 || slices.Contains(out.chunks, "") {
			t.Errorf("%q: %+v", text, out)
		}
	})
}
