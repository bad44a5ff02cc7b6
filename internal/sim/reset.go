package sim

import "net/http"

// resetCall is one request to clear caches: what it clears and how it answers.
type resetCall struct {
	prefix, offload, donors bool
	busy                    bool // requests were running and are not to be interrupted
	success                 bool
	status                  int
}

// reset carries out a reset, as the faults leave it.
func (e *Engine) reset(r *resetCall) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance(e.cfg.Clock.Now())
	if r.busy = r.busy && e.sched.running > 0; r.busy {
		// Blocks of running requests cannot be freed: vLLM then clears nothing and says so.
		r.prefix, r.offload, r.donors = false, false, false
	}
	r.success, r.status = !r.busy, http.StatusOK
	e.each(nil, func(h hooks, c *call) { run(h.reset, c, r) })
	e.resets++
	e.clear(r)
	e.voice.cleared(r)
}

// clear empties the tiers that a reset names. Caller holds the lock.
func (e *Engine) clear(r *resetCall) {
	if r.prefix {
		blocks := e.prefix.newestFirst()
		e.prefix.clear()
		e.events.cleared(blocks, e.cfg.Clock.Now())
	}
	if r.offload {
		e.offload.clear()
	}
	if r.donors && e.donors != nil {
		e.donorResets++
		if err := e.donors.clear(); err != nil {
			r.success = false
		}
	}
}
