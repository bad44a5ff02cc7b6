package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sembench"
	"sembench/internal/wire"
)

func openFile(t testing.TB, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func recipients(lines []sembench.Observation) (list []sembench.Observation) {
	for _, o := range lines {
		if o.Role == sembench.RoleRecipient && !o.Superseded {
			list = append(list, o)
		}
	}
	return list
}

func TestPairedRun(t *testing.T) {
	e := newEngine(t)
	e.semantic, e.simulated = true, true
	cfg := e.config()
	cfg.CanaryEvery = 4
	summary, lines := replayed(t, e, cfg, someItems(9))
	if summary.Planned != 18 || summary.OK != 18 || !summary.Simulated || summary.CanariesFailed != 0 || summary.CanariesPassed < 2 {
		t.Errorf("summary %+v", summary)
	}
	for id, n := range e.ids {
		if n != 1 {
			t.Errorf("request id %s was sent %d times", id, n)
		}
	}
	first := map[string]int{}
	for _, o := range recipients(lines) {
		cached := *o.CachedTokens()
		control := strings.HasSuffix(o.ItemID, "0") && o.ItemID == "item-00" || slices.Contains([]string{"item-03", "item-06"}, o.ItemID)
		switch {
		case o.Isolation == nil || o.Isolation.Status != sembench.IsolationAccepted || o.Isolation.Method != sembench.IsolationReset:
			t.Errorf("%s %s: isolation %+v", o.PairID, o.Arm, o.Isolation)
		case o.Arm == sembench.ArmCold && (cached != 0 || len(o.Donors) != 0):
			t.Errorf("%s: the cold arm has %d cached tokens and %d donors", o.PairID, cached, len(o.Donors))
		case o.Arm == sembench.ArmWarm && (cached > 0) == control:
			t.Errorf("%s: the warm arm has %d cached tokens", o.PairID, cached)
		case o.Arm == sembench.ArmWarm && (len(o.Donors) != 1 || o.Donors[0].Status != "ok" || o.Donors[0].LatencyMS == nil):
			t.Errorf("%s: donors %+v", o.PairID, o.Donors)
		case o.BootID == nil || !strings.HasSuffix(*o.BootID, "@100.5"):
			t.Errorf("%s: boot id %v", o.PairID, o.BootID)
		}
		if *o.Order == 0 {
			first[o.Arm]++
		}
	}
	if d := first["cold"] - first["warm"]; d < -1 || d > 1 {
		t.Errorf("first arms %v are not balanced", first)
	}
	for i, o := range lines {
		if o.Seq != int64(i) {
			t.Errorf("line %d has seq %d", i, o.Seq)
		}
	}
	passes := 0
	for _, o := range lines {
		if o.Isolation != nil && len(o.Isolation.Canary) > 0 {
			passes++
			for _, c := range o.Isolation.Canary {
				if c.Outcome != "pass" && !(c.Tier == "external") {
					t.Errorf("%s: %+v", o.ItemID, c)
				}
			}
		}
	}
	if passes < 3 {
		t.Errorf("%d canary passes, want first, last and some between", passes)
	}
}

// outcomes gives tier/control → outcome of all passes.
func outcomes(lines []sembench.Observation) map[string]string {
	all := map[string]string{}
	for _, o := range lines {
		if o.Isolation == nil {
			continue
		}
		for _, c := range o.Isolation.Canary {
			all[c.Tier+"/"+c.Control] = c.Outcome
		}
	}
	return all
}

func TestCanariesCatch(t *testing.T) {
	check := func(name string, set func(*engine), want map[string]string) {
		t.Helper()
		e := newEngine(t)
		set(e)
		_, lines := replayed(t, e, e.config(), someItems(1))
		got := outcomes(lines)
		for key, outcome := range want {
			if got[key] != outcome {
				t.Errorf("%s: %s is %q, want %q (all %v)", name, key, got[key], outcome, got)
			}
		}
	}
	check("an honest stock engine", func(e *engine) {}, map[string]string{
		"prefix/positive": "pass", "prefix/negative": "pass", "semantic/positive": "not_exercised", "semantic/negative": "not_exercised"})
	check("an honest semantic engine", func(e *engine) { e.semantic = true }, map[string]string{
		"prefix/positive": "pass", "prefix/negative": "pass", "semantic/positive": "pass", "semantic/negative": "pass"})
	check("zero left out", func(e *engine) { e.zeroOmitted = true }, map[string]string{"prefix/positive": "pass", "prefix/negative": "pass"})
	check("a reset that does nothing", func(e *engine) { e.noopReset = true }, map[string]string{"prefix/positive": "pass", "prefix/negative": "fail"})
	check("a donor store that survives", func(e *engine) { e.semantic, e.donorsSurvive = true, true }, map[string]string{
		"prefix/negative": "pass", "semantic/positive": "pass", "semantic/negative": "fail"})
}

func TestSaltsWithoutReset(t *testing.T) {
	check := func(name string, set func(*engine), kind string, colds bool) {
		t.Helper()
		e := newEngine(t)
		e.noReset = true
		set(e)
		report, err := Preflight(t.Context(), e.config())
		if err != nil {
			t.Fatal(err)
		}
		if report.Isolation != Salt || report.SaltKind != kind {
			t.Errorf("%s: isolation %s by %s, want salt by %s", name, report.Isolation, report.SaltKind, kind)
		}
		_, lines := replayed(t, e, report.Apply(e.config()), someItems(3))
		for _, o := range recipients(lines) {
			if o.Arm == sembench.ArmCold && (*o.CachedTokens() == 0) != colds {
				t.Errorf("%s: %s has %d cached tokens when cold", name, o.PairID, *o.CachedTokens())
			}
			if o.Isolation.Method != sembench.IsolationSalt {
				t.Errorf("%s: method %s", name, o.Isolation.Method)
			}
		}
	}
	check("cache_salt", func(*engine) {}, SaltField, true)
	check("cache_salt ignored", func(e *engine) { e.salted = false }, SaltText, true)
}

func TestTwinsHaveEqualLength(t *testing.T) {
	e := newEngine(t)
	e.noReset, e.salted = true, false
	_, lines := replayed(t, e, e.config(), someItems(4))
	length := map[string]int{}
	for _, o := range recipients(lines) {
		n := *o.PromptTokens()
		if known, ok := length[o.PairID]; ok && known != n {
			t.Errorf("%s has %d and %d prompt tokens", o.PairID, known, n)
		}
		length[o.PairID] = n
	}
}

func TestResets(t *testing.T) {
	check := func(name string, status int, body string, done bool, resets int) {
		t.Helper()
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		defer server.Close()
		client := wire.New(wire.Options{})
		defer client.Close()
		result := resetter{client, sleep, 60 * time.Millisecond}.all(t.Context(), []string{server.URL})
		if result.done != done || (resets == 1) != (n == 1) {
			t.Errorf("%s: done %v after %d resets (%s)", name, result.done, n, result.detail)
		}
	}
	check("vLLM", 200, `{"success": true}`, true, 1)
	check("vLLM before 0.29", 200, ``, true, 1)
	check("vLLM that did nothing", 200, `{"success": false}`, false, 2)
	check("SGLang", 200, "Cache flushed.\n", true, 1)
	check("SGLang while busy", 400, "Cache not flushed because there are pending requests", false, 2)
	check("not there", 404, `{"detail":"Not Found"}`, false, 1)
	check("wrong method", 405, ``, false, 1)
	check("a web page", 200, `<html>`, false, 1)
	check("an error in 200", 200, `{"error":"no"}`, false, 1)

	e := newEngine(t)
	e.busy = 2
	client := wire.New(wire.Options{})
	defer client.Close()
	reset := resetter{client, sleep, time.Second}
	one, other := e.server.URL+"/reset_prefix_cache", newEngine(t).server.URL+"/no_such"
	if r := reset.all(t.Context(), []string{one}); !r.done || !r.odd {
		t.Errorf("a reset that was busy twice: %+v, want done and odd", r)
	}
	for _, urls := range [][]string{{one, other}, {other, one}, nil} {
		if r := reset.all(t.Context(), urls); r.done {
			t.Errorf("resetting %v failed in one place and counts as done", urls)
		}
	}
}

func TestFailedResetIsAFailedStep(t *testing.T) {
	e := newEngine(t)
	cfg := e.config()
	cfg.Isolation, cfg.ResetURLs, cfg.ResetTimeout = Reset, []string{e.server.URL + "/no_such"}, time.Second
	summary, lines := replayed(t, e, cfg, someItems(2))
	for _, o := range recipients(lines) {
		if o.Isolation.Status != sembench.IsolationFailed || !strings.Contains(o.Isolation.Detail, "404") {
			t.Errorf("%s: %+v, want failed with what was answered", o.PairID, o.Isolation)
		}
	}
	if summary.OK != 4 || summary.CanariesFailed == 0 {
		t.Errorf("summary %+v", summary)
	}
}

func TestNoncesHaveOneShape(t *testing.T) {
	seen := map[string]bool{}
	for i := range 5000 {
		s := newSalt(SaltText, "run", fmt.Sprint(i)).nonce
		if len(s) != 24 || seen[s] || len(strings.Fields(s)) != 6 {
			t.Fatalf("nonce %q", s)
		}
		seen[s] = true
	}
}

func TestDonors(t *testing.T) {
	check := func(name string, fail int, status int, header string, want string, attempts int, recipient string) {
		t.Helper()
		e := newEngine(t)
		left := fail
		e.handler = func(w http.ResponseWriter, r *http.Request, _ map[string]any) bool {
			if !strings.Contains(r.Header.Get("X-Request-Id"), "donor-0") || left == 0 {
				return false
			}
			left--
			w.Header().Set("Retry-After", header)
			w.WriteHeader(status)
			return true
		}
		_, lines := replayed(t, e, e.config(), someItems(2)[1:])
		for _, o := range recipients(lines) {
			if o.Arm != sembench.ArmWarm {
				continue
			}
			if d := o.Donors[0]; d.Status != want || d.Attempts != attempts || o.Status != recipient {
				t.Errorf("%s: donor %+v, recipient %s", name, d, o.Status)
			}
			if o.Status == sembench.StatusExcluded && (*o.Reason != "donor_failed" || o.HTTPStatus != nil) {
				t.Errorf("%s: reason %s", name, *o.Reason)
			}
		}
	}
	check("once busy", 1, 503, "0", "ok", 2, "ok")
	check("twice busy", 2, 429, "0.01", "failed", 2, "excluded")
	check("refused", 1, 400, "", "failed", 1, "excluded")
}

func TestRecipientIsNeverRetried(t *testing.T) {
	e := newEngine(t)
	e.handler = func(w http.ResponseWriter, r *http.Request, _ map[string]any) bool {
		if !strings.Contains(r.Header.Get("X-Request-Id"), "-recipient-") {
			return false
		}
		w.WriteHeader(503)
		return true
	}
	summary, _ := replayed(t, e, e.config(), someItems(3))
	sent := 0
	for id, n := range e.ids {
		if strings.Contains(id, "-recipient-") {
			sent += n
		}
	}
	if sent != 6 || summary.Failed != 6 || summary.OK != 0 {
		t.Errorf("%d recipients sent, summary %+v", sent, summary)
	}
}

func TestPreflightRefuses(t *testing.T) {
	check := func(name string, handler http.HandlerFunc, problem string) {
		t.Helper()
		server := httptest.NewServer(handler)
		defer server.Close()
		_, err := Preflight(t.Context(), Config{RunID: "r", BaseURL: server.URL, Model: "m"})
		var found *EndpointError
		if !errors.As(err, &found) || found.Problem != problem || found.Hint == "" {
			t.Errorf("%s: %v (%+v), want problem %s with a hint", name, err, found, problem)
		}
	}
	check("HTML", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<!doctype html><html></html>") }, ProblemNotAnAPI)
	check("another model", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"data":[{"id":"other"}]}`) }, ProblemModelMissing)
	check("no key", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }, ProblemUnauthorized)
	check("no generation", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		http.NotFound(w, r)
	}, ProblemGeneration)
	_, err := Preflight(t.Context(), Config{RunID: "r", BaseURL: "http://127.0.0.1:1", Model: "m"})
	var found *EndpointError
	if !errors.As(err, &found) || found.Problem != ProblemUnreachable {
		t.Errorf("closed port: %v", err)
	}
}

func TestPreflightReport(t *testing.T) {
	e := newEngine(t)
	e.semantic, e.simulated = true, true
	report, err := Preflight(t.Context(), Config{RunID: "r", BaseURL: e.server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if report.Model != "m" || report.Engine != "vllm" || !report.Simulated || !report.CachedTokensReported || !report.ExternalSplit || report.Isolation != Reset ||
		*report.MaxModelLen != 4096 || *report.EngineBlockSize != 16 || *report.EngineVersion != "0.29.0" || report.BootID == nil || report.FirstEventGapMS == nil || len(e.blocks) != 0 {
		t.Errorf("%+v", report)
	}
	e = newEngine(t)
	e.noUsage = true
	if report, err = Preflight(t.Context(), e.config()); err != nil {
		t.Fatal(err)
	}
	named := false
	for _, c := range report.Checks {
		named = named || c.Name == "cached_tokens" && strings.Contains(c.Hint, "--enable-prompt-tokens-details")
	}
	if !named || report.CachedTokensReported {
		t.Errorf("the missing flag is not named: %+v", report.Checks)
	}
}

func TestValidate(t *testing.T) {
	check := func(c Config, want string) {
		t.Helper()
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	good := Config{RunID: "r", BaseURL: "http://h:1"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	with := func(change func(*Config)) Config { c := good; change(&c); return c }
	check(with(func(c *Config) { c.BaseURL = "h:1" }), "base URL")
	check(with(func(c *Config) { c.BaseURL = "ftp://u:pw@h" }), "ftp://h")
	check(with(func(c *Config) { c.RunID = "" }), "run id is empty")
	check(with(func(c *Config) { c.Arms = []string{"cold", "tepid"} }), `arm is "tepid"`)
	check(with(func(c *Config) { c.Arms = []string{"warm", "exact"} }), "stock engine")
	check(with(func(c *Config) { c.Concurrency, c.Isolation = 2, Reset }), "concurrency is 2")
	check(with(func(c *Config) { c.Engine = "tgi" }), `engine is "tgi"`)
}

func TestOrderIsBalanced(t *testing.T) {
	// Williams squares: every arm in every place, and after every other arm, equally often.
	for n := 1; n <= 6; n++ {
		place, follows := map[[2]int]int{}, map[[2]int]int{}
		rows := williams(n)
		for _, row := range rows {
			for i, arm := range row {
				place[[2]int{arm, i}]++
				if i > 0 {
					follows[[2]int{row[i-1], arm}]++
				}
			}
		}
		for key, count := range place {
			if count != len(rows)/n {
				t.Errorf("n %d: arm and place %v occur %d times of %d", n, key, count, len(rows))
			}
		}
		for key, count := range follows {
			if count != len(rows)/n || key[0] == key[1] {
				t.Errorf("n %d: %v follow each other %d times", n, key, count)
			}
		}
		if len(place) != n*n || n > 1 && len(follows) != n*(n-1) {
			t.Errorf("n %d: %d places, %d successions", n, len(place), len(follows))
		}
	}
	same := arrange(someItems(12), []string{"cold", "warm"}, 2, 5)
	again := arrange(someItems(12), []string{"cold", "warm"}, 2, 5)
	other := arrange(someItems(12), []string{"cold", "warm"}, 2, 6)
	equal := func(a, b []pairPlan) bool {
		return slices.EqualFunc(a, b, func(a, b pairPlan) bool { return a.id == b.id && slices.Equal(a.arms, b.arms) })
	}
	if !equal(same, again) || equal(same, other) {
		t.Error("the order is not a function of the seed")
	}
	cold := map[bool]int{}
	for i, p := range same {
		if p.position != i {
			t.Errorf("position %d at %d", p.position, i)
		}
		if p.arms[0] == "cold" {
			cold[p.item.NegativeControl]++
		}
	}
	if cold[true] != 4 || cold[false] != 8 { // half of 8 control and 16 other pairs
		t.Errorf("cold first in %d control and %d other pairs, want 4 and 8", cold[true], cold[false])
	}
}

func TestProbePrimesBothArms(t *testing.T) {
	check := func(name, template, system string, primed int) {
		t.Helper()
		e := newEngine(t)
		e.template = template
		items := someItems(4)
		for i := range items {
			items[i].Metadata["system_prompt"] = system
		}
		_, lines := replayed(t, e, e.config(), items)
		probes := 0
		for _, o := range lines {
			if o.Role == "probe" && o.PairID != "" {
				probes++
			}
			if o.Role == sembench.RoleRecipient && o.Arm == sembench.ArmCold && (*o.Isolation.PrimedTokens != primed || *o.CachedTokens() != primed) {
				t.Errorf("%s: %s: primed %d, cached %d, want %d", name, o.PairID, *o.Isolation.PrimedTokens, *o.CachedTokens(), primed)
			}
			if o.Isolation == nil {
				continue
			}
			for _, c := range o.Isolation.Canary {
				if c.Outcome == "fail" || c.Tier == "prefix" && c.Outcome != "pass" {
					t.Errorf("%s: %s: %+v", name, o.ItemID, c)
				}
			}
		}
		for id, n := range e.ids {
			if n != 1 {
				t.Errorf("%s: request id %s was sent %d times", name, id, n)
			}
		}
		if want := map[bool]int{true: 8, false: 0}[primed > 0]; probes != want {
			t.Errorf("%s: %d probes, want %d", name, probes, want)
		}
	}
	words := func(n int) string { return strings.Repeat("kind ", n) }
	check("nothing to prime", "", "", 0)
	check("too short for a block", "", words(13), 0)
	check("a system prompt of one block", "", words(15), fakeBlock)
	check("a template of one block, no system prompt", words(20), "", fakeBlock)
	check("both", words(20), words(24), 2*fakeBlock)
}

func TestDrain(t *testing.T) {
	e := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "observations.jsonl")
	j := openTestJournal(t, false, path)
	summary, err := Run(ctx, e.config(), someItems(6), j, func(_ string, done, total int) {
		if done == 4 {
			cancel()
		}
	})
	if err != nil || !summary.Drained || summary.OK != 4 || summary.NotSent != 8 || summary.Planned != 12 {
		t.Fatalf("summary %+v, error %v", summary, err)
	}
	if list := recipients(readBack(t, j)); len(list) != 12 {
		t.Errorf("%d recipients in the journal, want 12", len(list))
	}
	j.Close()
	j = openTestJournal(t, true, path)
	summary, err = Run(t.Context(), e.config(), someItems(6), j, nil)
	if err != nil || summary.Before != 4 || summary.OK != 8 || summary.Planned != 12 {
		t.Fatalf("resumed: summary %+v, error %v", summary, err)
	}
	accounted(t, readBack(t, j), 12)
}

// accounted checks that every recipient is there once and each pair in one process.
func accounted(t testing.TB, lines []sembench.Observation, want int) {
	t.Helper()
	seen, boot := map[string]int{}, map[string]string{}
	ids := map[string]int{}
	for _, o := range lines {
		ids[o.RequestID]++
		if o.PairID == "" || o.Superseded {
			continue
		}
		if o.BootID != nil {
			if known, ok := boot[o.PairID]; ok && known != *o.BootID {
				t.Errorf("%s is in two engine processes", o.PairID)
			}
			boot[o.PairID] = *o.BootID
		}
		if o.Role == sembench.RoleRecipient {
			seen[o.PairID+"/"+o.Arm]++
			if o.Status != sembench.StatusOK {
				t.Errorf("%s/%s is %s", o.PairID, o.Arm, o.Status)
			}
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s occurs %d times", key, n)
		}
	}
	if len(seen) != want {
		t.Errorf("%d recipients, want %d", len(seen), want)
	}
}

func TestEngineRestartInsideAPair(t *testing.T) {
	e := newEngine(t)
	n := 0
	e.handler = func(_ http.ResponseWriter, r *http.Request, _ map[string]any) bool {
		if strings.Contains(r.Header.Get("X-Request-Id"), "-recipient-") {
			if n++; n == 3 {
				e.boot = "200.5"
			}
		}
		return false
	}
	summary, lines := replayed(t, e, e.config(), someItems(3))
	if summary.OK != 6 || summary.Planned != 6 {
		t.Errorf("summary %+v", summary)
	}
	accounted(t, lines, 6)
	superseded := 0
	for _, o := range lines {
		if o.Superseded {
			superseded++
		}
	}
	if superseded == 0 {
		t.Error("nothing is superseded")
	}
}

func TestEngineDies(t *testing.T) {
	e := newEngine(t)
	n := 0
	cfg := e.config()
	cfg.ResetTimeout = 50 * time.Millisecond
	e.handler = func(w http.ResponseWriter, r *http.Request, _ map[string]any) bool {
		if strings.Contains(r.Header.Get("X-Request-Id"), "-recipient-") {
			if n++; n == 3 {
				e.server.Listener.Close()
				panic(http.ErrAbortHandler) // the one connection that is open
			}
		}
		return false
	}
	summary, lines := replayed(t, e, cfg, someItems(12))
	if summary.Aborted != ReasonUnreachable || summary.NotSent == 0 || summary.OK+summary.Failed+summary.NotSent+summary.Excluded["donor_failed"] != 24 {
		t.Errorf("summary %+v", summary)
	}
	if got := len(recipients(lines)); got != 24 {
		t.Errorf("%d recipients are accounted for, want 24", got)
	}
}

func TestOtherArms(t *testing.T) {
	semantic, stock := newEngine(t), newEngine(t)
	semantic.semantic = true
	stock.boot = "200.5"
	cfg := semantic.config()
	cfg.ExactBaseURL = stock.server.URL
	cfg.Arms = []string{"cold", "warm", "exact", "sham", "aa"}
	cfg.Repeats, cfg.Warmup = 2, 2
	summary, lines := replayed(t, semantic, cfg, someItems(3))
	if summary.OK != 30 || summary.CanariesFailed != 0 {
		t.Errorf("summary %+v", summary)
	}
	for _, o := range recipients(lines) {
		onStock := strings.HasPrefix(o.Endpoint, stock.server.URL)
		if onStock != (o.Arm == "exact") {
			t.Errorf("arm %s went to %s", o.Arm, o.Endpoint)
		}
		if (o.Arm == "sham" || o.Arm == "aa") && *o.CachedTokens() != 0 {
			t.Errorf("arm %s has %d cached tokens", o.Arm, *o.CachedTokens())
		}
		if o.Arm == "sham" && len(o.Donors) != 1 {
			t.Errorf("the sham arm has %d donors", len(o.Donors))
		}
	}
}

func TestCalibrate(t *testing.T) {
	e := newEngine(t)
	j := openTestJournal(t, false, "")
	cfg := e.config()
	cfg.CalibrationPairs = 5
	items := someItems(3)
	items[2].Metadata["length_band"] = "long"
	summary, err := Calibrate(t.Context(), cfg, items, j, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, o := range recipients(readBack(t, j)) {
		count[o.Arm]++
		if (o.Arm == sembench.ArmExact) != (*o.CachedTokens() > 0) {
			t.Errorf("%s %s has %d cached tokens", o.PairID, o.Arm, *o.CachedTokens())
		}
	}
	if summary.OK != 30 || count["cold"] != 10 || count["aa"] != 10 || count["exact"] != 10 {
		t.Errorf("summary %+v, arms %v, want 5 pairs of each kind in each of two bands", summary, count)
	}
}

func TestConcurrentPairs(t *testing.T) {
	e := newEngine(t)
	cfg := e.config()
	cfg.Concurrency = 8
	summary, lines := replayed(t, e, cfg, someItems(40))
	if summary.OK != 80 {
		t.Errorf("summary %+v", summary)
	}
	accounted(t, lines, 80)
	for _, o := range recipients(lines) {
		if o.Arm == sembench.ArmCold && *o.CachedTokens() != 0 {
			t.Errorf("%s is cold with %d cached tokens", o.PairID, *o.CachedTokens())
		}
	}
}

func TestJournalRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	head := sembench.JournalHead{RunID: "r", ManifestSHA256: "m", ConfigSHA256: "c"}
	j, err := OpenJournal(path, head, true) // nothing there: begins
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	check := func(h sembench.JournalHead, resume bool, want string) {
		t.Helper()
		if _, err := OpenJournal(path, h, resume); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check(head, false, "is there already")
	other := head
	other.ManifestSHA256 = "n"
	check(other, true, `it has manifest "m", this run has "n"`)
	other = head
	other.ConfigSHA256 = "d"
	check(other, true, `configuration "c"`)
}

func TestJournalCutsATornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	head := sembench.JournalHead{RunID: "r", ManifestSHA256: "m", ConfigSHA256: "c"}
	j, err := OpenJournal(path, head, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := j.Append(sembench.Observation{ItemID: fmt.Sprint(i), PairID: fmt.Sprint(i), Arm: "cold", Role: "recipient", Status: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	whole, _ := os.ReadFile(path)
	lastLine := strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n") + 1
	for cut := lastLine; cut < len(whole); cut += 7 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(path, head, true)
		if err != nil {
			t.Fatal(err)
		}
		if !j.complete("1", []string{"cold"}) || j.complete("2", []string{"cold"}) || j.seq != 2 {
			t.Errorf("cut at %d: done %v, seq %d", cut, j.done, j.seq)
		}
		if err := j.Append(sembench.Observation{ItemID: "2"}); err != nil {
			t.Fatal(err)
		}
		if lines := readBack(t, j); len(lines) != 3 || lines[2].Seq != 2 {
			t.Errorf("cut at %d: %d lines", cut, len(lines))
		}
		j.Close()
	}
}

// The engine under test is no stock engine, at its own address or at another one.
func TestExactArmIsAnotherEngine(t *testing.T) {
	e := newEngine(t)
	cfg := e.config()
	cfg.Arms = []string{"cold", "warm", "exact"}
	cfg.ExactBaseURL = cfg.BaseURL + "/"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "engine under test") {
		t.Errorf("its own address: %v", err)
	}
	cfg.ExactBaseURL = strings.Replace(cfg.BaseURL, "127.0.0.1", "localhost", 1)
	_, err := Preflight(t.Context(), cfg)
	var refused *EndpointError
	if !errors.As(err, &refused) || refused.Problem != ProblemSameEngine {
		t.Errorf("another name of it: %v", err)
	}
}

// A process that tells who it is only after the first canaries gets canaries under its name before anything is measured.
func TestProcessThatIsKnownLate(t *testing.T) {
	e := newEngine(t)
	boot := e.boot
	e.boot = "" // nothing on the page until the first pass is over
	e.handler = func(_ http.ResponseWriter, r *http.Request, _ map[string]any) bool {
		if strings.Contains(r.Header.Get("X-Request-Id"), "canary-a-negative") {
			e.boot = boot
		}
		return false
	}
	cfg := e.config()
	cfg.CanaryEvery = -1
	_, lines := replayed(t, e, cfg, someItems(3))
	proven := false
	for _, o := range lines {
		proven = proven || o.Arm == armCanary && o.Isolation != nil && o.BootID != nil
		if o.Role == sembench.RoleRecipient && (o.BootID == nil || !proven) {
			t.Fatalf("recipient %d of process %v has no canary of its process before it", o.Seq, o.BootID)
		}
	}
}
