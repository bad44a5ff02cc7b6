package replay

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"sembench"
	"sembench/internal/wire"
)

// Arms of requests that belong to no pair.
const (
	armCanary = "canary"
	armProbe  = "probe" // the measurement of a prefix
	armWarmup = "warmup"
)

// Progress is told how far a phase ("replay", "calibration") is, in steps. It may be called from several goroutines.
type Progress func(phase string, done, total int)

// runner is one run under way.
type runner struct {
	cfg     Config
	client  *wire.Client
	journal *Journal
	tell    Progress
	phase   string
	items   map[string]sembench.Item

	mu        sync.Mutex
	primed    map[string]*probing // by engine and prefix
	simulated bool
	summary   Summary
	boots     map[string]*string // by engine
	failed    error              // the journal could not be written: nothing more is sent
	refused   int                // recipients in a row that found nobody
}

func newRunner(cfg Config, journal *Journal, phase string, tell Progress) *runner {
	if tell == nil {
		tell = func(string, int, int) {}
	}
	if cfg.Clock == nil {
		cfg.Clock = wire.NewClock(elapsed(journal.Head()))
	}
	return &runner{
		cfg: cfg, client: cfg.client(), journal: journal, tell: tell, phase: phase,
		primed: map[string]*probing{}, boots: map[string]*string{}, summary: Summary{Excluded: map[string]int{}},
	}
}

// elapsed is the wall time since a journal's run began, so that the stamps of a resumed run lie behind the old ones.
func elapsed(head sembench.JournalHead) time.Duration {
	begun, err := time.Parse(time.RFC3339Nano, head.StartedAtUTC)
	if err != nil {
		return 0
	}
	return max(0, time.Since(begun))
}

// place says where a request belongs.
type place struct {
	base, arm, item, role, pair string
	position, attempt           int
	order                       *int
	// scheduled is when an open loop wanted it sent, on the run's clock.
	scheduled *int64
	// retry marks a second sending of the same request: its id differs.
	retry bool
}

// id is the request's id. Requests of a resumed run, and of a pair that is run again, carry the attempt.
func (r *runner) id(p place) string {
	role := p.role
	if p.retry {
		role += "-retry"
	}
	id := sembench.RequestID(r.cfg.RunID, p.arm, p.item, role, p.position)
	if p.attempt > 0 {
		id += "-r" + strconv.Itoa(p.attempt)
	}
	return id
}

// observation is a line about a request that is not made.
func (r *runner) observation(p place, status, reason string) sembench.Observation {
	o := sembench.Observation{
		RequestID: r.id(p), Endpoint: wire.CleanURL(wire.Request{API: r.cfg.API, BaseURL: p.base}.URL()), Status: status,
		Headers: map[string]string{},
	}
	if reason != "" {
		o.Reason = &reason
	}
	r.fill(&o, p)
	return o
}

func (r *runner) fill(o *sembench.Observation, p place) {
	o.ItemID, o.Arm, o.Role, o.PairID = p.item, p.arm, p.role, p.pair
	o.Position, o.Attempt, o.Order = p.position, p.attempt, p.order
	r.mu.Lock()
	o.BootID = r.boots[p.base]
	r.mu.Unlock()
}

// send makes one request.
func (r *runner) send(ctx context.Context, p place, what prompt, s salt, maxTokens int) sembench.Observation {
	target := p.base
	if isDonor(p.role) && len(r.cfg.DonorURLs) > 0 {
		target = r.cfg.DonorURLs[place64(p.item+"\x1f"+p.role)%uint64(len(r.cfg.DonorURLs))]
	}
	request := r.cfg.request(target, r.id(p), what, s, maxTokens)
	request.Scheduled = p.scheduled
	o := r.client.Do(ctx, request)
	r.fill(&o, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.simulated = r.simulated || o.Headers["x-sembench-simulated"] != ""
	r.summary.Tokens += value(o.PromptTokens()) + value(o.OutputTokens())
	return o
}

// log writes a line as --include-text allows.
func (r *runner) log(o sembench.Observation) {
	if r.cfg.IncludeText != "full" {
		o.OutputText, o.OutputTokenIDs, o.OutputTopLogprobs = nil, nil, nil
	}
	err := r.journal.Append(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Requests++
	r.failed = errors.Join(r.failed, err)
}

// broken is the error that stops a run at once.
func (r *runner) broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// prefilled tells that a request did what a donor, probe or canary is for, even if its one output token had no text.
func prefilled(o sembench.Observation) bool {
	return o.Status == sembench.StatusOK || o.Error != nil && o.Error.Class == sembench.ErrorEmptyOutput
}

// isolate makes an engine forget, or takes a fresh salt. parts name the step.
func (r *runner) isolate(ctx context.Context, base string, parts ...string) (sembench.Isolation, salt, bool) {
	head := r.journal.Head()
	parts = append([]string{r.cfg.RunID, head.StartedAtUTC}, parts...)
	switch r.cfg.Isolation {
	case Reset:
		result := resetter{r.client, r.cfg.Sleep, r.cfg.ResetTimeout}.all(ctx, r.cfg.resets(base))
		status := sembench.IsolationFailed
		if result.done {
			status = sembench.IsolationAccepted
		}
		return sembench.Isolation{Method: sembench.IsolationReset, Status: status, Detail: result.detail}, salt{}, result.odd
	case Salt:
		return sembench.Isolation{Method: sembench.IsolationSalt, Status: sembench.IsolationAccepted, Detail: r.cfg.SaltKind}, newSalt(r.cfg.SaltKind, parts...), false
	case Fresh:
		return sembench.Isolation{Method: sembench.IsolationFreshProcess, Status: sembench.IsolationAccepted}, salt{}, false
	}
	return sembench.Isolation{Method: sembench.IsolationNone, Status: sembench.IsolationNone}, salt{}, false
}
