package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"sembench"
)

// Phases, as told to Progress.
const (
	phaseReplay      = "replay"
	phaseCalibration = "calibration"
)

// Reasons of recipients that were not sent.
const (
	ReasonDrained     = "drained"
	ReasonUnreachable = "endpoint_down"
	ReasonBudget      = "token_budget"
	ReasonDuration    = "duration_over"
)

// Summary accounts for every planned recipient: Planned = OK + Failed + sum of Excluded + NotSent.
type Summary struct {
	Planned  int            `json:"planned"`
	OK       int            `json:"ok"`
	Failed   int            `json:"failed"`
	Excluded map[string]int `json:"excluded"`
	NotSent  int            `json:"not_sent"`
	// Before counts recipients that an earlier part of a resumed run had done already; they are in none of the others but Planned.
	Before   int `json:"before"`
	Requests int `json:"requests"`
	// Tokens is what the engine said it was sent and gave, in all requests.
	Tokens int `json:"tokens"`
	// Drained: the run was stopped before its end. Aborted says why it stopped itself, "" if it did not.
	Drained bool   `json:"drained"`
	Aborted string `json:"aborted"`
	// Simulated: a response came from an embedded engine.
	Simulated      bool `json:"simulated"`
	CanariesPassed int  `json:"canaries_passed"`
	CanariesFailed int  `json:"canaries_failed"`
}

// Run replays items as pairs and journals every request. When ctx ends, the pairs under way are finished, the last canaries sent, and the
// rest is journaled as not_sent: the journal is whole and can be resumed. The error is for what makes going on pointless: a bad
// configuration, an endpoint that fails its pre-flight, a journal that cannot be written.
func Run(ctx context.Context, cfg Config, items []sembench.Item, journal *Journal, progress Progress) (Summary, error) {
	cfg, err := resolved(ctx, cfg)
	if err != nil {
		return Summary{}, err
	}
	return newRunner(cfg, journal, phaseReplay, progress).run(ctx, arrange(items, cfg.Arms, cfg.Repeats, cfg.Seed))
}

// resolved fills defaults and, where isolation was left open, asks the endpoint.
func resolved(ctx context.Context, cfg Config) (Config, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return cfg, err
	}
	open := cfg.Isolation == Auto || cfg.Model == "" || cfg.Isolation == Salt && cfg.SaltKind == "" ||
		cfg.Isolation == Reset && (len(cfg.ResetURLs) == 0 || cfg.ExactBaseURL != "" && len(cfg.ExactResetURLs) == 0)
	if open {
		report, err := Preflight(ctx, cfg)
		if err != nil {
			return cfg, err
		}
		cfg = report.Apply(cfg)
	}
	return cfg, cfg.Validate()
}

func (r *runner) run(ctx context.Context, plans []pairPlan) (Summary, error) {
	defer r.client.Close()
	r.know(plans)
	r.learn(context.WithoutCancel(ctx))
	complete := func(p pairPlan) bool { return r.journal.complete(p.id, p.arms) }
	if r.journal.Resumes() > 0 {
		unfinished := map[string]bool{}
		for _, p := range plans {
			unfinished[p.id] = !complete(p) || r.unproven(p)
		}
		again := func(o sembench.Observation) bool { return unfinished[o.PairID] || r.journal.unfinished(o) }
		if err := r.journal.supersede(again); err != nil {
			return r.summary, err
		}
	}
	var todo []pairPlan
	for _, p := range plans {
		r.summary.Planned += len(p.arms)
		if complete(p) {
			r.summary.Before += len(p.arms)
		} else {
			todo = append(todo, p)
		}
	}
	// What is begun is finished: its own time limits bound it, not the caller's patience.
	work := context.WithoutCancel(ctx)
	r.prepare(work, todo)
	left := r.pairs(ctx, work, todo)
	if len(left) < len(todo) || len(todo) == 0 {
		r.checkCanaries(work)
	}
	r.giveUp(left)
	r.keep(r.journal.Sync())
	r.summary.Simulated = r.simulated
	return r.summary, r.broken()
}

// know keeps the run's items by id, for items that seed others.
func (r *runner) know(plans []pairPlan) {
	r.items = map[string]sembench.Item{}
	for _, p := range plans {
		r.items[p.item.ItemID] = p.item
	}
}

// learn asks every engine for its boot id.
func (r *runner) learn(ctx context.Context) {
	for _, base := range r.bases() {
		r.boots[base] = readProcess(ctx, r.client, r.cfg.Engine, base).boot
	}
}

