package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/plan"
	"sembench/internal/scenario"
	"sembench/internal/sim"
)

// checkAddresses refuses addresses with credentials in them: they would stand in files and messages.
func checkAddresses(s *scenario.Scenario) error {
	addresses := map[string][]string{
		"base-url": {s.BaseURL}, "gateway-url": {s.GatewayURL}, "donor-url": {s.DonorURL}, "exact-arm": {s.ExactArm}, "worker-url": s.WorkerURL,
		"metrics-url": {s.MetricsURL}, "reset-url": s.ResetURL,
	}
	for _, flag := range slices.Sorted(maps.Keys(addresses)) {
		for _, address := range addresses[flag] {
			u, err := url.Parse(address)
			if err != nil {
				return usage(fmt.Errorf("--%s is no address", flag), "want http://host:port")
			}
			if u.User != nil || u.RawQuery != "" && flag != "reset-url" {
				return usage(fmt.Errorf("--%s holds a user, password or query, which would be written down", flag), "give a key with --api-key-env NAME, or another secret with --header")
			}
		}
	}
	return nil
}

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
	if err := checkAddresses(s); err != nil {
		return err
	}
	if s.APIKeyEnv != "" && os.Getenv(s.APIKeyEnv) == "" {
		return usage(fmt.Errorf("--api-key-env %s is not set", s.APIKeyEnv), "export it, or name another variable")
	}
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{
		{"salt", s.Salt, []string{"auto", "cache_salt", "text"}}, {"connector-kind", s.ConnectorKind, []string{"", "semantic"}},
		{"include-text", s.IncludeText, []string{"none", "hash", "full"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return usage(fmt.Errorf("--%s is %q", choice.flag, choice.value), "want one of: "+strings.TrimPrefix(strings.Join(choice.of, ", "), ", "))
		}
	}
	if s.AwaitDonors && s.ConnectorAudit == "" && s.BaseURL != "" {
		return usage(errors.New("--await-donors has no evidence to wait for"), "give --connector-audit, or wait a fixed time with --post-donor-delay-ms")
	}
	if s.TimeoutSeconds <= 0 {
		return usage(fmt.Errorf("--timeout-seconds is %v", s.TimeoutSeconds), "want more than 0")
	}
	if s.QualityThreshold > 1 {
		return usage(fmt.Errorf("--quality-threshold is %v", s.QualityThreshold), "want a share between 0 and 1")
	}
	for flag, path := range map[string]string{"engine-log": s.EngineLog, "connector-audit": s.ConnectorAudit, "noise-floor-calibration": s.NoiseFloorFile} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return usage(fmt.Errorf("--%s: %w", flag, err), "nothing was sent; the engine must be writing it before the run begins")
		}
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
