package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/report"
)

func reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report [RESULT|RUN_DIR]",
		Short: "Show a result: HTML or text",
		Example: `  sembench report results/r1                       # writes results/r1/report.html
  sembench report results/r1 --format text`,
		Args: cobra.MaximumNArgs(1),
	}
	s := settings(c, "output")
	format := c.Flags().String("format", "html", "html or text")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(errors.New("no result"), "give a result document or a run directory")
		}
		in, path, err := reportInput(args[0])
		if err != nil {
			return err
		}
		switch *format {
		case "text":
			return report.Text(c.OutOrStdout(), in, 100, colour(c.OutOrStdout()))
		case "html":
			if s.Output == "" {
				s.Output = filepath.Join(filepath.Dir(path), "report.html")
			}
			if err := sembench.WriteFile(s.Output, func(w io.Writer) error { return report.HTML(w, in) }); err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), s.Output)
			return nil
		}
		return usage(fmt.Errorf("--format is %q", *format), "want html or text")
	}
	return c
}

// reportInput reads a result, alone or in its run directory, with the verdict beside it where there is one.
func reportInput(path string) (report.Input, string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = runDir(path).result()
	}
	result, digest, err := readResult(path)
	if err != nil {
		return report.Input{}, "", err
	}
	in := report.Input{Result: &result, RunDir: filepath.Dir(path)}
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
