package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"sembench"
)

//go:embed assets/report.html.tmpl
var pageTemplate string

//go:embed assets/report.css
var pageStyle string

//go:embed assets/report.js
var pageScript string

//go:embed assets/echarts.common.min.js
var chartScript string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"ratio": ratio, "percent": percent, "ms": milliseconds, "decimal": decimal, "interval": interval, "count": count, "tokens": tokens, "plural": plural, "def": defined, "text": text,
	"excluded": excluded, "words": func(s string) string { return strings.ReplaceAll(s, "_", " ") },
	"width": func(x *float64) template.CSS {
		if x == nil {
			return "width:0"
		}
		return template.CSS(fmt.Sprintf("width:%.2f%%", min(max(*x, 0), 1)*100))
	},
	"reasons": reasons, "hasNull": func(x *float64) bool { return x == nil },
	"repeats": func(g sembench.GateResult) bool {
		return strings.HasPrefix(g.Metric, "checks.") && g.Outcome == sembench.Pass
	},
	"waivers": waivers, "outcome": outcomeClass,
}).Parse(pageTemplate))

// outcomeClass is the colour of an outcome.
func outcomeClass(outcome string) string {
	switch outcome {
	case sembench.Pass:
		return "good"
	case sembench.NotJudged:
		return "soft"
	case sembench.Inconclusive:
		return "open"
	}
	return "bad"
}

// pageView is what the template reads.
type pageView struct {
	Input
	R            *sembench.Result
	P            *sembench.Paired
	V            *sembench.Verdict
	Standing     standing
	Scale        scale
	Style        template.CSS
	Charts, Code template.JS
	Transforms   []namedGroup
	Planners     []namedPlanner
	WrongReuse   []namedWrongReuse
	Lost         []lostPairs
	Settings     []setting
	Data         pageData
	Definitions  []section
	Truncated    bool // rows stand in another file and are not in the page
}

// HTML writes one self-contained page: no network, light and dark, printable. Texts of prompts, outputs and errors are inert: the
// template escapes them, and the page's script only ever sets text.
func HTML(w io.Writer, in Input) error {
	r := in.Result
	numbers, err := definitions(r)
	if err != nil {
		return err
	}
	view := pageView{
		Input: in, R: r, P: r.Paired, V: in.Verdict, Standing: standingOf(in), Scale: scaleOf(r),
		Style: template.CSS(pageStyle), Charts: template.JS(chartScript), Code: template.JS(pageScript),
		Transforms: groups(r), Planners: planners(r), WrongReuse: wrongReuse(r), Lost: lost(r.Paired), Settings: settings(r),
		Data: dataOf(in), Definitions: numbers, Truncated: len(r.Requests) == 0 && r.RowsFile != nil,
	}
	return page.Execute(w, view)
}

// namedGroup is one transform's row of the ladder.
type namedGroup struct {
	Name string
	sembench.Group
}

func groups(r *sembench.Result) []namedGroup {
	var out []namedGroup
	for _, name := range slices.Sorted(maps.Keys(r.ByTransform)) {
		out = append(out, namedGroup{name, r.ByTransform[name]})
	}
	return out
}

type namedPlanner struct {
	Name string
	sembench.PlannerAggregate
}

func planners(r *sembench.Result) []namedPlanner {
	var out []namedPlanner
	for _, name := range slices.Sorted(maps.Keys(r.Aggregate.Planners)) {
		out = append(out, namedPlanner{name, r.Aggregate.Planners[name]})
	}
	return out
}

type namedWrongReuse struct {
	Name string
	sembench.WrongReuse
}

func wrongReuse(r *sembench.Result) []namedWrongReuse {
	var out []namedWrongReuse
	for _, name := range slices.Sorted(maps.Keys(r.Aggregate.WrongReuse)) {
		out = append(out, namedWrongReuse{name, r.Aggregate.WrongReuse[name]})
	}
	return out
}

// lostPairs is one line of what became of every planned pair.
type lostPairs struct {
	Pairs int
	What  string
}

func lost(p *sembench.Paired) []lostPairs {
	if p == nil {
		return nil
	}
	out := []lostPairs{{p.PairsUsed, "used in the headline"}, {p.NegativeControlPairs, "negative controls, judged apart"}, {p.WrongReusePairs, "wrong-reuse controls, judged apart"},
		{p.PairsContaminated, "contaminated" + reasons(p.ContaminationReasons)}, {p.PairsErrored, "errored: a recipient failed"}, {p.PairsUnpaired, "unpaired: an arm was never sent"}}
	for _, reason := range slices.Sorted(maps.Keys(p.PairsExcluded)) {
		out = append(out, lostPairs{p.PairsExcluded[reason], "excluded: " + strings.ReplaceAll(reason, "_", " ")})
	}
	return out
}

// setting is one effective setting of the run.
type setting struct {
	Name  string
	Value string
}

func settings(r *sembench.Result) []setting {
	var out []setting
	for _, name := range slices.Sorted(maps.Keys(r.Config)) {
		out = append(out, setting{name, fmt.Sprint(r.Config[name])})
	}
	return out
}

