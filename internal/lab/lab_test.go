package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/judge"
)

// Every fault has a naive number.
func TestEveryFaultHasAClaim(t *testing.T) {
	for _, f := range table() {
		if c, ok := claimOf(f.Name); !ok || c.what == "" || (c.measure == nil) != (c.naive != nil && c.truth != nil) {
			t.Errorf("fault %s has no naive number, or half of one", f.Name)
		}
	}
}

// docs/selftest.md has a row for every fault, under the check that catches it, and tells how to read every check's accusation.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "selftest.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table() {
		by := "measured through"
		if f.Check != "" {
			by = "`" + f.Check + "`"
		}
		c, _ := claimOf(f.Name)
		if row := fmt.Sprintf("| `%s` | %s | %s | %s: ", f.Name, f.Family, by, c.what); !strings.Contains(string(text), row) {
			t.Errorf("docs/selftest.md has no row that begins %q", row)
		}
	}
	headings := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "### ") {
			headings += line
		}
	}
	for _, c := range judge.Checks() {
		if !strings.Contains(headings, c.Name) {
			t.Errorf("docs/selftest.md does not tell how to read %s", c.Name)
		}
	}
}

func TestCorrupted(t *testing.T) {
	for _, c := range []struct {
		naive, truth float64
		want         bool
	}{{1.1, 1, true}, {1.09, 1, false}, {0.89, 1, true}, {0, 0, false}, {0.001, 0, true}, {-110, -100, true}} {
		if got := corrupted(c.naive, c.truth); got != c.want {
			t.Errorf("corrupted(%g, %g) = %v", c.naive, c.truth, got)
		}
	}
}

// One fault that is caught, one that is measured through, and one of each channel's; every honest voice beside them.
func TestRunFewFaults(t *testing.T) {
	l := &lab{Options: Options{Dir: t.TempDir()}, ctx: t.Context()}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	faults, err := chosen([]string{"noop_reset", "bursts", "log_lost"})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []func() error{func() error { return l.faults(faults) }, l.mutate, l.honest} {
		if err := part(); err != nil {
			t.Fatal(err)
		}
	}
	l.conclude()
	if !l.out.Passed {
		t.Errorf("problems: %q", l.out.Problems)
	}
	want := map[string]string{"noop_reset": "isolation_canary", "bursts": measuredThrough, "log_lost": "log_channel"}
	for _, f := range l.out.Faults {
		if f.By != want[f.Name] || !f.Caught || !f.Corrupted {
			t.Errorf("%+v", f)
		}
	}
	if l.out.HonestRuns != 12 || l.out.FalseAlarms != 0 || l.out.TokensCompared == 0 || l.out.TokensWrong != 0 {
		t.Errorf("%d honest runs, %d accused; %d of %d tokens wrong", l.out.HonestRuns, l.out.FalseAlarms, l.out.TokensWrong, l.out.TokensCompared)
	}
	i := slices.IndexFunc(l.out.Mutation, func(m sembench.SelftestMutation) bool { return m.Check == "log_channel" })
	if i < 0 || !slices.Equal(l.out.Mutation[i].Pass, []string{"log_lost"}) {
		t.Errorf("without log_channel the lost log must pass: %+v", l.out.Mutation)
	}
}

// The lab itself can fail: a fault under the name of a check that does not see it is a miss, and a lie about the truth is found.
func TestTheLabCanFail(t *testing.T) {
	l := &lab{Options: Options{Dir: t.TempDir()}, ctx: t.Context()}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	faults, err := chosen([]string{"log_lost"})
	if err != nil {
		t.Fatal(err)
	}
	faults[0].Check = "audit_channel"
	if err := l.faults(faults); err != nil {
		t.Fatal(err)
	}
	if l.out.Faults[0].Caught || len(l.out.Problems) == 0 {
		t.Error("another check's failure counts as the named one's")
	}
	trial := l.judged[0]
	if text := trial.untrue(); text != "" {
		t.Errorf("a lost log changes no token: %s", text)
	}
	for id, truth := range trial.truth {
		truth.SemanticTokens += 16
		trial.truth[id] = truth
	}
	if compared, wrong, _ := trial.tokens(); compared == 0 || wrong != compared {
		t.Errorf("%d of %d rows differ from a truth that is wrong everywhere", wrong, compared)
	}
	if trial.untrue() == "" {
		t.Error("a truth that is wrong everywhere is not noticed")
	}
	// An accused honest run is a false alarm.
	l.acquit(setting{as: "vllm"}, trial)
	if l.out.FalseAlarms != 1 {
		t.Error("an accused run is no false alarm")
	}
}

// SGLang's responses claim fuzzy tokens, and its log says whether they were realized: the sums have to cover each other.
func TestFuzzyTokensAreRealized(t *testing.T) {
	c, err := newCorpus(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[string]string{"": sembench.Pass, "hit_not_materialized": sembench.Fail} {
		run, err := setting{as: "sglang", seed: 3, jitter: 0.01, faults: []string{fault}, corpus: c}.try(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if got, detail := run.outcome("hits_materialize"); got != want || run.verdict.Passed != (want == sembench.Pass) {
			t.Errorf("sglang with %q: %s (%s), want %s", fault, got, detail, want)
		}
	}
}

// A load that the audit declines and writes with no layer at once makes its request stand for two there; log and responses agree on a load
// that never was, and nobody is left to contradict them.
func TestPairOfFaultsThatAgree(t *testing.T) {
	c, err := newCorpus(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	run, err := setting{seed: faultSeed, jitter: honestJitter, faults: []string{"zero_layers", "declined_counted"}, corpus: c}.try(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got, detail := run.outcome("audit_joins"); got != sembench.Fail {
		t.Errorf("audit_joins is %s (%s)", got, detail)
	}
}

func TestUnknownFault(t *testing.T) {
	for _, names := range [][]string{{"no_such_fault"}, {"noop_reset", "noop_reset"}, {"reset_busy=2"}} {
		if _, err := Run(t.Context(), Options{Faults: names}); err == nil {
			t.Errorf("%v is accepted", names)
		}
	}
}

// A population's truth is the law's, whatever part is drawn: with no jitter every pair's ratio is exact.
func TestRejudgeWithoutJitter(t *testing.T) {
	l := &lab{Options: Options{Dir: t.TempDir()}, ctx: t.Context()}
	p, err := l.population("vllm")
	if err != nil {
		t.Fatal(err)
	}
	all := &corpus{items: p.trial.corpus.items, rows: p.trial.corpus.rows}
	again, err := p.rejudge(all, nil, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, want := *again.result.Paired.BlendedTTFTSpeedupMean, p.mean(statisticMean)
	if diff := got/want - 1; diff > 1e-3 || diff < -1e-3 {
		t.Errorf("mean speedup %.4f, the law says %.4f", got, want)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "lab-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := newCorpus(context.Background(), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := setting{seed: 1, jitter: 0.01, faults: []string{"hit_not_materialized"}, corpus: c}.try(context.Background(), dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	failed, _ := failing(t.verdict)
	fmt.Println(failed)
	// Output: [hits_materialize]
}
