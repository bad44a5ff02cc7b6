package sim

// evidenceFaults: logs, audits and counters are damaged on their way.
func evidenceFaults() []Fault { return nil }
