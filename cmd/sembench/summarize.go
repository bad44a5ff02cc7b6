package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"sembench/internal/engine"
)

func summarizeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "summarize-engine-events [FILE|DIR|-]",
		Short: "Evidence of reuse from an engine's log, audit or statistics",
		Long: `Reads what an engine says about itself and keeps three kinds of evidence apart: exact reuse, semantic candidates, and semantic
materialization. Quoted log lines inside prompts are never evidence. Null means that a source never appeared.`,
		Example: `  sembench summarize-engine-events --engine vllm --input engine.log --output evidence.json
  kubectl logs vllm-0 | sembench summarize-engine-events --engine auto -`,
		Args: cobra.MaximumNArgs(1),
	}
	s := settings(c, "engine", "input", "output", "max-requests", "strict")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Input = args[0]
		}
		if s.Input == "" {
			return usage(errors.New("no input"), "give a log with --input FILE, a folder, or - for standard input")
		}
		if _, err := engine.Canonical(s.Engine); err != nil {
			return usage(err, "")
		}
		in, err := openAll(c, s.Input)
		if err != nil {
			return err
		}
		defer in.Close()
		evidence, err := engine.Summarize(s.Engine, in, engine.Options{MaxRequests: s.MaxRequests})
		if err != nil {
			return usage(fmt.Errorf("reading %s: %w", s.Input, err), "")
		}
		if err := writeDocument(c, s.Output, evidence); err != nil {
			return err
		}
		if n := evidence.Input.DamagedLines; s.Strict && n > 0 {
			return fail(exitGate, fmt.Errorf("%d damaged lines in %s", n, s.Input), "they are counted in input.damaged_lines; leave --strict out to accept them")
		}
		return nil
	}
	return c
}

// openAll opens a file, standard input, or the files of a folder one after another in name order.
func openAll(c *cobra.Command, path string) (io.ReadCloser, error) {
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		return open(c, path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, usage(fmt.Errorf("reading %s: %w", path, err), "")
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil, usage(fmt.Errorf("reading %s: no file in it", path), "")
	}
	return &chain{c: c, names: names}, nil
}

// chain reads files one after another, each opened when the one before it ended.
type chain struct {
	c     *cobra.Command
	names []string
	now   io.ReadCloser
}

func (f *chain) Read(p []byte) (int, error) {
	for {
		if f.now == nil {
			if len(f.names) == 0 {
				return 0, io.EOF
			}
			file, err := open(f.c, f.names[0])
			if err != nil {
				return 0, err
			}
			f.now, f.names = file, f.names[1:]
		}
		n, err := f.now.Read(p)
		if err == io.EOF {
			f.now.Close()
			f.now, err = nil, nil
			if n == 0 {
				// A file that ends within a line does not run into the next one.
				p[0], n = '\n', 1
			}
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (f *chain) Close() error {
	if f.now != nil {
		return f.now.Close()
	}
	return nil
}
