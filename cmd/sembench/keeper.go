package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sembench"
	"sembench/internal/engine"
)

// keeper copies what an engine's log gained during a run into the run directory, verbatim.
type keeper struct {
	from, to string
	start    int64
}

// newKeeper notes how long the log is now; a log that is not there yet starts at 0.
func newKeeper(from, to string) keeper {
	k := keeper{from: from, to: to}
	if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() {
		k.start = info.Size()
	}
	return k
}

// before summarizes what the log said before the run began: engines name their provider once, at boot. Nil when there is no such part.
func (k keeper) before(name string, o engine.Options) (*sembench.Evidence, error) {
	if k.start == 0 {
		return nil, nil
	}
	in, err := os.Open(k.from)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return engine.Summarize(name, io.LimitReader(in, k.start), o)
}

// keep appends the new part to the copy. A log that shrank was rotated: all of it is new. A log that the run directory holds itself is kept as it
// is.
func (k keeper) keep() error {
	a, errA := filepath.Abs(k.from)
	b, errB := filepath.Abs(k.to)
	if errA == nil && errB == nil && a == b {
		return nil
	}
	in, err := os.Open(k.from)
	if err != nil {
		return usage(fmt.Errorf("keeping the engine's log: %w", err), "the run is complete; copy the log to "+k.to+" and use: sembench judge")
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Size() >= k.start {
		if _, err := in.Seek(k.start, io.SeekStart); err != nil {
			return err
		}
	}
	out, err := appendTo(k.to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
