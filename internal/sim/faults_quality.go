package sim

import "strings"

// qualityFaults: the answer suffers from reuse.
func qualityFaults() []Fault {
	const drop, hidden = "max-warm-vs-cold-rouge-drop", "speedup unchanged while hits answer worse"
	return []Fault{
		{
			Name: "wrong_blend", Does: "An answer over donor KV is given from the facts of the donor of the hit before: pages of the wrong one.", Check: drop, Naive: hidden + "; leak rate 0 if nobody looks",
			install: wrongBlend,
		},
		{
			Name: "wrong_fact", Does: "Every digit of an answer over donor KV is one more than it should be.", Check: drop, Naive: hidden,
			install: spoiled(func(_ *call, o *output) {
				for i, chunk := range o.chunks {
					o.chunks[i] = strings.Map(func(r rune) rune {
						if '0' <= r && r <= '9' {
							return '0' + (r-'0'+1)%10
						}
						return r
					}, chunk)
				}
				o.text = strings.Join(o.chunks, "")
			}),
		},
		{
			Name: "early_stop", Value: "tokens", Default: 3, Does: "An answer over donor KV ends after a few tokens.", Check: drop,
			Naive: hidden + "; output tokens per second too high",
			install: spoiled(func(c *call, o *output) {
				if n := max(1, int(c.value)); n < len(o.chunks) {
					o.chunks, o.tokens, o.reason = o.chunks[:n], n, "stop"
					o.text = strings.Join(o.chunks, "")
				}
			}),
		},
		{
			Name: "drift_after", Value: "tokens", Default: 4, Does: "An answer over donor KV turns into its own words backwards after some tokens.", Check: drop, Naive: hidden,
			install: spoiled(func(c *call, o *output) {
				for i, k := max(1, int(c.value)), len(o.chunks)-1; i < k; i, k = i+1, k-1 {
					o.chunks[i], o.chunks[k] = o.chunks[k], o.chunks[i]
				}
				o.text = strings.Join(o.chunks, "")
			}),
		},
		{
			Name: "repetition", Value: "tokens", Default: 2, Does: "An answer over donor KV repeats its first tokens.", Check: drop, Naive: hidden,
			install: spoiled(func(c *call, o *output) {
				for i := max(1, int(c.value)); i < len(o.chunks); i++ {
					o.chunks[i] = o.chunks[i-max(1, int(c.value))]
				}
				o.text = strings.Join(o.chunks, "")
			}),
		},
		{
			Name: "one_answer", Value: "requests answered as they ask before", Default: 12,
			Does:  "After so many requests every long prompt gets the answer that the first of them got.",
			Check: "answers_differ", Naive: "warm and cold answers agree perfectly: no drop of quality, while none answers its question",
			install: oneAnswer,
		},
		{
			Name: "answer_replayed", Does: "An answer over donor KV is not decoded: all of it leaves with the first token, as from a cache of responses.",
			Check: "decode_time_holds", Naive: "latency and output tokens per second gain what reuse of KV cannot give",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					if c.j.decision.semantic == 0 {
						return
					}
					c.act()
					for i := range d.due {
						d.due[i] = d.due[0]
					}
				}}
			},
		},
		{
			Name: "empty_text", Does: "An answer over donor KV has no text at all.", Check: "pairs_valid",
			Naive: "an empty answer counts as the fastest of all",
			install: spoiled(func(_ *call, o *output) {
				*o = output{chunks: []string{""}, tokens: 1, reason: "stop"}
			}),
		},
	}
}

// spoiled changes the answers of jobs that reuse donor KV.
func spoiled(change func(c *call, o *output)) func(*Engine, float64) hooks {
	return func(*Engine, float64) hooks {
		return hooks{answer: func(c *call, o *output) {
			if c.j.decision.semantic > 0 {
				c.act()
				o.chunks = append([]string(nil), o.chunks...)
				change(c, o)
			}
		}}
	}
}

func oneAnswer(_ *Engine, spared float64) hooks {
	var first *output
	n := 0.0
	return hooks{answer: func(c *call, o *output) {
		if n++; n <= spared || len(c.j.ids) < 256 || c.j.limit < len(o.chunks) || len(o.chunks) < 4 {
			return
		}
		if first == nil {
			kept := *o
			first = &kept
			return
		}
		c.act()
		*o = *first
	}}
}

func wrongBlend(*Engine, float64) hooks {
	before := ""
	return spoiled(func(c *call, o *output) {
		text := before
		if before = c.j.decision.donor.text; text == "" {
			text = before
		}
		*o = c.e.cut(reply(text, c.j.question), c.j.limit, c.j.fill)
	})(nil, 0)
}
