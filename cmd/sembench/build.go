package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/scenario"
	"sembench/internal/token"
	"sembench/internal/trace"
	"sembench/internal/workload"
)

// workloadFlags are the settings that say which items there are.
var workloadFlags = []string{"from", "format", "profile", "split", "transforms", "lengths", "seed", "max-items", "head", "strict", "tokenizer", "block-size"}

func buildCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "build",
		Short: "Make a manifest: built-in facts, or documents of your own",
		Long: `Makes a manifest of donors and recipients of which it is known what they share and what is true of them. The same command
gives the same bytes on every machine. How degenerate the texts are, and how much exact reuse each transform has already, is
printed with every build.`,
		Example: `  sembench build --output smoke.jsonl
  sembench build --profile dev --lengths 2k,8k --transforms paraphrase,number_swap --seed 7 --output dev.jsonl
  sembench build --from documents.json --max-items 24 --output mine.jsonl`,
		Args: cobra.NoArgs,
	}
	s := settings(c, append(workloadFlags, "output", "quiet")...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		items, report, err := buildItems(c, s)
		if err != nil {
			return err
		}
		if err := writeManifest(c, s.Output, items); err != nil {
			return err
		}
		if !s.Quiet {
			printBuild(c.ErrOrStderr(), report)
		}
		return nil
	}
	return c
}

// buildItems makes the items that the settings ask for, from the built-in corpus or from --from.
func buildItems(c *cobra.Command, s *scenario.Scenario) ([]sembench.Item, sembench.BuildReport, error) {
	tk, err := token.Open(s.Tokenizer)
	if err != nil {
		return nil, sembench.BuildReport{}, usage(err, "")
	}
	o := workload.Options{
		Profile: s.Profile, Seed: uint64(s.Seed), Transforms: s.Transforms, Bands: s.Lengths, Tokenizer: tk, TokenizerSpec: s.Tokenizer,
		BlockSize: s.BlockSize, MaxItems: s.MaxItems, Head: s.Head, Split: s.Split, Strict: s.Strict,
	}
	var items []sembench.Item
	var report sembench.BuildReport
	if s.From == "" {
		items, report, err = workload.Build(o)
	} else {
		in, openErr := open(c, s.From)
		if openErr != nil {
			return nil, report, openErr
		}
		defer in.Close()
		items, report, err = trace.FromSource(in, s.From, s.Format, o)
	}
	var guard *workload.GuardError
	if errors.As(err, &guard) {
		return nil, report, fail(exitGate, err, "see: sembench audit-manifest --help")
	}
	if err != nil {
		return nil, report, usage(err, "")
	}
	if len(items) == 0 {
		return nil, report, usage(errors.New("building manifest: no item is left"), fmt.Sprintf("excluded by reason: %v", report.Excluded))
	}
	return items, report, nil
}

func writeManifest(c *cobra.Command, output string, items []sembench.Item) error {
	if output == "" || output == "-" {
		return sembench.WriteManifest(c.OutOrStdout(), slices.Values(items))
	}
	return sembench.WriteFile(output, func(w io.Writer) error { return sembench.WriteManifest(w, slices.Values(items)) })
}

// printBuild shows what the guards of workloads.md found.
func printBuild(w io.Writer, r sembench.BuildReport) {
	fmt.Fprintf(w, "%d items, manifest sha256 %s\n", r.Items, r.Recipe.ManifestSHA256)
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"transform", "items", "exact blocks", "of", "exact rate"})
	for _, name := range slices.Sorted(maps.Keys(r.Audit.ByTransform)) {
		a := r.Audit.ByTransform[name]
		t.AppendRow(table.Row{name, a.Items, a.ExactHitBlocks, a.TotalBlocks, share(a.ExactHitBlocks, a.TotalBlocks)})
	}
	fmt.Fprintln(w, t.Render())
	d := table.NewWriter()
	d.SetStyle(table.StyleLight)
	d.AppendHeader(table.Row{"domain", "length", "documents", "distinct blocks, least", "gzip, most", "limit"})
	for _, row := range r.Audit.Degeneracy {
		d.AppendRow(table.Row{row.Domain, row.LengthBand, row.Documents, fmt.Sprintf("%.3f", row.DistinctBlockShareMin), fmt.Sprintf("%.2f", row.GzipRatioMax), fmt.Sprintf("%.0f", row.GzipLimit)})
	}
	fmt.Fprintln(w, d.Render())
	for _, reason := range slices.Sorted(maps.Keys(r.Excluded)) {
		fmt.Fprintf(w, "excluded: %d %s\n", r.Excluded[reason], reason)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Found)) {
		fmt.Fprintf(w, "found in the source: %d %s\n", r.Found[kind], kind)
	}
}

func share(n, of int64) string {
	if of == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.4f", float64(n)/float64(of))
}
