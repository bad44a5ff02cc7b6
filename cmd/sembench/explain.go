package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/offline"
	"sembench/internal/scenario"
)

// explain shows one item's blocks as strips: HTML for an --output that ends in .html, else text.
func explain(c *cobra.Command, s *scenario.Scenario, o offline.Options, in *source) error {
	x, err := offline.Explain(c.Context(), in.items, s.Explain, o)
	if err != nil {
		return usage(err, "checksum-manifest prints how many items there are; item_id names one")
	}
	if s.KVEvents != "" {
		strip, err := heldStrip(c, s.KVEvents, x)
		if err != nil {
			return err
		}
		x.Strips = append(x.Strips, strip)
	}
	switch ext := strings.ToLower(filepath.Ext(s.Output)); {
	case ext == ".html" || ext == ".htm":
		return sembench.WriteFile(s.Output, func(w io.Writer) error { return explainPage.Execute(w, pageOf(x)) })
	case s.Output != "" && s.Output != "-":
		return sembench.WriteFile(s.Output, func(w io.Writer) error { return drawExplanation(w, x, false) })
	}
	return drawExplanation(c.OutOrStdout(), x, colour(c.OutOrStdout()))
}

// heldStrip shows the leading blocks of an item that an engine holds at the end of its recorded KV events.
func heldStrip(c *cobra.Command, path string, x offline.Explanation) (offline.Strip, error) {
	in, err := open(c, path)
	if err != nil {
		return offline.Strip{}, err
	}
	defer in.Close()
	state := engine.NewKVState()
	var bad sembench.Problems
	for batch, err := range engine.ReadKVEvents(in) {
		if err != nil {
			bad.Add(err)
			continue
		}
		state.Apply(batch)
	}
	if err := bad.Err(); err != nil {
		return offline.Strip{}, usage(err, "KV events are recorded by: sembench record-kv-events")
	}
	ids := make([]int64, len(x.IDs))
	for i, id := range x.IDs {
		ids[i] = int64(id)
	}
	tokens := state.CachedPrefix(ids)
	strip := offline.Strip{Name: "engine", Reason: fmt.Sprintf("its KV events: the first %d tokens are held", tokens)}
	blocks := min(tokens/x.BlockSize, x.Blocks)
	if blocks > 0 {
		strip.Runs = append(strip.Runs, offline.Run{Fate: offline.Prefix, Last: blocks - 1})
	}
	if blocks < x.Blocks {
		strip.Runs = append(strip.Runs, offline.Run{Fate: offline.Recompute, First: blocks, Last: x.Blocks - 1})
	}
	return strip, nil
}

// look is how a fate is shown. Letters carry the meaning alone where there is no colour; colours are those of Okabe and Ito, told apart
// by most colour-blind readers.
type look struct {
	Letter, Name, Says string
	terminal           string // SGR parameters
	CSS                string
}

var looks = map[offline.Fate]look{
	offline.Prefix:      {"P", "prefix", "exact, in a prefix cache", "30;48;5;32", "#0072b2"},
	offline.Exact:       {"E", "exact", "exact, elsewhere", "30;48;5;75", "#56b4e9"},
	offline.SpanCopy:    {"S", "span", "contiguous copy of one donor: eligible", "30;48;5;36", "#009e73"},
	offline.Scattered:   {"s", "scattered", "same ids from several places: candidate only", "30;48;5;178", "#e69f00"},
	offline.Approximate: {"~", "approximate", "donor tokens differ", "30;48;5;175", "#cc79a7"},
	offline.Recompute:   {".", "recompute", "nothing to copy", "38;5;245", "#d9d9d9"},
}

// stripWidth is how many blocks stand in one line, and shownRuns how many runs of a strip are listed.
const (
	stripWidth = 64
	shownRuns  = 40
)

func drawExplanation(w io.Writer, x offline.Explanation, coloured bool) error {
	out := &strings.Builder{}
	paint := func(f offline.Fate, text string) string {
		if !coloured {
			return text
		}
		return "\x1b[" + looks[f].terminal + "m" + text + "\x1b[0m"
	}
	fmt.Fprintf(out, "%s  %s, %s: %s of %d, %s, %s\n", plainText(x.ItemID), plainText(x.Dataset), plainText(x.Transform), many(x.Blocks, "block"), x.BlockSize,
		many(x.PromptTokens, "token"), many(x.Donors, "donor"))
	for _, f := range offline.Fates {
		fmt.Fprintf(out, "  %s %s (%s)\n", paint(f, looks[f].Letter), looks[f].Name, looks[f].Says)
	}
	for _, strip := range x.Strips {
		fmt.Fprintf(out, "\n%s%s\n", plainText(strip.Name), summary(strip))
		cells := make([]offline.Fate, 0, x.Blocks)
		for _, run := range strip.Runs {
			for range run.Blocks() {
				cells = append(cells, run.Fate)
			}
		}
		for at := 0; at < len(cells); at += stripWidth {
			fmt.Fprintf(out, "%7d ", at)
			for i := at; i < min(at+stripWidth, len(cells)); {
				end := i
				for end < min(at+stripWidth, len(cells)) && cells[end] == cells[i] {
					end++
				}
				out.WriteString(paint(cells[i], strings.Repeat(looks[cells[i]].Letter, end-i)))
				i = end
			}
			out.WriteByte('\n')
		}
		listed := 0
		for _, run := range strip.Runs {
			if run.Fate == offline.Recompute {
				continue
			}
			if listed++; listed <= shownRuns {
				fmt.Fprintf(out, "        %-13s %-11s %s\n", span(run), looks[run.Fate].Name, origin(run))
			}
		}
		if listed > shownRuns {
			fmt.Fprintf(out, "        … and %d more runs\n", listed-shownRuns)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summary counts a strip's blocks by fate; a planner that failed has none.
func summary(strip offline.Strip) string {
	if strip.Error != "" {
		return ": not measured: " + plainText(strip.Error)
	}
	counts := map[offline.Fate]int{}
	for _, run := range strip.Runs {
		counts[run.Fate] += run.Blocks()
	}
	var parts []string
	for _, f := range offline.Fates {
		if counts[f] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[f], f))
		}
	}
	out := ": " + strings.Join(parts, ", ")
	if strip.Reason != "" {
		out += " (" + plainText(strip.Reason) + ")"
	}
	return out
}

func span(run offline.Run) string {
	if run.First == run.Last {
		return fmt.Sprintf("block %d", run.First)
	}
	return fmt.Sprintf("blocks %d-%d", run.First, run.Last)
}

// origin says where a run's tokens come from.
func origin(run offline.Run) string {
	switch {
	case run.Places == 0: // recompute, or held by an engine that does not say from whom
		return ""
	case run.Fate == offline.Scattered:
		return fmt.Sprintf("%s from token %d of donor %s on", many(run.Places, "piece"), run.DonorStart, plainText(run.Donor))
	}
	return fmt.Sprintf("token %d of donor %s, offset %+d", run.DonorStart, plainText(run.Donor), run.Shift)
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// plainText keeps control characters of names and messages away from the terminal.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '�'
		}
		return r
	}, s)
}
