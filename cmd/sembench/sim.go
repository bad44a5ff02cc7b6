package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"sembench/internal/scenario"
	"sembench/internal/sim"
)

// simFlags are the settings of the embedded engine that bench and sim share.
var simFlags = []string{"as", "faults", "base-ms", "prefill-us-per-token", "load-us-per-token", "lookup-ms", "itl-ms", "jitter", "jitter-model", "batch-slope", "sim-capacity-blocks",
	"offload-blocks", "offload-us-per-token", "donor-settle-ms", "max-running", "prefill-slots", "ranks", "sim-workers", "route-family", "sim-planner"}

func simCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "The embedded engine as a server: a vLLM look-alike with known timing and scripted faults",
		Long: `Serves an OpenAI-compatible API with a real block manager, prefix cache and donor store. Times follow a stated law and answers are
scripted; GET /truth says what really happened. Every response carries X-Sembench-Simulated, and results made on it are marked simulated.`,
		Example: `  sembench sim --listen 127.0.0.1:8000 --audit-file audit.jsonl --log-file engine.log
  sembench sim --listen 127.0.0.1:8000 --faults noop_reset     # an engine whose reset does nothing
  sembench sim --list-faults`,
		Args: cobra.NoArgs,
	}
	s := settings(c, append(simFlags, "listen", "kv-events-endpoint", "seed", "model", "block-size", "tokenizer", "stock")...)
	auditFile := c.Flags().String("audit-file", "", "append the connector audit to this file")
	logFile := c.Flags().String("log-file", "", "append the engine log to this file (default: standard error)")
	list := c.Flags().Bool("list-faults", false, "print every fault, what it does and which check catches it")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *list {
			listFaults(c.OutOrStdout())
			return nil
		}
		config := simConfig(s)
		config.Semantic, config.Log = !s.Stock, c.ErrOrStderr()
		for _, f := range []struct {
			path string
			to   *io.Writer
		}{{*auditFile, &config.Audit}, {*logFile, &config.Log}} {
			if f.path == "" {
				continue
			}
			file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return usage(err, "")
			}
			defer file.Close()
			*f.to = file
		}
		if s.KVEventsEndpoint != "" {
			events, err := sim.Publish(s.KVEventsEndpoint)
			if err != nil {
				return usage(err, "choose another --kv-events-endpoint")
			}
			defer events.Close()
			config.Events = events.Send
		}
		engine, err := sim.New(config)
		if err != nil {
			return usage(err, "see: sembench sim --list-faults")
		}
		listener, err := net.Listen("tcp", s.Listen)
		if err != nil {
			return usage(fmt.Errorf("listening on %s: %w", s.Listen, err), "choose another address with --listen")
		}
		fmt.Fprintf(c.OutOrStdout(), "http://%s\n", listener.Addr())
		return errors.Join(engine.Serve(c.Context(), listener), engine.Err())
	}
	return c
}

// simConfig is the embedded engine that the settings describe, with its semantic layer off and no files.
func simConfig(s *scenario.Scenario) sim.Config {
	c := sim.Default()
	c.As, c.Faults, c.Seed, c.Model = s.As, s.Faults, uint64(s.Seed), s.Model
	c.BlockSize, c.Tokenizer, c.CapacityBlocks = s.BlockSize, s.Tokenizer, s.SimCapacityBlocks
	c.BaseMS, c.PrefillUSPerToken, c.LoadUSPerToken, c.LookupMS, c.ITLMS, c.Jitter = s.BaseMS, s.PrefillUSPerToken, s.LoadUSPerToken, s.LookupMS, s.ITLMS, s.Jitter
	c.JitterModel, c.BatchSlope, c.OffloadBlocks, c.OffloadUSPerToken, c.DonorSettleMS = s.JitterModel, s.BatchSlope, s.OffloadBlocks, s.OffloadUSPerToken, s.DonorSettleMS
	c.MaxRunning, c.PrefillSlots, c.Ranks, c.Workers, c.RouteFamily, c.Planner = s.MaxRunning, s.PrefillSlots, s.Ranks, s.SimWorkers, s.RouteFamily, s.SimPlanner
	return c
}

func listFaults(w io.Writer) {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"fault", "family", "what it does", "caught by"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 70}})
	for _, f := range sim.Faults() {
		t.AppendRow(table.Row{f.Name, f.Family, f.Does, f.Check})
	}
	fmt.Fprintln(w, t.Render())
}
