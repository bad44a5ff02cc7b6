package sim

// coldFaults: the cold arm is not cold.
func coldFaults() []Fault {
	return []Fault{
		{
			Name: "noop_reset", Family: FamilyCold,
			Does:  "A reset answers success and clears nothing.",
			Check: "isolation_canary",
			Naive: "the cold arm hits the warm twin's blocks: speedup near 1, or below it, in every pair whose warm arm came first",
			install: func(*Engine, float64) hooks {
				return hooks{reset: func(_ *call, r *resetCall) { r.prefix, r.offload, r.donors = false, false, false }}
			},
		},
		{
			Name: "donor_store_survives", Family: FamilyCold,
			Does:  "A reset clears the prefix cache, but the donor store stays, whatever was asked.",
			Check: "donor_store_cold",
			Naive: "cold arms hit donors of earlier steps: speedup too low, and cold TTFT too short",
			install: func(*Engine, float64) hooks {
				return hooks{reset: func(_ *call, r *resetCall) { r.donors = false }}
			},
		},
	}
}
