package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/replay"
	"sembench/internal/scenario"
)

func runLoadCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run-load",
		Short: "Open-loop and closed-loop load: throughput, latency percentiles, goodput",
		Long: `Offers a manifest as load: a closed loop of --concurrency, an open loop at --rate, or the arrival times of the items (--replay 1x). Open-loop
latencies count from the scheduled time, free of coordinated omission; schedule lag says whether this client kept up. Compare two runs at equal
rate with: sembench compare.`,
		Example: `  sembench run-load --base-url http://127.0.0.1:8000 --manifest m.jsonl --concurrency 16
  sembench run-load --base-url http://127.0.0.1:8000 --profile dev --rate 4 --arrivals poisson --slo "ttft_ms<200" --output load1`,
		Args: cobra.NoArgs,
	}
	s := settings(c, slices.Concat([]string{"manifest"}, workloadFlags, endpointFlags, protocolFlags, []string{"rate", "arrivals", "replay", "slo", "duration-seconds", "output", "include-text", "quiet"})...)
	cold := c.Flags().Bool("cold", false, "salt every request by itself: the same load with nothing to reuse")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if s.BaseURL == "" {
			return usage(errNoServer, hintNoServer)
		}
		traffic, err := trafficOf(s, *cold)
		if err != nil {
			return err
		}
		if _, err := judge.ParseSLO(s.SLO); s.SLO != "" && err != nil {
			return usage(err, "")
		}
		// Under load one arm is run at a time; two runs at equal rate are compared.
		if s.Arm = sembench.ArmWarm; *cold {
			s.Arm = sembench.ArmCold
		}
		p := &protocol{c: c, s: s}
		if done, err := p.start(c); done || err != nil {
			return err
		}
		for _, step := range []func() error{func() error { return p.instrument(c.Context()) }, func() error { return p.preflight(c.Context()) }} {
			if err := step(); err != nil {
				return err
			}
		}
		return p.offer(traffic)
	}
	return c
}

// trafficOf is the load that the settings describe.
func trafficOf(s *scenario.Scenario, cold bool) (replay.Traffic, error) {
	t := replay.Traffic{Rate: s.Rate, Process: s.Arrivals, Cold: cold, MinDonorGap: s.MinDonorGapRequests, Duration: time.Duration(s.Duration * float64(time.Second))}
	if s.Replay == "" {
		return t, nil
	}
	speed, err := strconv.ParseFloat(strings.TrimSuffix(s.Replay, "x"), 64)
	if err != nil || !(speed > 0) {
		return t, usage(fmt.Errorf("--replay is %q", s.Replay), "want a speed like 1x or 2.5x")
	}
	t.Replay, t.Speed = true, speed
	return t, nil
}

// offer sends the load and writes its throughput document.
func (p *protocol) offer(traffic replay.Traffic) error {
	journal, err := p.journal(p.dir.observations())
	if err != nil {
		return err
	}
	bar := newProgress("load", len(p.items), p.s.Quiet)
	summary, err := replay.Load(p.c.Context(), p.cfg, traffic, p.items, journal, func(_ string, done, total int) { bar.set(done, total) })
	bar.end()
	if err = errors.Join(err, journal.Close()); err != nil {
		return endpointError(err)
	}
	_, observations, err := readJournal(p.dir.observations())
	if err != nil {
		return err
	}
	throughput, err := judge.Throughput(observations, judge.Load{
		Concurrency: summary.Concurrency, WallSeconds: summary.WallSeconds, SettleSeconds: summary.SettleSeconds, IdleSeconds: summary.IdleSeconds,
		ClientCPU: summary.ClientCPU, ClientLimited: summary.ClientLimited, SLO: p.s.SLO,
	})
	if err != nil {
		return usage(err, "")
	}
	if err := sembench.WriteDocument(p.dir.file("throughput.json"), throughput); err != nil {
		return err
	}
	printThroughput(p, throughput, summary)
	if summary.Drained {
		return invalid(errors.New("the load was interrupted: its numbers cover what was sent until then"), "a load run cannot be resumed: its cache state would not be the one it had")
	}
	return nil
}

func printThroughput(p *protocol, t *sembench.Throughput, summary replay.LoadSummary) {
	out := p.c.OutOrStdout()
	simulated := ""
	if p.flight.Simulated {
		simulated = "   SIMULATED"
	}
	fmt.Fprintf(out, "%d requests, %d errors, %.1f s%s\n", t.Requests, t.Errors, t.WallSeconds, simulated)
	fmt.Fprintf(out, "requests/s   %s; output tokens/s %s\n", number(t.RequestsPerSecond), number(t.OutputTokensPerSecond))
	for _, row := range []struct {
		name string
		p    sembench.Percentiles
	}{{"TTFT ms", t.RecipientTTFTMS}, {"latency ms", t.RecipientLatencyMS}, {"ITL ms", t.ITLMS}, {"lag ms", t.ScheduleLagMS}} {
		fmt.Fprintf(out, "%-12s p50 %s, p90 %s, p99 %s\n", row.name, number(row.p.P50), number(row.p.P90), number(row.p.P99))
	}
	if g := t.Goodput; g != nil {
		fmt.Fprintf(out, "goodput      %s within %s\n", number(g.Rate), g.SLO)
	}
	if summary.ClientLimited {
		fmt.Fprintf(out, "LIMITED BY THIS CLIENT: %s\n", summary.LimitedBy)
	}
	fmt.Fprintf(out, "document     %s\n", p.dir.file("throughput.json"))
}
