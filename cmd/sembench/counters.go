package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sembench/internal/engine"
	"sembench/internal/scenario"
	"sembench/internal/wire"
)

// maxScrape bounds one metrics page in bytes: vLLM's is about 100 kB a model.
const maxScrape = 32 << 20

// plainClient is a client for small requests with the scenario's authorization.
func plainClient(s *scenario.Scenario) (*wire.Client, error) {
	headers, err := headerMap(s.Headers)
	if err != nil {
		return nil, err
	}
	secure, err := tlsConfig(s)
	if err != nil {
		return nil, err
	}
	return wire.New(wire.Options{TLS: secure, UseProxy: s.UseProxy, APIKey: apiKey(s), Header: headers, Total: time.Duration(s.TimeoutSeconds * float64(time.Second))}), nil
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
	snapshot.Endpoint, snapshot.ScrapedAtUTC = wire.CleanURL(url), now()
	return snapshot, answer.Body, nil
}
