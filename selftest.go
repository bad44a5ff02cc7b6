package sembench

// SelftestFault is one scripted fault and whether its named check caught it.
type SelftestFault struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	// Caught: the named check came out fail. For a fault that a sound harness measures through: the run passed.
	Caught bool `json:"caught"`
	// By is the check or gate that caught it; "measured through" for a fault without one, "" when it was missed.
	By string `json:"by"`
	// NaiveClaim is what a harness without that check would have reported.
	NaiveClaim string `json:"naive_claim"`
	Detail     string `json:"detail"`
	// Check is the one that the fault table names; empty where there is nothing to catch.
	Check string `json:"check"`
	// NaiveValue is the number of NaiveClaim, TrueValue what it should have been; null where it has no value at all.
	NaiveValue *float64 `json:"naive_value"`
	TrueValue  *float64 `json:"true_value"`
	// Corrupted: the naive number is at least a tenth off.
	Corrupted bool `json:"corrupted"`
	// Failed are all checks and gates that failed.
	Failed []string `json:"failed"`
	// HTTP: the same came out over a real connection; null when that was not tried.
	HTTP *bool `json:"http"`
}

// SelftestHonest is what honest runs of one kind came to.
type SelftestHonest struct {
	// Kind is the voice and the jitter.
	Kind         string `json:"kind"`
	Transport    string `json:"transport"` // virtual or http
	Runs         int    `json:"runs"`
	FalseAlarms  int    `json:"false_alarms"`
	Inconclusive int    `json:"inconclusive"`
	// Busy are inconclusive runs over HTTP, counted apart, whose client this machine kept waiting: it had no time to measure.
	Busy int `json:"busy"`
	// Alarms names the checks that accused an honest run, or could not decide.
	Alarms []string `json:"alarms"`
}

// SelftestCoverage is how often the interval of one statistic covered the truth.
type SelftestCoverage struct {
	Setting   string  `json:"setting"`
	Statistic string  `json:"statistic"`
	Runs      int     `json:"runs"`
	Covered   int     `json:"covered"`
	Share     float64 `json:"share"`
	Truth     float64 `json:"truth"`
}

// SelftestMutation is one check switched off.
type SelftestMutation struct {
	Check string `json:"check"`
	// Named are the faults that the table names it for; Only those that no other check sees; Pass those whose run is accepted without it.
	Named []string `json:"named"`
	Only  []string `json:"only"`
	Pass  []string `json:"pass"`
}

// SelftestPairs is what random pairs of faults came to.
type SelftestPairs struct {
	Runs int `json:"runs"`
	// Both: both named checks failed. One: one did. Other: neither, but another check or gate. Refused: the harness would not measure.
	Both    int `json:"both"`
	One     int `json:"one"`
	Other   int `json:"other"`
	Refused int `json:"refused"`
	// Hidden are pairs whose run was accepted, or not decided.
	Hidden []string `json:"hidden"`
}

// Selftest is the truth lab's document: faults caught, honest runs accused.
type Selftest struct {
	Faults       []SelftestFault `json:"faults"`
	HonestRuns   int             `json:"honest_runs"`
	FalseAlarms  int             `json:"false_alarms"`
	Inconclusive int             `json:"inconclusive"`
	// Coverage is the share of simulated runs whose interval covers the truth; null when that part did not run.
	Coverage *float64 `json:"coverage"`
	// Passed: every fault caught, every naive number corrupted, no honest run accused, no check without a fault.
	Passed        bool               `json:"passed"`
	Problems      []string           `json:"problems"`
	Quick         bool               `json:"quick"`
	Seconds       float64            `json:"seconds"`
	Honest        []SelftestHonest   `json:"honest"`
	CoverageTable []SelftestCoverage `json:"coverage_table"`
	// TokensCompared recipients had their confirmed semantic tokens held against the truth; TokensWrong of them differed.
	TokensCompared int                `json:"tokens_compared"`
	TokensWrong    int                `json:"tokens_wrong"`
	Mutation       []SelftestMutation `json:"mutation"`
	// Pairs is null when that part did not run.
	Pairs *SelftestPairs `json:"pairs"`
	Extra Extra          `json:"-"`
}
