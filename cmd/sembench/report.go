package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/report"
	"sembench/internal/scenario"
)

func reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report [RESULT|RUN_DIR]",
		Short: "Show a result: a page, pictures, text, or what CI and other tools read",
		Long: `Shows a result that bench, run-live or run-offline wrote; nothing is computed. The formats html and parquet are files (--output), the others
go to standard output unless --output is given. junit and github need a verdict beside the result.`,
		Example: `  sembench report results/r1                       # writes results/r1/report.html
  sembench report results/r1 --format text
  sembench report results/r1 --format markdown >> "$GITHUB_STEP_SUMMARY"
  sembench report results/r1 --format csv --output rows.csv
  sembench report results/r1 --charts pictures     # each chart as PNG and SVG
  sembench report --index results                  # writes results/index.html: a history of runs`,
		Args: cobra.MaximumNArgs(1),
	}
	s := settings(c, "output", "level", "resamples", "seed")
	format := c.Flags().String("format", "html", "html, text, markdown, junit, github, csv, parquet or llmd (llm-d benchmark report 0.2.1)")
	index := c.Flags().String("index", "", "folder of run directories: write a history of them, with trends")
	charts := c.Flags().String("charts", "", "folder for each chart as PNG and SVG")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *index != "" {
			if len(args) > 0 {
				return usage(errors.New("--index takes no result"), "the runs are those of its folder")
			}
			return writeIndex(c, s, *index)
		}
		if len(args) == 0 {
			return usage(errors.New("no result"), "give a result document or a run directory")
		}
		in, path, err := reportInput(args[0])
		if err != nil {
			return err
		}
		if *charts != "" {
			return writePictures(c, in, *charts)
		}
		write, file := reportFormat(*format, c, in)
		switch {
		case write == nil:
			return usage(fmt.Errorf("--format is %q", *format), "want html, text, markdown, junit, github, csv, parquet or llmd")
		case in.Verdict == nil && (*format == "junit" || *format == "github"):
			return usage(fmt.Errorf("there is no verdict beside %s", path), "make one: sembench assert-result-gates")
		case s.Output == "-" || s.Output == "" && !file:
			return write(c.OutOrStdout())
		case s.Output == "":
			s.Output = filepath.Join(filepath.Dir(path), map[string]string{"html": "report.html", "parquet": "rows.parquet"}[*format])
		}
		if err := sembench.WriteFile(s.Output, write); err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), s.Output)
		return nil
	}
	return c
}

// reportFormat is how a format is written, and whether it is a file by nature; nil for a format that there is not.
func reportFormat(format string, c *cobra.Command, in report.Input) (write func(io.Writer) error, file bool) {
	switch format {
	case "html":
		return func(w io.Writer) error { return report.HTML(w, in) }, true
	case "text":
		return func(w io.Writer) error { return report.Text(w, in, 100, colour(c.OutOrStdout())) }, false
	case "markdown":
		return func(w io.Writer) error { return report.Markdown(w, in) }, false
	case "junit":
		return func(w io.Writer) error { return report.JUnit(w, in) }, false
	case "github":
		return func(w io.Writer) error { return report.GitHub(w, in) }, false
	case "csv":
		return func(w io.Writer) error { return report.CSV(w, in.Result) }, false
	case "parquet":
		return func(w io.Writer) error { return report.Parquet(w, in.Result) }, true
	case "llmd":
		return func(w io.Writer) error { return report.LLMD(w, in) }, false
	}
	return nil, false
}

// writePictures writes every chart that has something to show as <chart>.png and <chart>.svg.
func writePictures(c *cobra.Command, in report.Input, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	for _, chart := range report.Charts(in) {
		if chart.Empty != "" {
			fmt.Fprintf(c.ErrOrStderr(), "sembench: no picture of %s: %s\n", chart.ID, chart.Empty)
			continue
		}
		for _, format := range []string{"png", "svg"} {
			path := filepath.Join(dir, chart.ID+"."+format)
			if err := sembench.WriteFile(path, func(w io.Writer) error { return report.Picture(w, chart, format) }); err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), path)
		}
	}
	return nil
}

// writeIndex writes index.html over the run directories of a folder, each compared with the one before it.
func writeIndex(c *cobra.Command, s *scenario.Scenario, dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "*", "result.json"))
	if err != nil {
		return usage(err, "")
	}
	var entries []report.Entry
	for _, path := range found {
		in, _, err := reportInput(path)
		if err != nil {
			return err
		}
		e := report.Entry{Result: in.Result, Verdict: in.Verdict, Dir: filepath.Dir(path)}
		if _, err := os.Stat(runDir(e.Dir).report()); err == nil {
			e.Report = filepath.ToSlash(filepath.Join(filepath.Base(e.Dir), "report.html"))
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b report.Entry) int {
		return cmp.Compare(a.Result.CreatedAtUTC, b.Result.CreatedAtUTC)
	})
	for i := 1; i < len(entries); i++ {
		comparison := judge.Compare(*entries[i-1].Result, *entries[i].Result, judge.Options{Level: s.Level, Resamples: s.Resamples, Seed: uint64(s.Seed)})
		entries[i].Before = &comparison
		entries[i-1].Result.Requests = nil // a history of many runs need not hold all rows at once
	}
	if s.Output == "" {
		s.Output = filepath.Join(dir, "index.html")
	}
	if err := sembench.WriteFile(s.Output, func(w io.Writer) error { return report.Index(w, entries) }); err != nil {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), s.Output)
	return nil
}

// reportInput reads a result, alone or in its run directory, with the verdict beside it where there is one.
func reportInput(path string) (report.Input, string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = runDir(path).result()
	}
	document, digest, err := readResult(path)
	if err != nil {
		return report.Input{}, "", err
	}
	in := report.Input{Result: &document.Result, RunDir: filepath.Dir(path)}
	if err := addRows(&document.Result, filepath.Dir(path)); err != nil {
		return in, "", err
	}
	in.Canaries = canariesOf(runDir(in.RunDir))
	var verdict sembench.Verdict
	switch err := sembench.ReadDocument(runDir(in.RunDir).verdict(), &verdict); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return in, "", usage(err, "")
	case verdict.ResultSHA256 != digest:
		return in, "", usage(fmt.Errorf("%s judges another result than %s", runDir(in.RunDir).verdict(), path), "judge this one: sembench assert-result-gates")
	default:
		in.Verdict = &verdict
	}
	return in, path, nil
}

// canariesOf finds the canary passes of a run's journal; none where there is no readable journal, since a report needs none.
func canariesOf(dir runDir) []report.CanaryPass {
	_, journal, err := readJournal(dir.observations())
	if err != nil {
		return nil
	}
	return report.CanaryPasses(journal)
}

// addRows reads the rows that a large result keeps in a file beside it.
func addRows(result *sembench.Result, dir string) error {
	if len(result.Requests) > 0 || result.RowsFile == nil || filepath.Ext(*result.RowsFile) != ".jsonl" {
		return nil
	}
	path := filepath.Join(dir, filepath.Base(*result.RowsFile))
	file, err := os.Open(path)
	if err != nil {
		return usage(fmt.Errorf("reading rows: %w", err), "keep it beside the result")
	}
	defer file.Close()
	for line, err := range sembench.Lines(file) {
		var row sembench.Row
		if err == nil {
			err = sembench.Unmarshal(line.Text, &row)
		}
		if err != nil {
			return usage(fmt.Errorf("reading %s: line %d: %w", path, line.Number, err), "")
		}
		result.Requests = append(result.Requests, row)
	}
	return nil
}
