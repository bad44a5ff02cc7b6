package judge

import (
	"fmt"
	"strings"

	"sembench"
)

// MetricsDoc is docs/metrics.md, from the one source of definitions.
func MetricsDoc() []byte {
	var b strings.Builder
	b.WriteString("# Metrics\n\nEvery key of `aggregate` and `paired` in a result. Generated from metrics.go; do not edit.\n\n" +
		"Null is unmeasured, 0 is measured and nothing. Rates are fractions, summed over rows before they are divided. " +
		"\"better: one\" means that the truth is 1.\n")
	section := ""
	for _, m := range sembench.Metrics() {
		if m.Section != section {
			if !strings.Contains(b.String(), "\n## "+m.Section+"\n") {
				fmt.Fprintf(&b, "\n## %s\n\n| key | meaning | unit | better | null means |\n|---|---|---|---|---|\n", m.Section)
			}
			section = m.Section
		}
		fmt.Fprintf(&b, "| `%s` | **%s**: %s | %s | %s | %s |\n", m.Key, m.Title, cell(m.Formula), m.Unit, dash(m.Better), dash(m.NullMeans))
	}
	return []byte(b.String())
}

// GatesDoc is docs/gates.md, from the tables of gates and checks.
func GatesDoc() []byte {
	var b strings.Builder
	b.WriteString(`# Gates and checks

Generated from the gate table and the check table; do not edit.

## Gates

A gate fails closed: one that was asked for and whose metric is null is ` + "`missing`" + ` and fails, unless ` + "`--allow-missing`" + `.
With ` + "`--gate-on ci`" + ` (the default) the bound that hurts is compared: the lower one for minimums, the upper one for maximums, both
for a band. An interval on both sides of the threshold is ` + "`inconclusive`" + ` and no pass, unless ` + "`--allow-inconclusive`" + `; the verdict
says how many pairs would decide. An interval whose measured coverage falls short (` + "`coverage_warning`" + `) passes only if it still
does at twice its width. Metrics without an interval are compared as points. Speedup gates read
the statistic that ` + "`--gate-statistic`" + ` names (mean by default); the control gate asks |mean - 1| <= d, of the geometric mean |ln g| <= ln(1 + d), so that
a slowdown counts like a speedup. Every waiver is written into the verdict.

"bench" is the threshold of the gates that ` + "`bench`" + ` asks for by itself; where such a gate rests on fewer than ` + fmt.Sprint(leastPairs) + ` of what the column
"needs" names, it is printed as ` + "`not judged: 2 of 8`" + ` and does not decide. A gate that the user typed always decides.

| flag | metric | direction | bound | bench | needs | null means |
|---|---|---|---|---|---|---|
`)
	for _, g := range GateTable() {
		bound := map[string]string{AtLeast: "lower", AtMost: "upper", Within: "both", Flag: "flag"}[g.Direction]
		if !hasInterval(g.Metric) && g.Direction != Flag {
			bound = "point"
		}
		standard := "–"
		if g.Default != nil {
			standard = number3(g.Default)
			if g.Direction == Flag {
				standard = "asked"
			}
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s | %s | %s | %s |\n", g.Flag, g.Metric, g.Direction, bound, standard, dash(g.Pairs), g.Null)
	}
	b.WriteString(`
Nobody asks for these, and they always decide: ` + "`not_simulated`" + ` (a result made on the embedded engine, or one that does not say, unless
` + "`--allow-simulated`" + `; documents of ` + "`" + olderResult + "`" + `, whose producers had no embedded engine, need not say),
` + "`measurement_valid`" + ` (at least one pair used and at most half of the planned ones lost; otherwise exit 4), and every check below.

## Checks

Checks judge the measurement, not the engine. A failed one fails the verdict, unless ` + "`--accept-check NAME`" + `. One without anything to look
at is ` + "`not_judged`" + `; two sources that differ while no third decides are ` + "`inconclusive`" + `.

| check | looks at | may see at most | is for |
|---|---|---|---|
`)
	for _, c := range Checks() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.Sees, c.Limit, c.Doc)
	}
	b.WriteString("\n## Exit codes\n\n0 everything asked for holds, 1 a gate or check failed or is inconclusive, 2 inputs that do not belong together, 4 the measurement is not valid.\n")
	return []byte(b.String())
}

// hasInterval tells whether a metric has an interval beside it.
func hasInterval(metric string) bool {
	_, key, _ := strings.Cut(strings.ReplaceAll(metric, "{statistic}", "mean"), ".")
	_, ok := sembench.MetricOf(key + "_ci")
	return ok
}

// cell keeps a text inside its table cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
