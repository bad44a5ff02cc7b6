package sim

// phantomFaults: reuse is reported that did not happen, or not reported though it did.
func phantomFaults() []Fault {
	return []Fault{
		{
			Name: "hit_not_materialized", Family: FamilyPhantom,
			Does:  "A lookup hit is logged and its load advertised and counted, then nothing is written and the prompt is computed.",
			Check: "hits_materialize",
			Naive: "confirmed tokens and hit rate count loads that never were",
			install: func(*Engine, float64) hooks {
				return hooks{
					decide: func(c *call, d *decision) {
						if d.semantic > 0 {
							c.act()
							d.semantic, d.layers = 0, 0
						}
					},
					claim: func(c *call, a *claims) {
						d := &c.j.decision
						if d.found == 0 {
							return
						}
						for _, channel := range a.all() {
							channel.external, channel.layers = d.offload+d.found, 0
							channel.advertised, channel.allocated, channel.materialized = &d.found, &d.found, nil
						}
					},
				}
			},
		},
		{
			Name: "cached_tokens_zero", Family: FamilyPhantom,
			Does:  "usage reports cached_tokens 0 for every request.",
			Check: "cached_tokens_reported",
			Naive: "backend-confirmed rate 0: reuse that happened is denied, and a cold arm that was warm looks clean",
			install: func(*Engine, float64) hooks {
				return hooks{claim: func(c *call, a *claims) {
					if a.usage.prefix+a.usage.external > 0 {
						c.act()
					}
					a.usage.prefix, a.usage.external = 0, 0
				}}
			},
		},
	}
}
