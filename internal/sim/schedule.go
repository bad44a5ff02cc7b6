package sim

import (
	"container/heap"
	"context"
	"time"
)

// scheduler decides who runs when, in the law's time: requests start in order of arrival as soon as one of the running
// slots and one of the prefill lanes is free. Everything happens at the time that the law says, whenever it is
// carried out: whoever holds the lock first carries out all that is due.
type scheduler struct {
	slots   int
	running int
	freed   time.Time   // when the last slot of a full engine became free
	lanes   []time.Time // when each prefill lane is free; none: any number may prefill
	queue   []*job
	events  eventHeap
	// wakeHead ends the sleep of the head of the queue, which waits for the next event: when a client leaves, something may be
	// due before it. nil: nobody has waited yet.
	wakeHead context.CancelFunc
	ordered  int
}

type event struct {
	at    time.Time
	order int
	do    func(at time.Time)
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, k int) bool {
	if !h[i].at.Equal(h[k].at) {
		return h[i].at.Before(h[k].at)
	}
	return h[i].order < h[k].order
}
func (h eventHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = event{}
	*h = (*h)[:len(*h)-1]
	return last
}

func (s *scheduler) plan(at time.Time, do func(at time.Time)) {
	heap.Push(&s.events, event{at, s.ordered, do})
	s.ordered++
}

// lane is the prefill lane that is free first, nil where lanes are not counted.
func (s *scheduler) lane() *time.Time {
	var best *time.Time
	for i := range s.lanes {
		if best == nil || s.lanes[i].Before(*best) {
			best = &s.lanes[i]
		}
	}
	return best
}

// headStart is when the head of the queue starts, if no running request has to end first.
func (s *scheduler) headStart() (time.Time, bool) {
	if len(s.queue) == 0 || s.running >= s.slots {
		return time.Time{}, false
	}
	at := later(s.queue[0].arrival, s.freed)
	if lane := s.lane(); lane != nil {
		at = later(at, *lane)
	}
	return at, true
}

// release frees a running slot.
func (s *scheduler) release(at time.Time) {
	if s.running == s.slots {
		s.freed = at
	}
	s.running--
}

