package workload

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/plan"
	"sembench/internal/quality"
	"sembench/internal/token"
)

// o200k is the tokenizer of all tests here.
func o200k(t testing.TB) token.Tokenizer {
	t.Helper()
	tk, err := token.Open("o200k")
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

func smoke(t testing.TB) ([]sembench.Item, sembench.BuildReport) {
	t.Helper()
	items, report, err := Build(Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return items, report
}

// The shape of the smoke split is given by workloads.md and issue 1.
func TestSmokeShape(t *testing.T) {
	items, report := smoke(t)
	if len(items) != 24 || report.Items != 24 {
		t.Fatalf("%d items, want 24", len(items))
	}
	controls, names := 0, map[string]int{}
	for _, it := range items {
		names[it.Transform]++
		if it.NegativeControl {
			controls++
		}
		if it.NegativeControl != (it.Transform == "negative_control") {
			t.Errorf("%s: negative_control is %v", it.Transform, it.NegativeControl)
		}
		if it.Text("length_band") != "1k" || it.Text("domain") == "" || it.Metadata["boilerplate"] == nil {
			t.Errorf("%s: metadata %v", it.ItemID, it.Metadata)
		}
		n := len(o200k(t).Encode(nil, it.RecipientPrompt))
		if n < 1004 || n > 1044 { // 1,024 within 2 %
			t.Errorf("%s: %d tokens", it.ItemID, n)
		}
		if !strings.HasSuffix(it.RecipientPrompt, "\n"+it.Input) {
			t.Errorf("%s does not end with its question", it.ItemID)
		}
	}
	if controls < 8 || len(names) != 8 {
		t.Errorf("%d controls, transforms %v", controls, names)
	}
	if !report.Audit.Passed {
		t.Errorf("audit: %v", report.Audit.Violations)
	}
}

// An engine that answers with the prompt's sentence nearest to the question must state the answer.
func TestNearestSentenceAnswers(t *testing.T) {
	for _, profile := range []string{"smoke", "dev"} {
		items, _, err := Build(Options{Seed: 3, Profile: profile, Transforms: firstEight, Bands: []string{"1k", "2k"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if it.Text("language") != "en" || it.Text("template") != "prose" {
				continue
			}
			text := strings.NewReplacer(". ", "\n", ".\n", "\n").Replace(strings.TrimSuffix(it.RecipientPrompt, it.Input))
			list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
			best := nearest(it.Input, list)
			if !stated(best, it.Answers) {
				t.Errorf("%s %s: nearest to %q is %q, want %q", it.Transform, it.Text("domain"), it.Input, best, it.Answers)
			}
		}
	}
}

// nearest is the sentence with the most words of the question, a word counting by its squared inverse frequency among them.
func nearest(question string, sentences []string) (best string) {
	holders := map[string]float64{}
	words := make([][]string, len(sentences))
	for i, s := range sentences {
		words[i] = slices.Compact(slices.Sorted(slices.Values(quality.Normalize(s))))
		for _, w := range words[i] {
			holders[w]++
		}
	}
	most := 0.0
	for i, s := range sentences {
		score := 0.0
		for _, w := range slices.Compact(slices.Sorted(slices.Values(quality.Normalize(question)))) {
			if slices.Contains(words[i], w) {
				score += math.Pow(math.Log(1+float64(len(sentences))/holders[w]), 2)
			}
		}
		if score > most {
			best, most = s, score
		}
	}
	return best
}

// At least four items offer reuse beyond the exact prefix and at least four others do not (span is another package's code).
func TestSmokeSeparatesRungs(t *testing.T) {
	items, _ := smoke(t)
	semantic, not := 0, 0
	for _, it := range items {
		if it.NegativeControl {
			continue
		}
		if beyondPrefix(t, it) >= 64 {
			semantic++
		} else {
			not++
		}
	}
	if semantic < 4 || not < 4 {
		t.Errorf("%d items with reuse beyond the prefix, %d without", semantic, not)
	}
	t.Logf("%d with, %d without", semantic, not)
}

// beyondPrefix is how many tokens in whole blocks a copy after the common prefix could cover.
func beyondPrefix(t *testing.T, it sembench.Item) int {
	t.Helper()
	tk := o200k(t)
	target := tk.Encode(nil, it.RecipientPrompt)
	p, err := plan.Open("span", plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	prefix := 0
	for _, d := range it.DonorPrompts {
		ids := tk.Encode(nil, d.Text)
		n := 0
		for n < len(ids) && n < len(target)-1 && ids[n] == target[n] {
			n++
		}
		prefix = max(prefix, n/16*16)
		if err := p.Register(plan.Donor{ID: d.DonorID, Tokens: ids}); err != nil {
			t.Fatal(err)
		}
	}
	blocks := 0
	for _, s := range p.Plan(context.Background(), plan.Target{Tokens: target[prefix:]}).Spans {
		blocks += (s.TargetStart+s.Length)/16 - (s.TargetStart+15)/16
	}
	return blocks * 16
}

func TestBuildsAreByteIdentical(t *testing.T) {
	_, first := smoke(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_, again := smoke(t)
	if first.Recipe.ManifestSHA256 != again.Recipe.ManifestSHA256 {
		t.Error("the same seed gave two manifests")
	}
	_, other, err := Build(Options{Seed: 8})
	if err != nil {
		t.Fatal(err)
	}
	if first.Recipe.ManifestSHA256 == other.Recipe.ManifestSHA256 {
		t.Error("two seeds gave one manifest")
	}
}

// The manifest that is written has the identity that the report names, and reads back as it was.
func TestIdentityIsThatOfTheFile(t *testing.T) {
	items, report := smoke(t)
	var file strings.Builder
	if err := sembench.WriteManifest(&file, slices.Values(items)); err != nil {
		t.Fatal(err)
	}
	back, sum, err := sembench.LoadManifest(strings.NewReader(file.String()), "smoke")
	if err != nil {
		t.Fatal(err)
	}
	if sum != report.Recipe.ManifestSHA256 || len(back) != len(items) {
		t.Errorf("read %d items with SHA-256 %s, want %d with %s", len(back), sum, len(items), report.Recipe.ManifestSHA256)
	}
	if audit := Audit(back, AuditOptions{}); !audit.Passed {
		t.Errorf("audit of the file: %v", audit.Violations)
	}
}

func TestManySeedsPass(t *testing.T) {
	for seed := range uint64(8) {
		if _, _, err := Build(Options{Seed: seed}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		`building manifest: profile "big" is unknown: use smoke, dev, test, live or stream`:            {Profile: "big"},
		`building manifest: length band "3k" is unknown: use 1k, 2k, 4k, 8k, 16k, 32k`:                 {Bands: []string{"3k"}},
		`building manifest: split "train" is unknown: use dev, test or live`:                           {Split: "train"},
		`building manifest: block size, max items and head must not be negative`:                       {MaxItems: -1},
		`building manifest: transform "magic" is unknown: use ` + strings.Join(TransformNames(), ", "): {Transforms: []string{"magic"}},
	} {
		if _, _, err := Build(o); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestSplitNamesTheProfile(t *testing.T) {
	o := Options{Bands: []string{"1k"}, Transforms: []string{"exact_repeat"}}
	o.Profile = "dev"
	_, want, err := Build(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Profile, o.Split = "", "dev"
	_, got, err := Build(o)
	if err != nil || got.Recipe.ManifestSHA256 != want.Recipe.ManifestSHA256 {
		t.Errorf("split dev is not profile dev: %v", err)
	}
	o.Profile, o.Split = "dev", "test"
	if _, _, err := Build(o); err == nil || err.Error() != "building manifest: profile dev and split test exclude each other: name one" {
		t.Errorf("two names: %v", err)
	}
}

func TestFrozenRecipes(t *testing.T) {
	_, report := smoke(t)
	frozen := Freeze(report)
	if err := VerifyFrozen(frozen, nil); err != nil {
		t.Error(err)
	}
	broken := frozen
	broken.ManifestSHA256 = "00"
	if err := VerifyFrozen(broken, nil); err == nil || !strings.HasSuffix(err.Error(), "it was frozen as 00") {
		t.Errorf("a wrong identity: %v", err)
	}
	broken = frozen
	broken.TokenizerName = "another"
	if err := VerifyFrozen(broken, nil); err == nil || !strings.Contains(err.Error(), "tokenizer o200k is o200k now, it was another") {
		t.Errorf("a changed tokenizer: %v", err)
	}
}

// A report and its recipe survive being written and read; a recipe that was read still verifies.
func TestReportRoundTrip(t *testing.T) {
	_, report, err := Build(Options{Seed: 1<<63 + 5, MaxItems: 12})
	if err != nil {
		t.Fatal(err)
	}
	var back sembench.BuildReport
	if err := sembench.Unmarshal(sembench.Marshal(report), &back); err != nil {
		t.Fatal(err)
	}
	if string(sembench.Marshal(back)) != string(sembench.Marshal(report)) {
		t.Error("the report reads back as another one")
	}
	if err := VerifyFrozen(back.Recipe, nil); err != nil {
		t.Error(err)
	}
}

// What was frozen on another machine is rebuilt byte for byte. A wanted change of the corpus or of a transform needs new
// recipes: sembench freeze with the settings that each names.
func TestFrozenRecipesOfTheRepository(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.freeze.json")
	if err != nil || len(paths) < 3 {
		t.Fatalf("recipes %v, %v", paths, err)
	}
	for _, path := range paths {
		var recipe sembench.FreezeRecipe
		if err := sembench.ReadDocument(path, &recipe); err != nil {
			t.Fatal(err)
		}
		if err := VerifyFrozen(recipe, nil); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