// unproven tells that a pair which an earlier part of the run completed can never be proven cold: no canary pass of its engine process
// followed it, and that process is gone. Where it is still up, the canaries of this part follow.
func (r *runner) unproven(p pairPlan) bool {
	if r.cfg.Isolation == None || r.cfg.Isolation == Fresh {
		return false
	}
	for _, arm := range p.arms {
		if boot, open := r.journal.open(p.id, arm); open && !sameBoot(boot, r.boots[r.cfg.base(arm)]) {
			return true
		}
	}
	return false
}

// sameBoot tells that two boot ids are equal. An engine that gives none is taken to be one process.
func sameBoot(a, b *string) bool { return text(a) == text(b) }

// prepare opens connections, sends the warm-up and runs the first canaries.
func (r *runner) prepare(ctx context.Context, todo []pairPlan) {
	if len(todo) == 0 {
		return
	}
	for _, base := range r.bases() {
		// A server without a model list is measured all the same; its first request then pays for a connection.
		_ = r.client.Warm(ctx, warmPath(base), r.cfg.Concurrency)
	}
	for i := range r.cfg.Warmup {
		for _, base := range r.bases() {
			p := place{base: base, arm: armWarmup, item: "warmup-" + strconv.Itoa(i), role: "warmup-" + strconv.Itoa(i), position: i, attempt: r.journal.Resumes()}
			text := randomWords(rng(r.cfg.Seed, r.cfg.RunID, "warmup", strconv.Itoa(i), r.phase), r.cfg.canaryWords())
			_, s, _ := r.isolate(ctx, base, "warmup", strconv.Itoa(i))
			r.log(r.send(ctx, p, plain(text), s, r.cfg.MaxTokens))
		}
	}
	r.checkCanaries(ctx)
}

// bases are the engines of this run.
func (r *runner) bases() []string {
	list := []string{r.cfg.BaseURL}
	if r.cfg.ExactBaseURL != "" && r.cfg.ExactBaseURL != r.cfg.BaseURL && slices.Contains(r.cfg.Arms, sembench.ArmExact) {
		list = append(list, r.cfg.ExactBaseURL)
	}
	return list
}

func (r *runner) checkCanaries(ctx context.Context) {
	if r.cfg.Isolation == None || r.cfg.Isolation == Fresh || r.broken() != nil {
		return
	}
	for _, base := range r.bases() {
		if r.canaries(ctx, base) {
			r.summary.CanariesPassed++
		} else {
			r.summary.CanariesFailed++
		}
	}
}

// pairs runs pairs until all are done, ctx ends or going on is pointless, and gives those that were not begun.
func (r *runner) pairs(ctx, work context.Context, todo []pairPlan) []pairPlan {
	canaryFirst := canaryPlaces(r.cfg)
	total, done := 0, atomic.Int64{}
	for _, p := range todo {
		total += len(p.arms)
	}
	r.tell(r.phase, 0, total)
	one := func(p pairPlan) bool {
		odd := r.pair(work, p)
		r.tell(r.phase, int(done.Add(int64(len(p.arms)))), total)
		return odd
	}
	if r.cfg.Concurrency > 1 {
		return r.concurrently(ctx, todo, one)
	}
	for i, p := range todo {
		if r.stop(ctx) {
			return todo[i:]
		}
		if canaryFirst(i, p) {
			r.checkCanaries(work)
		}
		if odd := one(p); odd && i < len(todo)-1 {
			r.checkCanaries(work)
		}
	}
	return nil
}

// concurrently runs pairs in cfg.Concurrency goroutines, begun in order.
func (r *runner) concurrently(ctx context.Context, todo []pairPlan, one func(pairPlan) bool) []pairPlan {
	var next atomic.Int64
	var group sync.WaitGroup
	for range r.cfg.Concurrency {
		group.Go(func() {
			for !r.stop(ctx) {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return
				}
				one(todo[i])
			}
		})
	}
	group.Wait()
	return todo[min(int(next.Load()), len(todo)):]
}

// stop tells that no further pair may begin.
func (r *runner) stop(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		r.summary.Drained = true
	case r.refused >= maxRefused:
		r.summary.Aborted = ReasonUnreachable
	case r.cfg.MaxTotalTokens > 0 && r.summary.Tokens >= r.cfg.MaxTotalTokens:
		r.summary.Aborted = ReasonBudget
	case r.failed == nil:
		return false
	}
	return true
}

