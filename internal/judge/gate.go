package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sembench"
	"sembench/internal/stat"
)

// Ask is one gate that was asked for.
type Ask struct {
	Flag      string
	Threshold float64 // not read for flags
}

// GateOptions says which gates to apply and what may be waived; every waiver is written into the verdict.
type GateOptions struct {
	// Asks are the gates that the user typed; they always decide.
	Asks []Ask
	// Bench adds the gates that bench asks for by itself, where the user did not.
	Bench bool
	// On is ci (the default) or point; Statistic mean (the default), median or geomean.
	On, Statistic     string
	AllowMissing      bool
	AllowInconclusive bool
	AllowSimulated    bool
	AcceptChecks      []string
	// Absent names keys that the documents lack although gates read them and no null stands for them (ReadResult, ReadEvidence).
	Absent []string
	// Evidence beside the result; nil: none was given.
	Evidence []sembench.Evidence
	// ResultSHA256 identifies the judged document.
	ResultSHA256 string
}

type gateInput struct {
	GateOptions
	result *sembench.Result
}

// Gate judges a result: every gate asked for, every check that failed and is not accepted, and whether the run was
// simulated. It fails closed: a gate whose metric is null is missing and fails unless AllowMissing. An unknown flag, statistic or
// check name is Refused.
//
// Exit codes: 4 when the measurement is not valid, else 1 when anything does not hold, else 0.
func Gate(result sembench.Result, o GateOptions) (sembench.Verdict, error) {
	if o.On == "" {
		o.On = "ci"
	}
	if o.Statistic == "" {
		o.Statistic = "mean"
	}
	asks, err := o.plan()
	if err != nil {
		return sembench.Verdict{}, err
	}
	g := gateInput{o, &result}
	v := sembench.Verdict{
		Schema: sembench.VerdictSchema, RunID: result.Run.RunID, ResultSHA256: o.ResultSHA256, Simulated: result.Run.Simulated,
		Observed: map[string]any{}, RequestedGates: map[string]any{}, AllowMissing: o.AllowMissing, AllowInconclusive: o.AllowInconclusive,
		AllowSimulated: o.AllowSimulated, AcceptChecks: slices.Clone(o.AcceptChecks), GateOn: o.On, GateStatistic: o.Statistic,
	}
	slices.Sort(v.AcceptChecks)
	for _, spec := range GateTable() {
		ask, ok := asks[spec.Flag]
		if !ok {
			continue
		}
		if spec.Direction == Flag {
			v.RequestedGates[spec.Flag] = true
		} else {
			v.RequestedGates[spec.Flag] = ask.Threshold
		}
		one := g.apply(spec, ask)
		v.Gates = append(v.Gates, one)
		v.Observed[one.Metric] = anyNumber(one.Observed)
		g.note(&v, one)
	}
	for _, one := range g.standing() {
		v.Gates = append(v.Gates, one)
		g.note(&v, one)
	}
	v.Passed = len(v.Failures) == 0
	v.ExitCode = map[bool]int{false: 1}[v.Passed]
	if p := result.Paired; p != nil && invalid(p) != "" {
		v.ExitCode = 4
	}
	return v, nil
}

// plan merges the user's gates with bench's own.
func (o GateOptions) plan() (map[string]asked, error) {
	if o.On != "ci" && o.On != "point" {
		return nil, refuse("gate-on is %q: want ci or point", o.On)
	}
	if !slices.Contains([]string{"mean", "median", "geomean"}, o.Statistic) {
		return nil, refuse("gate-statistic is %q: want mean, median or geomean", o.Statistic)
	}
	for _, name := range o.AcceptChecks {
		if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.Name == name }) {
			return nil, refuse("check %q is unknown", name)
		}
	}
	out := map[string]asked{}
	specs := map[string]GateSpec{}
	for _, spec := range GateTable() {
		specs[spec.Flag] = spec
		if o.Bench && spec.Default != nil {
			out[spec.Flag] = asked{Ask{spec.Flag, *spec.Default}, true}
		}
	}
	for _, ask := range o.Asks {
		spec, ok := specs[ask.Flag]
		switch {
		case !ok:
			return nil, refuse("gate %q is unknown", ask.Flag)
		case spec.Direction != Flag && (math.IsNaN(ask.Threshold) || math.IsInf(ask.Threshold, 0)):
			return nil, refuse("gate %s: threshold is %v", ask.Flag, ask.Threshold)
		case spec.Direction == Within && ask.Threshold < 0:
			return nil, refuse("gate %s: threshold is %v, want 0 or more", ask.Flag, ask.Threshold)
		}
		out[ask.Flag] = asked{ask, false}
	}
	return out, nil
}

type asked struct {
	Ask
	byBench bool
}

