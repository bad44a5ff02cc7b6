package sembench

// VerdictSchema is the schema of a verdict.
const VerdictSchema = "sembench.verdict.v1"

// Gate outcomes. Only pass passes (contract, section 10).
const (
	Pass         = "pass"
	Fail         = "fail"
	Missing      = "missing"
	Inconclusive = "inconclusive"
	NotJudged    = "not_judged" // a gate that bench chose itself, with too few pairs; does not decide
)

// GateResult is one gate as judged.
type GateResult struct {
	Name    string `json:"name"`
	Metric  string `json:"metric"`
	Outcome string `json:"outcome"`
	// Observed is the value that was compared and Threshold what it was compared with; null when there is none.
	Observed  *float64 `json:"observed"`
	Threshold *float64 `json:"threshold"`
	// Bound says which number was compared: lower, upper, point or flag.
	Bound    string `json:"bound"`
	Interval *CI    `json:"interval"`
	// NNeeded is how many pairs would decide an inconclusive gate; null otherwise.
	NNeeded *int   `json:"n_needed"`
	Detail  string `json:"detail"`
}

// Verdict says whether a result may be believed and whether it is good enough. Written by judge, read by report and CI.
type Verdict struct {
	Schema            string         `json:"schema" required:"true"`
	RunID             string         `json:"run_id"`
	ResultSHA256      string         `json:"result_sha256"`
	Simulated         bool           `json:"simulated"`
	Passed            bool           `json:"passed"`
	ExitCode          int            `json:"exit_code"`
	Failures          []string       `json:"failures"`
	Gates             []GateResult   `json:"gates"`
	Observed          map[string]any `json:"observed"`
	RequestedGates    map[string]any `json:"requested_gates"`
	MissingMetrics    []string       `json:"missing_metrics"`
	AllowMissing      bool           `json:"allow_missing"`
	AllowInconclusive bool           `json:"allow_inconclusive"`
	AllowSimulated    bool           `json:"allow_simulated"`
	// AcceptChecks are failed checks that the user waived by name; GateOn is ci or point; GateStatistic mean, median or geomean.
	AcceptChecks  []string `json:"accept_checks"`
	GateOn        string   `json:"gate_on"`
	GateStatistic string   `json:"gate_statistic"`
	Extra         Extra    `json:"-"`
}
