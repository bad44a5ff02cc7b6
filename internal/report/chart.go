package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sembench"
)

// Chart is one picture of a result: what is drawn, not how. The page draws it with ECharts, Picture with gonum, both from
// the same points. Coordinates are stored values, their ranks (ECDF) or a pair's own cold/warm ratio; no statistic is made here.
type Chart struct {
	// ID names the element of the page and the file of a picture.
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Note   string   `json:"note"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
	Lines  []Line   `json:"lines"`
	// Empty says why there is nothing to draw; "" when there is.
	Empty string `json:"empty"`
}

// Axis is continuous, or has one integer place for each of Categories.
type Axis struct {
	Title      string   `json:"title"`
	Categories []string `json:"categories,omitempty"`
	Log        bool     `json:"log,omitempty"`
	Zero       bool     `json:"zero,omitempty"` // starts at 0
	Max        float64  `json:"max,omitempty"`  // where it ends; 0: as the points need
}

// Series is one legend entry. Kind chooses the colour and the symbol.
type Series struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	Shape  string  `json:"shape"` // points, step, bars, intervals
	Points []Point `json:"points"`
}

// Point is a place with the bounds of its interval where it has one; Row is the table row that it stands for, -1 for none.
type Point struct {
	X     float64  `json:"x"`
	Y     float64  `json:"y"`
	XLo   *float64 `json:"xlo,omitempty"`
	XHi   *float64 `json:"xhi,omitempty"`
	YLo   *float64 `json:"ylo,omitempty"`
	YHi   *float64 `json:"yhi,omitempty"`
	Row   int      `json:"row"`
	Label string   `json:"label,omitempty"`
}

// Line is a reference: x = At, y = At, or the diagonal.
type Line struct {
	Name string  `json:"name"`
	Dir  string  `json:"dir"` // x, y, diagonal
	At   float64 `json:"at"`
	Kind string  `json:"kind"`
}

// Charts are the pictures of a result, in the order of the page.
func Charts(in Input) []Chart {
	r := in.Result
	pairs := pairsOf(r)
	charts := []Chart{scatterChart(pairs), distributionChart(r), transformChart(r), lengthChart(r, pairs), qualityChart(r, pairs), mechanismChart(r), timelineChart(in)}
	for i := range charts {
		if c := &charts[i]; len(c.Series) == 0 && c.Empty == "" {
			c.Empty = "nothing was measured that could be drawn here"
		}
	}
	return charts
}

// pair is a pair's two rows as the charts need them; -1 is no row. Kind is how the warm recipient was served, or the control.
type pair struct {
	id, transform, band, kind string
	cold, warm                *float64
	speedup, agreement        *float64 // as the result says; null in older results and in excluded pairs
	tokens, row               int
}

// Kinds of points, in the order of legends: served how, then controls, then what is in no headline.
var kinds = []string{"external", "scatter", "head", "exact_external", "exact", "none", "unmeasured", "negative", "wrong_reuse", "excluded"}

// kindNames are the legend's words.
var kindNames = map[string]string{"external": "semantic", "scatter": "semantic, scattered", "head": "semantic, head", "exact_external": "exact, external", "exact": "exact prefix",
	"none": "no reuse", "unmeasured": "reuse not measured", "negative": "negative control", "wrong_reuse": "wrong-reuse control", "excluded": "excluded"}

func pairsOf(r *sembench.Result) []pair {
	at := map[string]int{}
	var out []pair
	for i, row := range r.Requests {
		arm := text(row.Arm)
		if row.PairID == nil || arm != sembench.ArmCold && arm != sembench.ArmWarm {
			continue
		}
		k, seen := at[*row.PairID]
		if !seen {
			k = len(out)
			at[*row.PairID] = k
			out = append(out, pair{id: *row.PairID, transform: row.Transform, band: band(row), tokens: row.PromptTokens, row: i, kind: "unmeasured"})
		}
		p := &out[k]
		if arm == sembench.ArmCold {
			p.cold = row.TTFTMS
		} else {
			p.warm, p.row, p.tokens, p.speedup, p.agreement = row.TTFTMS, i, row.PromptTokens, row.TTFTSpeedup, row.WarmVsColdRougeL
			if p.kind != "excluded" {
				p.kind = kindOf(row)
			}
		}
		if excludedWhy(row) != "" {
			p.kind = "excluded"
		}
	}
	return out
}

// kindOf is how a warm row counts: a control, or its mechanism.
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

// excludedWhy is the reason why a row is in no aggregate, "" when it is.
func excludedWhy(row sembench.Row) string {
	switch {
	case row.ContaminationReason != nil:
		return *row.ContaminationReason
	case row.ErrorClass != nil:
		return *row.ErrorClass
	case row.Status != nil && *row.Status != sembench.StatusOK:
		return cmp.Or(text(row.Reason), *row.Status)
	}
	switch class := text(row.PairClass); class {
	case "contaminated", "errored", "excluded", "unpaired":
		return "pair " + class
	}
	return ""
}

func band(row sembench.Row) string {
	if row.LengthBand == nil || *row.LengthBand == "" {
		return "all"
	}
	return *row.LengthBand
}

// byKind makes one series a kind out of the pairs that place accepts.
func byKind(pairs []pair, place func(int, pair) (Point, bool)) []Series {
	found := map[string]*Series{}
	var others []string
	for i, p := range pairs {
		point, ok := place(i, p)
		if !ok {
			continue
		}
		if found[p.kind] == nil {
			found[p.kind] = &Series{Name: cmp.Or(kindNames[p.kind], p.kind), Kind: p.kind, Shape: "points"}
			if !slices.Contains(kinds, p.kind) {
				others = append(others, p.kind)
			}
		}
		found[p.kind].Points = append(found[p.kind].Points, point)
	}
	slices.Sort(others)
	var out []Series
	for _, kind := range append(slices.Clone(kinds), others...) {
		if s := found[kind]; s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// speedupOf is a pair's ratio as the result says it; older results leave the division to their readers.
func speedupOf(p pair) float64 {
	if p.speedup != nil {
		return *p.speedup
	}
	return *p.cold / *p.warm
}

func both(p pair) bool { return p.cold != nil && p.warm != nil && *p.cold > 0 && *p.warm > 0 }

// wide tells that values spread so far that only a logarithmic axis shows them all.
func wide(lo, hi float64) bool { return lo > 0 && hi/lo > 20 }

func scatterChart(pairs []pair) Chart {
	c := Chart{ID: "scatter", Title: "Cold against warm TTFT", Note: "One point a pair, controls and excluded pairs marked. On the dashed line nothing was gained; below it the warm arm was faster.",
		X: Axis{Title: "cold TTFT, ms"}, Y: Axis{Title: "warm TTFT, ms"}, Lines: []Line{{"no gain", "diagonal", 0, "none"}}}
	lo, hi := math.Inf(1), 0.0
	c.Series = byKind(pairs, func(_ int, p pair) (Point, bool) {
		if !both(p) {
			return Point{}, false
		}
		lo, hi = min(lo, *p.cold, *p.warm), max(hi, *p.cold, *p.warm)
		return Point{X: *p.cold, Y: *p.warm, Row: p.row}, true
	})
	logs := wide(lo, hi)
	c.X.Log, c.Y.Log, c.X.Zero, c.Y.Zero = logs, logs, !logs, !logs
	c.X.Max, c.Y.Max = hi*1.05, hi*1.05
	return c
}

// distributionChart steps up at each TTFT of the pairs in the headline.
func distributionChart(r *sembench.Result) Chart {
	c := Chart{ID: "ecdf", Title: "Distribution of TTFT", Note: "Share of recipients at or below a time. Pairs of the headline only: no controls, nothing excluded.",
		X: Axis{Title: "TTFT, ms"}, Y: Axis{Title: "share of recipients", Zero: true, Max: 1}}
	used := usedPairs(r)
	lo, hi := math.Inf(1), 0.0
	for _, arm := range []string{sembench.ArmCold, sembench.ArmExact, sembench.ArmWarm} {
		var times []float64
		for _, row := range r.Requests {
			if text(row.Arm) == arm && row.TTFTMS != nil && used[text(row.PairID)] && excludedWhy(row) == "" {
				times = append(times, *row.TTFTMS)
			}
		}
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		lo, hi = min(lo, times[0]), max(hi, times[len(times)-1])
		s := Series{Name: armNames[arm], Kind: "arm-" + arm, Shape: "step", Points: []Point{{X: times[0], Y: 0, Row: -1}}}
		for i, t := range times {
			s.Points = append(s.Points, Point{X: t, Y: float64(i+1) / float64(len(times)), Row: -1})
		}
		c.Series = append(c.Series, s)
	}
	c.X.Log = wide(lo, hi)
	return c
}

var armNames = map[string]string{sembench.ArmCold: "cold", sembench.ArmWarm: "warm", sembench.ArmExact: "prefix caching alone", sembench.ArmSham: "sham donors", sembench.ArmAA: "cold again (A/A)", sembench.ArmSingle: "single"}

// usedPairs are the pairs whose points are neither controls nor excluded.
func usedPairs(r *sembench.Result) map[string]bool {
	out := map[string]bool{}
	for _, p := range pairsOf(r) {
		out[p.id] = both(p) && p.kind != "negative" && p.kind != "wrong_reuse" && p.kind != "excluded"
	}
	return out
}

// groupSpeedup is what stands for a group: its headline, or its controls' value when it has no other pairs.
func groupSpeedup(p *sembench.Paired) (value *float64, ci *sembench.CI, kind string, n int) {
	switch {
	case p == nil:
		return nil, nil, "", 0
	case p.BlendedTTFTSpeedupMean != nil:
		return p.BlendedTTFTSpeedupMean, p.BlendedTTFTSpeedupMeanCI, "used", p.PairsUsed
	case p.NegativeControlTTFTSpeedupMean != nil:
		return p.NegativeControlTTFTSpeedupMean, p.NegativeControlTTFTSpeedupMeanCI, "negative", p.NegativeControlPairs
	}
	return nil, nil, "", 0
}

func transformChart(r *sembench.Result) Chart {
	c := Chart{ID: "transforms", Title: "Speedup by transform", Note: "Mean of cold/warm over the pairs of a transform, misses included, with its interval (one that runs out of the picture is wider than it). Left of the dashed line the warm arm was slower.",
		X: Axis{Title: "cold / warm TTFT", Zero: true}, Lines: []Line{{"no gain", "x", 1, "none"}}}
	used := Series{Name: "pairs of the headline", Kind: "used", Shape: "intervals"}
	controls := Series{Name: "negative controls, truth 1", Kind: "negative", Shape: "intervals"}
	names := slices.Sorted(maps.Keys(r.ByTransform))
	slices.Reverse(names)
	for _, name := range names {
		value, ci, kind, n := groupSpeedup(r.ByTransform[name].Paired)
		if value == nil {
			continue
		}
		p := Point{X: *value, Y: float64(len(c.Y.Categories)), Row: -1, Label: name + ", " + plural(n, "pair")}
		if ci != nil {
			p.XLo, p.XHi = ci.Lo, ci.Hi
		}
		c.Y.Categories = append(c.Y.Categories, strings.ReplaceAll(name, "_", " "))
		if kind == "used" {
			used.Points = append(used.Points, p)
		} else {
			controls.Points = append(controls.Points, p)
		}
	}
	for _, s := range []Series{used, controls} {
		if len(s.Points) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	c.X.Max = focus(c.Series)
	return c
}

// focus is where an axis of speedups from 0 on ends, so that one very wide interval does not flatten all others.
func focus(series []Series) float64 {
	point, bound := 1.0, 1.0
	for _, s := range series {
		for _, p := range s.Points {
			point = max(point, p.X)
			if p.XHi != nil {
				bound = max(bound, *p.XHi)
			}
		}
	}
	return max(point, min(bound, point*1.6))
}

// bandsOf sorts length bands by their number: 1k before 16k; names without one come last.
func bandsOf(r *sembench.Result) []string {
	number := func(s string) float64 {
		digits := strings.TrimRight(s, "kK+")
		if n, err := strconv.ParseFloat(digits, 64); err == nil {
			return n
		}
		return math.Inf(1)
	}
	return slices.SortedFunc(maps.Keys(r.ByLength), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
}

// lengthChart puts the pairs of a band side by side (the places within a band mean nothing) and the band's interval over them.
func lengthChart(r *sembench.Result, pairs []pair) Chart {
	c := Chart{ID: "length", Title: "Speedup by context length", Note: "Points are pairs, spread sideways only to be told apart. The bar is the band's mean with its interval, controls and excluded pairs left out.",
		X: Axis{Title: "length band of the prompt"}, Y: Axis{Title: "cold / warm TTFT", Zero: true}, Lines: []Line{{"no gain", "y", 1, "none"}}}
	place := map[string]float64{}
	means := Series{Name: "mean of the band", Kind: "used", Shape: "intervals"}
	for i, name := range bandsOf(r) {
		value, ci, kind, n := groupSpeedup(r.ByLength[name].Paired)
		place[name] = float64(i)
		if value == nil || kind != "used" {
			c.X.Categories = append(c.X.Categories, name)
			continue
		}
		c.X.Categories = append(c.X.Categories, name+", "+plural(n, "pair"))
		p := Point{X: float64(i), Y: *value, Row: -1, Label: name}
		if ci != nil {
			p.YLo, p.YHi = ci.Lo, ci.Hi
		}
		means.Points = append(means.Points, p)
	}
	lo, hi := math.Inf(1), 0.0
	c.Series = byKind(pairs, func(i int, p pair) (Point, bool) {
		x, known := place[p.band]
		if !both(p) || !known {
			return Point{}, false
		}
		y := speedupOf(p)
		lo, hi = min(lo, y), max(hi, y)
		_, spread := math.Modf(float64(i+1) * 0.6180339887) // evenly filling, the same every time
		return Point{X: x + (spread-0.5)*0.56, Y: y, Row: p.row}, true
	})
	c.Y.Log = wide(lo, hi)
	c.Y.Zero = !c.Y.Log
	if len(means.Points) > 0 {
		c.Series = append(c.Series, means)
	}
	return c
}

func qualityChart(r *sembench.Result, pairs []pair) Chart {
	c := Chart{ID: "quality", Title: "Speed against answers", Note: "Small points are pairs, large ones the means of transforms: speedup, and how far the warm answer equals the cold one (ROUGE-L). Right and up is better. The dashed line is the noise floor: what the same prompt gives twice without semantic reuse.",
		X: Axis{Title: "cold / warm TTFT", Zero: true}, Y: Axis{Title: "ROUGE-L, warm against cold", Max: 1}, Lines: []Line{{"no gain", "x", 1, "none"}}}
	places := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(r.ByTransform)) {
		p := r.ByTransform[name].Paired
		if p == nil || p.BlendedTTFTSpeedupMean == nil || p.WarmVsColdRougeLMean == nil {
			continue
		}
		words := strings.ReplaceAll(name, "_", " ")
		point := Point{X: *p.BlendedTTFTSpeedupMean, Y: *p.WarmVsColdRougeLMean, Row: -1, Label: words}
		if ci := p.BlendedTTFTSpeedupMeanCI; ci != nil {
			point.XLo, point.XHi = ci.Lo, ci.Hi
		}
		if ci := p.WarmVsColdRougeLMeanCI; ci != nil {
			point.YLo, point.YHi = ci.Lo, ci.Hi
		}
		places[name] = len(c.Series)
		c.Series = append(c.Series, Series{Name: words, Kind: "t" + strconv.Itoa(len(c.Series)%10), Shape: "intervals", Points: []Point{point}})
	}
	if len(c.Series) == 0 {
		c.Empty = "no transform has both a speedup and answers of both arms"
		return c
	}
	for _, p := range pairs {
		name, _, _ := strings.Cut(p.transform, "@")
		if at, known := places[name]; known && p.speedup != nil && p.agreement != nil {
			c.Series[at].Points = append(c.Series[at].Points, Point{X: *p.speedup, Y: *p.agreement, Row: p.row})
		}
	}
	c.X.Max = focus(c.Series)
	if p := r.Paired; p != nil && p.NoiseFloor != nil && r.Calibration != nil {
		if floor, ok := r.Calibration.Floors[*p.NoiseFloor]; ok && floor.Mean != nil {
			c.Lines = append(c.Lines, Line{strings.ReplaceAll(*p.NoiseFloor, "_", " ") + " floor", "y", *floor.Mean, "floor"})
		}
	}
	return c
}

// mechanismChart stacks the counts of reuse_mechanisms, a bar a transform.
func mechanismChart(r *sembench.Result) Chart {
	c := Chart{ID: "mechanisms", Title: "How warm recipients were served", Note: "Clean warm rows by mechanism. Only semantic mechanisms count as hits; an exact prefix is what any prefix cache gives.",
		X: Axis{Title: "warm recipients", Zero: true}}
	names := slices.Sorted(maps.Keys(r.ByTransform))
	slices.Reverse(names)
	counts := map[string]map[string]int{}
	var shown []string
	for _, name := range names {
		if p := r.ByTransform[name].Paired; p != nil && len(p.ReuseMechanisms) > 0 {
			shown = append(shown, name)
			for kind, n := range p.ReuseMechanisms {
				if counts[kind] == nil {
					counts[kind] = map[string]int{}
				}
				counts[kind][name] = n
			}
		}
	}
	for _, name := range shown {
		c.Y.Categories = append(c.Y.Categories, strings.ReplaceAll(name, "_", " "))
	}
	order := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a), slices.Index(kinds, b)), cmp.Compare(a, b))
	})
	for _, kind := range order {
		s := Series{Name: cmp.Or(kindNames[kind], kind), Kind: kind, Shape: "bars"}
		for i, name := range shown {
			s.Points = append(s.Points, Point{X: float64(counts[kind][name]), Y: float64(i), Row: -1})
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// timelineChart shows TTFT in the order of the run: a drift, a warm-up or a bad quarter of an hour shows here and in no mean.
func timelineChart(in Input) Chart {
	c := Chart{ID: "timeline", Title: "Timeline", Note: "TTFT of every recipient in the order in which it ran. A drift or a step here is the machine's, not the cache's." +
		" Arms take turns, so that it hits all of them.", X: Axis{Title: "recipient, in order of the run"}, Y: Axis{Title: "TTFT, ms", Zero: true}}
	series := map[string]*Series{}
	lo, hi := math.Inf(1), 0.0
	for i, row := range in.Result.Requests {
		if row.TTFTMS == nil {
			continue
		}
		arm := cmp.Or(text(row.Arm), sembench.ArmSingle)
		kind, name := "arm-"+arm, cmp.Or(armNames[arm], arm)
		if excludedWhy(row) != "" {
			kind, name = "excluded", kindNames["excluded"]
		}
		if series[kind] == nil {
			series[kind] = &Series{Name: name, Kind: kind, Shape: "points"}
		}
		lo, hi = min(lo, *row.TTFTMS), max(hi, *row.TTFTMS)
		series[kind].Points = append(series[kind].Points, Point{X: float64(i + 1), Y: *row.TTFTMS, Row: i})
	}
	c.Y.Log = wide(lo, hi)
	c.Y.Zero = !c.Y.Log
	for _, kind := range slices.Sorted(maps.Keys(series)) {
		c.Series = append(c.Series, *series[kind])
	}
	for _, pass := range in.Canaries {
		kind := "canary-" + pass.Outcome
		c.Lines = append(c.Lines, Line{"canary pass: " + pass.Outcome, "x", float64(pass.Before) + 0.5, kind})
	}
	return c
}
