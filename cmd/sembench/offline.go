package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/offline"
	"sembench/internal/report"
)

// inlineRows is how many rows a result document holds itself; more stand in a JSONL file beside it.
const inlineRows = 5000

func offlineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run-offline [MANIFEST]",
		Short: "What could be reused: exact, candidate, eligible and novel blocks, without a server",
		Example: `  sembench run-offline smoke.jsonl --planner semblend,span
  sembench run-offline log.jsonl --pool stream --capacity-blocks 50000 --output offline.json
  sembench run-offline smoke.jsonl --planner "exec:python3 adapters/semblend_planner.py"`,
		Args: cobra.MaximumNArgs(1),
	}
	names := append([]string{"manifest"}, workloadFlags...)
	s := settings(c, append(append(names, plannerFlags...), "api", "output", "quiet")...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Manifest = args[0]
		}
		p := &protocol{c: c, s: s, runID: "offline", configSHA: s.SHA256()}
		var err error
		if s.Manifest != "" {
			if p.items, p.manifestSHA, err = loadManifest(c, s.Manifest); err != nil {
				return err
			}
			p.items = sampled(p.items, s)
		} else if p.items, _, err = buildItems(c, s); err != nil {
			return err
		}
		o, err := offlineOptions(s)
		if err != nil {
			return err
		}
		bar := newProgress("counting blocks", len(p.items), s.Quiet)
		for row, err := range offline.Rows(c.Context(), seq(p.items), o) {
			if err != nil {
				bar.end()
				return usage(err, "")
			}
			p.rows = append(p.rows, row)
			bar.set(len(p.rows), 0)
		}
		bar.end()
		result, err := judge.Offline(judge.Inputs{
			Run:   sembench.Run{RunID: p.runID, ManifestPath: s.Manifest, ManifestSHA256: p.manifestSHA, Arm: sembench.ArmSingle, SembenchVersion: toolVersion(), TimestampUTC: now(), Seed: &s.Seed},
			Items: p.items, Offline: p.rows, Environment: thisMachine(), Producer: sembench.Producer{Name: "sembench", Version: toolVersion()},
			CreatedAtUTC: now(), Config: s.Effective(), ConfigSHA256: p.configSHA, Options: judgeOptions(s),
		})
		if err != nil {
			return usage(err, "")
		}
		if s.Output == "" {
			return report.Text(c.OutOrStdout(), report.Input{Result: &result}, 100, colour(c.OutOrStdout()))
		}
		if err := splitRows(&result, s.Output); err != nil {
			return err
		}
		return writeDocument(c, s.Output, result)
	}
	return c
}

// splitRows moves very many rows into a file beside the document.
func splitRows(result *sembench.Result, output string) error {
	if len(result.Requests) <= inlineRows || output == "-" {
		return nil
	}
	path := strings.TrimSuffix(output, filepath.Ext(output)) + ".rows.jsonl"
	result.RowsFile = new(filepath.Base(path))
	rows := result.Requests
	result.Requests = nil
	return sembench.WriteFile(path, func(w io.Writer) error {
		for _, row := range rows {
			if _, err := fmt.Fprintf(w, "%s\n", sembench.Marshal(row)); err != nil {
				return err
			}
		}
		return nil
	})
}
