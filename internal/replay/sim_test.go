package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/sim"
)

// embedded is an embedded engine in virtual time, and the configuration to measure it.
func embedded(t testing.TB, change func(*sim.Config)) (*sim.Engine, Config) {
	t.Helper()
	world := sim.NewMemory()
	c := sim.Default()
	c.Clock, c.Jitter, c.Tokenizer = world.Clock(), 0, "regex"
	change(&c)
	e, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx, world.Listener()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return e, Config{RunID: "run-1", Seed: 3, BaseURL: "http://engine.sim", Dial: world.Dial, Clock: world, Sleep: world.Sleep, CanaryEvery: -1}
}

// longItems have recipients of several blocks: an exact repetition of the donor, a shifted one, and a control.
func longItems(n int) []sembench.Item {
	items := make([]sembench.Item, n)
	for i := range items {
		r := rng(11, "long", fmt.Sprint(i))
		donor := randomWords(r, 400)
		items[i] = sembench.Item{ItemID: fmt.Sprintf("item-%02d", i), Dataset: "d", SourceID: fmt.Sprint(i), Transform: "shift",
			RecipientPrompt: "Some words ahead: " + donor, DonorPrompts: []sembench.Donor{{DonorID: "d0", Text: donor}}, Metadata: map[string]any{"length_band": "short"}}
		switch i % 3 {
		case 1:
			items[i].Transform, items[i].RecipientPrompt = "exact", donor+" and more"
		case 2:
			items[i].Transform, items[i].NegativeControl, items[i].RecipientPrompt = "diverse", true, randomWords(r, 400)
		}
	}
	return items
}

// What is measured in virtual time is exactly what the timing law charged, and what usage reports is the truth.
func TestTruthIsRecovered(t *testing.T) {
	e, cfg := embedded(t, func(*sim.Config) {})
	summary, lines := replayed(t, nil, cfg, longItems(12))
	if summary.OK != 24 || !summary.Simulated || summary.CanariesFailed != 0 {
		t.Fatalf("summary %+v", summary)
	}
	for tier, outcome := range outcomes(lines) {
		if outcome != outcomePass && !strings.HasPrefix(tier, "external") {
			t.Errorf("canary %s: %s", tier, outcome)
		}
	}
	truth := map[string]sembench.SimTruth{}
	for _, s := range e.Truth() {
		truth[s.RequestID] = s
	}
	hits := 0
	for _, o := range recipients(lines) {
		s, ok := truth[*o.EngineResponseID]
		if !ok {
			t.Fatalf("no truth for %s", *o.EngineResponseID)
		}
		if got := *o.TTFT(); math.Abs(got-float64(s.LawTTFTNS)/1e6) > 1e-6 {
			t.Errorf("%s %s: ttft %v ms, the law charged %v ns", o.PairID, o.Arm, got, s.LawTTFTNS)
		}
		if *o.CachedTokens() != s.PrefixTokens+s.SemanticTokens {
			t.Errorf("%s %s: cached %d, truth %d + %d", o.PairID, o.Arm, *o.CachedTokens(), s.PrefixTokens, s.SemanticTokens)
		}
		if o.Arm == sembench.ArmCold && *o.CachedTokens() != *o.Isolation.PrimedTokens {
			t.Errorf("%s: cold with %d cached tokens", o.PairID, *o.CachedTokens())
		}
		if s.SemanticTokens > 0 {
			hits++
		}
	}
	if hits != 4 {
		t.Errorf("%d semantic hits, want the 4 shifted items", hits)
	}
}

func TestColdFaultsAreCaught(t *testing.T) {
	check := func(fault string, wantFailed ...string) {
		t.Helper()
		_, cfg := embedded(t, func(c *sim.Config) { c.Faults = []string{fault} })
		summary, lines := replayed(t, nil, cfg, longItems(3))
		var failed []string
		for _, o := range lines {
			if o.Isolation == nil {
				continue
			}
			for _, c := range o.Isolation.Canary {
				if c.Outcome == outcomeFail && !slices.Contains(failed, c.Tier) {
					failed = append(failed, c.Tier)
				}
			}
			if o.Isolation.Status == sembench.IsolationFailed && !slices.Contains(failed, "reset") {
				failed = append(failed, "reset")
			}
		}
		for _, want := range wantFailed {
			if !slices.Contains(failed, want) {
				t.Errorf("%s: failed %v, want %s among them (summary %+v)", fault, failed, want, summary)
			}
		}
	}
	check("noop_reset", "prefix")
	check("donor_store_survives", "semantic")
	check("surviving_tier", "external")
	check("late_repopulation", "prefix")
	check("cached_tokens_constant", "prefix")
	check("cached_tokens_prompt", "prefix")
}

// Without cached tokens in the responses, time tells: on an engine whose prefill costs, TTFT canaries stand in.
func TestTTFTCanaries(t *testing.T) {
	check := func(name string, want map[string]string, faults ...string) {
		t.Helper()
		_, cfg := embedded(t, func(c *sim.Config) {
			c.Faults, c.Jitter = append(faults, "cached_tokens_zero"), 0.01
		})
		report, err := Preflight(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if report.CachedTokensReported || report.TTFTSeparation == nil || *report.TTFTSeparation < minSeparation || report.TTFTCanaryMS == nil {
			t.Fatalf("%s: %+v", name, report)
		}
		_, lines := replayed(t, nil, report.Apply(cfg), longItems(3))
		for _, o := range lines {
			if o.Isolation == nil {
				continue
			}
			for _, c := range o.Isolation.Canary {
				if outcome, ok := want[c.Control+" "+c.Field]; ok && c.Outcome != outcome {
					t.Errorf("%s: %s %+v, want %s", name, o.ItemID, c, outcome)
				}
			}
		}
	}
	check("honest", map[string]string{"positive ttft_ms": "pass", "negative ttft_ms": "pass", "positive ttft_ms_shifted": "pass", "negative ttft_ms_shifted": "pass"})
	check("no-op reset", map[string]string{"positive ttft_ms": "pass", "negative ttft_ms": "fail"}, "noop_reset")
	check("surviving donors", map[string]string{"positive ttft_ms_shifted": "pass", "negative ttft_ms_shifted": "fail"}, "donor_store_survives")
}

// An engine whose every reset says that it did nothing is not measured as if it had reset: isolation falls back to salts,
// or is refused where a reset was asked for.
func TestResetsThatDoNothing(t *testing.T) {
	for _, fault := range []string{"reset_says_false", "reset_busy"} {
		_, cfg := embedded(t, func(c *sim.Config) { c.Faults = []string{fault} })
		report, err := Preflight(t.Context(), cfg)
		if err != nil || report.Isolation != Salt || len(report.ResetURLs) != 0 {
			t.Errorf("%s: isolation %s by %v, error %v", fault, report.Isolation, report.ResetURLs, err)
		}
		cfg.Isolation = Reset
		if _, err := Preflight(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no reset works") {
			t.Errorf("%s: %v, want a refusal", fault, err)
		}
	}
}
