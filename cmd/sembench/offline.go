package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/offline"
	"sembench/internal/report"
	"sembench/internal/scenario"
)

func offlineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run-offline [MANIFEST]",
		Short: "What could be reused: exact, candidate, eligible and novel blocks, without a server",
		Long: `Counts, item by item, the blocks of each recipient that stand in its donors exactly, that a planner would copy, and that an engine could
load. The manifest is not held in memory; above 5,000 rows a JSONL or Parquet file beside the document holds them. --explain shows one item's
blocks one by one, with donor and offset.`,
		Example: `  sembench run-offline smoke.jsonl --planner semblend,span
  sembench run-offline log.jsonl --pool stream --capacity-blocks 50000 --output offline.json --rows parquet
  sembench run-offline smoke.jsonl --planner semblend,span --explain ITEM --output why.html
  sembench run-offline chats.jsonl --tokenizer ./Qwen3-8B --chat-template auto
  sembench run-offline smoke.jsonl --planner "exec:python3 adapters/semblend_planner.py"`,
		Args: cobra.MaximumNArgs(1),
	}
	names := append([]string{"manifest"}, workloadFlags...)
	s := settings(c, append(append(names, plannerFlags...), "api", "explain", "kv-events", "rows", "shard", "output", "quiet")...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Manifest = args[0]
		}
		o, err := offlineOptions(s)
		if err != nil {
			return err
		}
		rowsFile, err := rowsPath(s.Output, s.Rows)
		if err != nil {
			return err
		}
		part, err := parseShard(s.Shard)
		if err != nil {
			return err
		}
		if s.Shard != "" && s.Pool == "stream" {
			return usage(errors.New("--shard with --pool stream: a shard would not see the requests before its own"), "count a stream in one piece, or give every cache its own manifest")
		}
		in, err := openSource(c, s)
		if err != nil {
			return err
		}
		in = part.source(in)
		if s.Explain != "" {
			return explain(c, s, o, in)
		}
		return runOffline(c, s, o, in, rowsFile)
	}
	return c
}

// runOffline counts the items as they come, keeping at most inlineRows rows in memory, and writes or shows the result.
func runOffline(c *cobra.Command, s *scenario.Scenario, o offline.Options, in *source, rowsFile string) error {
	bar := newProgress("counting blocks", in.total, s.Quiet)
	defer bar.end()
	tally := judge.NewTally(judgeOptions(s))
	next, stop := iter.Pull2(offline.Rows(c.Context(), in.items, o))
	defer stop()
	// step gives the next row, summed; ok is false after the last one.
	step := func() (row sembench.Row, ok bool, err error) {
		if row, err, ok = next(); !ok || err != nil {
			return row, ok, usage(err, "")
		}
		tally.Add(&row)
		ahead := 0
		if in.total == 0 {
			ahead = tally.Rows() + 1 // nobody knows how many come
		}
		bar.set(tally.Rows(), ahead)
		return row, true, nil
	}
	var rows []sembench.Row
	for len(rows) <= inlineRows {
		row, ok, err := step()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		rows = append(rows, row)
	}
	many := len(rows) > inlineRows
	if many {
		if err := writeRows(rowsFile, s.Rows, rows, step); err != nil {
			return err
		}
	}
	bar.end()
	var part *string
	if s.Shard != "" {
		part = &s.Shard
	}
	result := judge.OfflineTotals(judge.Inputs{
		Run:         sembench.Run{RunID: "offline", ManifestPath: s.Manifest, ManifestSHA256: in.sha256(), Arm: sembench.ArmSingle, SembenchVersion: toolVersion(), TimestampUTC: now(), Seed: &s.Seed, Shard: part},
		Environment: thisMachine(), Producer: sembench.Producer{Name: "sembench", Version: toolVersion()},
		CreatedAtUTC: now(), Config: s.Effective(), ConfigSHA256: s.SHA256(), Options: judgeOptions(s),
	}, tally)
	switch {
	case !many:
		result.Requests = rows
	case rowsFile != "":
		result.RowsFile = new(filepath.Base(rowsFile))
	default:
		result.Warnings = append(result.Warnings, fmt.Sprintf("%d rows were left out: more than %d stand in a file beside the document, give it a name with --output", tally.Rows(), inlineRows))
	}
	silent := plannerFailures(c, &result, rows)
	var err error
	if s.Output == "" {
		err = report.Text(c.OutOrStdout(), report.Input{Result: &result}, 100, colour(c.OutOrStdout()))
	} else {
		err = writeDocument(c, s.Output, result)
	}
	if err == nil && silent != "" {
		return invalid(fmt.Errorf("planner %s planned no row: its columns are null", silent), "its first error stands above")
	}
	return err
}

// plannerFailures says on standard error and in the result which planners failed, with the first cause, and names one that planned no row at all.
func plannerFailures(c *cobra.Command, result *sembench.Result, rows []sembench.Row) (silent string) {
	for _, name := range slices.Sorted(maps.Keys(result.Aggregate.Planners)) {
		p := result.Aggregate.Planners[name]
		if p.Errors == 0 {
			continue
		}
		cause := ""
		for _, row := range rows {
			if e := row.Planners[name].Error; e != nil {
				cause = ": " + *e
				break
			}
		}
		warning := fmt.Sprintf("planner %s failed on %d rows, which count as unmeasured%s", name, p.Errors, cause)
		note(c, "sembench: %s", warning)
		result.Warnings = append(result.Warnings, warning)
		if p.Rows == 0 {
			silent = name
		}
	}
	return silent
}

// writeRows writes rows, then those that step still gives; without a path they are only stepped through.
func writeRows(path, format string, rows []sembench.Row, step func() (sembench.Row, bool, error)) error {
	rest := func(out rowWriter) error {
		for {
			row, ok, err := step()
			if err != nil || !ok {
				return err
			}
			if out != nil {
				if err := out.write(&row); err != nil {
					return err
				}
			}
		}
	}
	if path == "" {
		return rest(nil)
	}
	return sembench.WriteFile(path, func(w io.Writer) error {
		out := newRowWriter(w, format)
		for i := range rows {
			if err := out.write(&rows[i]); err != nil {
				return err
			}
		}
		if err := rest(out); err != nil {
			return err
		}
		return out.close()
	})
}
