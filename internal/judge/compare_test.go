package judge

import (
	"strings"
	"testing"

	"sembench"
)

// run is a scene of 24 plain pairs with a deterministic scatter, warm times scaled.
func run(t *testing.T, warmScale float64) sembench.Result {
	t.Helper()
	s := newScene()
	s.canary(0, 0)
	for i := range 24 {
		wobble := 1 + 0.01*float64(i%5-2)
		s.item(arms{transform: "rag_reorder", cold: 100 * (1 + float64(i%7)), warm: 50 * (1 + float64(i%7)) * warmScale * wobble, donorMS: 90,
			warmReuse: reused{64, 640}, warmIsFirst: i%2 == 0})
	}
	s.canary(0, 0)
	return build(t, s)
}

func metric(c sembench.Comparison, key string) sembench.MetricComparison {
	for _, m := range c.Metrics {
		if m.Key == key {
			return m
		}
	}
	return sembench.MetricComparison{}
}

func TestCompare(t *testing.T) {
	same := Compare(run(t, 1), run(t, 1), Options{})
	if same.Outcome != sembench.NoDifference || same.PairsCommon != 24 {
		t.Errorf("a run against itself: %s, %d pairs, %v", same.Outcome, same.PairsCommon, same.Reasons)
	}
	faster := Compare(run(t, 1), run(t, 0.8), Options{})
	m := metric(faster, "ttft_warm_ms")
	near(t, "warm change", m.Change.Point, 0.8)
	if faster.Outcome != sembench.Better || m.Outcome != sembench.Better || metric(faster, "ttft_cold_ms").Outcome != sembench.NoDifference {
		t.Errorf("faster: %s, %+v", faster.Outcome, m)
	}
	near(t, "speedup change", metric(faster, "ttft_speedup").Change.Point, 1.25)
	slower := Compare(run(t, 0.8), run(t, 1), Options{})
	if slower.Outcome != sembench.Worse {
		t.Errorf("slower: %s", slower.Outcome)
	}
	// Swapping the two inverts every ratio and negates every difference.
	for _, m := range faster.Metrics {
		o := metric(slower, m.Key)
		if m.Change == nil {
			continue
		}
		want := -*m.Change.Point
		if m.Kind == "ratio" {
			want = 1 / *m.Change.Point
		}
		near(t, m.Key+" swapped", o.Change.Point, want)
		near(t, m.Key+" p swapped", o.PValue, *m.PValue)
	}
}

// Faster at the price of worse answers is mixed, not better.
func TestCompareMixed(t *testing.T) {
	a, b := run(t, 1), run(t, 0.8)
	for i := range b.Requests {
		if *b.Requests[i].Arm == sembench.ArmWarm {
			b.Requests[i].QualityScore, b.Requests[i].OutputText = new(0.0), new("nothing in common")
		}
	}
	c := Compare(a, b, Options{})
	if c.Outcome != sembench.Mixed || metric(c, "quality_score").Outcome != sembench.Worse {
		t.Errorf("outcome %s, quality %+v", c.Outcome, metric(c, "quality_score"))
	}
}

func TestNotComparable(t *testing.T) {
	for want, change := range map[string]func(r *sembench.Result){
		"run.manifest_sha256 differs":  func(r *sembench.Result) { r.Run.ManifestSHA256 = "x" },
		"run.simulated differs":        func(r *sembench.Result) { r.Run.Simulated = true },
		"block_size differs":           func(r *sembench.Result) { r.BlockSize = 32 },
		"engine.model differs":         func(r *sembench.Result) { r.Engine = &sembench.EngineInfo{Model: "x"} },
		"protocol.concurrency differs": func(r *sembench.Result) { r.Protocol = &sembench.Protocol{Concurrency: 8} },
		"B has no pairs":               func(r *sembench.Result) { r.Paired = nil },
		"B is not a valid measurement": func(r *sembench.Result) {
			p := *r.Paired
			p.Valid, p.InvalidReason, r.Paired = false, new("x"), &p
		},
		"5 pairs are clean in both": func(r *sembench.Result) { r.Requests = r.Requests[:10] },
	} {
		b := run(t, 1)
		change(&b)
		c := Compare(run(t, 1), b, Options{})
		if c.Outcome != sembench.NotComparable || !strings.Contains(strings.Join(c.Reasons, "; "), want) {
			t.Errorf("want %q: outcome %s, reasons %q", want, c.Outcome, c.Reasons)
		}
	}
	// What comparisons are for does not block them.
	a, b := run(t, 1), run(t, 1)
	a.Config, b.Config = sembench.Extra{"replay": map[string]any{"settle_ms": 1}}, sembench.Extra{"replay": map[string]any{"settle_ms": 2}}
	b.Engine = &sembench.EngineInfo{Kind: "vllm", Model: "tiny", Version: new("0.30")}
	c := Compare(a, b, Options{})
	if c.Outcome != sembench.NoDifference || len(c.Differences) != 2 || c.Differences[1].Path != "config.replay.settle_ms" {
		t.Errorf("outcome %s, differences %+v", c.Outcome, c.Differences)
	}
}
