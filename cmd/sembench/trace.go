package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/trace"
)

func analyzeTraceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "analyze-trace [FILE]",
		Short: "What there is to reuse in production traffic, as a function of cache size",
		Long: `Reads a hash-id trace or a log of prompts, in one pass, and gives the hit rate of an LRU cache for every size: what a bigger cache would
win, and what no cache can. Formats: ` + strings.Join(trace.Formats(), ", ") + `.`,
		Example: `  sembench analyze-trace conversation_trace.jsonl --capacities 1000,10000,100000
  sembench analyze-trace my-prompts.jsonl.zst --kv-model llama-3.1-8b --output curve.json`,
		Args: cobra.MaximumNArgs(1),
	}
	s := settings(c, "input", "format", "capacities", "tokenizer", "output")
	size := c.Flags().Int("block-size", 0, "tokens in a block (0: the trace's own)")
	sample := c.Flags().Float64("sample", 0, "analyze only this share of the blocks, chosen by hash (0: all)")
	model := c.Flags().String("kv-model", "", "give sizes in GB of this model's KV: "+strings.Join(trace.ModelNames(), ", ")+", or a config.json")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Input = args[0]
		}
		if s.Input == "" {
			return usage(errors.New("no trace"), "give one: sembench analyze-trace FILE")
		}
		kv, err := kvModel(*model)
		if err != nil {
			return err
		}
		in, err := open(c, s.Input)
		if err != nil {
			return err
		}
		defer in.Close()
		curve, err := trace.Analyze(in, s.Input, s.Format, trace.Options{BlockSize: *size, Capacities: s.Capacities, TokenizerSpec: s.Tokenizer, SampleRate: *sample})
		if err != nil {
			return usage(err, "")
		}
		if kv != nil {
			curve = trace.WithMemory(curve, *kv)
		}
		if s.Output != "" {
			return writeDocument(c, s.Output, curve)
		}
		printCurve(c.OutOrStdout(), curve)
		return nil
	}
	return c
}

// kvModel finds a model by name or reads its config.json; nil without a name.
func kvModel(name string) (*trace.Model, error) {
	if name == "" {
		return nil, nil
	}
	if !strings.HasSuffix(name, ".json") {
		m, err := trace.LookupModel(name)
		return &m, usage(err, "or give the model's config.json")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usage(err, "")
	}
	m, err := trace.ParseModel(text)
	return &m, usage(err, "")
}

// printCurve draws the curve for a terminal.
func printCurve(w io.Writer, c sembench.TraceCurve) {
	fmt.Fprintf(w, "%d requests, %d input tokens, %d blocks of %d tokens, %d of them distinct\n", c.Requests, c.InputTokens, c.BlockIDs, c.BlockSize, c.UniqueBlocks)
	chained := "undetermined: too few repeats"
	if c.Chained != nil {
		chained = map[bool]string{true: "equal ids mean equal prefixes", false: "ids are of content alone, wherever it stands"}[*c.Chained]
	}
	fmt.Fprintf(w, "ids: %s\n\n", chained)
	row := func(label string, x *float64, more string) {
		bar := ""
		if x != nil {
			bar = strings.Repeat("█", int(*x*50+0.5))
		}
		fmt.Fprintf(w, "%12s  %-12s %-50s %s\n", label, number(x), bar, more)
	}
	fmt.Fprintf(w, "%12s  %-12s\n", "cache blocks", "block hit rate")
	for _, p := range c.LRU {
		more := ""
		if p.MemoryGB != nil {
			more = fmt.Sprintf("%.1f GB", *p.MemoryGB)
		}
		row(strconv.Itoa(p.CapacityBlocks), p.BlockHitRate, more)
	}
	row("unbounded", c.Infinite.BlockHitRate, "tokens "+number(c.Infinite.TokenHitRate))
	row("any position", c.AnyPosition.BlockHitRate, "the same block anywhere, prefix or not")
	for _, found := range []struct {
		label, what string
		rate        *sembench.AnyPosition
	}{{"span", "identical runs at any offset", c.Span}, {"semantic", "what semblend would copy", c.Semantic}} {
		if found.rate != nil {
			row(found.label, found.rate.BlockHitRate, found.what)
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(c.PerTenant)) {
		row(tenant, c.PerTenant[tenant].BlockHitRate, "tenant, unbounded")
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}

func roiCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "roi [TRACE]",
		Short: "What a cache returns on a trace: GPU-seconds saved and the hit rate at which it breaks even",
		Example: `  sembench roi conversation_trace.jsonl --hit-rate 0.4 --reused-share 0.6 --prefill-us-per-token 60 --load-us-per-token 6 --lookup-ms 2
  sembench roi --histogram lengths.json --hit-rate 0.4 --reused-share 0.6`,
		Args: cobra.MaximumNArgs(1),
	}
	s := settings(c, "input", "format", "base-ms", "prefill-us-per-token", "load-us-per-token", "lookup-ms", "output")
	hit := c.Flags().Float64("hit-rate", 0.5, "share of requests that hit")
	share := c.Flags().Float64("reused-share", 0.5, "share of a hit's tokens that need no prefill")
	quadratic := c.Flags().Float64("prefill-ns-per-token-squared", 0, "attention's part of prefill time")
	gpus := c.Flags().Float64("gpus", 1, "GPUs that work on one prefill")
	histogram := c.Flags().String("histogram", "", `prompt lengths as a JSON object, {"1000": 50, "8000": 3}, instead of a trace`)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Input = args[0]
		}
		lengths, err := promptLengths(c, s.Input, s.Format, *histogram)
		if err != nil {
			return err
		}
		returns, err := trace.Returns(lengths, trace.Costs{
			BaseMS: s.BaseMS, PrefillUSPerToken: s.PrefillUSPerToken, PrefillNSPerTokenSquared: *quadratic, LoadUSPerToken: s.LoadUSPerToken, LookupMS: s.LookupMS, GPUs: *gpus,
		}, *hit, *share)
		if err != nil {
			return usage(err, "")
		}
		return writeDocument(c, s.Output, returns)
	}
	return c
}

func promptLengths(c *cobra.Command, input, format, histogram string) ([]trace.Length, error) {
	if histogram != "" {
		var counts map[string]int64
		if err := sembench.ReadDocument(histogram, &counts); err != nil {
			return nil, usage(err, `want {"tokens": requests}`)
		}
		var out []trace.Length
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			tokens, err := strconv.ParseInt(key, 10, 64)
			if err != nil || tokens < 0 || counts[key] < 0 {
				return nil, usage(fmt.Errorf("reading %s: %q: %d is no bar of a histogram", histogram, key, counts[key]), `want {"tokens": requests}`)
			}
			out = append(out, trace.Length{Tokens: tokens, Requests: counts[key]})
		}
		return out, nil
	}
	if input == "" {
		return nil, usage(errors.New("no trace"), "give one, or --histogram FILE")
	}
	in, err := open(c, input)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	source, err := trace.Open(in, input, format)
	if err != nil {
		return nil, usage(err, "")
	}
	lengths, err := trace.Histogram(source.Requests())
	return lengths, usage(err, "")
}
