package sim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// coldFaults: the cold arm is not cold.
func coldFaults() []Fault {
	const slower = "cold arms hit what earlier steps left: cold TTFT too short, speedup too low, and below 1 where the warm arm ran first"
	return []Fault{
		{
			Name: "noop_reset", Does: "A reset answers success and clears nothing.", Check: "isolation_canary", Naive: slower,
			install: func(*Engine, float64) hooks {
				return hooks{reset: func(_ *call, r *resetCall) { r.prefix, r.offload, r.donors = false, false, false }}
			},
		},
		{
			Name: "reset_says_false", Does: `A reset answers status 200 with {"success": false} and clears nothing.`, Check: "pairs_valid", Naive: slower,
			install: func(*Engine, float64) hooks {
				return hooks{reset: func(_ *call, r *resetCall) {
					r.prefix, r.offload, r.donors, r.success = false, false, false, false
				}}
			},
		},
		{
			Name: "reset_busy", Value: "refusals before each success", Default: 1e6,
			Does: "A reset is refused with status 503 and clears nothing.", Check: "pairs_valid", Naive: slower,
			install: func(_ *Engine, refusals float64) hooks {
				refused := 0.0
				return hooks{reset: func(_ *call, r *resetCall) {
					if refused++; refused > refusals {
						refused = 0
						return
					}
					r.prefix, r.offload, r.donors, r.success, r.status = false, false, false, false, http.StatusServiceUnavailable
				}}
			},
		},
		{
			Name: "reset_partial_fleet", Value: "workers behind one address", Default: 3,
			Does: "A reset answers success, but reaches the serving worker only once in so many times.", Check: "isolation_canary", Naive: slower,
			install: func(_ *Engine, workers float64) hooks {
				n := 0
				return hooks{reset: func(_ *call, r *resetCall) {
					if n++; n%max(1, int(workers)) != 0 {
						r.prefix, r.offload, r.donors = false, false, false
					}
				}}
			},
		},
		{
			Name: "surviving_tier", Does: "A reset moves every block to a second tier that no reset reaches and that serves from then on.",
			Check: "donor_store_cold", Naive: slower,
			install: survivingTier,
		},
		{
			Name: "donor_store_survives", Does: "A reset clears the prefix cache, but the donor store stays, whatever was asked.",
			Check: "donor_store_cold", Naive: "cold arms hit donors of earlier steps: cold TTFT too short, speedup too low",
			install: func(*Engine, float64) hooks {
				return hooks{reset: func(_ *call, r *resetCall) { r.donors = false }}
			},
		},
		{
			Name: "donor_store_sticks", Value: "resets that clear it before", Default: 168,
			Does: "After so many resets the donor store is not cleared any more, and what it gives is told without the donor's name.", Check: "donor_store_cold", Naive: "cold arms of the last items hit donors of earlier steps: speedup too low",
			install: func(_ *Engine, clears float64) hooks {
				n := 0.0
				return hooks{reset: func(_ *call, r *resetCall) {
					if n++; n > clears {
						r.donors = false
					}
				}, claim: func(_ *call, a *claims) {
					if n > clears {
						a.log.donorID, a.audit.donorID = "", ""
					}
				}}
			},
		},
		{
			Name: "reset_lags", Value: "resets that act at once before", Default: 168,
			Does: "After so many resets each is carried out only 15 ms after it was confirmed.", Check: "isolation_canary", Naive: slower,
			install: func(_ *Engine, prompt float64) hooks {
				n := 0.0
				return hooks{reset: func(c *call, r *resetCall) {
					if n++; n <= prompt {
						return
					}
					e, late := c.e, *r
					r.prefix, r.offload, r.donors = false, false, false
					e.sched.plan(e.cfg.Clock.Now().Add(millis(15)), func(time.Time) { e.clear(&late) })
				}}
			},
		},
		{
			Name: "store_survives_run", Value: "requests whose donors stay", Default: 150,
			Does:  "One in twenty-four of the first so many requests stays in a store on disk that no reset reaches, as if an earlier run had left it.",
			Check: "donors_are_own", Naive: "recipients hit what an earlier run asked: a cold arm that is warm, an answer that is old",
			install: storeSurvives,
		},
		{
			Name: "blend_pool", Does: "The KV of a blended prompt stays in a pool of its own that no reset reaches and nothing counts; the same prompt without donors then computes a fifth.",
			Check: "order_effect", Naive: "cold arms that come second are fast: speedup too low, and the more so the more hits there are",
			install: blendPool,
		},
		{
			Name: "late_repopulation", Value: "ms until the blocks are back", Default: 20,
			Does: "A reset clears, and a transfer that was under way puts the blocks back a little later.", Check: "isolation_canary", Naive: slower,
			install: func(_ *Engine, ms float64) hooks {
				return hooks{reset: func(c *call, r *resetCall) {
					if e := c.e; r.prefix {
						blocks := e.prefix.newestFirst()
						e.sched.plan(e.cfg.Clock.Now().Add(millis(ms)), func(time.Time) { e.prefix.use(blocks) })
					}
				}}
			},
		},
		{
			Name: "reset_fails_before_warm", Does: "A reset is carried out when the next request arrives, unless that one's id says warm.",
			Check: "exact_reuse_is_exact", Naive: "the warm arm hits its own cold twin: speedup far too high, also on controls",
			install: resetFailsBeforeWarm,
		},
	}
}

