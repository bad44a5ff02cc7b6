package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sembench"
	"sembench/internal/token"
)

// Engine is one engine process: caches, donor store, scheduler and voice. Safe for concurrent use.
type Engine struct {
	cfg    Config
	tok    token.Tokenizer
	faults []active
	voice  voice
	boot   boot
	// arrivals numbers requests; the workers of a gateway share it.
	arrivals *atomic.Int64
	workers  []*Engine

	mu                  sync.Mutex
	prefix              *blockCache
	offload             *blockCache
	donors              *donorStore // nil without a semantic layer
	sched               scheduler
	count               counters
	resets, donorResets int
	truth               []sembench.SimTruth // in order of completion
	log                 lineWriter
	audit               lineWriter
	events              eventStream

	lineLock  sync.Mutex
	lineError error
}

// boot tells one engine process from the next.
type boot struct {
	id      string
	started time.Time
}

// New makes an engine from a configuration, or reports every way in which the configuration is wrong.
func New(c Config) (*Engine, error) {
	c, err := c.filled()
	if err != nil {
		return nil, fmt.Errorf("configuring the embedded engine: %w", err)
	}
	faults, err := ParseFaults(c.Faults)
	if err != nil {
		return nil, fmt.Errorf("configuring the embedded engine: %w", err)
	}
	tok, planner, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("configuring the embedded engine: %w", err)
	}
	e := &Engine{cfg: c, tok: tok, prefix: newBlockCache(c.CapacityBlocks), offload: newBlockCache(c.OffloadBlocks), arrivals: &atomic.Int64{}}
	e.boot = boot{id: randomID(8), started: c.Clock.Now()}
	e.sched.slots, e.sched.lanes = c.MaxRunning, make([]time.Time, c.PrefillSlots)
	e.count = newCounters()
	if planner != nil {
		e.donors = newDonorStore(planner, c.DonorTokens)
	}
	e.faults = activate(faults, e)
	e.log, e.audit = e.lines(c.Log, channelLog), e.lines(c.Audit, channelAudit)
	e.events.send = c.Events
	if e.voice, err = newVoice(e); err != nil {
		return nil, fmt.Errorf("configuring the embedded engine: %w", err)
	}
	e.voice.booted()
	return e, nil
}

// Truth is what really happened, one record per request that ended, in order of arrival; a gateway's is its workers'.
func (e *Engine) Truth() []sembench.SimTruth {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := slices.Clone(e.truth)
	for _, w := range e.workers {
		out = append(out, w.Truth()...)
	}
	slices.SortStableFunc(out, func(a, b sembench.SimTruth) int { return cmp.Compare(arrivalIndex(a), arrivalIndex(b)) })
	return out
}

// arrivalIndexKey is the extra key of a truth record that holds the request's place in the order of arrival.
const arrivalIndexKey = "arrival_index"

func arrivalIndex(t sembench.SimTruth) int {
	n, _ := t.Extra[arrivalIndexKey].(int)
	return n
}

// Serve answers on l until ctx ends, then lets running requests finish for at most five seconds. It returns nil after
// such a stop.
func (e *Engine) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: e.Handler(), ReadHeaderTimeout: 30 * time.Second}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			stopped <- server.Close()
			return
		}
		stopped <- nil
	})
	err := server.Serve(l)
	if !stop() {
		return <-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the embedded engine: %w", err)
}

// record writes down what happened to a job that ended. Caller holds the lock.
func (e *Engine) record(j *job) {
	d := &j.decision
	t := sembench.SimTruth{
		RequestID: j.id, PromptTokens: d.prompt, PrefixTokens: d.prefix, ExternalTokens: d.offload, SemanticTokens: d.semantic,
		Layers: d.layers, QueueNS: int64(j.start.Sub(j.arrival)), PrefillNS: int64(j.charge.prefill), LoadNS: int64(j.charge.load),
		LookupNS: int64(j.charge.lookup), LawTTFTNS: int64(j.first.Sub(j.arrival)), EmittedFirstNS: int64(j.emitted.Sub(j.arrival)),
		ResetsSeen: j.resets, FaultsActive: slices.Clone(j.acted), Extra: sembench.Extra{arrivalIndexKey: j.index},
	}
	if d.semantic > 0 {
		t.DonorRequestID = d.donor.requestID
	}
	if j.state == aborted {
		t.Extra["aborted"] = true
	}
	slices.Sort(t.FaultsActive)
	if len(e.truth) >= 2*e.cfg.TruthLimit {
		e.truth = append(e.truth[:0], e.truth[len(e.truth)-e.cfg.TruthLimit:]...)
	}
	e.truth = append(e.truth, t)
}
