package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"sembench/internal/scenario"
)

// checked remembers the first error of writing to standard output, so that a document lost to a full disk or a closed pipe is never exit 0.
type checked struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

func (w *checked) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = fmt.Errorf("writing to standard output: %w", err)
		}
	}
	return n, err
}

func (w *checked) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// refuseOverwrite refuses an output that is one of the command's own inputs.
func refuseOverwrite(s *scenario.Scenario, args []string) error {
	out, err := os.Stat(s.Output)
	if s.Output == "" || err != nil || out.IsDir() {
		return nil
	}
	for _, path := range append([]string{s.Manifest, s.Input, s.From, s.EngineLog, s.ConnectorAudit, s.NoiseFloorFile, s.Tokenizer}, args...) {
		if in, err := os.Stat(path); path != "" && err == nil && os.SameFile(in, out) {
			return usage(fmt.Errorf("--output %s is what the command reads", s.Output), "choose another --output")
		}
	}
	return nil
}
