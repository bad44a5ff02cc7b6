package main

import (
	"slices"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/scenario"
	"sembench/internal/workload"
)

// Settings that several live verbs share.
var (
	endpointFlags = []string{"base-url", "gateway-url", "model", "engine", "engine-version", "api", "header", "extra-body", "api-key-env", "ca-cert", "client-cert", "use-proxy", "timeout-seconds", "metrics-url"}
	protocolFlags = []string{"isolation", "reset-url", "salt", "exact-arm", "sham-donors", "aa", "repeats", "warmup", "concurrency", "donor-max-tokens", "recipient-max-tokens",
		"post-donor-delay-ms", "await-donors", "min-donor-gap-requests", "canary-every", "donor-url", "worker-url", "run-id", "backend-id", "baseline-id", "resume", "calibration-pairs", "max-total-tokens", "yes", "dry-run"}
	evidenceFlags = []string{"connector-audit", "engine-log", "connector-kind", "serve-line", "require-phase0-flags", "max-requests"}
	judgeFlags    = []string{"quality-threshold", "noise-floor-calibration", "noise-floor", "level", "resamples"}
	gateFlags     = []string{"min-blended-ttft-speedup", "max-negative-control-speedup-deviation", "max-negative-control-confirmed-rate",
		"max-negative-control-semantic-placement-rate", "max-warm-vs-cold-rouge-drop", "min-quality-pass-rate", "min-semantic-placement-rate",
		"min-backend-confirmed-block-rate", "min-materialization-events", "min-materialized-tokens", "min-materialized-units", "require-materialized-reuse",
		"require-no-engine-errors", "require-contamination-check", "min-pairs-used", "gate-on", "gate-statistic", "allow-missing", "allow-inconclusive",
		"allow-simulated", "accept-check"}
	plannerFlags = []string{"planner", "pool", "capacity-blocks", "min-span", "min-reuse-ratio", "min-similarity", "embedder", "approximate", "chat-template", "workers"}
)

func benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "The whole protocol: workload, offline rates, pre-flight, calibration, paired run, evidence, gates, report",
		Long: `Runs the whole protocol and ends with a one-screen verdict. Without --base-url it starts the embedded engine on a loopback port, and
the result is marked SIMULATED. With --base-url it measures any OpenAI-compatible server; without a reset endpoint it salts.`,
		Example: `  sembench bench                                              # against the embedded engine, under a minute
  sembench bench --from documents.json --max-items 24         # your own documents
  sembench bench --base-url http://127.0.0.1:8000 --model m \
      --engine-log vllm.log --connector-audit audit.jsonl     # your server, with its own evidence
  sembench bench --faults noop_reset                          # watch a lie being caught`,
		Args: cobra.NoArgs,
	}
	s := settings(c, slices.Concat([]string{"manifest"}, workloadFlags, plannerFlags, endpointFlags, protocolFlags, evidenceFlags, judgeFlags, gateFlags, simFlags, []string{"shard", "listen", "output", "include-text", "quiet"})...)
	c.RunE = func(c *cobra.Command, _ []string) error { return bench(c, s) }
	return c
}

func bench(c *cobra.Command, s *scenario.Scenario) error {
	ctx := c.Context()
	if !c.Flags().Changed("planner") {
		s.Planner = []string{"semblend", "span"} // both rungs: what the contract names, and what is really there
	}
	p := &protocol{c: c, s: s}
	simulate := s.BaseURL == ""
	if done, err := p.start(c); done || err != nil {
		return err
	}
	if err := p.countOffline(ctx); err != nil {
		return err
	}
	if simulate {
		engine, err := startEmbedded(ctx, s, p.dir)
		if err != nil {
			return err
		}
		defer engine.stop()
		s.BaseURL, s.ExactArm, s.EngineLog, s.ConnectorAudit = engine.url, engine.stockURL, p.dir.engineLog(), p.dir.audit()
		s.AllowSimulated = true
	}
	if err := p.live(ctx); err != nil {
		return err
	}
	result, evidence, err := p.judge()
	if err != nil {
		return err
	}
	o := gateOptions(s)
	o.Bench = true
	return p.conclude(result, evidence, o)
}

// gateOptions collects the gates that were typed or stand in sembench.yaml.
func gateOptions(s *scenario.Scenario) judge.GateOptions {
	o := judge.GateOptions{On: s.GateOn, Statistic: s.GateStatistic, AllowMissing: s.AllowMissing, AllowInconclusive: s.AllowInconclusive,
		AllowSimulated: s.AllowSimulated, AcceptChecks: s.AcceptChecks}
	for _, gate := range judge.GateTable() {
		if threshold, asked := s.Gate(gate.Flag); asked {
			o.Asks = append(o.Asks, judge.Ask{Flag: gate.Flag, Threshold: threshold})
		}
	}
	return o
}

// sampled keeps the items that --max-items and --head ask for.
func sampled(items []sembench.Item, s *scenario.Scenario) []sembench.Item {
	switch {
	case s.Head > 0:
		return workload.Head(items, s.Head)
	case s.MaxItems > 0:
		return workload.Sample(items, s.MaxItems, uint64(s.Seed))
	}
	return items
}
