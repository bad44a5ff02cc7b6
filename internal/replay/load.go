package replay

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sembench"
	"sembench/internal/stat"
	"sembench/internal/wire"
)

const phaseLoad = "load"

// gapKey is where an observation keeps how many completed requests its gap was short of.
const gapKey = "gap_unhonoured"

// Limits beyond which a run says more of the client than of the engine: the p99 of schedule lag, and processor time as a share of the
// machine. 10 ms is a tenth of a short TTFT; at 80 % goroutines begin to wait for a processor.
const (
	maxLagMS    = 10
	maxCPUShare = 0.8
)

// LoadSummary is what a load run knows beside its observations.
type LoadSummary struct {
	Summary
	// Concurrency of a closed loop, OfferedRate (requests a second) of an open one; the other is null.
	Concurrency *int     `json:"concurrency"`
	OfferedRate *float64 `json:"offered_rate"`
	// WallSeconds is from the first request to the end of the last. SettleSeconds sums the waits after donors, IdleSeconds is the
	// time with no request under way.
	WallSeconds   float64 `json:"wall_seconds"`
	SettleSeconds float64 `json:"settle_seconds"`
	IdleSeconds   float64 `json:"idle_seconds"`
	// ScheduleLag is write start minus scheduled time, in milliseconds; null in a closed loop.
	ScheduleLagP50MS *float64 `json:"schedule_lag_p50_ms"`
	ScheduleLagP99MS *float64 `json:"schedule_lag_p99_ms"`
	// ClientCPU is processor seconds of this process a second; it counts an embedded engine in the same process. Null where the
	// system does not tell.
	ClientCPU *float64 `json:"client_cpu"`
	// ClientLimited: the lag or the processor time exceeded its limit, so the load was not what was asked for.
	ClientLimited bool   `json:"client_limited"`
	LimitedBy     string `json:"limited_by"`
	// GapsUnhonoured counts recipients that went ahead of their gap.
	GapsUnhonoured int `json:"gaps_unhonoured"`
}

// pass is one load run under way.
type pass struct {
	*runner
	traffic Traffic
	arm     string
	stream  *stream
	salt    salt
	step    sembench.Isolation
	begun   int64 // clock at the start
	seeded  [][]sembench.DonorStatus

	busy     sync.Mutex // guards what follows
	underWay int
	idleFrom int64
	idle     int64
	settle   time.Duration
	lags     []float64
	gaps     int
	last     int64
}

// Load offers items as traffic: a closed loop of cfg.Concurrency, an open loop at a rate, or the times of a trace. In an
// open loop nothing waits for anything: a request is sent at its time whatever became of the others, and its latency counts
// from there. The pass is isolated once at its start (or, cold, each request by a salt of its own). Donors are sent just ahead of
// their recipient in a closed loop, and all of them ahead of the pass in an open one. When ctx ends, what is under way is
// finished and the rest journaled as not_sent. A load run cannot be resumed: its cache state would not be the one it had.
func Load(ctx context.Context, cfg Config, traffic Traffic, items []sembench.Item, journal *Journal, progress Progress) (LoadSummary, error) {
	if err := traffic.Validate(); err != nil {
		return LoadSummary{}, err
	}
	if journal.Resumes() > 0 {
		return LoadSummary{}, fmt.Errorf("resuming a load run: the cache would not be in the state it was in; start it again")
	}
	if len(cfg.Arms) == 0 {
		cfg.Arms = []string{sembench.ArmSingle}
	}
	if traffic.Cold && cfg.Isolation != None {
		cfg.Isolation = Salt
	}
	if len(cfg.Arms) != 1 {
		return LoadSummary{}, fmt.Errorf("offering load: got arms %v, want one: arms under load are compared between two runs at equal rate", cfg.Arms)
	}
	concurrency := max(1, cfg.Concurrency)
	cfg.Concurrency = 1 // one reset for the pass: nothing runs beside it
	cfg, err := resolved(ctx, cfg)
	if err != nil {
		return LoadSummary{}, err
	}
	cfg.Concurrency = concurrency
	if traffic.MaxRequests > 0 {
		items = items[:min(len(items), traffic.MaxRequests)]
	}
	due, err := traffic.schedule(items, cfg.Seed)
	if err != nil {
		return LoadSummary{}, err
	}
	orDefault(&traffic.MaxInFlight, 4096)
	conns := concurrency
	if traffic.open() {
		conns = min(traffic.MaxInFlight, 512)
	}
	open := cfg
	open.Concurrency = conns
	p := &pass{runner: newRunner(open, journal, phaseLoad, progress), traffic: traffic, arm: cfg.Arms[0], stream: newStream(items, traffic.MinDonorGap)}
	defer p.client.Close()
	return p.run(ctx, items, due, concurrency)
}

