// Package report shows a result and its verdict to people and machines: a one-screen summary, a self-contained HTML page,
// Markdown, JUnit, GitHub annotations and CSV.
//
// It computes nothing: every number shown stands in the result or the verdict, and null is shown as "not measured", never as 0.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sembench"
)

// Input is what a report is made from. Verdict may be nil (nothing was gated).
type Input struct {
	Result  *sembench.Result
	Verdict *sembench.Verdict
	// Files names where things are, for the last lines of a summary; "" leaves the line out.
	RunDir, ReportPath string
	// Canaries are marked on the timeline; empty leaves them out.
	Canaries []CanaryPass
}

// unmeasured stands for null everywhere.
const unmeasured = "not measured"

// ratio shows a speedup like 2.31x.
func ratio(x *float64) string {
	if x == nil {
		return unmeasured
	}
	return strconv.FormatFloat(*x, 'f', 2, 64) + "x"
}

// interval shows the bounds of a CI like [1.92x, 2.80x], or why there are none.
func interval(ci *sembench.CI) string {
	if ci == nil || ci.Lo == nil || ci.Hi == nil {
		return "[no interval]"
	}
	return fmt.Sprintf("[%s, %s]", ratio(ci.Lo), ratio(ci.Hi))
}

// percent shows a fraction like 41.3 %.
func percent(x *float64) string {
	if x == nil {
		return unmeasured
	}
	return strconv.FormatFloat(*x*100, 'f', 1, 64) + " %"
}

// milliseconds shows a time like 43.1 ms.
func milliseconds(x *float64) string {
	if x == nil {
		return unmeasured
	}
	return strconv.FormatFloat(*x, 'f', 1, 64) + " ms"
}

// decimal shows a number with three significant decimals at most.
func decimal(x *float64) string {
	if x == nil {
		return unmeasured
	}
	if *x == math.Trunc(*x) && math.Abs(*x) < 1e9 {
		return strconv.FormatFloat(*x, 'f', 0, 64)
	}
	return strconv.FormatFloat(*x, 'f', 3, 64)
}

// count shows how many of how many, like 120 of 480.
func count(n *int, total int) string {
	if n == nil {
		return unmeasured
	}
	return fmt.Sprintf("%d of %d", *n, total)
}

// plural is "1 pair", "2 pairs".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// wrap breaks text at spaces so that no line is longer than width, each after the first indented.
func wrap(text string, width, indent int) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		room := width
		if len(lines) > 0 {
			room -= indent
		}
		if line != "" && len(line)+1+len(word) > room {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}
