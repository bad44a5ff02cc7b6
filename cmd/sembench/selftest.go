package main

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"sembench"
	truth "sembench/internal/lab"
)

func selftestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Run the harness against every scripted fault and show that each is caught",
		Long: `Puts sembench itself on trial. The whole protocol runs against the embedded engine: with every scripted fault, where the check that the
fault table names must fail, and honest in every voice and jitter, where none may. Beside each fault stands what a harness without that check
would have reported. Most of it happens in virtual time; a part is repeated over HTTP on loopback.

Exits 1 when a fault is missed or an honest run accused. docs/selftest.md tells how to read an accusation on a real engine.`,
		Example: `  sembench selftest --quick
  sembench selftest --faults noop_reset,hit_not_materialized
  sembench selftest --format html > selftest.html`,
		Args: cobra.NoArgs,
	}
	faults := c.Flags().StringSlice("faults", nil, "only these faults (default: all of sembench sim --list-faults)")
	quick := c.Flags().Bool("quick", false, "fewer honest runs, no pairs of faults: under a minute")
	format := c.Flags().String("format", "text", "text, json or html")
	mutate := c.Flags().Bool("mutate", false, "print which faults pass with each check switched off, and nothing else")
	quiet := c.Flags().Bool("quiet", false, "no progress")
	c.RunE = func(c *cobra.Command, _ []string) error {
		write, known := map[string]func(io.Writer, sembench.Selftest) error{"text": selftestText, "json": selftestJSON, "html": selftestHTML}[*format]
		if !known {
			return usage(fmt.Errorf("format is %q, want text, json or html", *format), "")
		}
		if *mutate {
			write = func(w io.Writer, s sembench.Selftest) error {
				_, err := fmt.Fprintln(w, mutationTable(s))
				return err
			}
		}
		dir, err := os.MkdirTemp("", "sembench-selftest-")
		if err != nil {
			return usage(err, "")
		}
		defer os.RemoveAll(dir)
		var bar *progress
		part := ""
		o := truth.Options{Dir: dir, Faults: *faults, Quick: *quick, Tell: func(name string, done, total int) {
			if name != part {
				if bar != nil {
					bar.end()
				}
				part, bar = name, newProgress(name, total, *quiet)
			}
			bar.set(done, total)
		}}
		result, err := truth.Run(c.Context(), o)
		if bar != nil {
			bar.end()
		}
		if err != nil {
			return usage(err, "see: sembench sim --list-faults")
		}
		if err := write(c.OutOrStdout(), result); err != nil {
			return err
		}
		if !result.Passed {
			return fail(exitGate, errors.New(strings.Join(result.Problems, "\n")), "")
		}
		return nil
	}
	return c
}

func selftestJSON(w io.Writer, s sembench.Selftest) error {
	_, err := w.Write(append(sembench.MarshalIndent(s), '\n'))
	return err
}

// mark is how a yes or no reads in a table.
func mark(yes bool) string {
	if yes {
		return "yes"
	}
	return "NO"
}

func selftestText(w io.Writer, s sembench.Selftest) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"fault", "caught by", "a naive harness would have reported", "over HTTP"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 76}})
	caught := 0
	for _, f := range s.Faults {
		by, over := f.By, ""
		if f.Caught {
			caught++
		} else {
			by = "MISSED"
		}
		if f.HTTP != nil {
			over = mark(*f.HTTP)
		}
		t.AppendRow(table.Row{f.Name, by, f.NaiveClaim, over})
	}
	fmt.Fprintln(w, t.Render())
	fmt.Fprintf(w, "\n%d of %d faults caught. %d honest runs: %d false alarms, %d inconclusive.\n", caught, len(s.Faults), s.HonestRuns, s.FalseAlarms, s.Inconclusive)
	if s.Coverage != nil {
		fmt.Fprintf(w, "Intervals of 95 %% covered the truth in %.1f %% of the judged runs; %d of %d recipients' confirmed tokens differ from the truth.\n",
			100**s.Coverage, s.TokensWrong, s.TokensCompared)
	}
	if len(s.Honest) > 0 {
		fmt.Fprintf(w, "\n%s\n", honestTable(s))
	}
	if len(s.CoverageTable) > 0 {
		fmt.Fprintf(w, "\n%s\n", coverageTable(s))
	}
	if len(s.Mutation) > 0 {
		fmt.Fprintf(w, "\n%s\n", mutationTable(s))
	}
	if p := s.Pairs; p != nil {
		fmt.Fprintf(w, "\n%d random pairs of faults: both named checks failed in %d, one in %d, another check in %d, not measured at all %d, hidden %d.\n", p.Runs, p.Both, p.One, p.Other, p.Refused, len(p.Hidden))
	}
	_, err := fmt.Fprintf(w, "\n%.0f s: %s\n", s.Seconds, map[bool]string{true: "passed", false: "FAILED"}[s.Passed])
	return err
}

