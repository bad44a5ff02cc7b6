package workload

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/token"
)

func regex(t testing.TB) token.Tokenizer {
	t.Helper()
	tk, err := token.Open("regex")
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

const musique = "../../../shared/data/musique/musique_s.json"

func musiqueFile(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(musique)
	if err != nil {
		t.Skip("the MuSiQue file is not beside the project")
	}
	return text
}

// workloads.md names 34 of 150 records without their answer. What remains is clean.
func TestMuSiQue(t *testing.T) {
	text := musiqueFile(t)
	items, report, err := FromSource(bytes.NewReader(text), musique, "", Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if *report.SourceRecords != 150 || report.Found["answer_missing"] != 34 || report.Excluded["answer_missing"] != 34 {
		t.Errorf("%d records, found %v, excluded %v", *report.SourceRecords, report.Found, report.Excluded)
	}
	if report.Found["unrelated_share_run"] == 0 || report.Excluded["shares_a_run_with_another_record"] == 0 {
		t.Errorf("no shared passage was found: %v", report.Found)
	}
	if !report.Audit.Passed {
		t.Errorf("what remains: %v", report.Audit.Violations)
	}
	sources := map[string]bool{}
	for _, it := range items {
		sources[it.SourceID] = true
		if len(it.Answers) == 0 || it.Input == "" || it.Text("length_band") == "" {
			t.Errorf("%s: no question, answer or band", it.ItemID)
		}
	}
	if len(items) != 8*len(sources) || len(sources)+report.Excluded["answer_missing"]+report.Excluded["shares_a_run_with_another_record"] != 150 {
		t.Errorf("%d items of %d sources, excluded %v", len(items), len(sources), report.Excluded)
	}
	if rate := report.Audit.ByTransform["negative_control"].ExactBlockHitRate; *rate >= 0.02 {
		t.Errorf("controls hit exactly: %v", *rate)
	}
	if rate := report.Audit.ByTransform["exact_repeat"].ExactBlockHitRate; *rate != 1 {
		t.Errorf("exact_repeat hits %v", *rate)
	}
	_, report, err = FromSource(bytes.NewReader(text), musique, "", Options{Seed: 1, Transforms: []string{"rag_reorder"}, MaxItems: 5})
	if err != nil {
		t.Fatal(err)
	}
	frozen := Freeze(report)
	if err := VerifyFrozen(frozen, bytes.NewReader(text)); err != nil {
		t.Error(err)
	}
	if err := VerifyFrozen(frozen, nil); err == nil {
		t.Error("verified without its source")
	}
	if err := VerifyFrozen(frozen, bytes.NewReader(append(slices.Clone(text), '\n'))); err == nil || !strings.Contains(err.Error(), "has SHA-256") {
		t.Errorf("another source: %v", err)
	}
}

func TestMuSiQueSampleAndStrict(t *testing.T) {
	text := musiqueFile(t)
	items, report, err := FromSource(bytes.NewReader(text), musique, "rag-contexts", Options{MaxItems: 24})
	if err != nil {
		t.Fatal(err)
	}
	n := tally(items)
	if len(items) != 24 || n["negative_control"] != 8 || len(n) != 8 {
		t.Errorf("%d items: %v", len(items), n)
	}
	if len(report.Audit.Violations) > 0 {
		t.Error(report.Audit.Violations)
	}
	if _, _, err := FromSource(bytes.NewReader(text), musique, "", Options{Strict: true}); err == nil || !strings.Contains(err.Error(), "34 answer_missing") {
		t.Errorf("strict: %v", err)
	}
}

func TestSourceReportsEveryBadRecord(t *testing.T) {
	const file = `{"ctxs": [{"text": "Oslo is big."}], "question": "Which?", "answers": ["Oslo"]}
{"ctxs": [{"text": 7}], "answers": "x"}
{"ctxs": "none", "question": 3, "answers": [null]}
{"ctxs": [}
`
	_, _, err := FromSource(strings.NewReader(file), "f.jsonl", "", Options{Tokenizer: regex(t)})
	var bad *sembench.Problems
	if !errors.As(err, &bad) {
		t.Fatalf("got %v, want Problems", err)
	}
	const want = `reading f.jsonl: record 2 (line 2): ctxs[0].text is a number, want text; question is missing
reading f.jsonl: record 3 (line 3): ctxs is a string, want a list; question is a number, want text; answers[0] is null, want text
reading f.jsonl: record 4: line 4, column 11: unexpected "}"`
	if bad.Count != 3 || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// Multiple choice: the question carries the choices, the letter goes into the metadata.
func TestMultipleChoiceSource(t *testing.T) {
	line := func(id, word string) string {
		return fmt.Sprintf(`{"_id": %q, "domain": "Law", "question": "Which?", "choice_A": "one", "choice_B": "two", "choice_C": "three", "choice_D": "four", "answer": "C", "context": %q}`, id, words(word, 400)+"\n\n"+words(word+"x", 400)) + "\n"
	}
	items, report, err := FromSource(strings.NewReader(line("a", "p")+line("b", "q")), "v2.jsonl", "", Options{Tokenizer: regex(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 16 || !report.Audit.Passed || items[0].Text("expected_answer_letter") != "C" || items[0].Text("domain") != "Law" {
		t.Errorf("%d items, %v, %v, excluded %v", len(items), report.Audit.Violations, items[0].Metadata, report.Excluded)
	}
	for _, it := range items {
		if it.NegativeControl && (it.Text("donor_source_id") == it.SourceID || it.Text("donor_source_id") == "") {
			t.Errorf("control of %s has donor %s", it.SourceID, it.Text("donor_source_id"))
		}
	}
}

func TestSourceWithNothingLeft(t *testing.T) {
	const file = `{"ctxs": [{"text": "Oslo is big."}], "question": "Which?", "answers": ["Rome"]}`
	_, _, err := FromSource(strings.NewReader(file), "f.json", "", Options{})
	if err == nil || err.Error() != "building manifest: no item of f.json is left: 1 answer_missing" {
		t.Errorf("got %v", err)
	}
}

// Shares of 10,000 sources by hash: 2, 7 and 1 in ten, five standard deviations wide.
func TestSplitOf(t *testing.T) {
	n := map[string]int{}
	for i := range 10000 {
		n[splitOf(fmt.Sprint("source-", i))]++
	}
	for name, want := range map[string]int{"dev": 2000, "test": 7000, "live": 1000} {
		if d := n[name] - want; d < -230 || d > 230 {
			t.Errorf("%s has %d of 10,000 sources", name, n[name])
		}
	}
}

// Line ends, compression and containers of a source change its identity but no item.
func TestSourceSpellings(t *testing.T) {
	line := func(name string) string {
		return fmt.Sprintf(`{"id": %q, "ctxs": [{"text": %q}, {"text": %q}], "question": "Which?", "answers": [%q]}`, name, words(name, 60), words(name+"y", 60), name+"7")
	}
	a, b := line("p"), line("q")
	ids := func(text string) string {
		items, _, err := FromSource(strings.NewReader(text), "f.jsonl", "", Options{Tokenizer: regex(t)})
		if err != nil {
			t.Fatal(err)
		}
		return identity(items)
	}
	want := ids(a + "\n" + b + "\n")
	for _, text := range []string{a + "\r\n" + b, "\xef\xbb\xbf" + a + "\n\n" + b, "[" + a + ",\r\n" + b + "]"} {
		if ids(text) != want {
			t.Errorf("%.40q… gives other items", text)
		}
	}
}
