package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/scenario"
	"sembench/internal/wire"
)

func snapshotCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine-snapshot [URL…]",
		Short: "The engine's reuse counters now, and what its serve line says",
		Long: `Reads the reuse counters of one or several engines (Prometheus text, or TensorRT-LLM's JSON) and the flags of a vLLM serve line. An
endpoint that cannot be read is recorded with its reason, and the exit code is 3. With --require-phase0-flags so it is for a serve line that lacks a
flag which evidence needs.`,
		Example: `  sembench engine-snapshot http://127.0.0.1:8000 --output before.json
  sembench engine-snapshot http://10.0.0.5:8000 http://10.0.0.6:8000 --output before.json
  sembench engine-snapshot --serve-line "vllm serve m --block-size 16 …" --require-phase0-flags`,
	}
	s := settings(c, "base-url", "metrics-url", "worker-url", "header", "api-key-env", "use-proxy", "timeout-seconds", "serve-line", "require-phase0-flags", "output")
	c.RunE = func(c *cobra.Command, args []string) error {
		config, err := serveLine(s)
		if err != nil {
			return err
		}
		urls, err := snapshotURLs(s, args)
		if err != nil {
			return err
		}
		if len(urls) == 0 && config == nil {
			return usage(errors.New("no server"), "give its URL, --base-url, --metrics-url or --serve-line")
		}
		client, err := plainClient(s)
		if err != nil {
			return err
		}
		defer client.Close()
		out := sembench.EngineSnapshot{Schema: sembench.EngineSnapshotSchema, CreatedAtUTC: now(), Config: config, Endpoints: []sembench.MetricsSnapshot{}}
		var failed []error
		for _, address := range urls {
			read, _, err := scrape(c.Context(), client, address)
			if err != nil {
				failed = append(failed, err)
				read = &engine.Metrics{Schema: engine.MetricsSchema, Endpoint: wire.CleanURL(address), ScrapedAtUTC: now(), Error: new(err.Error())}
			}
			out.Endpoints = append(out.Endpoints, *read)
		}
		if err := writeDocument(c, s.Output, out); err != nil {
			return err
		}
		if len(failed) > 0 {
			return endpoint(errors.Join(failed...), "is the server up, and does it serve metrics? SGLang needs --enable-metrics")
		}
		return phase0(s, config)
	}
	return c
}

// snapshotURLs are the metrics pages asked for: a server's bare address, with or without /v1, stands for its /metrics.
func snapshotURLs(s *scenario.Scenario, args []string) ([]string, error) {
	named := args
	if s.BaseURL != "" {
		named = append([]string{s.BaseURL}, named...)
	}
	if s.MetricsURL != "" {
		named = append([]string{s.MetricsURL}, named...)
	}
	var out []string
	seen := map[string]bool{}
	for _, address := range append(named, s.WorkerURL...) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usage(fmt.Errorf("%q is no address of a server", address), "want http://host:port")
		}
		if path := strings.Trim(u.Path, "/"); path == "" || path == "v1" {
			address = wire.Join(address, "/metrics")
		}
		if !seen[address] {
			seen[address] = true
			out = append(out, address)
		}
	}
	return out, nil
}

// serveLine reads --serve-line, a command line or a file that holds one, and keeps its text, without keys, in the settings. Nil without one.
func serveLine(s *scenario.Scenario) (*sembench.EngineConfig, error) {
	if s.ServeLine == "" {
		if s.RequirePhase0 {
			return nil, usage(errors.New("--require-phase0-flags needs the serve line"), `give it with --serve-line "vllm serve …" or a file that holds it`)
		}
		return nil, nil
	}
	if isRegular(s.ServeLine) {
		text, err := os.ReadFile(s.ServeLine)
		if err != nil {
			return nil, usage(fmt.Errorf("reading serve line: %w", err), "")
		}
		s.ServeLine = strings.TrimSpace(string(text))
	}
	config, err := engine.ParseServeLine(s.ServeLine, nil)
	if err != nil {
		return nil, usage(err, "give the line as a shell would read it, environment in front: VLLM_SERVER_DEV_MODE=1 vllm serve …")
	}
	s.ServeLine = engine.WithoutKeys(s.ServeLine)
	return config, nil
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// phase0 refuses a serve line that lacks a flag, where that was asked for.
func phase0(s *scenario.Scenario, config *sembench.EngineConfig) error {
	if !s.RequirePhase0 || config == nil || config.FlagsOK {
		return nil
	}
	return endpoint(fmt.Errorf("the serve line breaks %d of the phase-0 rules:\n%s", len(config.Violations), join(config.Violations)), "")
}

func windowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine-window START END",
		Short: "What the counters say of the time between two snapshots",
		Long: `Deltas of the reuse counters between two snapshots, per endpoint and in total, with resets detected and the engine's own sums checked. Snapshots are
documents of engine-snapshot, or metrics pages as they were served.`,
		Example: `  sembench engine-window before.json after.json --output window.json
  sembench engine-window results/r1/raw/metrics-before.txt results/r1/raw/metrics-after.txt`,
		Args: cobra.ExactArgs(2),
	}
	s := settings(c, "output")
	c.RunE = func(c *cobra.Command, args []string) error {
		start, err := readSnapshot(args[0])
		if err != nil {
			return err
		}
		end, err := readSnapshot(args[1])
		if err != nil {
			return err
		}
		return writeDocument(c, s.Output, engine.Window(start, end))
	}
	return c
}

// readSnapshot reads the scrapes in a file: a document of ours, or one page as served, whose endpoint has no name.
func readSnapshot(path string) ([]*engine.Metrics, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage(fmt.Errorf("reading %s: %w", path, err), "")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		page, err := engine.ParseMetrics(bytes.NewReader(text))
		if err != nil {
			return nil, usage(fmt.Errorf("reading %s: %w", path, err), "")
		}
		return []*engine.Metrics{page}, nil
	}
	var doc sembench.EngineSnapshot
	if err := sembench.Unmarshal(text, &doc); err != nil {
		return nil, usage(fmt.Errorf("reading %s: %w", path, err), "snapshots are written by: sembench engine-snapshot")
	}
	switch doc.Schema {
	case sembench.EngineSnapshotSchema:
		var out []*engine.Metrics
		for i := range doc.Endpoints {
			out = append(out, &doc.Endpoints[i])
		}
		return out, nil
	case engine.MetricsSchema:
		var one engine.Metrics
		err := sembench.Unmarshal(text, &one)
		return []*engine.Metrics{&one}, usage(err, "")
	}
	return nil, usage(fmt.Errorf("reading %s: schema is %q, want %s", path, doc.Schema, sembench.EngineSnapshotSchema), "snapshots are written by: sembench engine-snapshot")
}
