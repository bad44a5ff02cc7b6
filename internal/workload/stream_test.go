package workload

import (
	"math"
	"strings"
	"testing"

	"sembench"
)

func TestGeneratedStream(t *testing.T) {
	items, report, err := Build(Options{Profile: "stream", MaxItems: 120, Bands: []string{"1k"}, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 120 || !report.Audit.Passed {
		t.Fatalf("%d items, %v", len(items), report.Audit.Violations)
	}
	position, classes, tenants := map[string]int{}, map[string]int{}, map[string]int{}
	last := -1
	for i, it := range items {
		class := it.Text("traffic_class")
		classes[class]++
		tenants[it.Tenant()]++
		if *it.Int("arrival_ms") < last || *it.Int("stream_position") != i || it.Transform != "stream@"+class {
			t.Errorf("item %d: %v", i, it.Metadata)
		}
		last = *it.Int("arrival_ms")
		if !strings.HasSuffix(it.RecipientPrompt, "\n"+it.Input) || !stated(it.RecipientPrompt, it.Answers) {
			t.Errorf("item %d: question or answer is missing", i)
		}
		position[it.ItemID] = i
		name := it.Text("donor_item_id")
		if (name == "") != (class == "fresh") {
			t.Errorf("item %d of class %s has donor %q", i, class, name)
		}
		if name == "" {
			continue
		}
		at, known := position[name]
		if !known || *it.Int("donor_gap_requests") != i-at-1 {
			t.Errorf("item %d: donor %q at %d, gap %v", i, name, at, it.Metadata["donor_gap_requests"])
		}
		donor := items[at]
		if class == "followup" && (!strings.HasPrefix(it.RecipientPrompt, donor.RecipientPrompt) || it.Text("session_id") != donor.Text("session_id")) {
			t.Errorf("item %d does not go on from its donor", i)
		}
		if class == "document" && (donor.SourceID != it.SourceID || it.Text("session_id") == donor.Text("session_id")) {
			t.Errorf("item %d: donor of another document, or of its session", i)
		}
	}
	for _, class := range []string{"fresh", "document", "followup"} {
		if classes[class] < 10 {
			t.Errorf("classes %v", classes)
		}
	}
	if len(tenants) < 3 {
		t.Errorf("tenants %v", tenants)
	}
	// Poisson arrivals: 120 gaps of 500 ms on average, four standard deviations wide.
	if mean := float64(last) / 120; math.Abs(mean-500) > 4*500/math.Sqrt(120) {
		t.Errorf("mean gap %v ms", mean)
	}
	again, _, err := Build(Options{Profile: "stream", MaxItems: 120, Bands: []string{"1k"}, Seed: 4})
	if err != nil || identity(again) != identity(items) {
		t.Errorf("the same seed gave another stream: %v", err)
	}
	if err := VerifyFrozen(report.Recipe, nil); err != nil {
		t.Error(err)
	}
}

// 1, 1/2 and 1/3 of 11/6.
func TestZipf(t *testing.T) {
	for i, want := range []float64{6.0 / 11, 9.0 / 11, 1} {
		if got := zipf(3, 1)[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("zipf(3, 1)[%d] = %v, want %v", i, got, want)
		}
	}
}

func replay(t *testing.T, text string, o Options) ([]sembench.Item, sembench.BuildReport) {
	t.Helper()
	o.Tokenizer = regex(t)
	items, report, err := FromSource(strings.NewReader(text), "chats.jsonl", "", o)
	if err != nil {
		t.Fatal(err)
	}
	return items, report
}

// By hand, one word being one token: two requests of one conversation, a prompt of another tenant with the same text, and one that shares 40 words with the first.
func TestLogsBecomeStreams(t *testing.T) {
	long := words("w", 40)
	log := `{"messages": [{"role": "user", "content": "` + long + `"}], "timestamp": 10, "session_id": "s", "tenant": "a", "id": "r1"}
{"prompt": "new ` + long + ` end", "timestamp": 40, "tenant": "a", "id": "r4"}
{"messages": [{"role": "user", "content": "` + long + `"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "more"}], "timestamp": 20, "session_id": "s", "tenant": "a", "id": "r2"}
{"prompt": "` + long + `", "timestamp": 30, "tenant": "b", "id": "r3"}
`
	items, report := replay(t, log, Options{})
	var got []string
	bySource := map[string]sembench.Item{}
	for _, it := range items {
		got = append(got, it.SourceID+" "+it.Text("traffic_class"))
		bySource[it.SourceID] = it
	}
	if strings.Join(got, ", ") != "r1 fresh, r2 followup, r3 fresh, r4 document" {
		t.Errorf("got %v", got)
	}
	if n := bySource["r4"].Int("expected_supplied_tokens"); n == nil || *n != 40 {
		t.Errorf("r4 shares %v words, want 40", bySource["r4"].Metadata["expected_supplied_tokens"])
	}
	if n := bySource["r3"].Int("arrival_ms"); *n != 30000 || len(bySource["r2"].Messages()) != 3 {
		t.Errorf("arrival %d, %d messages", *n, len(bySource["r2"].Messages()))
	}
	if !report.Audit.Passed || *report.SourceRecords != 4 {
		t.Errorf("audit %v", report.Audit.Violations)
	}
	first, _ := replay(t, log, Options{MaxItems: 2})
	if len(first) != 2 || first[0].SourceID != "r1" {
		t.Errorf("the first two are %d items", len(first))
	}
}
