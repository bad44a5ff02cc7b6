package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"sembench/internal/scenario"
)

// Polling of the connector's audit for donors: how often, and for how long at most.
const (
	awaitEvery = 20 * time.Millisecond
	awaitMost  = 30 * time.Second
)

// awaitDonors waits until the connector's audit says that every donor of these request ids was registered. It reads only what the audit gained
// since the last look.
func awaitDonors(s *scenario.Scenario) func(context.Context, []string) error {
	var mu sync.Mutex // steps side by side share what was read
	registered := map[string]bool{}
	var offset int64
	look := func(ids []string) (missing string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err := gained(s.ConnectorAudit, &offset, registered); err != nil {
			return "", err
		}
		for _, id := range ids {
			if !registered[id] {
				missing = id
			}
		}
		return missing, nil
	}
	return func(ctx context.Context, ids []string) error {
		deadline := time.Now().Add(awaitMost)
		for {
			missing, err := look(ids)
			if err != nil || missing == "" {
				return err
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("waiting for donors: %s is not registered in %s after %v", missing, s.ConnectorAudit, awaitMost)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(awaitEvery):
			}
		}
	}
}

// requestID finds this tool's own id within an engine's.
var requestID = regexp.MustCompile(`sembench-[a-z0-9-]+?-\d{6}-[a-z0-9-]+?-[0-9a-f]{16}(-r\d+)?`)

// gained notes the requests that an audit newly registered as donors.
func gained(path string, offset *int64, registered map[string]bool) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("waiting for donors: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(*offset, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := strings.LastIndexByte(string(text), '\n') + 1 // a line still being written is read the next time
	*offset += int64(whole)
	for _, line := range strings.Split(string(text[:whole]), "\n") {
		if strings.Contains(line, `"donor_registered"`) {
			for _, id := range requestID.FindAllString(line, -1) {
				registered[id] = true
			}
		}
	}
	return nil
}
