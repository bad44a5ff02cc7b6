package sim

import (
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// wrongFaults: reuse that should not have happened.
func wrongFaults() []Fault {
	return []Fault{
		{
			Name: "controls_fire", Value: "least prompt tokens", Default: 256,
			Does:  "A lookup for a long prompt that finds nothing takes the newest long donor for half of what is left, and answers from it.",
			Check: "controls_quiet", Naive: "hit rate and speedup of unrelated prompts count as gain",
			install: controlsFire,
		},
		{
			Name: "wrong_reuse", Does: "A hit on at least a quarter of a prompt is stretched over all of it, changed names, numbers and the question included, and answered as the donor.",
			Check: "max-warm-vs-cold-rouge-drop", Naive: "speedup grows with every wrong token that is not recomputed",
			install: wrongReuse,
		},
		{
			Name: "stale_donor", Value: "resets that spare the donors before one does not", Default: 2,
			Does: "Most resets of the donor store clear only the prefix cache.", Check: "donor_store_cold", Naive: "cold arms hit donors of earlier steps",
			install: func(_ *Engine, spared float64) hooks {
				n := 0.0
				return hooks{reset: func(_ *call, r *resetCall) {
					if r.donors {
						if n++; n <= spared {
							r.donors = false
							return
						}
						n = 0
					}
				}}
			},
		},
		{
			Name: "cross_tenant_donor", Does: "The prefix cache ignores cache_salt: tenants, and steps isolated by salt, share blocks.",
			Naive: "cold arms hit what other salts left; one tenant's text serves another",
			install: func(*Engine, float64) hooks {
				return hooks{before: func(c *call) {
					if c.j.salt != "" {
						c.act()
						c.j.hashes = chain(c.j.ids, c.e.cfg.BlockSize, "")
					}
				}}
			},
		},
		{
			Name: "own_twin_donor", Value: "one donor in so many", Default: 3,
			Does:  "One in so many donors of cold recipients, as their ids call themselves, outlives every reset.",
			Check: "donors_are_own", Naive: "the warm arm copies from its own cold twin: speedup far too high",
			install: ownTwin,
		},
		{
			Name: "prefix_collision", Does: "A block's hash covers only the prompt's first block and its place, so that prompts that begin alike share everything, and the answer is the other prompt's.",
			Check: "exact_reuse_is_exact", Naive: "confirmed reuse and speedup grow with every prompt that begins alike, though none of it is the same text",
			install: prefixCollision,
		},
	}
}

func controlsFire(_ *Engine, least float64) hooks {
	return hooks{
		decide: func(c *call, d *decision) {
			if d.semantic > 0 || !d.lookedUp || len(c.e.donors.order) == 0 {
				return
			}
			size := c.e.cfg.BlockSize
			newest := c.e.donors.order[len(c.e.donors.order)-1]
			if float64(min(d.prompt, len(newest.ids))) < least {
				return
			}
			from := d.prefix + d.offload
			length := min((reusable(d.prompt, size)-from)/2, len(newest.ids)) / size * size
			if length < c.e.cfg.MinSemanticTokens {
				return
			}
			c.act()
			d.propose([]piece{{targetStart: from, length: length, donor: newest}}, nil)
			d.semantic, d.layers = d.found, c.e.cfg.Layers
		},
		answer: donorAnswer("controls_fire"),
	}
}

func wrongReuse(*Engine, float64) hooks {
	return hooks{
		decide: func(c *call, d *decision) {
			size := c.e.cfg.BlockSize
			from := d.prefix + d.offload
			left := reusable(d.prompt, size) - from
			if d.semantic == 0 || 4*d.semantic < left || d.semantic == left {
				return
			}
			c.act()
			d.propose([]piece{{targetStart: from, length: left, donor: d.donor}}, nil)
			d.semantic = d.found
		},
		answer: func(c *call, o *output) {
			if slices.Contains(c.j.acted, "wrong_reuse") {
				text := c.j.decision.donor.text
				*o = c.e.cut(reply(text, ask(text)), c.j.limit, c.j.fill)
			}
		},
	}
}

// donorAnswer answers from the donor where a fault has acted.
func donorAnswer(fault string) func(c *call, o *output) {
	return func(c *call, o *output) {
		for _, name := range c.j.acted {
			if name == fault {
				*o = c.e.cut(reply(c.j.decision.donor.text, c.j.question), c.j.limit, c.j.fill)
			}
		}
	}
}

func ownTwin(_ *Engine, every float64) hooks {
	var kept []*donor
	n := 0
	return hooks{
		reset: func(c *call, r *resetCall) {
			if !r.donors || c.e.donors == nil {
				return
			}
			for _, d := range c.e.donors.order {
				if strings.Contains(d.requestID, "-cold-") && strings.Contains(d.requestID, "-recipient-") {
					if n++; n%max(1, int(every)) == 0 {
						kept = append(kept, d)
					}
				}
			}
		},
		before: func(c *call) {
			for _, d := range kept {
				c.act()
				if err := c.e.donors.add(&donor{requestID: d.requestID, salt: d.salt, ids: d.ids, text: d.text}); err != nil {
					c.e.voice.troubled(c.j, err)
				}
			}
			kept = nil
		},
	}
}

func prefixCollision(*Engine, float64) hooks {
	texts := map[blockHash]string{} // what was stored last under a first block; a handful of beginnings
	return hooks{
		before: func(c *call) {
			hashes := c.j.hashes
			for i := 1; i < len(hashes); i++ {
				c.act()
				hashes[i] = xxh3.Hash128(append(hashes[0][:], byte(i), byte(i>>8), byte(i>>16))).Bytes()
			}
		},
		answer: func(c *call, o *output) {
			if len(c.j.hashes) < 2 {
				return
			}
			first := c.j.hashes[0]
			if text, ok := texts[first]; ok && c.j.decision.prefix > c.e.cfg.BlockSize {
				*o = c.e.cut(reply(text, c.j.question), c.j.limit, c.j.fill)
			}
			if len(texts) >= c.e.cfg.CapacityBlocks {
				clear(texts)
			}
			texts[first] = c.j.text
		},
	}
}
