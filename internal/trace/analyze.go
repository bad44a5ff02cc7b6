package trace

import (
	"errors"
	"fmt"
	"io"

	"sembench"
)

// badShare is the share of lines that may be unreadable. Beyond it rates would say little about the trace, so it is an
// error; up to it the lines are counted in a warning.
const badShare = 0.01

// Analyze reads a trace to its end and gives its curve. Unreadable lines up to 1 % are a warning that counts them, more
// are an error. A trace of lengths only has null rates and a warning.
func Analyze(r io.Reader, name, format string, o Options) (sembench.TraceCurve, error) {
	s, err := Open(r, name, format)
	if err != nil {
		return sembench.TraceCurve{}, err
	}
	if s.Format == "text" {
		return analyzeText(s, o)
	}
	size := s.BlockSize
	if o.BlockSize > 0 {
		size = o.BlockSize
	}
	a, err := NewAnalyzer(max(size, 1), o)
	if err != nil {
		return sembench.TraceCurve{}, err
	}
	var bad sembench.Problems
	for r, err := range s.Requests() {
		switch {
		case isBad(err):
			bad.Add(err)
		case err != nil:
			return sembench.TraceCurve{}, fmt.Errorf("reading %s: %w", name, err)
		default:
			a.Add(r)
		}
	}
	if err := tooBad(name, bad, a.requests); err != nil {
		return sembench.TraceCurve{}, err
	}
	return withBad(a.Curve(), bad), nil
}

func isBad(err error) bool {
	var line *BadLine
	return errors.As(err, &line)
}

// tooBad is an error when a trace holds too many unreadable lines, or nothing else.
func tooBad(name string, bad sembench.Problems, good int64) error {
	switch {
	case good == 0 && bad.Count == 0:
		return fmt.Errorf("reading %s: no request in it", name)
	case float64(bad.Count) > badShare*float64(good):
		return fmt.Errorf("reading %s: %d of %d lines cannot be read: %w", name, bad.Count, int64(bad.Count)+good, &bad)
	}
	return nil
}

func withBad(c sembench.TraceCurve, bad sembench.Problems) sembench.TraceCurve {
	if bad.Count > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d lines could not be read, the first: %v", bad.Count, bad.Shown[0]))
	}
	if c.BlockIDs == 0 {
		c.Warnings = append(c.Warnings, "the trace has lengths but no block ids: what could be reused is unknown")
	}
	return c
}
