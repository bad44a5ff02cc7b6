package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/report"
)

func gatesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "assert-result-gates [RESULT]",
		Short: "Fail-closed gates for CI",
		Long: `Judges a result against the gates that are typed. A gate whose metric is absent fails; one whose interval straddles the threshold is
inconclusive, which is no pass. The verdict goes to standard output or --output.`,
		Example: `  sembench assert-result-gates results/r1/result.json --min-blended-ttft-speedup 1.5 --require-contamination-check
  sembench assert-result-gates result.json --noise-floor-calibration floor/calibration.json --max-warm-vs-cold-rouge-drop 0.05
  sembench assert-result-gates result.json --engine-summary evidence.json --require-materialized-reuse`,
		Args: cobra.MaximumNArgs(1),
	}
	s := settings(c, slices.Concat(gateFlags, judgeFlags, []string{"engine-summary", "seed", "output"})...)
	format := c.Flags().String("format", "json", "json, text, markdown, junit or github")
	path := c.Flags().String("result", "", "result document to judge (a bare argument is the same)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			*path = args[0]
		}
		document, digest, err := readResult(*path)
		if err != nil {
			return err
		}
		result := document.Result
		if s.NoiseFloorFile != "" {
			var floor sembench.Calibration
			if err := sembench.ReadDocument(s.NoiseFloorFile, &floor); err != nil {
				return usage(err, "calibrations are written by: sembench calibrate-noise-floor")
			}
			if result, err = judge.AgainstFloor(result, floor, judgeOptions(s)); err != nil {
				return usage(err, "")
			}
		}
		o := gateOptions(s)
		o.ResultSHA256, o.Absent = digest, document.Absent
		for _, name := range s.EngineSummary {
			text, err := os.ReadFile(name)
			if err != nil {
				return usage(err, "")
			}
			evidence, absent, err := judge.ReadEvidence(text)
			if err != nil {
				return usage(fmt.Errorf("reading %s: %w", name, err), "summaries are written by: sembench summarize-engine-events")
			}
			o.Evidence, o.Absent = append(o.Evidence, evidence), append(o.Absent, absent...)
		}
		verdict, err := judge.Gate(result, o)
		if err != nil {
			return usage(err, "")
		}
		if err := writeVerdict(c, s.Output, *format, report.Input{Result: &result, Verdict: &verdict}); err != nil {
			return err
		}
		if !verdict.Passed || verdict.ExitCode != 0 {
			return fail(verdict.ExitCode, errors.New("not passed:\n"+join(verdict.Failures)), "")
		}
		return nil
	}
	return c
}

// writeVerdict writes the verdict in a format that people or a CI system read.
func writeVerdict(c *cobra.Command, output, format string, in report.Input) error {
	if format == "json" {
		return writeDocument(c, output, in.Verdict)
	}
	write, known := map[string]func(io.Writer, report.Input) error{
		"junit": report.JUnit, "github": report.GitHub, "markdown": report.Markdown,
		"text": func(w io.Writer, in report.Input) error { return report.Text(w, in, 100, colour(w)) },
	}[format]
	switch {
	case !known:
		return usage(fmt.Errorf("--format is %q", format), "want json, text, markdown, junit or github")
	case output == "" || output == "-":
		return write(c.OutOrStdout(), in)
	}
	return sembench.WriteFile(output, func(w io.Writer) error { return write(w, in) })
}

func join(lines []string) string {
	out := ""
	for i, line := range lines {
		if i > 0 {
			out += "\n"
		}
		out += "- " + line
	}
	return out
}

// readResult reads a result document and its digest.
func readResult(path string) (judge.Document, string, error) {
	var none judge.Document
	if path == "" {
		return none, "", usage(errors.New("no result"), "give one with --result FILE")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return none, "", usage(fmt.Errorf("reading %s: %w", path, err), "")
	}
	document, err := judge.ReadResult(fromPython(text))
	if err != nil {
		return none, "", usage(fmt.Errorf("reading %s: %w", path, err), "want a result document of bench, run-live or run-offline")
	}
	return document, sembench.SHA256(text), nil
}
