package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sembench/internal/replay"
	"sembench/internal/scenario"
)

func verifyEndpointCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify-endpoint",
		Short: "Find out whether and how a server can be measured",
		Long: `Asks a server what a measurement needs: is it reachable, does it have the model, does its reset work, does it report cached tokens, is a
salt honoured, what is its first event. Names the server flag where evidence is missing. Exit code 3 when it cannot be measured.`,
		Example: "  sembench verify-endpoint --base-url http://127.0.0.1:8000 --engine vllm",
		Args:    cobra.NoArgs,
	}
	s := settings(c, slices.Concat(endpointFlags, []string{"isolation", "reset-url", "salt", "exact-arm", "block-size", "output"})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if s.BaseURL == "" {
			return usage(errNoServer, hintNoServer)
		}
		cfg, err := replayConfig(s, "preflight")
		if err != nil {
			return err
		}
		if err := cfg.Validate(); err != nil {
			return usage(err, "")
		}
		flight, failed := replay.Preflight(c.Context(), cfg)
		if s.Output != "" {
			if err := writeDocument(c, s.Output, flight); err != nil {
				return err
			}
		}
		for _, check := range flight.Checks {
			fmt.Fprintf(c.OutOrStdout(), "%-8s%-26s%s\n", check.Outcome, check.Name, check.Detail)
			if check.Hint != "" {
				fmt.Fprintf(c.OutOrStdout(), "%-34shint: %s\n", "", check.Hint)
			}
		}
		if failed != nil {
			return endpointError(failed)
		}
		for _, check := range flight.Checks {
			if check.Outcome == "fail" {
				return endpoint(fmt.Errorf("checking %s: %s: %s", flight.Endpoint, check.Name, check.Detail), check.Hint)
			}
		}
		return nil
	}
	return c
}

var (
	errNoServer  = fmt.Errorf("no server to measure")
	hintNoServer = "give --base-url http://host:port; for one without a GPU: sembench sim --listen 127.0.0.1:8000"
)

func calibrateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "calibrate-noise-floor",
		Short: "What two runs of the same prompt differ by: cold/cold and exact-prefix floors, A/A times",
		Long: `Measures how much answers and times differ when nothing semantic is reused, under the protocol of the runs that the floor will
judge. Writes calibration.json into the run directory.`,
		Example: "  sembench calibrate-noise-floor --base-url http://127.0.0.1:8000 --profile dev --lengths 8k --output floor",
		Args:    cobra.NoArgs,
	}
	s := settings(c, slices.Concat([]string{"manifest"}, workloadFlags, endpointFlags, protocolFlags, []string{"output", "include-text", "quiet", "level", "resamples"})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if s.BaseURL == "" {
			return usage(errNoServer, hintNoServer)
		}
		p := &protocol{c: c, s: s}
		if done, err := p.start(c); done || err != nil {
			return err
		}
		if err := p.preflight(c.Context()); err != nil {
			return err
		}
		if err := p.calibrate(c.Context()); err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "%d pairs, %d contaminated, %d errored: %s\n", p.calibration.NPairs, p.calibration.PairsContaminated, p.calibration.PairsErrored, p.dir.calibration())
		return nil
	}
	return c
}

func runLiveCommand() *cobra.Command {
	return liveCommand("run-live", "auto", "Live replay of a manifest: paired arms, evidence, result", `  sembench run-live --base-url http://127.0.0.1:8000 --engine vllm --manifest m.jsonl --connector-audit audit.jsonl
  sembench run-live --base-url http://127.0.0.1:8000 --manifest m.jsonl --arm cold --run-id cold1   # arms apart, for merge-results`)
}

func runLiveSGLangCommand() *cobra.Command {
	return liveCommand("run-live-sglang", "sglang", "run-live with the preset for SGLang", "  sembench run-live-sglang --base-url http://127.0.0.1:30000 --manifest m.jsonl --engine-log sglang.log")
}

func runLiveGatewayCommand() *cobra.Command {
	c := liveCommand("run-live-gateway", "auto", "run-live through a gateway: where recipients were placed", `  sembench run-live-gateway --gateway-url http://127.0.0.1:9000 --worker-url http://127.0.0.1:9001 --worker-url http://127.0.0.1:9002 --manifest m.jsonl`)
	c.Long = `Replays recipients through a gateway and donors to its workers, and records where each recipient was placed. A semantic placement is a decision of the
control plane; it never means that an engine reused KV.`
	return c
}

// liveCommand is run-live with an engine preset.
func liveCommand(name, preset, short, example string) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Example: example, Args: cobra.NoArgs,
		Long: `Replays a manifest against a server as cold and warm twins and judges what came of it. Gates decide only where they are typed; bench is the
same with the gates and the calibration that a first run needs.`}
	s := settings(c, slices.Concat([]string{"manifest", "arm"}, workloadFlags, plannerFlags, endpointFlags, protocolFlags, evidenceFlags, judgeFlags, gateFlags, []string{"shard", "output", "include-text", "quiet"})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !c.Flags().Changed("engine") {
			s.Engine = preset
		}
		if !c.Flags().Changed("calibration-pairs") {
			s.CalibrationPairs = 0
		}
		return runLive(c, s)
	}
	return c
}

func runLive(c *cobra.Command, s *scenario.Scenario) error {
	if s.GatewayURL != "" {
		s.BaseURL = s.GatewayURL
	}
	if s.BaseURL == "" {
		return usage(errNoServer, hintNoServer)
	}
	p := &protocol{c: c, s: s}
	if done, err := p.start(c); done || err != nil {
		return err
	}
	if err := p.countOffline(c.Context()); err != nil {
		return err
	}
	if err := p.live(c.Context()); err != nil {
		return err
	}
	result, evidence, err := p.judge()
	if err != nil {
		return err
	}
	return p.conclude(result, evidence, gateOptions(s))
}
