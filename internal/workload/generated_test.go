package workload

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sembench"
	"sembench/internal/quality"
)

// dev is the dev split, built once for all tests that look at it.
var dev = sync.OnceValues(func() (built, error) {
	items, report, err := Build(Options{Profile: "dev", Seed: 11})
	return built{items, report}, err
})

type built struct {
	items  []sembench.Item
	report sembench.BuildReport
}

func devItems(t *testing.T, transform string) []sembench.Item {
	t.Helper()
	b, err := dev()
	if err != nil {
		t.Fatal(err)
	}
	var found []sembench.Item
	for _, it := range b.items {
		if it.TransformName() == transform {
			found = append(found, it)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no item of %s", transform)
	}
	return found
}

func TestDevSplitHoldsTheGuards(t *testing.T) {
	b, err := dev()
	if err != nil {
		t.Fatal(err)
	}
	audit := b.report.Audit
	if !audit.Passed || audit.WordForms < 8000 {
		t.Errorf("violations %v, %d word forms", audit.Violations, audit.WordForms)
	}
	for _, d := range audit.Degeneracy {
		if d.DistinctBlockShareMin < 0.90 || d.GzipRatioMax > d.GzipLimit {
			t.Errorf("%+v", d)
		}
	}
	for _, name := range []string{"negative_control", "paraphrase"} {
		if rate := *audit.ByTransform[name].ExactBlockHitRate; rate >= 0.02 {
			t.Errorf("%s: exact any-position hit rate %v", name, rate)
		}
	}
	names := map[string]bool{}
	for _, it := range b.items {
		names[it.Transform] = true
		if len(it.DonorPrompts) == 0 && it.TransformName() != "no_reuse" {
			t.Errorf("%s has no donor", it.Transform)
		}
	}
	for _, name := range TransformNames() {
		if !names[name] {
			t.Errorf("the split lacks %s", name)
		}
	}
}

// Distinct word forms of the test split, in two of its bands alone.
func TestWordFormsOfTestSplit(t *testing.T) {
	_, report, err := Build(Options{Profile: "test", Bands: []string{"4k", "8k"}, Transforms: firstEight})
	if err != nil {
		t.Fatal(err)
	}
	if report.Audit.WordForms < 8000 {
		t.Errorf("%d word forms", report.Audit.WordForms)
	}
}

func TestLongestBandFits(t *testing.T) {
	_, report, err := Build(Options{Profile: "test", Bands: []string{"32k"}, Transforms: []string{"paraphrase", "entity_swap"}})
	if err != nil || report.Items != 2 {
		t.Errorf("%d items, %v", report.Items, err)
	}
}

// Sources carry their split in their names, so that two splits never share one.
func TestSplitsShareNoSource(t *testing.T) {
	b, err := dev()
	if err != nil {
		t.Fatal(err)
	}
	smoke, _ := smoke(t)
	// A run may be the same by chance: each split keeps its own items apart, not those of others.
	audit := Audit(append(slices.Clone(b.items), smoke...), AuditOptions{})
	if n := audit.Violations; n["source_in_two_splits"]+n["duplicate_item"] > 0 || n["unrelated_share_run"] > 3 {
		t.Errorf("dev and smoke together: %v %v", n, audit.Shown)
	}
}

// draftOf makes one draft of a generated document and hands out its world.
func draftOf(t *testing.T, d *domain, name string, seed uint64) (draft, *world) {
	t.Helper()
	chosen, err := selected([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	for attempt := range 50 {
		w := newWorld(d, drawsFor(seed, d.name, attempt))
		for range 60 {
			w.grow()
		}
		doc := document{source: "s", world: w}
		if w.choose(&doc, chosen[0].asks) < 0 {
			continue
		}
		doc.chunks = w.chunks()
		k := &kit{doc: doc, tokenizer: o200k(t), blockSize: 16, random: drawsFor(seed, name, attempt)}
		if made, err := chosen[0].make(k); err == nil {
			return made, w
		}
	}
	t.Fatalf("no draft of %s in %s", name, d.name)
	return draft{}, nil
}

// A paraphrase states every value about its entity, in donor and recipient alike, and no sentence is told in the same words.
func TestParaphraseKeepsTheFacts(t *testing.T) {
	for _, d := range domains() {
		made, w := draftOf(t, d, "paraphrase", 5)
		donor, recipient := made.donors[0].String(), made.recipient.String()
		for _, f := range w.facts {
			if value := strings.ToLower(f.value()); !strings.Contains(strings.ToLower(donor), value) || !strings.Contains(strings.ToLower(recipient), value) {
				t.Errorf("%s: %q is not in both", d.name, f.value())
			}
			said := 0
			for f.wording = range f.attribute.say {
				if told := w.say(f); strings.Contains(donor, told) && strings.Contains(recipient, told) {
					t.Errorf("%s: both say %q", d.name, told)
				} else if strings.Contains(donor, told) || strings.Contains(recipient, told) {
					said++
				}
			}
			if said < 2 {
				t.Errorf("%s: %s of %s is told by one side only", d.name, f.attribute.name, f.slots["e"])
			}
		}
		if n := overlap(runs(o200k(t), 16, donor, made.donors[0].shared), runs(o200k(t), 16, recipient, made.recipient.shared)); n > 0 {
			t.Errorf("%s: %d runs are shared", d.name, n)
		}
	}
}

// Wrong-reuse controls: nearly the same words, another truth. The share of words that differ is bounded by hand: a swap
// changes one value in ten, a sentence has some fifteen words.
func TestWrongReuseControls(t *testing.T) {
	kinds := map[string]string{"entity_swap": "name", "number_swap": "number", "polarity_flip": "flag"}
	for _, name := range []string{"entity_swap", "number_swap", "polarity_flip", "same_template_other_facts"} {
		for _, it := range devItems(t, name) {
			leak, donor := it.Text("divergent_donor_value"), it.DonorPrompts[0].Text
			if it.Control() != name || it.NegativeControl || it.Metadata["expected_no_fact_leak"] != true || leak == "" {
				t.Errorf("%s: metadata %v", name, it.Metadata)
			}
			if quality.States(it.RecipientPrompt, leak) || !quality.States(donor, leak) || slices.Contains(it.Answers, leak) {
				t.Errorf("%s: leak value %q, answers %q", name, leak, it.Answers)
			}
			a, b := quality.Normalize(donor), quality.Normalize(it.RecipientPrompt)
			limit := 0.10
			if name == "same_template_other_facts" {
				limit = 0.45
			}
			if share := different(a, b); share == 0 || share > limit {
				t.Errorf("%s (%s): %.3f of the words differ", name, it.Text("domain"), share)
			}
		}
	}
	for name, kind := range kinds {
		made, _ := draftOf(t, domains()[1], name, 3)
		if got := made.asked.fact.attribute.kind; got != kind {
			t.Errorf("%s asks about a %s", name, got)
		}
	}
}

// different is the share of words of a that are not in b, counted as often as they occur.
func different(a, b []string) float64 {
	left := map[string]int{}
	for _, w := range b {
		left[w]++
	}
	missing := 0
	for _, w := range a {
		if left[w]--; left[w] < 0 {
			missing++
		}
	}
	return float64(missing) / float64(len(a))
}

func TestShiftedRepeats(t *testing.T) {
	for _, it := range devItems(t, "repeat_shifted") {
		donor := o200k(t).Encode(nil, it.DonorPrompts[0].Text)
		recipient := o200k(t).Encode(nil, it.RecipientPrompt)
		if shift := (len(recipient) - len(donor)) % 16; shift < 3 || shift > 13 {
			t.Errorf("shift by %d", len(recipient)-len(donor))
		}
		tail := 900 // the evidence and all after it are the same
		if !slices.Equal(donor[len(donor)-tail:], recipient[len(recipient)-tail:]) {
			t.Error("the text itself differs")
		}
	}
}

// A few sentences: of n facts 4 % rounded, at least one; the one asked about stays.
func TestSparseEdits(t *testing.T) {
	for _, it := range devItems(t, "sparse_edit") {
		if it.Text("template") != "prose" || it.Text("language") != "en" {
			continue
		}
		before, after := sentences(it.DonorPrompts[0].Text), sentences(it.RecipientPrompt)
		changed := 0
		for _, s := range before {
			if !slices.Contains(after, s) {
				changed++
			}
		}
		if share := float64(changed) / float64(len(before)); changed == 0 || share > 0.06 {
			t.Errorf("%s: %d of %d sentences changed", it.Text("length_band"), changed, len(before))
		}
	}
	doc := tale()
	doc.chunks = []chunk{{"", "Gamma is green and stays so. Alpha is red and round too. Beta is blue or grey. "}}
	for seed := range uint64(20) {
		made, err := sparseEdit(&kit{doc: doc, random: drawsFor(seed, "x")})
		if err != nil {
			t.Fatal(err)
		}
		donor, recipient := made.donors[0].String(), made.recipient.String()
		if !strings.Contains(recipient, "Gamma is green and stays so.") || len(strings.Fields(donor))-len(strings.Fields(recipient)) > 2 {
			t.Errorf("%q became %q", donor, recipient)
		}
	}
}

func TestConversations(t *testing.T) {
	for _, name := range []string{"multi_turn", "agent_tools"} {
		for _, it := range devItems(t, name) {
			donor := it.DonorMessages(it.DonorPrompts[0])
			recipient := it.Messages()
			if len(recipient) <= len(donor) || fmt.Sprint(recipient[:len(donor)]) != fmt.Sprint(donor) {
				t.Errorf("%s: the recipient does not go on from the donor (%d, %d messages)", name, len(donor), len(recipient))
			}
			if !strings.HasPrefix(it.RecipientPrompt, it.DonorPrompts[0].Text) || !strings.HasSuffix(it.RecipientPrompt, "\n"+it.Input) {
				t.Errorf("%s: the rendered texts do not follow", name)
			}
			last := recipient[len(recipient)-1].(map[string]any)
			if last["role"] != "user" || !strings.HasSuffix(last["content"].(string), it.Input) {
				t.Errorf("%s: the last message is %v", name, last)
			}
			if name != "agent_tools" {
				continue
			}
			open := ""
			for _, m := range recipient {
				message := m.(map[string]any)
				switch {
				case message["tool_calls"] != nil:
					open = message["tool_calls"].([]any)[0].(map[string]any)["id"].(string)
				case message["role"] == "tool" && message["tool_call_id"] != open:
					t.Errorf("a result for %v after call %s", message["tool_call_id"], open)
				}
			}
			if open == "" || it.Metadata["tools"] == nil {
				t.Error("no tool is called or declared")
			}
		}
	}
}

func param(t *testing.T, it sembench.Item) int {
	t.Helper()
	_, text, _ := strings.Cut(it.Transform, "@")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The common prefix of donor and recipient is the share that the name says, within a block.
func TestPrefixDepth(t *testing.T) {
	for _, it := range devItems(t, "prefix_depth") {
		donor, recipient := o200k(t).Encode(nil, it.DonorPrompts[0].Text), o200k(t).Encode(nil, it.RecipientPrompt)
		n := 0
		for n < min(len(donor), len(recipient)) && donor[n] == recipient[n] {
			n++
		}
		if want := float64(len(recipient)*param(t, it)) / 100; math.Abs(float64(n)-want) > 16 {
			t.Errorf("%s: %d of %d tokens are shared", it.Transform, n, len(recipient))
		}
	}
}

// The span stands param tokens later than in the donor, at the place that the metadata name.
func TestRopeDelta(t *testing.T) {
	for _, it := range devItems(t, "rope_delta") {
		donor, recipient := o200k(t).Encode(nil, it.DonorPrompts[0].Text), o200k(t).Encode(nil, it.RecipientPrompt)
		at, length := *it.Int("expected_span_target_start"), *it.Int("expected_supplied_tokens")
		from := at - param(t, it)
		// The span's last token may join with the blank line after it.
		if !slices.Equal(recipient[at:at+length-1], donor[from:from+length-1]) || recipient[at-5] == donor[from-5] && recipient[at-6] == donor[from-6] && recipient[at-7] == donor[from-7] {
			t.Errorf("%s in %s: no span of %d tokens at %d and %d", it.Transform, it.Text("domain"), length, from, at)
		}
		if *it.Int("rope_delta_bucket") != param(t, it) {
			t.Errorf("%s: bucket %v", it.Transform, it.Metadata["rope_delta_bucket"])
		}
	}
}

func TestProbesAndNoReuse(t *testing.T) {
	for _, it := range devItems(t, "propagation_probe") {
		if d := it.DonorPrompts; len(d) != 2 || d[1].Text != it.RecipientPrompt || d[0].Text == d[1].Text {
			t.Errorf("%d donors", len(d))
		}
	}
	for _, it := range devItems(t, "no_reuse") {
		if len(it.DonorPrompts) != 0 {
			t.Errorf("%d donors", len(it.DonorPrompts))
		}
	}
}

func TestExactly(t *testing.T) {
	for _, text := range []string{strings.Repeat("The quick brown fox, 12.5 % of it. ", 40), strings.Repeat("編号と面積。", 60), strings.Repeat(`{"a": "b-12", "c": 3}`+"\n", 30)} {
		for n := 4; n < 200; n++ {
			lead, ok := exactly(o200k(t), text, n)
			if got := len(o200k(t).Encode(nil, lead)); !ok || got != n {
				t.Errorf("%d tokens of %.20q: got %d, %v", n, text, got, ok)
			}
		}
	}
	if _, ok := exactly(o200k(t), "short", 100); ok {
		t.Error("a short text gave 100 tokens")
	}
}

func TestHashSet(t *testing.T) {
	s, want := newHashSet(), map[uint64]bool{}
	r := drawsFor(1, "set")
	for range 20000 {
		h := r.Uint64() % 9000 << 50
		s.add(h)
		want[h] = true
		if probe := r.Uint64() % 9000 << 50; s.has(probe) != want[probe] {
			t.Fatalf("has(%d) = %v", probe, s.has(probe))
		}
	}
}

// With SEMBENCH_SAMPLES=n it prints n passages of every domain with their question, for people to read (make workload-samples).
func TestPrintSamples(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("SEMBENCH_SAMPLES"))
	if err != nil {
		t.Skip("SEMBENCH_SAMPLES is not set")
	}
	for _, d := range domains() {
		w := newWorld(d, drawsFor(0, "samples", d.name))
		for len(w.sections) <= n {
			w.grow()
		}
		for i, c := range w.chunks()[:n] {
			fmt.Printf("%s-%02d  %s\n%s\n? %s\n\n", d.name, i+1, c.title, c.body, w.ask(w.sections[i].facts[0]))
		}
	}
}
