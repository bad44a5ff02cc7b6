package sembench

// ComparisonSchema is the schema of a comparison.
const ComparisonSchema = "sembench.compare.v1"

// Outcomes of a comparison, of a metric and of the whole.
const (
	Better        = "better"
	Worse         = "worse"
	Mixed         = "mixed" // some metric better and some worse; of the whole only
	NoDifference  = "no_detectable_difference"
	NotComparable = "not_comparable"
)

// Comparison says how result B differs from result A. Written by judge, read by report.
type Comparison struct {
	Schema  string      `json:"schema" required:"true"`
	A       ComparedRun `json:"a"`
	B       ComparedRun `json:"b"`
	Outcome string      `json:"outcome"` // better: B is better than A
	// Reasons why the results are not comparable; empty otherwise.
	Reasons []string `json:"reasons"`
	// Differences of configuration, engine and host, comparable or not.
	Differences []Difference `json:"differences"`
	// PairsCommon are clean in both; PairsOnlyA and PairsOnlyB in one. Only common pairs are compared.
	PairsCommon int                `json:"pairs_common"`
	PairsOnlyA  int                `json:"pairs_only_a"`
	PairsOnlyB  int                `json:"pairs_only_b"`
	Metrics     []MetricComparison `json:"metrics"`
	// Alpha is the family-wise error rate that Holm's correction holds over Metrics.
	Alpha    float64  `json:"alpha"`
	Warnings []string `json:"warnings"`
	Extra    Extra    `json:"-"`
}

// ComparedRun identifies one side of a comparison.
type ComparedRun struct {
	RunID          string  `json:"run_id"`
	ManifestSHA256 string  `json:"manifest_sha256"`
	Model          string  `json:"model"`
	Engine         string  `json:"engine"`
	EngineVersion  *string `json:"engine_version"`
	CreatedAtUTC   string  `json:"created_at_utc"`
	Simulated      bool    `json:"simulated"`
}

// Difference is one setting that differs; null where a side does not have it.
type Difference struct {
	Path string `json:"path"`
	A    any    `json:"a"`
	B    any    `json:"b"`
	// Blocks: this difference makes the results not comparable.
	Blocks bool `json:"blocks"`
}

// MetricComparison is one metric over the pairs that both results have. Change is B over A (kind ratio) or B minus A (kind
// difference); truth without a difference is 1 or 0.
type MetricComparison struct {
	Key    string   `json:"key"`
	Unit   string   `json:"unit"`
	Better string   `json:"better"` // higher or lower
	A      *float64 `json:"a"`
	B      *float64 `json:"b"`
	Kind   string   `json:"kind"` // ratio or difference
	Change *CI      `json:"change"`
	Test   string   `json:"test"`
	// PValue of the test, PAdjusted by Holm over all metrics; null when the test could not be made.
	PValue    *float64 `json:"p_value"`
	PAdjusted *float64 `json:"p_adjusted"`
	N         int      `json:"n"`
	Outcome   string   `json:"outcome"`
}
