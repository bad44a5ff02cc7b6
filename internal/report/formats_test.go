package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"image/png"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sembench"
)

const hostile = "</td><script>alert(1)</script> @everyone `x` [l](http://e) | \n::error::owned %0A ]]> \x01"

func render(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMarkdownIsInert(t *testing.T) {
	text := render(t, func(w *bytes.Buffer) error { return Markdown(w, small(hostile)) })
	for _, bad := range []string{"<script", "@everyone", "](http", "http://", "</td>", "`x`"} {
		if strings.Contains(text, bad) {
			t.Errorf("the summary holds %q:\n%s", bad, text)
		}
	}
	for _, want := range []string{"SIMULATED", "~~1.75x~~ | [1.25x, 2.25x] | 2 |", "isolation&#95;canary failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if strings.Count(render(t, func(w *bytes.Buffer) error { return Markdown(w, small("")) }), "\n") != strings.Count(text, "\n") {
		t.Error("foreign texts add lines")
	}
}

// One case a gate and one for the verdict; the file fails exactly when the verdict does.
func TestJUnit(t *testing.T) {
	in := small(hostile)
	in.Verdict.Gates = []sembench.GateResult{{Name: "a", Outcome: sembench.Pass}, {Name: "b" + hostile, Outcome: sembench.Inconclusive, NNeeded: new(40)}, {Name: "c", Outcome: sembench.NotJudged}, {Name: "d", Outcome: sembench.Missing}}
	count := func() (suites junitSuites) {
		text := render(t, func(w *bytes.Buffer) error { return JUnit(w, in) })
		if err := xml.Unmarshal([]byte(text), &suites); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return suites
	}
	if s := count(); s.Tests != 5 || s.Failures != 3 || s.Suites[0].Skipped != 1 {
		t.Errorf("%d tests, %d failures, %d skipped, want 5, 3 and 1", s.Tests, s.Failures, s.Suites[0].Skipped)
	}
	in.Verdict.Passed = true // inconclusive and missing were waived
	if s := count(); s.Failures != 0 || s.Suites[0].Skipped != 3 {
		t.Errorf("a passed verdict has %d failures and %d skipped, want 0 and 3", s.Failures, s.Suites[0].Skipped)
	}
	in.Verdict = nil
	if err := JUnit(&bytes.Buffer{}, in); err == nil {
		t.Error("no error without a verdict")
	}
}

func TestGitHubCommandsAreOurs(t *testing.T) {
	text := render(t, func(w *bytes.Buffer) error { return GitHub(w, small(hostile)) })
	command := regexp.MustCompile(`^::(error|warning|notice) title=[^:,\n]*::[^\n]*$`)
	for line := range strings.Lines(text) {
		if !command.MatchString(strings.TrimSuffix(line, "\n")) || strings.HasPrefix(line, "::error::owned") {
			t.Errorf("no command of ours: %q", line)
		}
	}
	if !strings.Contains(text, "::error title=sembench%3A g") || !strings.Contains(text, "%0A") {
		t.Errorf("the failed gate is missing:\n%s", text)
	}
}

// Null is an empty cell, measured nothing is 0, a formula is defused.
func TestCSV(t *testing.T) {
	in := small("")
	rows := in.Result.Requests
	rows[0].OutputText, rows[0].Planners = new("=1+1"), map[string]sembench.PlannerRow{"span": {EligibleBlocks: new(7)}}
	rows[1].SemanticConfirmedTokens = nil
	lines, err := csv.NewReader(strings.NewReader(render(t, func(w *bytes.Buffer) error { return CSV(w, in.Result) }))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	check := func(line int, name, want string) {
		t.Helper()
		at := slices.Index(lines[0], name)
		if at < 0 || lines[line][at] != want {
			t.Errorf("line %d: %s is not %q", line, name, want)
		}
	}
	check(1, "output_text", "'=1+1")
	check(1, "planners.span.eligible_blocks", "7")
	check(2, "planners.span.eligible_blocks", "")
	check(1, "semantic_confirmed_tokens", "0")
	check(2, "semantic_confirmed_tokens", "")
	check(2, "ttft_ms", "24")
	check(4, "negative_control", "false")
	if len(lines) != 5 {
		t.Errorf("%d lines, want 5", len(lines))
	}
}

// Parquet is read back by column name; null stays null.
func TestParquet(t *testing.T) {
	in := small("")
	in.Result.Requests[1].SemanticConfirmedTokens = nil
	text := render(t, func(w *bytes.Buffer) error { return Parquet(w, in.Result) })
	type line struct {
		Item     string   `parquet:"item_id,optional"`
		TTFT     *float64 `parquet:"ttft_ms,optional"`
		Semantic *int64   `parquet:"semantic_confirmed_tokens,optional"`
		Control  *bool    `parquet:"negative_control,optional"`
		Leak     *bool    `parquet:"leak,optional"`
	}
	got, err := parquet.Read[line](bytes.NewReader([]byte(text)), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[1].Item != "a" || *got[1].TTFT != 24 || got[1].Semantic != nil || *got[0].Semantic != 0 || *got[0].Control || got[0].Leak != nil {
		t.Errorf("%+v", got)
	}
}

// The document has what the schema demands. The whole was checked against llm-d's own code:
//
//	pip install llmd-benchmark-report==0.2.1
//	python -c 'import json, sys, llmd_benchmark_report.schema_v0_2_1 as m; m.BenchmarkReportV021(**json.load(sys.stdin))' < br.json
func TestLLMD(t *testing.T) {
	for name, in := range map[string]Input{"small": small(""), "empty": {Result: &sembench.Result{}}, "many": many(8, "")} {
		var doc map[string]any
		if err := json.Unmarshal([]byte(render(t, func(w *bytes.Buffer) error { return LLMD(w, in) })), &doc); err != nil {
			t.Fatal(err)
		}
		at := func(path ...string) any {
			var v any = doc
			for _, key := range path {
				m, _ := v.(map[string]any)
				v = m[key]
			}
			return v
		}
		for _, path := range [][]string{{"version"}, {"run", "uid"}, {"scenario", "load", "metadata", "cfg_id"}, {"scenario", "load", "standardized", "tool_version"}, {"scenario", "load", "standardized", "source"},
			{"scenario", "load", "standardized", "input_seq_len", "distribution"}, {"scenario", "load", "standardized", "input_seq_len", "value"}, {"scenario", "load", "native"}, {"results", "request_performance", "aggregate", "requests", "total"}} {
			if at(path...) == nil {
				t.Errorf("%s: no %s", name, strings.Join(path, "."))
			}
		}
	}
}

// Every chart that has points is a picture with something in it, and an SVG that is XML.
func TestPictures(t *testing.T) {
	charts := Charts(many(24, ""))
	if len(charts) != 7 {
		t.Fatalf("%d charts, want 7", len(charts))
	}
	for _, c := range charts {
		im, err := png.Decode(strings.NewReader(render(t, func(w *bytes.Buffer) error { return Picture(w, c, "png") })))
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		coloured := 0
		for y := range im.Bounds().Dy() {
			for x := range im.Bounds().Dx() {
				if r, g, b, _ := im.At(x, y).RGBA(); r != g || g != b {
					coloured++
				}
			}
		}
		if coloured < 100 {
			t.Errorf("%s: %d coloured pixels", c.ID, coloured)
		}
		if err := xml.Unmarshal([]byte(render(t, func(w *bytes.Buffer) error { return Picture(w, c, "svg") })), new(struct{})); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
	if err := Picture(&bytes.Buffer{}, Chart{ID: "x", Empty: "nothing"}, "png"); err == nil {
		t.Error("an empty chart is drawn")
	}
	if err := Picture(&bytes.Buffer{}, charts[0], "gif"); err == nil {
		t.Error("gif is drawn")
	}
}

// ECDF steps by hand: times 10, 20, 20, 40 rise to 1/4, 2/4, 3/4, 1.
func TestDistribution(t *testing.T) {
	var r sembench.Result
	for i, ms := range []float64{20, 10, 40, 20} {
		for _, arm := range []string{"cold", "warm"} {
			r.Requests = append(r.Requests, sembench.Row{ItemID: "i", Arm: &arm, PairID: new(string(rune('a' + i))), TTFTMS: &ms, Mechanism: new("none")})
		}
	}
	c := distributionChart(&r)
	if len(c.Series) != 2 {
		t.Fatalf("%d series, want 2", len(c.Series))
	}
	for i, want := range [][2]float64{{10, 0}, {10, .25}, {20, .5}, {20, .75}, {40, 1}} {
		if p := c.Series[0].Points[i]; p.X != want[0] || math.Abs(p.Y-want[1]) > 1e-12 {
			t.Errorf("step %d is %v, %v, want %v", i, p.X, p.Y, want)
		}
	}
}

func TestIndex(t *testing.T) {
	a, b := small(hostile), small("")
	a.Result.CreatedAtUTC, b.Result.CreatedAtUTC = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
	text := render(t, func(w *bytes.Buffer) error {
		return Index(w, []Entry{{Result: a.Result, Verdict: a.Verdict, Report: "a/report.html", Dir: "a'b", Before: &sembench.Comparison{Outcome: sembench.NotComparable, Reasons: []string{hostile}}}, {Result: b.Result, Dir: "b"}})
	})
	if strings.Contains(text, "<script>alert") {
		t.Error("a planted script is in the index")
	}
	for _, want := range []string{`href="a/report.html"`, "not comparable", "1.75x", "[1.25x, 2.25x]", "NO VERDICT", "FAIL"} {
		if !strings.Contains(text, want) {
			t.Errorf("the index lacks %q", want)
		}
	}
	if strings.Index(text, "NO VERDICT") > strings.Index(text, ">FAIL<") {
		t.Error("runs are not in the order of time")
	}
	if err := Index(&bytes.Buffer{}, nil); err != nil {
		t.Error(err)
	}
}

func TestCanaryPasses(t *testing.T) {
	check := func(outcomes ...string) *sembench.Isolation {
		var i sembench.Isolation
		for _, o := range outcomes {
			i.Canary = append(i.Canary, sembench.CanaryCheck{Outcome: o})
		}
		return &i
	}
	got := CanaryPasses([]sembench.Observation{{ItemID: "canary-0", Role: "canary-a-seed"}, {ItemID: "canary-0", Isolation: check("pass", "not_exercised")}, {ItemID: "x", Role: "recipient"}, {ItemID: "x", Role: "recipient", Superseded: true},
		{ItemID: "x", Role: "donor-0"}, {ItemID: "canary-1", Isolation: check("fail", "pass")}, {ItemID: "canary-2", Isolation: check("not_exercised")}})
	if want := []CanaryPass{{0, "pass"}, {1, "fail"}, {1, "not_exercised"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