// pair runs all arms of one item. A pair during which the engine process changed is run once more and its first lines are
// superseded: it would compare two processes.
func (r *runner) pair(ctx context.Context, p pairPlan) (odd bool) {
	attempt := r.journal.Resumes()
	if r.observeBoots(ctx) {
		r.checkCanaries(ctx) // what ran before says nothing of this process
	}
	for range 2 {
		counted := r.snapshot()
		for order := range p.arms {
			if r.broken() != nil {
				return odd
			}
			odd = r.step(ctx, p, order, attempt) || odd
		}
		r.keep(r.journal.Sync())
		if !r.observeBoots(ctx) {
			return odd
		}
		// The new process has its own canaries ahead of the pair.
		odd = true
		r.checkCanaries(ctx)
		if attempt > r.journal.Resumes() {
			return odd
		}
		r.keep(r.journal.supersede(func(o sembench.Observation) bool { return o.PairID == p.id }))
		r.restore(counted)
		attempt = r.journal.Resumes() + 1
	}
	return odd
}

// observeBoots asks every engine of a sequential run for its boot id and tells whether one changed, or gave one for the first time.
func (r *runner) observeBoots(ctx context.Context) (changed bool) {
	if r.cfg.Concurrency > 1 {
		return false
	}
	for _, base := range r.bases() {
		id := readProcess(ctx, r.client, r.cfg.Engine, base).boot
		r.mu.Lock()
		old := r.boots[base]
		if id != nil {
			changed = changed || !sameBoot(old, id)
			r.boots[base] = id
		}
		r.mu.Unlock()
	}
	return changed
}

func (r *runner) snapshot() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.summary
	s.Excluded = map[string]int{}
	for reason, n := range r.summary.Excluded {
		s.Excluded[reason] = n
	}
	return s
}

// restore takes back the outcomes counted since, not the requests and canaries, which were sent.
func (r *runner) restore(s Summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.OK, r.summary.Failed, r.summary.Excluded, r.summary.NotSent = s.OK, s.Failed, s.Excluded, s.NotSent
}

// giveUp journals the pairs that were not begun.
func (r *runner) giveUp(left []pairPlan) {
	reason := ReasonDrained
	if r.summary.Aborted != "" {
		reason = r.summary.Aborted
	}
	for _, plan := range left {
		for order, arm := range plan.arms {
			p := place{base: r.cfg.base(arm), arm: arm, item: plan.item.ItemID, role: sembench.RoleRecipient, pair: plan.id,
				position: plan.position, order: &order, attempt: r.journal.Resumes()}
			o := r.observation(p, sembench.StatusNotSent, reason)
			r.log(o)
			r.summary.Requests-- // a line, not a request
			r.count(o)
		}
	}
}

// keep remembers the first error that makes going on pointless.
func (r *runner) keep(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = errors.Join(r.failed, err)
}

// Calibrate replays items as cold, cold again and exact-prefix twins: what two equal requests differ by, and what the engine's own
// prefix cache changes. Items are repeated, each time with an isolation of its own, until every length band has
// cfg.CalibrationPairs of each kind. Controls stand in like any other item: donors play no part.
func Calibrate(ctx context.Context, cfg Config, items []sembench.Item, journal *Journal, progress Progress) (Summary, error) {
	cfg, err := resolved(ctx, cfg)
	if err != nil {
		return Summary{}, err
	}
	if len(items) == 0 {
		return Summary{}, fmt.Errorf("calibrating: no items")
	}
	cfg.ExactBaseURL, cfg.ExactResetURLs = "", nil
	return newRunner(cfg, journal, phaseCalibration, progress).run(ctx, calibrationPlans(items, cfg.CalibrationPairs, cfg.Seed))
}

// calibrationPlans spreads the wanted number of pairs evenly over the items of each length band.
func calibrationPlans(items []sembench.Item, wanted int, seed uint64) []pairPlan {
	arms := []string{sembench.ArmCold, sembench.ArmAA, sembench.ArmExact}
	bands := map[string][]sembench.Item{}
	for _, item := range items {
		band := item.Text("length_band")
		bands[band] = append(bands[band], item)
	}
	repeats := 0
	for _, band := range bands {
		repeats = max(repeats, (wanted+len(band)-1)/len(band))
	}
	var plans []pairPlan
	taken := map[string]int{}
	for _, plan := range arrange(items, arms, repeats, seed) {
		if band := plan.item.Text("length_band"); taken[band] < wanted {
			taken[band]++
			plan.position = len(plans)
			plans = append(plans, plan)
		}
	}
	return plans
}
