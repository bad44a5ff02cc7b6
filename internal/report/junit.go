package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"sembench"
)

// errNoVerdict: a format that shows gates needs a verdict.
var errNoVerdict = errors.New("writing gates: there is no verdict")

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes the gates as test cases, one a gate, and one for the verdict as a whole: a gate that the verdict waived is
// skipped, so that the file fails exactly when the verdict does. An error without a verdict.
func JUnit(w io.Writer, in Input) error {
	v := in.Verdict
	if v == nil {
		return errNoVerdict
	}
	suite := junitSuite{Name: "sembench gates of " + clean(v.RunID), Properties: []junitProperty{{"result_sha256", clean(v.ResultSHA256)}, {"simulated", fmt.Sprint(v.Simulated)}, {"exit_code", fmt.Sprint(v.ExitCode)}}}
	for _, g := range v.Gates {
		c := junitCase{Class: "sembench.gates", Name: clean(g.Name), Out: clean(gateWords(g))}
		switch {
		case g.Outcome == sembench.Pass:
		case v.Passed || g.Outcome == sembench.NotJudged:
			c.Skipped = &junitMessage{Message: clean(g.Outcome + ": " + gateWords(g))}
			suite.Skipped++
		default:
			c.Failure = &junitMessage{Message: clean(gateWords(g)), Type: clean(g.Outcome), Text: clean(g.Detail)}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	whole := junitCase{Class: "sembench", Name: "verdict", Out: clean(standingOf(in).Means)}
	if !v.Passed {
		whole.Failure = &junitMessage{Message: clean(standingOf(in).Means), Type: "verdict", Text: clean(strings.Join(v.Failures, "\n"))}
		suite.Failures++
	}
	suite.Cases = append(suite.Cases, whole)
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Suites: []junitSuite{suite}}); err != nil {
		return fmt.Errorf("writing gates as JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// gateWords is a gate in one line.
func gateWords(g sembench.GateResult) string {
	words := g.Name + ": " + strings.ReplaceAll(g.Outcome, "_", " ")
	if g.Observed != nil {
		words += ", observed " + decimal(g.Observed)
	}
	if g.Threshold != nil {
		words += ", limit " + decimal(g.Threshold)
	}
	if g.NNeeded != nil {
		words += fmt.Sprintf(", about %d pairs would decide", *g.NNeeded)
	}
	if g.Detail != "" {
		words += " (" + g.Detail + ")"
	}
	return words
}

// clean drops characters that XML 1.0 cannot hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
