package main

import (
	"fmt"
	"slices"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/plan"
	"sembench/internal/scenario"
	"sembench/internal/sim"
)

// checkSettings refuses every setting that a later step of a run would refuse, before anything is built, sent or written.
func checkSettings(s *scenario.Scenario) error {
	config, err := serveLine(s)
	if err != nil {
		return err
	}
	if err := phase0(s, config); err != nil {
		return err
	}
	if _, err := judge.Gate(sembench.Result{}, gateOptions(s)); err != nil {
		return usage(err, "")
	}
	if s.Level <= 0 || s.Level >= 1 {
		return usage(fmt.Errorf("--level is %v", s.Level), "want a confidence between 0 and 1, like 0.95")
	}
	if s.Resamples < 100 {
		return usage(fmt.Errorf("--resamples is %d", s.Resamples), "want 100 or more: fewer make no interval")
	}
	if !slices.Contains([]string{"", "cold_cold", "exact_prefix"}, s.NoiseFloor) {
		return usage(fmt.Errorf("--noise-floor is %q", s.NoiseFloor), "want cold_cold or exact_prefix")
	}
	if _, err := sim.ParseFaults(s.Faults); err != nil {
		return usage(err, "see: sembench sim --list-faults")
	}
	for _, name := range s.Planner {
		p, err := plan.Open(name, plan.Options{BlockSize: s.BlockSize, MinSpan: s.MinSpan, Embedder: s.Embedder})
		if err != nil {
			return usage(err, "want --planner semblend, span or exec:COMMAND")
		}
		p.Close()
	}
	if _, err := offlineOptions(s); err != nil {
		return err
	}
	probe := *s
	if probe.BaseURL == "" {
		probe.BaseURL = "http://127.0.0.1:1" // the embedded engine has no address yet
	}
	cfg, err := replayConfig(&probe, "check")
	if err != nil {
		return err
	}
	return usage(cfg.Validate(), "")
}
