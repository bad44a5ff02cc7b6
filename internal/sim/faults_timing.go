package sim

import (
	"strings"
	"time"
)

// timingFaults: times that mislead.
func timingFaults() []Fault {
	return []Fault{
		{
			Name: "role_chunk_early", Value: "lead in ms", Default: 50, Does: "The chunk that only names the role leaves before the first token exists.",
			Check: "first_event_is_output", Naive: "a client that takes the first event for the first token reads TTFT too short by the lead in both arms, and a speedup too high",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					if c.j.endpoint == endpointChat {
						c.act()
						d.roleLead = millis(c.value)
					}
				}}
			},
		},
		{
			Name: "comment_early", Value: "lead in ms", Default: 50, Does: "A keep-alive comment leaves before the first token exists.",
			Naive: "a client that takes the first byte for the first token reads TTFT too short by the lead",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					c.act()
					d.commentLead = millis(c.value)
				}}
			},
		},
		{
			Name: "first_token_held", Value: "ms", Default: 60, Does: "The answer to a request without reuse is held back, though the engine had its first token.",
			Check: "engine_time_agrees", Naive: "cold TTFT too long, so the speedup of every hit too high",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					if dec := &c.j.decision; dec.prompt > dec.computed() {
						return
					}
					c.act()
					for i := range d.due {
						d.due[i] = d.due[i].Add(millis(c.value))
					}
				}}
			},
		},
		{
			Name: "bursts", Value: "chunks", Default: 8, Does: "Chunks after the first leave in bursts.",
			Naive: "inter-token times read as 0 with rare long gaps",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					c.act()
					size := max(1, int(c.value))
					for i := 1; i < len(d.due); i++ {
						d.due[i] = d.due[min((i-1)/size*size+size, len(d.due)-1)]
					}
				}}
			},
		},
		{
			Name: "slow_first_control", Value: "ms", Default: 80, Does: "The first long prompt after a reset waits for caches of the processor to warm up.",
			Check: "controls_quiet", Naive: "a cold recipient is slow for a reason that is not KV: speedup too high, on controls too",
			install: func(*Engine, float64) hooks {
				fresh := true
				return hooks{
					reset: func(*call, *resetCall) { fresh = true },
					charge: func(c *call, t *charge) {
						if fresh && c.j.decision.computed() >= 256 {
							fresh = false
							c.act()
							t.base += millis(c.value)
						}
					},
				}
			},
		},
		{
			Name: "second_request_faster", Value: "share of the time", Default: 0.6, Does: "Every long prompt after the first since a reset takes only a share of its time, whatever was reused.",
			Check: "controls_quiet", Naive: "a warm recipient is fast because a donor ran before it, not because it was reused",
			install: func(*Engine, float64) hooks {
				since := 0
				return hooks{
					reset: func(*call, *resetCall) { since = 0 },
					charge: func(c *call, t *charge) {
						if c.j.decision.prompt < 256 {
							return
						}
						if since++; since > 1 {
							c.act()
							t.stretch(c.value)
						}
					},
				}
			},
		},
		{
			Name: "slow_named_cold", Value: "factor", Default: 1.5, Does: "A request whose id says cold takes longer.",
			Check: "controls_quiet", Naive: "speedup too high by the factor, in every pair",
			install: func(*Engine, float64) hooks {
				return hooks{charge: func(c *call, t *charge) {
					if strings.Contains(c.j.id, "-cold-") {
						c.act()
						t.stretch(c.value)
					}
				}}
			},
		},
		{
			Name: "drift_over_run", Value: "growth per 100 requests", Default: 0.2, Does: "Every request takes a little longer than the one before.",
			Naive: "the second arm of every pair looks slower; with one fixed order that is a bias",
			install: func(*Engine, float64) hooks {
				return hooks{charge: func(c *call, t *charge) {
					c.act()
					t.stretch(1 + c.value*float64(c.j.index)/100)
				}}
			},
		},
		{
			Name: "warm_up", Value: "requests", Default: 20, Does: "The first requests of a process take three times as long.",
			Naive: "whichever arm comes first is slow: a bias where all cold arms run first",
			install: func(*Engine, float64) hooks {
				return hooks{charge: func(c *call, t *charge) {
					if float64(c.j.index) < c.value {
						c.act()
						t.stretch(3)
					}
				}}
			},
		},
	}
}

// stretch multiplies all that the law charges.
func (c *charge) stretch(factor float64) {
	for _, part := range []*time.Duration{&c.base, &c.lookup, &c.prefill, &c.load} {
		*part = time.Duration(float64(*part) * factor)
	}
}
