package replay

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sembench"
)

func words(text string) int { return len(strings.Fields(text)) }

// What the estimate promises is what the engine then counts.
func TestEstimateIsWhatIsSent(t *testing.T) {
	e := newEngine(t)
	cfg := e.config()
	cfg.Arms = []string{"cold", "warm", "sham"}
	cfg.Repeats, cfg.Warmup, cfg.CanaryEvery, cfg.PostDonorDelay = 2, 3, 5, time.Millisecond
	cfg.Isolation, cfg.ResetURLs = Reset, []string{e.server.URL + "/reset_prefix_cache"}
	items := someItems(7)
	items[4].Metadata["donor_item_ids"] = []any{items[1].ItemID, items[2].ItemID}
	items[4].Metadata["donor_gap_requests"] = json.Number("3")
	plan := Estimate(cfg, items, words)
	replayed(t, e, cfg, items)
	count, prompt := 0, 0
	for _, body := range e.bodies {
		text := render(body)
		if n := words(text) - 1; n > 1 { // without the role; probes have one word
			count++
			prompt += n
		}
	}
	if plan.Requests() != count || plan.PromptTokens != prompt {
		t.Errorf("promised %d requests and %d prompt tokens (%+v), sent %d and %d", plan.Requests(), plan.PromptTokens, plan, count, prompt)
	}
	if plan.Pairs != 14 || plan.Recipients != 42 || plan.Donors != 2*2*(7+2) || plan.Fillers != 2*2*3 || plan.SettleSeconds != 0.028 {
		t.Errorf("%+v", plan)
	}
}

// An item that earlier items seed gets their recipients as donors, and its gap, in the arms that have donors.
func TestSeededItems(t *testing.T) {
	e := newEngine(t)
	items := someItems(3)
	items[2].Metadata["donor_item_id"], items[2].DonorPrompts = items[1].ItemID, nil
	items[2].RecipientPrompt = items[1].RecipientPrompt + " and more"
	cfg := e.config()
	cfg.MinDonorGap = 2
	_, lines := replayed(t, e, cfg, items)
	gaps := 0
	for _, o := range lines {
		if strings.HasPrefix(o.Role, "gap-") && o.ItemID == items[2].ItemID {
			gaps++
		}
		if o.Role != sembench.RoleRecipient || o.ItemID != items[2].ItemID {
			continue
		}
		if warm := o.Arm == sembench.ArmWarm; warm != (*o.CachedTokens() > 0) || warm != (len(o.Donors) == 1) || warm && o.Donors[0].ID != "item:"+items[1].ItemID {
			t.Errorf("%s: %d cached tokens, donors %+v", o.Arm, *o.CachedTokens(), o.Donors)
		}
	}
	if gaps != 2 {
		t.Errorf("%d requests in the gap, want 2", gaps)
	}
}

func TestBudgetEndsTheRun(t *testing.T) {
	e := newEngine(t)
	cfg := e.config()
	cfg.MaxTotalTokens = 2500
	summary, lines := replayed(t, e, cfg, someItems(20))
	if summary.Aborted != ReasonBudget || summary.NotSent == 0 || summary.OK == 0 || summary.OK+summary.NotSent != 40 || len(recipients(lines)) != 40 {
		t.Errorf("%+v", summary)
	}
}

func TestLengthsAndTokenizer(t *testing.T) {
	limit := 200
	report := Report{MaxModelLen: &limit}
	check := func(c Check, outcome, detail string) {
		t.Helper()
		if c.Outcome != outcome || !strings.Contains(c.Detail, detail) {
			t.Errorf("%+v, want %s with %q", c, outcome, detail)
		}
	}
	items := someItems(3) // 80 words each
	check(CheckLengths(report, Config{MaxTokens: 56}, items, words), "pass", "needs 200 of 200")
	check(CheckLengths(report, Config{MaxTokens: 57}, items, words), "fail", "3 of 3 items are too long")
	check(CheckLengths(Report{}, Config{}, items, words), "skipped", "")

	e := newEngine(t)
	check(CheckTokenizer(t.Context(), e.config(), items, words), "skipped", "no /tokenize")
	e.tokenize = func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Prompt string }
		json.NewDecoder(r.Body).Decode(&body)
		io.WriteString(w, `{"count": `+string(sembench.Marshal(words(body.Prompt)))+`}`)
	}
	check(CheckTokenizer(t.Context(), e.config(), items, words), "pass", "3 texts")
	check(CheckTokenizer(t.Context(), e.config(), items, func(s string) int { return words(s) + 1 }), "warn", "81 tokens here and 80 in the engine")
}

