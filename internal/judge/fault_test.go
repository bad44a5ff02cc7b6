package judge_test

import (
	"bytes"
	"context"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/judge"
	"sembench/internal/offline"
	"sembench/internal/replay"
	"sembench/internal/sim"
	"sembench/internal/token"
	"sembench/internal/workload"
)

// smoke is the smoke workload with its offline rows, made once.
var smoke = sync.OnceValues(func() ([]sembench.Item, []sembench.Row) {
	items, _, err := workload.Build(workload.Options{Profile: "smoke", Seed: 1})
	if err != nil {
		panic(err)
	}
	tok, err := token.Open("regex")
	if err != nil {
		panic(err)
	}
	var rows []sembench.Row
	list := func(yield func(sembench.Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
	for row, err := range offline.Rows(context.Background(), list, offline.Options{Tokenizer: tok, BlockSize: 16, Planners: []string{"semblend"}}) {
		if err != nil {
			panic(err)
		}
		rows = append(rows, row)
	}
	return items, rows
})

// judged runs the smoke workload against an embedded engine with faults, in virtual time, and judges it as bench does.
func judged(t *testing.T, seed uint64, faults ...string) (sembench.Result, sembench.Verdict) {
	t.Helper()
	result, verdict, _ := played(t, seed, 0.01, faults...)
	return result, verdict
}

// played is judged with a jitter of the engine's times, and gives the engine's own truth too.
func played(t *testing.T, seed uint64, jitter float64, faults ...string) (sembench.Result, sembench.Verdict, []sembench.SimTruth) {
	t.Helper()
	items, rows := smoke()
	world := sim.NewMemory()
	var log, audit bytes.Buffer
	c := sim.Default()
	c.Clock, c.Tokenizer, c.Seed, c.Semantic, c.Faults, c.Log, c.Audit = world.Clock(), "regex", seed, true, faults, &log, &audit
	c.Jitter = jitter
	e, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx, world.Listener()) }()
	cfg := replay.Config{RunID: "run-1", Seed: seed, BaseURL: "http://engine.sim", Dial: world.Dial, Clock: world, Sleep: world.Sleep,
		Engine: "vllm", CanaryEvery: 12, ResetURLs: []string{"http://engine.sim/reset_prefix_cache?reset_external=true"}, Isolation: replay.Reset, Model: "sembench-sim"}
	record := func(name string, run func(context.Context, replay.Config, []sembench.Item, *replay.Journal, replay.Progress) (replay.Summary, error)) []sembench.Observation {
		path := filepath.Join(t.TempDir(), name)
		head := sembench.JournalHead{Schema: sembench.ObservationsSchema, RunID: cfg.RunID, ManifestSHA256: "m", ConfigSHA256: "c"}
		journal, err := replay.OpenJournal(path, head, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), cfg, items, journal, nil); err != nil {
			t.Logf("%s: %v", name, err)
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
		return lines(t, path)
	}
	protocol := sembench.Protocol{Concurrency: 1}
	cfg.RunID = "run-1-calibration"
	calibration := judge.Calibrate(judge.CalibrationInputs{Items: items, Observations: record("calibration", replay.Calibrate), Protocol: protocol,
		Model: "sembench-sim", Simulated: true, Options: judge.Options{Seed: seed}})
	cfg.RunID = "run-1"
	before := metrics(t, e)
	observations := record("observations", replay.Run)
	after := metrics(t, e)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	in := judge.Inputs{Run: sembench.Run{RunID: "run-1", Arm: "paired", Simulated: true}, Items: items, Offline: rows, Observations: observations,
		Engine: &sembench.EngineInfo{Kind: "vllm", Model: "sembench-sim"}, Protocol: protocol, Calibration: &calibration, Options: judge.Options{Seed: seed}}
	if in.Evidence, err = engine.Summarize("vllm", &log, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := engine.ReadAudit(&audit)
	if err != nil {
		t.Fatal(err)
	}
	in.Audit = read
	in.Window = new(engine.Window([]*engine.Metrics{before}, []*engine.Metrics{after}))
	result, err := judge.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := judge.Gate(result, judge.GateOptions{Bench: true, AllowSimulated: true, Evidence: []sembench.Evidence{*in.Evidence}})
	if err != nil {
		t.Fatal(err)
	}
	return result, verdict, e.Truth()
}

// lines reads a journal.
func lines(t *testing.T, path string) (out []sembench.Observation) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, seq, err := sembench.ReadJournal(file, path)
	if err != nil {
		t.Fatal(err)
	}
	for o, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// metrics scrapes the engine.
func metrics(t *testing.T, e *sim.Engine) *engine.Metrics {
	t.Helper()
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	m, err := engine.ParseMetrics(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func failures(v sembench.Verdict) (names []string) {
	for _, g := range v.Gates {
		if g.Outcome == sembench.Fail || g.Outcome == sembench.Missing || g.Outcome == sembench.Inconclusive {
			names = append(names, g.Name+" "+g.Outcome)
		}
	}
	return names
}

// On an engine without jitter every number is the truth that the engine's own block manager and law know: speedups exactly as
// charged, confirmed and semantic tokens, hits, and controls at 1.
func TestTruthIsRecovered(t *testing.T) {
	result, verdict, truths := played(t, 1, 0)
	if !verdict.Passed {
		t.Fatalf("failures: %q", verdict.Failures)
	}
	truth := map[string]sembench.SimTruth{}
	for _, s := range truths {
		truth[s.RequestID] = s
	}
	law := map[string]map[string]float64{}
	hits, used := 0, 0
	for _, row := range result.Requests {
		s := truth[*row.EngineResponseID]
		if got, want := *row.BackendConfirmedTokens, s.PrefixTokens+s.ExternalTokens+s.SemanticTokens; got != want {
			t.Errorf("%s %s: confirmed %d, truth %d", row.ItemID, *row.Arm, got, want)
		}
		if got := *row.SemanticConfirmedTokens; got != s.SemanticTokens {
			t.Errorf("%s %s: semantic %d, truth %d", row.ItemID, *row.Arm, got, s.SemanticTokens)
		}
		if *row.PairClass != "used" {
			continue
		}
		if law[*row.PairID] == nil {
			law[*row.PairID] = map[string]float64{}
		}
		law[*row.PairID][*row.Arm] = float64(s.LawTTFTNS)
		if *row.Arm == sembench.ArmWarm {
			used++
			if s.SemanticTokens >= 64 {
				hits++
			}
		}
	}
	sum := 0.0
	for _, arms := range law {
		sum += arms[sembench.ArmCold] / arms[sembench.ArmWarm]
	}
	p := result.Paired
	if got, want := *p.BlendedTTFTSpeedupMean, sum/float64(len(law)); math.Abs(got/want-1) > 1e-6 {
		t.Errorf("speedup %v, the law charged %v", got, want)
	}
	if *p.Hits != hits || p.PairsUsed != used || hits == 0 {
		t.Errorf("%d hits of %d, truth %d of %d", *p.Hits, p.PairsUsed, hits, used)
	}
	if got := *p.NegativeControlTTFTSpeedupGeomean; math.Abs(got-1) > 1e-6 {
		t.Errorf("controls at %v", got)
	}
}

// Faults of the embedded engine are caught by the check that is for them; all of them are lab's to run.
func TestFaultsByName(t *testing.T) {
	for fault, check := range map[string]string{
		"noop_reset":              "isolation_canary",
		"donor_store_survives":    "donor_store_cold",
		"cached_tokens_zero":      "cached_tokens_reported",
		"role_chunk_early":        "first_event_is_output",
		"hit_not_materialized":    "hits_materialize",
		"reset_fails_before_warm": "exact_reuse_is_exact",
		"response_cache":          "aa_at_one",
		"first_token_held":        "engine_time_agrees",
		"ranks_counted_twice":     "usage_channel",
		"audit_truncated":         "audit_channel",
		"log_lost":                "log_channel",
		"counters_without_reuse":  "counter_channel",
	} {
		t.Run(fault, func(t *testing.T) {
			if _, v := judged(t, 1, fault); !slices.Contains(failures(v), check+" fail") {
				t.Errorf("%s does not fail: %v", check, failures(v))
			}
		})
	}
}

// An honest engine accuses itself of nothing.
func TestHonestEngine(t *testing.T) {
	for seed := range uint64(3) {
		_, v := judged(t, seed+1)
		if !v.Passed {
			t.Errorf("seed %d: %q", seed+1, v.Failures)
		}
	}
}
