package sim

// transportFaults: what happens between the engine and the client.
func transportFaults() []Fault {
	return []Fault{
		{
			Name: "inband_error", Family: FamilyTransport, Value: "share of requests", Default: 0.2,
			Does:  "After status 200 and one chunk the stream carries an error object and ends as if all were well.",
			Check: "no_engine_errors",
			Naive: "failed requests count as short successes: TTFT and error rate too low",
			install: func(*Engine, float64) hooks {
				return hooks{deliver: func(c *call, d *delivery) {
					if c.chance(c.value) {
						c.act()
						d.failAfter = 1
					}
				}}
			},
		},
	}
}