// The last column of the failure table: what may be sent once more. Recipients never are.
func TestWhatIsRetried(t *testing.T) {
	for class, want := range map[string]bool{
		sembench.ErrorConnect: true, sembench.ErrorTLS: false, sembench.ErrorTimeoutTotal: true, sembench.ErrorTimeoutIdle: true,
		sembench.ErrorInband: true, sembench.ErrorTruncated: true, sembench.ErrorUndecodable: false, sembench.ErrorCanceled: false,
	} {
		if _, again := retryDonor(sembench.Observation{Error: &sembench.RequestError{Class: class}}); again != want {
			t.Errorf("%s: retried %v, want %v", class, again, want)
		}
	}
	for _, c := range []struct {
		status int
		after  string
		again  bool
		wait   time.Duration
	}{
		{400, "", false, 0}, {401, "", false, 0}, {404, "", false, 0}, {408, "", true, 200 * time.Millisecond}, {413, "", false, 0}, {422, "", false, 0},
		{429, "2", true, 2 * time.Second}, {429, "", true, 200 * time.Millisecond}, {500, "", true, 200 * time.Millisecond}, {503, "0.5", true, 500 * time.Millisecond},
		{503, "9999", true, 200 * time.Millisecond}, {503, "-1", true, 200 * time.Millisecond}, {503, "Wed, 21 Oct 2026 07:28:00 GMT", true, 200 * time.Millisecond},
	} {
		wait, again := retryDonor(sembench.Observation{HTTPStatus: &c.status, Headers: map[string]string{"retry-after": c.after},
			Error: &sembench.RequestError{Class: sembench.ErrorHTTPStatus}})
		if again != c.again || wait != c.wait {
			t.Errorf("%d with Retry-After %q: %v after %v, want %v after %v", c.status, c.after, again, wait, c.again, c.wait)
		}
	}
	if _, again := retryDonor(sembench.Observation{}); again {
		t.Error("a donor that did not fail is retried")
	}
}

// Donors go to the workers by hash of their id, recipients to the gateway, resets to the workers.
func TestPlacement(t *testing.T) {
	gateway, one, two := newEngine(t), newEngine(t), newEngine(t)
	gateway.noReset = true
	gateway.handler = func(w http.ResponseWriter, _ *http.Request, _ map[string]any) bool {
		w.Header().Set("X-Semblend-Routing-Outcome", "semantic")
		return false
	}
	cfg := gateway.config()
	cfg.DonorURLs = []string{one.server.URL, two.server.URL}
	report, err := Preflight(t.Context(), cfg)
	if err != nil || len(report.ResetURLs) != 2 {
		t.Fatalf("resets %v, error %v", report.ResetURLs, err)
	}
	_, lines := replayed(t, gateway, report.Apply(cfg), someItems(12))
	at := map[string]int{}
	for _, o := range lines {
		if isDonor(o.Role) {
			at[o.Endpoint]++
		}
		if o.Role == sembench.RoleRecipient {
			if !strings.HasPrefix(o.Endpoint, gateway.server.URL) || o.Headers["x-semblend-routing-outcome"] != "semantic" {
				t.Errorf("%s: endpoint %s, headers %v", o.ItemID, o.Endpoint, o.Headers)
			}
		}
	}
	if len(at) != 2 || one.resets != two.resets || one.resets < 24 {
		t.Errorf("donors at %v, resets %d and %d", at, one.resets, two.resets)
	}
}
