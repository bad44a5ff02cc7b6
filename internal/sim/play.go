package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sembench"
)

// Arrival is one request of a scripted stream.
type Arrival struct {
	At        time.Duration // since the engine started
	Prompt    string
	MaxTokens int // 0 means 16
	Salt      string
	RequestID string // empty: a random one
}

// Play runs a whole stream of text completions through the engine in the law's time, under any concurrency, and
// returns the truth of each in order of arrival. Nothing waits and nothing is sent. The engine must not serve at the
// same time.
func (e *Engine) Play(ctx context.Context, stream []Arrival) ([]sembench.SimTruth, error) {
	stream = slices.Clone(stream)
	slices.SortStableFunc(stream, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	jobs := make([]*job, len(stream))
	for i, a := range stream {
		j := &job{endpoint: endpointCompletions, salt: a.Salt, limit: a.MaxTokens, arrival: e.boot.started.Add(a.At)}
		setInt(&j.limit, 16)
		j.id = e.requestID(j.endpoint, a.RequestID, "")
		if err := e.fill(j, prompt{a.Prompt, ask(a.Prompt), e.tok.Encode(nil, a.Prompt)}); err != nil {
			return nil, fmt.Errorf("playing arrival %d: %w", i, err)
		}
		jobs[i] = j
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	first := len(e.truth)
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.enqueue(j)
	}
	for at, ok := e.sched.next(); ok; at, ok = e.sched.next() {
		e.advance(at)
	}
	for _, j := range jobs {
		j.emitted = j.delivery.due[0]
		e.record(j)
	}
	return slices.Clone(e.truth[first:]), nil
}