// apply judges one gate.
func (g *gateInput) apply(spec GateSpec, ask asked) sembench.GateResult {
	r := spec.read(g)
	if slices.Contains(g.Absent, spec.Metric) || spec.Pairs != "" && slices.Contains(g.Absent, "paired."+spec.Pairs) {
		r = reading{detail: "the document does not have the key"}
	}
	metric := spec.Metric
	if i := len(metric) - len("{statistic}"); i > 0 && metric[i:] == "{statistic}" {
		metric = metric[:i] + g.Statistic
	}
	out := sembench.GateResult{Name: spec.Flag, Metric: metric, Observed: r.value, Interval: r.ci, Bound: "point", Detail: r.detail}
	if spec.Direction != Flag {
		out.Threshold = &ask.Threshold
	}
	switch {
	case ask.byBench && r.pairs != nil && *r.pairs < leastPairs:
		out.Outcome = sembench.NotJudged
		out.Detail = join(fmt.Sprintf("not judged: %d of %d", *r.pairs, leastPairs), r.detail)
	case ask.byBench && r.value == nil && spec.Flag == flagNoErrors:
		// Any server may be benched, also one whose log nobody can read; the check no_engine_errors sees its responses.
		out.Outcome, out.Detail = sembench.NotJudged, "not judged: "+spec.Null
	case r.value == nil:
		out.Outcome, out.Detail = sembench.Missing, join("not measured: "+spec.Null, r.detail)
	case spec.Direction == Flag:
		out.Bound, out.Outcome = "flag", sembench.Fail
		// One flag asks for a 1, the others for a 0.
		if (*r.value == 0) == (spec.Flag != flagMaterialized) {
			out.Outcome = sembench.Pass
		}
	default:
		g.compare(&out, spec, r, ask.Threshold)
	}
	return out
}

// compare holds a metric, or the bounds of its interval, against a threshold.
//
// An interval whose measured coverage falls short (coverage_warning) passes only when it still does at twice its width;
// otherwise the gate is inconclusive. It fails as any other: doubt about an interval is no reason to accept.
func (g *gateInput) compare(out *sembench.GateResult, spec GateSpec, r reading, threshold float64) {
	accepts := g.accepts(spec, threshold)
	if g.On == "point" || r.ci == nil {
		out.Outcome = outcomeIf(accepts(*r.value))
		if g.On == "ci" && r.ci == nil && r.pairs != nil && spec.Pairs != "negative_control_pairs" {
			out.Detail = join("compared as a point: the document has no interval", out.Detail)
		}
		return
	}
	out.Bound = map[string]string{AtLeast: "lower", AtMost: "upper", Within: "both"}[spec.Direction]
	if r.ci.Lo == nil || r.ci.Hi == nil {
		out.Outcome, out.Detail = sembench.Inconclusive, join("no interval could be computed", out.Detail)
		return
	}
	lo, hi := *r.ci.Lo, *r.ci.Hi
	beyond := !accepts(lo) && !accepts(hi) && !(spec.Direction == Within && lo < 1 && hi > 1)
	warning := coverageWarning(r.ci)
	if warning != "" {
		lo, hi = widen(*r.value, lo, hi, r.log)
	}
	switch {
	case beyond:
		out.Outcome = sembench.Fail
	case accepts(lo) && accepts(hi):
		out.Outcome = sembench.Pass
	default:
		out.Outcome = sembench.Inconclusive
		out.Detail = join("the interval straddles the threshold", out.Detail)
		if warning != "" {
			out.Detail = join("at twice its width the interval straddles the threshold ("+warning+")", r.detail)
		}
		out.NNeeded = pairsNeeded(r, spec, threshold)
	}
}

// accepts is the gate's condition on a single number.
func (g *gateInput) accepts(spec GateSpec, threshold float64) func(float64) bool {
	switch spec.Direction {
	case AtLeast:
		return func(v float64) bool { return v >= threshold }
	case AtMost:
		return func(v float64) bool { return v <= threshold }
	}
	if g.Statistic == "geomean" {
		return func(v float64) bool { return v > 0 && math.Abs(math.Log(v)) <= math.Log1p(threshold)+1e-12 }
	}
	return func(v float64) bool { return math.Abs(v-1) <= threshold+1e-12 } // 1.1 - 1 is a little more than 0.1
}

// widen moves the bounds to twice their distance from the estimate, of a ratio on the log scale.
func widen(v, lo, hi float64, log bool) (float64, float64) {
	if log && v > 0 && lo > 0 {
		return lo * lo / v, hi * hi / v
	}
	return v - 2*(v-lo), v + 2*(hi-v)
}

func coverageWarning(c *sembench.CI) string {
	for _, w := range c.Warnings {
		if len(w) >= len(stat.WarnCoverage) && w[:len(stat.WarnCoverage)] == stat.WarnCoverage {
			return w
		}
	}
	return ""
}

