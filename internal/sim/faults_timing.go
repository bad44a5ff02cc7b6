package sim

// timingFaults: times that mislead.
func timingFaults() []Fault {
	return []Fault{
		{
			Name: "role_chunk_early", Family: FamilyTiming, Value: "lead in ms", Default: 50,
			Does:  "The chunk that only names the role leaves before the first token exists.",
			Check: "first_event_is_output",
			Naive: "a client that takes the first event for the first token reports a TTFT too short by the lead, in both arms, and a speedup too high",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					if c.j.endpoint == endpointChat {
						c.act()
						d.roleLead = millis(c.value)
					}
				}}
			},
		},
	}
}
