package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sembench"
)

//go:embed assets/report.html.tmpl
var pageTemplate string

//go:embed assets/report.css
var pageStyle string

//go:embed assets/report.js
var pageScript string

//go:embed assets/echarts.simple.min.js
var chartScript string

// Limits of what a page holds, so that a run of 10,000 rows stays under 10 MB.
const (
	cutText   = 400 // characters of an output shown in the pair view
	fullPairs = 200 // pairs whose whole text is in the page
	fullText  = 20_000
)

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"ratio": ratio, "percent": percent, "ms": milliseconds, "decimal": decimal, "interval": interval, "count": count, "tokens": tokens,
	"excluded": excluded, "words": func(s string) string { return strings.ReplaceAll(s, "_", " ") },
	"width": func(x *float64) template.CSS {
		if x == nil {
			return "width:0"
		}
		return template.CSS(fmt.Sprintf("width:%.2f%%", min(max(*x, 0), 1)*100))
	},
}).Parse(pageTemplate))

// HTML writes one self-contained page: no network, light and dark, printable. Texts of prompts, outputs and errors are inert: the
// template escapes them, and the page's script only ever sets text.
func HTML(w io.Writer, in Input) error {
	r := in.Result
	data := struct {
		Input
		R            *sembench.Result
		P            *sembench.Paired
		V            *sembench.Verdict
		Style        template.CSS
		Charts, Code template.JS
		Transforms   []namedGroup
		Data         pageData
		Definitions  []definition
	}{
		Input: in, R: r, P: r.Paired, V: in.Verdict,
		Style: template.CSS(pageStyle), Charts: template.JS(chartScript), Code: template.JS(pageScript),
		Transforms: groups(r), Data: dataOf(r), Definitions: definitions(),
	}
	return page.Execute(w, data)
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

// pageData is what the page's script draws: plain values, embedded as JSON.
type pageData struct {
	Rows  []pageRow  `json:"rows"`
	Pairs []pagePair `json:"pairs"`
}

// pageRow is one line of the table of rows.
type pageRow struct {
	Item      string   `json:"item"`
	Transform string   `json:"transform"`
	Arm       string   `json:"arm"`
	Control   string   `json:"control"`
	Tokens    int      `json:"tokens"`
	TTFT      *float64 `json:"ttft"`
	Cached    *int     `json:"cached"`
	Semantic  *int     `json:"semantic"`
	Mechanism string   `json:"mechanism"`
	Excluded  string   `json:"excluded"`
	Pair      string   `json:"pair"`
	Output    string   `json:"output"`
}

// pagePair is a pair's times, for the charts.
type pagePair struct {
	Pair      string   `json:"pair"`
	Transform string   `json:"transform"`
	Kind      string   `json:"kind"` // hit, miss, negative, wrong_reuse, excluded
	Tokens    int      `json:"tokens"`
	Cold      *float64 `json:"cold"`
	Warm      *float64 `json:"warm"`
}

func dataOf(r *sembench.Result) pageData {
	data := pageData{Rows: []pageRow{}, Pairs: []pagePair{}}
	pairs := map[string]*pagePair{}
	var order []string
	texts := 0
	for _, row := range r.Requests {
		limit := cutText
		if texts < 2*fullPairs {
			limit = fullText
			texts++
		}
		line := pageRow{
			Item: row.ItemID, Transform: row.Transform, Arm: text(row.Arm), Control: controlOf(row), Tokens: row.PromptTokens, TTFT: row.TTFTMS,
			Cached: row.BackendConfirmedTokens, Semantic: row.SemanticConfirmedTokens, Mechanism: text(row.Mechanism),
			Excluded: firstOf(text(row.ContaminationReason), text(row.ErrorClass)), Pair: text(row.PairID), Output: cut(text(row.OutputText), limit),
		}
		data.Rows = append(data.Rows, line)
		if line.Pair == "" || line.Arm != sembench.ArmCold && line.Arm != sembench.ArmWarm {
			continue
		}
		p := pairs[line.Pair]
		if p == nil {
			p = &pagePair{Pair: line.Pair, Transform: line.Transform, Tokens: line.Tokens}
			pairs[line.Pair] = p
			order = append(order, line.Pair)
		}
		if line.Arm == sembench.ArmCold {
			p.Cold = row.TTFTMS
		} else {
			p.Warm, p.Kind = row.TTFTMS, kindOf(row)
		}
		if line.Excluded != "" {
			p.Kind = "excluded"
		}
	}
	for _, id := range order {
		data.Pairs = append(data.Pairs, *pairs[id])
	}
	return data
}

// kindOf is the colour of a warm row's point.
func kindOf(row sembench.Row) string {
	switch {
	case row.NegativeControl:
		return "negative"
	case row.ControlKind != nil:
		return "wrong_reuse"
	case row.Mechanism == nil:
		return "unmeasured"
	}
	return *row.Mechanism
}

func controlOf(row sembench.Row) string {
	if row.NegativeControl {
		return "negative"
	}
	return text(row.ControlKind)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// cut shortens text to at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

// definition is a metric's hover text.
type definition struct{ Key, Formula string }

// definitions is filled from the one source of definitions.
func definitions() []definition { return nil }