func (p *pass) run(ctx context.Context, items []sembench.Item, due []time.Duration, concurrency int) (LoadSummary, error) {
	work := context.WithoutCancel(ctx)
	p.summary.Planned = len(items)
	outer := ctx
	p.prepare(work, []pairPlan{{}}) // one canary pass before, one after: resets do not mix with traffic
	p.step, p.salt, _ = p.isolate(work, p.cfg.BaseURL, p.arm, "pass")
	if due != nil && p.arm != sembench.ArmCold && !p.traffic.Cold {
		p.seed(ctx, work, items, concurrency)
	}
	cpu, known := cpuSeconds()
	p.begun = p.client.Clock().Now()
	p.idleFrom, p.last = p.begun, p.begun
	p.tell(phaseLoad, 0, len(items))
	if p.traffic.Duration > 0 {
		var over context.CancelFunc
		ctx, over = context.WithTimeout(ctx, p.traffic.Duration)
		defer over()
	}
	var sent []bool
	if due == nil {
		sent = p.closedLoop(ctx, work, items, concurrency)
	} else {
		sent = p.openLoop(ctx, work, items, due)
	}
	used, _ := cpuSeconds()
	p.checkCanaries(work)
	p.summary.Drained = outer.Err() != nil
	p.leave(items, sent)
	p.keep(p.journal.Sync())
	p.summary.Simulated = p.simulated
	summary := p.sum(due != nil, concurrency, len(items), due)
	if known && summary.WallSeconds > 0 {
		summary.ClientCPU = new((used - cpu) / summary.WallSeconds)
	}
	summary.judgeClient()
	return summary, p.broken()
}

// sum builds the summary from what the pass noted.
func (p *pass) sum(open bool, concurrency, n int, due []time.Duration) LoadSummary {
	s := LoadSummary{Summary: p.summary, WallSeconds: float64(p.last-p.begun) / 1e9, SettleSeconds: p.settle.Seconds(),
		IdleSeconds: float64(p.idle) / 1e9, GapsUnhonoured: p.gaps}
	if !open {
		s.Concurrency = &concurrency
		return s
	}
	if end := slices.Max(append([]time.Duration{0}, due...)); end > 0 && n > 1 {
		s.OfferedRate = new(float64(n-1) / end.Seconds())
	}
	if len(p.lags) > 0 {
		slices.Sort(p.lags)
		s.ScheduleLagP50MS, s.ScheduleLagP99MS = new(stat.Quantile(p.lags, 0.5)), new(stat.Quantile(p.lags, 0.99))
	}
	return s
}

// judgeClient decides whether the client was the bottleneck.
func (s *LoadSummary) judgeClient() {
	switch {
	case s.ScheduleLagP99MS != nil && *s.ScheduleLagP99MS > maxLagMS:
		s.ClientLimited, s.LimitedBy = true, fmt.Sprintf("requests left %.1f ms late at p99, limit %d ms", *s.ScheduleLagP99MS, maxLagMS)
	case s.ClientCPU != nil && *s.ClientCPU > maxCPUShare*float64(runtime.NumCPU()):
		s.ClientLimited, s.LimitedBy = true, fmt.Sprintf("this process used %.1f of %d processors", *s.ClientCPU, runtime.NumCPU())
	}
}

// seed sends every item's donors ahead of an open loop.
func (p *pass) seed(ctx, work context.Context, items []sembench.Item, concurrency int) {
	var next atomic.Int64
	var group sync.WaitGroup
	p.seeded = make([][]sembench.DonorStatus, len(items))
	for range concurrency {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				p.seeded[i], _ = p.donors(work, p.place(items[i], i), p.donorsOf(items[i], p.arm), p.saltFor(items[i], i))
			}
		})
	}
	group.Wait()
	_ = p.cfg.Sleep(ctx, p.cfg.PostDonorDelay)
	p.settle += p.cfg.PostDonorDelay
}

func (p *pass) place(item sembench.Item, i int) place {
	return place{base: p.cfg.base(p.arm), arm: p.arm, item: item.ItemID, pair: pairID(item.ItemID, 0), position: i}
}

func (p *pass) saltFor(item sembench.Item, i int) salt {
	if p.traffic.Cold && p.cfg.Isolation == Salt {
		return newSalt(p.cfg.SaltKind, p.cfg.RunID, p.journal.Head().StartedAtUTC, p.arm, item.ItemID, strconv.Itoa(i))
	}
	return p.salt
}

// closedLoop keeps concurrency items under way: donors, settle, recipient.
func (p *pass) closedLoop(ctx, work context.Context, items []sembench.Item, concurrency int) []bool {
	sent := make([]bool, len(items))
	defer context.AfterFunc(ctx, p.stream.wake)()
	var group sync.WaitGroup
	var done atomic.Int64
	for range concurrency {
		group.Go(func() {
			for !p.stop(ctx) {
				i, short, ok := p.stream.next(ctx)
				if !ok {
					return
				}
				sent[i] = true
				p.one(work, items[i], i, short)
				p.stream.finish(i)
				p.tell(phaseLoad, int(done.Add(1)), len(items))
			}
		})
	}
	group.Wait()
	return sent
}

