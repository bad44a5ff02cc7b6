package sim

// qualityFaults: the answer suffers from reuse.
func qualityFaults() []Fault {
	return []Fault{
		{
			Name: "wrong_blend", Family: FamilyQuality,
			Does:  "An answer over donor KV is given from the donor's text.",
			Check: "quality",
			Naive: "leak rate and ROUGE drop hidden behind an unchanged speedup",
			install: func(*Engine, float64) hooks {
				return hooks{answer: func(c *call, o *output) {
					d := &c.j.decision
					if d.semantic == 0 {
						return
					}
					c.act()
					*o = c.e.cut(reply(d.donor.text, c.j.question), c.j.limit, c.j.fill)
				}}
			},
		},
	}
}
