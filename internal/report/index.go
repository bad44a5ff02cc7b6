package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"sembench"
)

//go:embed assets/index.html.tmpl
var indexTemplate string

// Entry is one run of a history. Only the numbers of its result are used; rows may be dropped.
type Entry struct {
	// Report is the link to the run's page, relative to the index; "" when there is none. Dir is what compare is called with.
	Report, Dir string
	Result      *sembench.Result
	Verdict     *sembench.Verdict
	// Before compares the entry with the one before it in time; nil for the first, or when nothing was compared.
	Before *sembench.Comparison
}

var indexPage = template.Must(template.New("index").Funcs(template.FuncMap{
	"ratio": ratio, "percent": percent, "interval": interval, "decimal": decimal, "words": func(s string) string { return strings.ReplaceAll(s, "_", " ") }, "outcome": comparedClass, "plural": plural, "inc": func(i int) int { return i + 1 },
}).Parse(indexTemplate))

func comparedClass(outcome string) string {
	switch outcome {
	case sembench.Better:
		return "good"
	case sembench.Worse, sembench.Mixed:
		return "bad"
	}
	return "soft"
}

// Index writes one self-contained page over runs, oldest first: verdicts, trends of what must be read together, what changed
// from run to run, and links to the pages. Runs are ordered by when they were made.
func Index(w io.Writer, entries []Entry) error {
	type run struct {
		Entry
		R        *sembench.Result
		P        *sembench.Paired
		Standing standing
	}
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b Entry) int {
		if c := strings.Compare(a.Result.CreatedAtUTC, b.Result.CreatedAtUTC); c != 0 {
			return c
		}
		return strings.Compare(a.Result.Run.RunID, b.Result.Run.RunID)
	})
	var runs []run
	for _, e := range sorted {
		runs = append(runs, run{e, e.Result, e.Result.Paired, standingOf(Input{Result: e.Result, Verdict: e.Verdict})})
	}
	view := struct {
		Style  template.CSS
		Runs   []run
		Trends []trend
	}{template.CSS(pageStyle), runs, trends(sorted)}
	return indexPage.Execute(w, view)
}

// trend is one metric over runs, drawn as SVG paths in a box of 560 by 120.
type trend struct {
	Title, Key string
	Points     []trendPoint
	Ticks      []trendTick
	Truth      *float64 // y of the line of truth 1; nil for none
	Path       string
}

type trendPoint struct {
	X, Y, Lo, Hi float64
	Bounds       bool
	Link, Words  string
	Class        string
}

type trendTick struct {
	Y     float64
	Words string
}

const trendWidth, trendHeight, trendLeft = 560.0, 120.0, 44.0

// trends draws the metrics that say together whether a cache got better: speed, what is semantic of it, hits, controls, answers.
func trends(entries []Entry) []trend {
	type metric struct {
		title, key string
		truth      bool
		of         func(*sembench.Paired) (*float64, *sembench.CI)
	}
	metrics := []metric{
		{"TTFT speedup, misses included", "blended_ttft_speedup_mean", true, func(p *sembench.Paired) (*float64, *sembench.CI) {
			return p.BlendedTTFTSpeedupMean, p.BlendedTTFTSpeedupMeanCI
		}},
		{"what the semantic layer adds", "semantic_incremental_ttft_speedup_mean", true, func(p *sembench.Paired) (*float64, *sembench.CI) {
			return p.SemanticIncrementalTTFTSpeedupMean, p.SemanticIncrementalTTFTSpeedupMeanCI
		}},
		{"hit rate", "hit_rate", false, func(p *sembench.Paired) (*float64, *sembench.CI) { return p.HitRate, nil }},
		{"negative controls, the truth is 1", "negative_control_ttft_speedup_mean", true, func(p *sembench.Paired) (*float64, *sembench.CI) {
			return p.NegativeControlTTFTSpeedupMean, p.NegativeControlTTFTSpeedupMeanCI
		}},
		{"answers: drop on hits below the floor", "warm_vs_cold_rouge_l_drop", false, func(p *sembench.Paired) (*float64, *sembench.CI) { return p.RougeLDropVsFloor, p.RougeLDropVsFloorCI }},
		{"cold TTFT, median ms", "ttft_cold_p50_ms", false, func(p *sembench.Paired) (*float64, *sembench.CI) { return p.TTFTColdP50MS, nil }},
	}
	var out []trend
	for _, m := range metrics {
		lo, hi := math.Inf(1), math.Inf(-1)
		if m.truth {
			lo, hi = 1, 1
		}
		type dot struct {
			at    int
			value float64
			ci    *sembench.CI
		}
		var dots []dot
		for i, e := range entries {
			if e.Result.Paired == nil {
				continue
			}
			v, ci := m.of(e.Result.Paired)
			if v == nil {
				continue
			}
			lo, hi = min(lo, *v), max(hi, *v)
			if ci != nil && ci.Lo != nil && ci.Hi != nil {
				lo, hi = min(lo, *ci.Lo), max(hi, *ci.Hi)
			} else {
				ci = nil
			}
			dots = append(dots, dot{i, *v, ci})
		}
		if len(dots) == 0 {
			continue
		}
		switch m.key { // a rate and a time are seen against nothing at all
		case "hit_rate":
			lo, hi = 0, 1
		case "ttft_cold_p50_ms":
			lo = 0
		}
		if lo == hi {
			lo, hi = lo-0.05, hi+0.05
		}
		y := func(v float64) float64 { return math.Round((8+(trendHeight-16)*(hi-v)/(hi-lo))*10) / 10 }
		x := func(i int) float64 {
			return math.Round((trendLeft+10+(trendWidth-trendLeft-20)*(float64(i)+0.5)/float64(len(entries)))*10) / 10
		}
		t := trend{Title: m.title, Key: m.key, Ticks: []trendTick{{y(hi), short(hi)}, {y(lo), short(lo)}}}
		if m.truth {
			t.Truth = new(y(1))
		}
		var path strings.Builder
		for k, d := range dots {
			e := entries[d.at]
			p := trendPoint{X: x(d.at), Y: y(d.value), Link: e.Report, Words: fmt.Sprintf("%s: %s", e.Result.Run.RunID, short(d.value)), Class: standingOf(Input{Result: e.Result, Verdict: e.Verdict}).Class}
			if d.ci != nil {
				p.Lo, p.Hi, p.Bounds = y(*d.ci.Lo), y(*d.ci.Hi), true
				p.Words += fmt.Sprintf(" [%s, %s]", short(*d.ci.Lo), short(*d.ci.Hi))
			}
			t.Points = append(t.Points, p)
			step := "L"
			if k == 0 || dots[k-1].at != d.at-1 || e.Before == nil || e.Before.Outcome == sembench.NotComparable {
				step = "M" // runs that are not comparable are not joined
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", step, p.X, p.Y)
		}
		t.Path = path.String()
		out = append(out, t)
	}
	return out
}

func short(v float64) string { return fmt.Sprintf("%.4g", v) }