// one is one item of a closed loop.
func (p *pass) one(work context.Context, item sembench.Item, i, short int) {
	at, s := p.place(item, i), p.saltFor(item, i)
	var list []supply
	if !p.traffic.Cold {
		list = p.donorsOf(item, p.arm)
	}
	p.enter()
	statuses, ok := p.donors(work, at, list, s)
	p.exit()
	if len(list) > 0 {
		p.settled()
		p.runner.settle(work, at.base, statuses)
	}
	at.role = sembench.RoleRecipient
	if !ok {
		p.finish(p.observation(at, sembench.StatusExcluded, reasonDonorFailed), statuses, short)
		return
	}
	p.enter()
	o := p.send(work, at, recipient(item), s, p.limit(item))
	p.exit()
	p.finish(o, statuses, short)
}

func (p *pass) settled() {
	p.busy.Lock()
	p.settle += p.cfg.PostDonorDelay
	p.busy.Unlock()
}

// openLoop sends each item at its time. It alone waits for the times; every request has a goroutine of its own.
func (p *pass) openLoop(ctx, work context.Context, items []sembench.Item, due []time.Duration) []bool {
	sent := make([]bool, len(items))
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(due[a] - due[b]) })
	var group sync.WaitGroup
	var done atomic.Int64
	slots := make(chan struct{}, p.traffic.MaxInFlight)
	for _, i := range order {
		scheduled := p.begun + int64(due[i])
		if wait := time.Duration(scheduled - p.client.Clock().Now()); wait > 0 && p.cfg.Sleep(ctx, wait) != nil || p.stop(ctx) {
			break
		}
		slots <- struct{}{}
		sent[i] = true
		short := p.stream.claim(i)
		p.enter()
		group.Go(func() {
			at := p.place(items[i], i)
			at.role, at.scheduled = sembench.RoleRecipient, &scheduled
			donors, ok := p.seededFor(i)
			o := p.observation(at, sembench.StatusExcluded, reasonDonorFailed)
			if ok {
				o = p.send(work, at, recipient(items[i]), p.saltFor(items[i], i), p.limit(items[i]))
			}
			p.exit()
			<-slots
			p.stream.finish(i)
			p.finish(o, donors, short)
			p.tell(phaseLoad, int(done.Add(1)), len(items))
		})
	}
	group.Wait()
	return sent
}

// seededFor gives how an item's donors ended, and whether all arrived.
func (p *pass) seededFor(i int) (statuses []sembench.DonorStatus, ok bool) {
	if p.seeded == nil {
		return nil, true
	}
	bad := slices.ContainsFunc(p.seeded[i], func(d sembench.DonorStatus) bool { return d.Status != sembench.StatusOK })
	return p.seeded[i], !bad
}

// enter and exit keep the time in which nothing is under way.
func (p *pass) enter() {
	now := p.client.Clock().Now()
	p.busy.Lock()
	defer p.busy.Unlock()
	if p.underWay == 0 {
		p.idle += now - p.idleFrom
	}
	p.underWay++
}

func (p *pass) exit() {
	now := p.client.Clock().Now()
	p.busy.Lock()
	defer p.busy.Unlock()
	p.underWay--
	p.idleFrom, p.last = now, now
}

// finish completes a recipient's line and writes it.
func (p *pass) finish(o sembench.Observation, donors []sembench.DonorStatus, short int) {
	step := p.step
	o.Isolation, o.Donors = &step, donors
	if short > 0 {
		o.Extra = sembench.Extra{gapKey: short}
	}
	p.busy.Lock()
	if short > 0 {
		p.gaps++
	}
	if o.Stamps.Scheduled != nil && o.Stamps.WriteStart != nil {
		p.lags = append(p.lags, float64(*o.Stamps.WriteStart-*o.Stamps.Scheduled)/1e6)
	}
	p.busy.Unlock()
	p.refusal(o)
	p.log(o)
	p.count(o)
}

// leave journals what was not sent.
func (p *pass) leave(items []sembench.Item, sent []bool) {
	reason := ReasonDuration
	switch {
	case p.summary.Drained:
		reason = ReasonDrained
	case p.summary.Aborted != "":
		reason = p.summary.Aborted
	}
	for i, item := range items {
		if sent[i] {
			continue
		}
		at := p.place(item, i)
		at.role = sembench.RoleRecipient
		o := p.observation(at, sembench.StatusNotSent, reason)
		p.log(o)
		p.summary.Requests--
		p.count(o)
	}
}

// warmPath is a path with a body, which Warm needs.
func warmPath(base string) string { return wire.Join(base, "/v1/models") }