// next is when something is due.
func (s *scheduler) next() (time.Time, bool) {
	start, ok := s.headStart()
	if len(s.events) == 0 || ok && start.Before(s.events[0].at) {
		return start, ok
	}
	return s.events[0].at, true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// submit lets a job arrive and waits until it has started. Its arrival must be set.
func (e *Engine) submit(ctx context.Context, j *job) error {
	e.mu.Lock()
	e.enqueue(j)
	for j.state == waiting {
		head := e.sched.queue[0] == j
		until, _ := e.sched.next()
		sleep, wakeHead := context.WithCancel(ctx)
		if head {
			e.sched.wakeHead = wakeHead
		}
		e.mu.Unlock()
		var err error
		if head {
			// Nobody ends this sleep early but a client that leaves, and then its reason is not this one's.
			_ = e.cfg.Clock.SleepUntil(sleep, until)
			err = ctx.Err()
		} else {
			select {
			case <-j.turn:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		wakeHead()
		e.mu.Lock()
		if err != nil {
			e.abort(j)
			e.mu.Unlock()
			return err
		}
		e.advance(e.cfg.Clock.Now())
	}
	e.mu.Unlock()
	return nil
}

// enqueue lets a job arrive. Caller holds the lock.
func (e *Engine) enqueue(j *job) {
	j.index = int(e.arrivals.Add(1)) - 1
	j.state, j.turn = waiting, make(chan struct{}, 1)
	e.advance(j.arrival)
	e.sched.queue = append(e.sched.queue, j)
	e.advance(j.arrival)
}

// advance carries out everything that is due at or before now, in the law's order; what ends comes before what starts.
// Caller holds the lock.
func (e *Engine) advance(now time.Time) {
	s := &e.sched
	for {
		at, ok := s.next()
		if !ok || at.After(now) {
			return
		}
		if len(s.events) > 0 && !at.Before(s.events[0].at) {
			heap.Pop(&s.events).(event).do(at)
			continue
		}
		j := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		e.begin(j, at)
		wake(j)
		if len(s.queue) > 0 {
			wake(s.queue[0])
		}
	}
}

func wake(j *job) {
	select {
	case j.turn <- struct{}{}:
	default:
	}
}

// begin starts a job at a time: decides what it reuses, charges it and plans what follows. Caller holds the lock.
func (e *Engine) begin(j *job, at time.Time) {
	s := &e.sched
	j.start, j.state, j.resets = at, running, e.resets
	e.each(j, func(h hooks, c *call) {
		if h.before != nil {
			h.before(c)
		}
	})
	j.decision = e.decide(j)
	e.each(j, func(h hooks, c *call) { run(h.decide, c, &j.decision) })
	j.charge = e.cfg.law(&j.decision, j.index)
	e.each(j, func(h hooks, c *call) { run(h.charge, c, &j.charge) })
	j.itl = millis(e.cfg.ITLMS * (1 + e.cfg.BatchSlope*float64(s.running)))
	s.running++
	if lane := s.lane(); lane != nil {
		*lane = at.Add(j.charge.busy())
	}
	j.out = e.answer(j)
	j.first = at.Add(j.charge.service())
	j.finish = j.due(len(j.out.chunks) - 1)
	j.claims = claims{usage: j.honest(), log: j.honest(), audit: j.honest(), counters: j.honest()}
	e.each(j, func(h hooks, c *call) { run(h.claim, c, &j.claims) })
	j.delivery = e.plainDelivery(j)
	e.each(j, func(h hooks, c *call) { run(h.deliver, c, &j.delivery) })
	e.count.begin(e, j)
	e.voice.started(j)
	s.plan(j.first, func(at time.Time) {
		if j.state == running {
			e.store(j, at)
		}
	})
	s.plan(j.finish, func(at time.Time) {
		if j.state == running {
			e.end(j, finished, at)
		}
	})
}

// store puts the blocks of a prefilled prompt into the cache tiers. Caller holds the lock.
func (e *Engine) store(j *job, at time.Time) {
	if e.voice.oneSlot() {
		e.events.cleared(e.prefix.newestFirst(), at)
		e.prefix.clear()
	}
	stored, evicted := e.prefix.use(j.hashes)
	moved := evicted
	if e.voice.writesThrough() {
		moved = j.hashes
	}
	if e.cfg.OffloadBlocks > 0 {
		added, _ := e.offload.use(moved)
		e.count.stored += len(added) * e.cfg.BlockSize * e.cfg.KVBytesPerToken
		e.voice.offloaded(j, len(added)*e.cfg.BlockSize)
	}
	e.events.stored(e, j, stored, evicted, at)
}

// end takes a job out of the running ones. A finished prompt becomes a donor after the settle delay. Caller holds the lock.
func (e *Engine) end(j *job, as state, at time.Time) {
	j.state = as
	e.sched.release(at)
	if as == finished {
		e.count.end(j)
		e.voice.ended(j)
	}
	if as != finished || e.donors == nil || len(j.ids) < e.cfg.MinSemanticTokens {
		return
	}
	resets := e.donorResets
	settle := func(time.Time) {
		if e.donorResets == resets {
			e.register(j)
		}
	}
	if e.cfg.DonorSettleMS == 0 {
		settle(at)
		return
	}
	e.sched.plan(at.Add(millis(e.cfg.DonorSettleMS)), settle)
}

// register makes a finished job a donor. Caller holds the lock.
func (e *Engine) register(j *job) {
	d := &donor{requestID: j.id, salt: j.salt, ids: j.ids, text: j.text}
	if err := e.donors.add(d); err != nil {
		e.voice.troubled(j, err)
		return
	}
	e.voice.registered(j)
}

// abort ends a job that nobody waits for any more. Caller holds the lock.
func (e *Engine) abort(j *job) {
	now := e.cfg.Clock.Now()
	switch j.state {
	case waiting:
		for i, q := range e.sched.queue {
			if q == j {
				e.sched.queue = append(e.sched.queue[:i], e.sched.queue[i+1:]...)
				break
			}
		}
		j.state, j.start, j.first, j.emitted = aborted, now, now, now
		j.decision.prompt = len(j.ids)
		if len(e.sched.queue) > 0 {
			wake(e.sched.queue[0])
		}
	case running:
		e.advance(now)
		if j.state == running {
			e.end(j, aborted, now)
			e.advance(now)
		}
	}
	if e.sched.wakeHead != nil {
		e.sched.wakeHead()
	}
	if j.emitted.IsZero() {
		j.emitted = now
	}
	e.record(j)
}

// done waits for the law's end of a job and records it; what the job left is then in caches, log and audit.
func (e *Engine) done(ctx context.Context, j *job) error {
	err := e.cfg.Clock.SleepUntil(ctx, j.finish)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.abort(j)
		return err
	}
	now := e.cfg.Clock.Now()
	e.advance(now)
	if j.emitted.IsZero() { // a body that leaves whole leaves now
		j.emitted = now
	}
	e.record(j)
	return nil
}