// pairsNeeded is how many pairs would decide, from the scatter that the interval's width implies; null when no number does,
// or when the metric is no ratio and not positive.
func pairsNeeded(r reading, spec GateSpec, threshold float64) *int {
	n, v, lo, hi := float64(r.ci.N), *r.value, *r.ci.Lo, *r.ci.Hi
	targets := []float64{threshold}
	if spec.Direction == Within {
		targets = []float64{1 - threshold, 1 + threshold}
	}
	if !r.log { // exp turns a difference into a ratio
		v, lo, hi = math.Exp(v), math.Exp(lo), math.Exp(hi)
		for i := range targets {
			targets[i] = math.Exp(targets[i])
		}
	}
	if n < 2 || lo <= 0 || hi <= lo {
		return nil
	}
	const width = 2 * 1.96 // of a 95 % interval in standard errors
	sd := math.Log(hi/lo) / width * math.Sqrt(n)
	most := 0
	for _, target := range targets {
		if target <= 0 {
			continue
		}
		most = max(most, stat.PairsNeeded(target, v, sd, 0.95, 0.8))
	}
	if most == 0 {
		return nil
	}
	return &most
}

// standing are the gates that nobody needs to ask for: checks, a simulated engine, a measurement that is none.
func (g *gateInput) standing() (out []sembench.GateResult) {
	simulated := sembench.GateResult{Name: gateNotSimulated, Metric: "run.simulated", Bound: "flag", Outcome: sembench.Pass, Observed: new(0.0)}
	if g.result.Run.Simulated {
		*simulated.Observed = 1
		simulated.Detail = "made on the embedded engine"
		if simulated.Outcome = sembench.Fail; g.AllowSimulated {
			simulated.Outcome, simulated.Detail = sembench.Pass, "made on the embedded engine; allowed"
		}
	}
	if slices.Contains(g.Absent, keySimulated) {
		simulated.Observed = nil
		switch {
		case g.AllowSimulated:
			simulated.Detail = "the document does not say; allowed"
		case g.result.ResultVersion == olderResult:
			simulated.Outcome, simulated.Detail = sembench.NotJudged, "documents of "+olderResult+" do not say: their producers had no embedded engine"
		default:
			simulated.Outcome, simulated.Detail = sembench.Fail, "the document does not say whether it was made on the embedded engine"
		}
	}
	out = append(out, simulated)
	if p := g.result.Paired; p != nil {
		reason := invalid(p)
		out = append(out, sembench.GateResult{Name: gateValid, Metric: "paired.valid", Bound: "flag", Outcome: outcomeIf(reason == ""), Detail: reason})
	}
	for _, c := range g.result.Checks {
		one := sembench.GateResult{Name: c.Name, Metric: "checks." + c.Name, Outcome: c.Outcome, Observed: c.Observed, Threshold: c.Limit,
			Bound: "flag", Detail: c.Detail}
		if c.Outcome != sembench.Pass && c.Outcome != sembench.NotJudged && slices.Contains(g.AcceptChecks, c.Name) {
			one.Outcome, one.Detail = sembench.NotJudged, join("accepted by name", c.Detail)
		}
		out = append(out, one)
	}
	return out
}

// note writes what one gate means for the verdict.
func (g *gateInput) note(v *sembench.Verdict, one sembench.GateResult) {
	fails := true
	switch one.Outcome {
	case sembench.Pass, sembench.NotJudged:
		fails = false
	case sembench.Missing:
		v.MissingMetrics = append(v.MissingMetrics, one.Metric)
		fails = !g.AllowMissing
	case sembench.Inconclusive:
		fails = !g.AllowInconclusive
	}
	if fails {
		v.Failures = append(v.Failures, failure(one))
	}
}

// failure is one line that says what did not hold.
func failure(one sembench.GateResult) string {
	text := one.Name + ": " + one.Outcome
	if one.Observed != nil {
		text += ", observed " + number3(one.Observed)
	}
	if one.Threshold != nil {
		text += ", threshold " + number3(one.Threshold)
	}
	if one.Detail != "" {
		text += " (" + one.Detail + ")"
	}
	return text
}

func outcomeIf(pass bool) string {
	if pass {
		return sembench.Pass
	}
	return sembench.Fail
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// number3 shows a number to four significant digits, null as null.
func number3(p *float64) string {
	if p == nil {
		return "null"
	}
	return strconv.FormatFloat(*p, 'g', 4, 64)
}

func anyNumber(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// clip cuts a text at a rune boundary.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := 0
	for i := range s {
		if i > most {
			break
		}
		cut = i
	}
	return s[:cut] + "…"
}
