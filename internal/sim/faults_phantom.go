package sim

// phantomFaults: reuse is reported that did not happen, or denied though it did.
func phantomFaults() []Fault {
	return []Fault{
		{
			Name: "hit_not_materialized", Does: "A lookup hit is logged and its load advertised, allocated and counted, then nothing is written and the prompt is computed.",
			Check: "hits_materialize", Naive: "confirmed tokens and hit rate count loads that never were",
			install: phantom(func(d *decision, a *claims) {
				for _, c := range a.all() {
					c.external, c.advertised, c.allocated = d.offload+d.found, &d.found, &d.found
				}
			}),
		},
		{
			Name: "advertised_only", Does: "A load is advertised and counted, and then neither allocated nor written.",
			Check: "hits_materialize", Naive: "external hit counters and load advertisements count as reuse",
			install: phantom(func(d *decision, a *claims) {
				a.counters.external = d.offload + d.found
				a.audit.advertised = &d.found
			}),
		},
		{
			Name: "hit_dropped", Does: "A lookup hit is logged and then given up without a load; nobody counts it.",
			Naive:   "semantic hits in the log count as reuse",
			install: phantom(func(*decision, *claims) {}),
		},
		{
			Name: "materialized_elsewhere", Does: "A load is written down for the request that came before.",
			Check: "hits_materialize", Naive: "file-wide evidence joins a hit with another request's load: materialized reuse where there was none",
			install: materializedElsewhere,
		},
		{
			Name: "zero_layers", Does: "A load is written down with its tokens, but no layer was written, and the prompt is computed.",
			Check: "audit_channel", Naive: "materialized tokens count loads of nothing",
			install: phantom(func(d *decision, a *claims) {
				for _, c := range a.all() {
					c.external, c.advertised, c.allocated, c.materialized = d.offload+d.found, &d.found, &d.found, &d.found
				}
			}),
		},
		{
			Name: "declined_counted", Does: "A load is declined in the audit, because its donor is gone, and counted in the response all the same.",
			Check: "usage_channel", Naive: "cached tokens of the response count a load that was given up",
			install: phantom(func(d *decision, a *claims) {
				a.usage.external = d.offload + d.found
				a.audit.advertised, a.audit.allocated, a.audit.declined = &d.found, &d.found, true
			}),
		},
		{
			Name: "counters_without_reuse", Value: "share of the computed tokens", Default: 0.5,
			Does: "Counters report computed prompt tokens as external hits.", Check: "counter_channel", Naive: "hit rate of the dashboard too high",
			install: func(*Engine, float64) hooks {
				return hooks{claim: func(c *call, a *claims) {
					c.act()
					a.counters.external += int(min(1, c.value) * float64(c.j.decision.computed()))
				}}
			},
		},
		{
			Name: "cached_tokens_zero", Does: "usage reports cached_tokens 0 for every request.",
			Check: "cached_tokens_reported", Naive: "confirmed rate 0: reuse that happened is denied, and a cold arm that was warm looks clean",
			install: func(*Engine, float64) hooks {
				return hooks{claim: func(c *call, a *claims) {
					if a.usage.prefix+a.usage.external > 0 {
						c.act()
					}
					a.usage.prefix, a.usage.external = 0, 0
				}}
			},
		},
		{
			Name: "cached_tokens_constant", Value: "tokens", Default: 512, Does: "usage reports the same number of cached tokens for every request.",
			Check: "isolation_canary", Naive: "confirmed rate is a constant of the server",
			install: claimedPrefix(func(_ *decision, value float64) int { return int(value) }),
		},
		{
			Name: "cached_tokens_prompt", Does: "usage reports the whole prompt as cached.",
			Check: "isolation_canary", Naive: "confirmed rate near 1 whatever happens",
			install: claimedPrefix(func(d *decision, _ float64) int { return d.prompt }),
		},
		{
			Name: "router_estimate", Value: "share of the prompt", Default: 0.8,
			Does:  "A router in front logs how many blocks it believes cached, from an index that no reset reaches, and puts that into usage.",
			Check: "isolation_canary", Naive: "an estimate counts as confirmed reuse",
			install: routerEstimate,
		},
		{
			Name: "ranks_counted_twice", Does: "usage sums external tokens over the ranks of a tensor-parallel group.",
			Check: "usage_channel", Naive: "external confirmed tokens doubled",
			install: func(*Engine, float64) hooks {
				return hooks{claim: func(c *call, a *claims) {
					if a.usage.external > 0 {
						c.act()
						a.usage.external = min(2*a.usage.external, c.j.decision.prompt-1-a.usage.prefix)
					}
				}}
			},
		},
		{
			Name: "response_cache", Does: "A prompt that was answered before is answered from a cache of responses that no reset reaches; no KV is involved and none is reported.",
			Check: "aa_at_one", Naive: "a prompt that any phase sent before is fast in both arms, and whichever twin comes second is fast otherwise",
			install: responseCache,
		},
	}
}

// phantom takes back what a semantic hit was to load, and lets say tell of it. Told by default is a hit that came to nothing.
func phantom(say func(d *decision, a *claims)) func(*Engine, float64) hooks {
	return func(*Engine, float64) hooks {
		return hooks{
			decide: func(c *call, d *decision) {
				if d.semantic > 0 {
					c.act()
					d.semantic, d.layers = 0, 0
				}
			},
			claim: func(c *call, a *claims) {
				if d := &c.j.decision; d.found > 0 {
					say(d, a)
				}
			},
		}
	}
}

func materializedElsewhere(*Engine, float64) hooks {
	before := ""
	h := phantom(func(d *decision, a *claims) {
		for _, c := range a.all() {
			c.external, c.advertised, c.allocated = d.offload+d.found, &d.found, &d.found
		}
	})(nil, 0)
	own := h.claim
	h.claim = func(c *call, a *claims) {
		own(c, a)
		if d := &c.j.decision; d.found > 0 && before != "" {
			for _, told := range a.all() {
				told.materialized, told.materializedFor, told.layers = &d.found, before, c.e.cfg.Layers
			}
		}
		before = c.j.id
	}
	return h
}

// claimedPrefix lets usage claim a number of local tokens and nothing else.
func claimedPrefix(tokens func(d *decision, value float64) int) func(*Engine, float64) hooks {
	return func(*Engine, float64) hooks {
		return hooks{claim: func(c *call, a *claims) {
			c.act()
			d := &c.j.decision
			a.usage.prefix, a.usage.external = min(tokens(d, c.value), d.prompt-1), 0
		}}
	}
}

func routerEstimate(_ *Engine, share float64) hooks {
	return hooks{claim: func(c *call, a *claims) {
		c.act()
		size := c.e.cfg.BlockSize
		blocks := int(min(1, share)*float64(c.j.decision.prompt)) / size
		a.usage.prefix, a.usage.external = blocks*size, 0
		c.e.log.write(fmtRouter(c.e, c.j.decision.prompt/size, blocks))
	}}
}

func responseCache(e *Engine, _ float64) hooks {
	seen := newBlockCache(e.cfg.CapacityBlocks)
	return hooks{
		decide: func(c *call, d *decision) {
			whole := chain(c.j.ids, len(c.j.ids), "")
			if seen.prefix(whole) == 0 {
				seen.use(whole)
				return
			}
			c.act()
			d.forget()
			d.lookedUp = false
		},
		charge: func(c *call, t *charge) {
			for _, name := range c.j.acted {
				if name == c.name {
					*t = charge{base: t.base}
				}
			}
		},
	}
}