// scale draws speedups side by side on one logarithmic axis.
type scale struct {
	Lines    []scaleLine
	Ticks    []tick
	Measured bool // any line has a value
}

type tick struct {
	At    template.CSS
	Words string
}

// scaleLine is one speedup: Mark, Bar and their places are CSS; Bar is empty without an interval.
type scaleLine struct {
	Key, Words, Note string
	Value            *float64
	CI               *sembench.CI
	N                string
	Mark, Bar        template.CSS
	Class            string
}

// scaleOf lists the speedups that have to be read together: the headline, its parts, and what has a known truth of 1.
func scaleOf(r *sembench.Result) scale {
	p := r.Paired
	if p == nil {
		return scale{}
	}
	pairs := func(n *int) string {
		if n == nil {
			return ""
		}
		return plural(*n, "pair")
	}
	aa := ""
	if p.AATTFTSpeedupGeomeanCI != nil {
		aa = plural(p.AATTFTSpeedupGeomeanCI.N, "pair")
	}
	s := scale{Lines: []scaleLine{
		{Key: "blended_ttft_speedup_mean", Words: "all together", Note: "mean, misses and prefix caching included", Value: p.BlendedTTFTSpeedupMean, CI: p.BlendedTTFTSpeedupMeanCI, N: plural(p.PairsUsed, "pair"), Class: "used"},
		{Key: "exact_baseline_ttft_speedup_mean", Words: "prefix caching alone", Note: "the stock engine, same items", Value: p.ExactBaselineTTFTSpeedupMean, CI: p.ExactBaselineTTFTSpeedupMeanCI, N: pairs(p.ExactBaselinePairs), Class: "exact"},
		{Key: "semantic_incremental_ttft_speedup_mean", Words: "what the semantic layer adds", Note: "prefix caching alone over warm", Value: p.SemanticIncrementalTTFTSpeedupMean, CI: p.SemanticIncrementalTTFTSpeedupMeanCI, N: pairs(p.ExactBaselinePairs), Class: "external"},
		{Key: "hit_only_ttft_speedup_mean", Words: "hits alone", Note: "hit rate " + percent(p.HitRate), Value: p.HitOnlyTTFTSpeedupMean, CI: p.HitOnlyTTFTSpeedupMeanCI, N: pairs(p.Hits), Class: "external"},
		{Key: "negative_control_ttft_speedup_mean", Words: "negative controls", Note: "the truth is 1", Value: p.NegativeControlTTFTSpeedupMean, CI: p.NegativeControlTTFTSpeedupMeanCI, N: plural(p.NegativeControlPairs, "pair"), Class: "negative"},
		{Key: "aa_ttft_speedup_geomean", Words: "same arm twice (A/A)", Note: "the truth is 1; geometric mean", Value: p.AATTFTSpeedupGeomean, CI: p.AATTFTSpeedupGeomeanCI, N: aa, Class: "negative"},
	}}
	if p.ShamTTFTSpeedupGeomean != nil {
		s.Lines = append(s.Lines, scaleLine{Key: "sham_ttft_speedup_geomean", Words: "unrelated donors (sham)", Note: "the truth is 1; geometric mean", Value: p.ShamTTFTSpeedupGeomean, CI: p.ShamTTFTSpeedupGeomeanCI, Class: "negative"})
	}
	s.place()
	return s
}

// place gives every line its place on an axis from the lowest to the highest bound; 1 is always on it.
func (s *scale) place() {
	lo, hi := 0.8, 1.25
	for _, line := range s.Lines {
		for _, x := range bounds(line) {
			if x > 0 {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
	}
	lo, hi = lo/1.04, hi*1.04
	at := func(x float64) float64 { return 100 * math.Log(max(x, lo)/lo) / math.Log(hi/lo) }
	for i := range s.Lines {
		line := &s.Lines[i]
		if line.Value == nil {
			continue
		}
		s.Measured = true
		line.Mark = template.CSS(fmt.Sprintf("left:%.2f%%", at(*line.Value)))
		if ci := line.CI; ci != nil && ci.Lo != nil && ci.Hi != nil {
			line.Bar = template.CSS(fmt.Sprintf("left:%.2f%%;width:%.2f%%", at(*ci.Lo), at(*ci.Hi)-at(*ci.Lo)))
		}
	}
	last := -100.0
	for _, x := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000} {
		if place := at(x); x >= lo && x <= hi && (place-last > 8 || x == 1) {
			s.Ticks = append(s.Ticks, tick{template.CSS(fmt.Sprintf("left:%.2f%%", place)), fmt.Sprintf("%gx", x)})
			last = place
		}
	}
}

func bounds(line scaleLine) []float64 {
	var out []float64
	if line.Value != nil {
		out = append(out, *line.Value)
	}
	if line.CI != nil && line.CI.Lo != nil && line.CI.Hi != nil {
		out = append(out, *line.CI.Lo, *line.CI.Hi)
	}
	return out
}
