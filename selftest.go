package sembench

// SelftestFault is one scripted fault and whether its named check caught it.
type SelftestFault struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	Caught bool   `json:"caught"`
	By     string `json:"by"`
	// NaiveClaim is what a harness without that check would have reported.
	NaiveClaim string `json:"naive_claim"`
	Detail     string `json:"detail"`
}

// Selftest is the truth lab's document: faults caught, honest runs accused.
type Selftest struct {
	Faults       []SelftestFault `json:"faults"`
	HonestRuns   int             `json:"honest_runs"`
	FalseAlarms  int             `json:"false_alarms"`
	Inconclusive int             `json:"inconclusive"`
	// Coverage is the share of simulated runs whose interval covers the truth; null when that part did not run.
	Coverage *float64 `json:"coverage"`
	Extra    Extra    `json:"-"`
}
