package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
)

func mergeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "merge-results [SHARD...]",
		Short: "Join arms that ran apart, or shards of one run",
		Long: `With --cold and --warm: joins two arms into a paired result; refuses swapped labels, duplicates and different manifests. With results as
arguments: joins the shards of one run. Everything is computed anew from all rows; nothing is averaged.`,
		Example: `  sembench merge-results --cold cold/result.json --warm warm/result.json --output paired.json
  sembench merge-results shard1/result.json shard2/result.json shard3/result.json --output whole.json`,
	}
	s := settings(c, "allow-unpaired", "noise-floor-calibration", "noise-floor", "block-size", "quality-threshold", "level", "resamples", "seed", "output")
	cold := c.Flags().String("cold", "", "result of the cold arm")
	warm := c.Flags().String("warm", "", "result of the warm arm")
	c.RunE = func(c *cobra.Command, args []string) error {
		arms := *cold != "" || *warm != ""
		switch {
		case arms && (*cold == "" || *warm == "" || len(args) > 0):
			return usage(errors.New("merging arms takes --cold and --warm, and nothing else"), "shards are bare arguments")
		case !arms && len(args) < 2:
			return usage(errors.New("nothing to merge"), "give --cold and --warm, or two shards or more")
		}
		o := judge.MergeOptions{Options: judgeOptions(s), AllowUnpaired: s.AllowUnpaired, CreatedAtUTC: now(), Producer: sembench.Producer{Name: "sembench", Version: toolVersion()}}
		if s.NoiseFloorFile != "" {
			o.Calibration = &sembench.Calibration{}
			if err := sembench.ReadDocument(s.NoiseFloorFile, o.Calibration); err != nil {
				return usage(err, "")
			}
		}
		if arms {
			args = []string{*cold, *warm}
		}
		var parts []sembench.Result
		paths := map[string]string{}
		for _, path := range args {
			part, _, err := readResult(path)
			if err != nil {
				return err
			}
			if part.Run.Shard != nil {
				paths[*part.Run.Shard] = path
			}
			if slices.Contains(part.Absent, "run.simulated") {
				return usage(fmt.Errorf("merging %s: run.simulated is missing: nobody knows whether it was made on the embedded engine", path), "")
			}
			parts = append(parts, part.Result)
		}
		var merged sembench.Result
		var err error
		if arms {
			merged, err = judge.MergeArms(parts[0], parts[1], o)
		} else {
			if parts, err = inOrder(parts); err != nil {
				return err
			}
			if offlineShards(parts) {
				return mergeOffline(c, parts, paths, s.Output, o)
			}
			merged, err = judge.MergeShards(parts, o)
			if differing := undivided(&merged, parts); err == nil && len(differing) > 0 {
				merged.Warnings = append(merged.Warnings, "the shards were asked differently: "+strings.Join(differing, ", "))
			}
		}
		if err != nil {
			return usage(err, "")
		}
		return writeDocument(c, s.Output, merged)
	}
	return c
}

func compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Is result B better than A, worse, not told apart, or not comparable",
		Long: `Compares two results pair by pair. Says better, worse, mixed or no detectable difference, or why they are not comparable (exit code 2),
and lists every difference of configuration.`,
		Example: "  sembench compare results/monday results/tuesday",
		Args:    cobra.ExactArgs(2),
	}
	s := settings(c, "level", "resamples", "seed", "output")
	format := c.Flags().String("format", "text", "text or json")
	c.RunE = func(c *cobra.Command, args []string) error {
		var both [2]sembench.Result
		for i, path := range args {
			in, _, err := reportInput(path)
			if err != nil {
				return err
			}
			both[i] = *in.Result
		}
		comparison := judge.Compare(both[0], both[1], judge.Options{Level: s.Level, Resamples: s.Resamples, Seed: uint64(s.Seed)})
		switch {
		case s.Output != "" || *format == "json":
			if err := writeDocument(c, s.Output, comparison); err != nil {
				return err
			}
		case *format == "text":
			printComparison(c.OutOrStdout(), comparison)
		default:
			return usage(fmt.Errorf("--format is %q", *format), "want text or json")
		}
		if len(comparison.Reasons) > 0 {
			return usage(fmt.Errorf("not comparable: %s", comparison.Reasons[0]), "")
		}
		return nil
	}
	return c
}

func printComparison(w io.Writer, c sembench.Comparison) {
	fmt.Fprintf(w, "%s (%d common pairs)\n", c.Outcome, c.PairsCommon)
	for _, reason := range c.Reasons {
		fmt.Fprintf(w, "not comparable: %s\n", reason)
	}
	if len(c.Metrics) > 0 {
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.AppendHeader(table.Row{"metric", "A", "B", "outcome", "corrected p"})
		for _, m := range c.Metrics {
			t.AppendRow(table.Row{m.Key, number(m.A), number(m.B), m.Outcome, number(m.PAdjusted)})
		}
		fmt.Fprintln(w, t.Render())
	}
	for _, d := range c.Differences {
		fmt.Fprintf(w, "differs: %s: %v, %v\n", d.Path, d.A, d.B)
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}

// number shows a nullable number; null is not measured.
func number(x *float64) string {
	if x == nil {
		return "not measured"
	}
	return fmt.Sprintf("%.4g", *x)
}