func storeSurvives(_ *Engine, first float64) hooks {
	var kept []*donor
	had, seen := map[*donor]bool{}, 0
	return hooks{
		reset: func(c *call, r *resetCall) {
			if c.e.donors == nil || float64(seen) > first {
				return
			}
			for _, d := range c.e.donors.order {
				if !had[d] {
					had[d] = true
					if len(had)%24 == 1 {
						kept = append(kept, d)
					}
				}
			}
		},
		before: func(c *call) {
			if seen++; float64(seen) <= first || c.e.donors == nil {
				return
			}
			for _, d := range kept {
				if slices.ContainsFunc(c.e.donors.order, func(have *donor) bool { return have.requestID == d.requestID }) {
					continue
				}
				c.act()
				if err := c.e.donors.add(&donor{requestID: d.requestID, salt: d.salt, ids: d.ids, text: d.text}); err != nil {
					c.e.voice.troubled(c.j, err)
				}
			}
		},
	}
}

func blendPool(e *Engine, _ float64) hooks {
	pool := newBlockCache(e.cfg.CapacityBlocks)
	return hooks{charge: func(c *call, t *charge) {
		whole := chain(c.j.ids, len(c.j.ids), "")
		switch {
		case c.j.decision.semantic > 0:
			pool.use(whole)
		case pool.prefix(whole) > 0:
			c.act()
			t.prefill /= 5
		}
	}}
}

func survivingTier(e *Engine, _ float64) hooks {
	tier := newBlockCache(e.cfg.CapacityBlocks)
	return hooks{
		reset: func(c *call, r *resetCall) {
			if r.prefix {
				tier.use(c.e.prefix.newestFirst())
			}
		},
		decide: func(c *call, d *decision) {
			size := c.e.cfg.BlockSize
			have := (d.prefix + d.offload) / size
			more := tier.prefix(c.j.hashes[have : reusable(d.prompt, size)/size])
			if more > 0 {
				c.act()
				d.forget()
				d.offload += more * size
			}
		},
	}
}

func resetFailsBeforeWarm(*Engine, float64) hooks {
	var pending resetCall
	return hooks{
		reset: func(_ *call, r *resetCall) {
			pending = *r
			r.prefix, r.offload, r.donors = false, false, false
		},
		before: func(c *call) {
			late := pending
			pending = resetCall{}
			if strings.Contains(c.j.id, "-warm-") {
				if late.prefix {
					c.act()
				}
				return
			}
			c.e.clear(&late)
		},
	}
}