func honestTable(s sembench.Selftest) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"honest engine", "transport", "runs", "false alarms", "inconclusive", "machine busy", "by"})
	for _, h := range s.Honest {
		t.AppendRow(table.Row{h.Kind, h.Transport, h.Runs, h.FalseAlarms, h.Inconclusive, h.Busy, strings.Join(h.Alarms, ", ")})
	}
	return t.Render()
}

func coverageTable(s sembench.Selftest) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"95 % intervals of runs", "statistic", "runs", "covered", "share", "truth"})
	for _, c := range s.CoverageTable {
		truth := ""
		if c.Truth > 0 {
			truth = fmt.Sprintf("%.3f", c.Truth)
		}
		t.AppendRow(table.Row{c.Setting, c.Statistic, c.Runs, c.Covered, fmt.Sprintf("%.3f", c.Share), truth})
	}
	return t.Render()
}

// mutationTable shows what each check is worth: the faults that pass without it.
func mutationTable(s sembench.Selftest) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"check switched off", "named for", "no other check sees", "passes without it"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 48}, {Number: 3, WidthMax: 40}, {Number: 4, WidthMax: 40}})
	for _, m := range s.Mutation {
		t.AppendRow(table.Row{m.Check, strings.Join(m.Named, ", "), strings.Join(m.Only, ", "), strings.Join(m.Pass, ", ")})
		t.AppendSeparator()
	}
	return t.Render()
}

var selftestPage = template.Must(template.New("selftest").Funcs(template.FuncMap{"join": strings.Join, "mark": mark}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>sembench selftest</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse;width:100%;margin:1rem 0 2rem}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #d8d8de}
th{background:#f2f2f5}code{font-size:.92em}.bad{color:#a4161a;font-weight:600}.good{color:#1b6e3c}
@media (prefers-color-scheme:dark){body{color:#e8e8ec;background:#16161a}th{background:#24242a}th,td{border-color:#3a3a42}.bad{color:#ff8a8a}.good{color:#7fd6a0}}
</style>
<h1>sembench selftest: {{if .Passed}}<span class="good">passed</span>{{else}}<span class="bad">failed</span>{{end}}</h1>
<p>SIMULATED: the embedded engine, honest and with scripted faults. {{len .Faults}} faults; {{.HonestRuns}} honest runs, {{.FalseAlarms}} false alarms, {{.Inconclusive}} inconclusive; {{.Seconds}} s.</p>
{{range .Problems}}<p class="bad">{{.}}</p>{{end}}
<h2>Faults</h2>
<table><tr><th>fault<th>family<th>caught by<th>a naive harness would have reported<th>what the check saw</tr>
{{range .Faults}}<tr><td><code>{{.Name}}</code><td>{{.Family}}<td>{{if .Caught}}<code>{{.By}}</code>{{else}}<span class="bad">missed</span>{{end}}<td>{{.NaiveClaim}}<td>{{.Detail}}</tr>
{{end}}</table>
{{if .Honest}}<h2>Honest engines</h2>
<table><tr><th>engine<th>transport<th>runs<th>false alarms<th>inconclusive<th>machine busy<th>by</tr>
{{range .Honest}}<tr><td>{{.Kind}}<td>{{.Transport}}<td>{{.Runs}}<td>{{.FalseAlarms}}<td>{{.Inconclusive}}<td>{{.Busy}}<td>{{join .Alarms ", "}}</tr>
{{end}}</table>{{end}}
{{if .CoverageTable}}<h2>Truth recovered</h2>
<table><tr><th>runs of<th>statistic<th>runs<th>covered<th>share</tr>
{{range .CoverageTable}}<tr><td>{{.Setting}}<td>{{.Statistic}}<td>{{.Runs}}<td>{{.Covered}}<td>{{printf "%.3f" .Share}}</tr>
{{end}}</table>{{end}}
{{if .Mutation}}<h2>Each check switched off</h2>
<table><tr><th>check<th>named for<th>no other check sees<th>passes without it</tr>
{{range .Mutation}}<tr><td><code>{{.Check}}</code><td>{{join .Named ", "}}<td>{{join .Only ", "}}<td>{{join .Pass ", "}}</tr>
{{end}}</table>{{end}}
{{with .Pairs}}<h2>Pairs of faults</h2><p>{{.Runs}} random pairs: both named checks failed in {{.Both}}, one in {{.One}}, another check in {{.Other}}, not measured at all {{.Refused}}.</p>
{{range .Hidden}}<p class="bad">{{.}}</p>{{end}}{{end}}
`))

func selftestHTML(w io.Writer, s sembench.Selftest) error { return selftestPage.Execute(w, s) }
