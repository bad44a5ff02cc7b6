package sim

// wrongFaults: reuse that should not have happened.
func wrongFaults() []Fault { return nil }
