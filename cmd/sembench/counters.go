package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/scenario"
	"sembench/internal/wire"
)

// maxScrape bounds one metrics page in bytes: vLLM's is about 100 kB a model.
const maxScrape = 32 << 20

func snapshotCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine-snapshot",
		Short: "The engine's reuse counters now",
		Example: `  sembench engine-snapshot --base-url http://127.0.0.1:8000 --output before.json
  sembench engine-snapshot --metrics-url http://10.0.0.5:8000/metrics`,
		Args: cobra.NoArgs,
	}
	s := settings(c, "base-url", "metrics-url", "header", "api-key-env", "use-proxy", "timeout-seconds", "output")
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, err := plainClient(s)
		if err != nil {
			return err
		}
		defer client.Close()
		url, err := metricsURL(s)
		if err != nil {
			return err
		}
		snapshot, _, err := scrape(c.Context(), client, url)
		if err != nil {
			return endpoint(err, "is the server up, and does it serve metrics? SGLang needs --enable-metrics")
		}
		return writeDocument(c, s.Output, snapshot)
	}
	return c
}

func windowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "engine-window START END",
		Short:   "What the counters say of the time between two snapshots",
		Long:    "Deltas of the reuse counters between two snapshots, per endpoint and in total, with resets detected and the engine's own sums checked.",
		Example: "  sembench engine-window before.json after.json --output window.json",
		Args:    cobra.ExactArgs(2),
	}
	s := settings(c, "output")
	c.RunE = func(c *cobra.Command, args []string) error {
		var start, end engine.Metrics
		if err := errors.Join(sembench.ReadDocument(args[0], &start), sembench.ReadDocument(args[1], &end)); err != nil {
			return usage(err, "snapshots are written by: sembench engine-snapshot")
		}
		return writeDocument(c, s.Output, engine.Window([]*engine.Metrics{&start}, []*engine.Metrics{&end}))
	}
	return c
}

// plainClient is a client for small requests with the scenario's authorization.
func plainClient(s *scenario.Scenario) (*wire.Client, error) {
	headers, err := headerMap(s.Headers)
	if err != nil {
		return nil, err
	}
	return wire.New(wire.Options{UseProxy: s.UseProxy, APIKey: apiKey(s), Header: headers, Total: time.Duration(s.TimeoutSeconds * float64(time.Second))}), nil
}

// apiKey comes from the environment alone; a key in a flag would stand in process lists and shell histories.
func apiKey(s *scenario.Scenario) string {
	if s.APIKeyEnv != "" {
		return os.Getenv(s.APIKeyEnv)
	}
	return os.Getenv("SEMBENCH_API_KEY")
}

func headerMap(lines []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usage(errors.New("--header has no name"), `want --header "Name: value"`)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, nil
}

func metricsURL(s *scenario.Scenario) (string, error) {
	switch {
	case s.MetricsURL != "":
		return s.MetricsURL, nil
	case s.BaseURL != "":
		return wire.Join(s.BaseURL, "/metrics"), nil
	}
	return "", usage(errors.New("no server"), "give --base-url or --metrics-url")
}

// scrape reads one metrics page; the second value is the page verbatim.
func scrape(ctx context.Context, client *wire.Client, url string) (*engine.Metrics, []byte, error) {
	answer, failed := client.Call(ctx, "GET", url, nil, maxScrape)
	if failed != nil {
		return nil, nil, fmt.Errorf("reading counters at %s: %s: %s", wire.CleanURL(url), failed.Class, failed.Message)
	}
	if !answer.OK() {
		return nil, nil, fmt.Errorf("reading counters at %s: HTTP status %d", wire.CleanURL(url), answer.Status)
	}
	snapshot, err := engine.ParseMetrics(bytes.NewReader(answer.Body))
	if err != nil {
		return nil, nil, fmt.Errorf("reading counters at %s: %w", wire.CleanURL(url), err)
	}
	snapshot.Endpoint = wire.CleanURL(url)
	return snapshot, answer.Body, nil
}
