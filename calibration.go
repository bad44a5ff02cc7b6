package sembench

// CalibrationVersion is the version of a calibration artifact.
const CalibrationVersion = "sembench.calibration.v1"

// Protocol is what a calibration and a run must share for one to judge the other.
type Protocol struct {
	ArmOrder          string  `json:"arm_order"`
	Concurrency       int     `json:"concurrency"`
	MaxTokens         int     `json:"max_tokens"`
	Temperature       float64 `json:"temperature"`
	Seed              *int64  `json:"seed"`
	Endpoint          string  `json:"endpoint"` // chat, completions, generate
	EngineFlagsSHA256 *string `json:"engine_flags_sha256"`
	Tokenizer         string  `json:"tokenizer"`
	Extra             Extra   `json:"-"`
}

// Extra keeps the keys of a record that this version does not know.
type Extra = map[string]any

// FloorValue is one calibration pair's ROUGE-L.
type FloorValue struct {
	ItemID string  `json:"item_id"`
	V      float64 `json:"v"`
}

// FloorBand is a noise floor within one length band. Under 30 pairs it counts as missing.
type FloorBand struct {
	N      int          `json:"n"`
	Mean   *float64     `json:"mean"`
	P05    *float64     `json:"p05"`
	Values []FloorValue `json:"values"`
}

// Floor is how much two runs of the same prompt agree when nothing semantic was reused: ROUGE-L of outputs.
type Floor struct {
	N             int                  `json:"n"`
	Mean          *float64             `json:"mean"`
	P05           *float64             `json:"p05"`
	P50           *float64             `json:"p50"`
	CI            *CI                  `json:"ci"`
	PerLengthBand map[string]FloorBand `json:"per_length_band"`
}

// TTFTAA is the run's own A/A: the ratio of two cold TTFTs of the same prompt, truth 1. CV is the relative scatter of one
// TTFT: the standard deviation of the log ratios over the square root of two.
type TTFTAA struct {
	N       int      `json:"n"`
	Mean    *float64 `json:"mean"`
	Geomean *float64 `json:"geomean"`
	CI      *CI      `json:"ci"`
	CV      *float64 `json:"cv"`
	// FirstOverSecond is the geometric mean of the TTFT of whichever arm ran first over that of the second: a second request that
	// is fast because it is the second shows here, where counterbalanced arms hide it. Null without recorded orders.
	FirstOverSecond   *float64 `json:"first_over_second"`
	FirstOverSecondCI *CI      `json:"first_over_second_ci"`
}

// Calibration is what the engine does to answers and times without semantic reuse, under the protocol of the runs that it
// judges (contract, section 9). Floors are keyed cold_cold and exact_prefix.
type Calibration struct {
	CalibrationVersion string           `json:"calibration_version" required:"true"`
	CreatedAtUTC       string           `json:"created_at_utc"`
	Model              string           `json:"model" required:"true"`
	Engine             string           `json:"engine"`
	EngineVersion      *string          `json:"engine_version"`
	Protocol           Protocol         `json:"protocol"`
	NPairs             int              `json:"n_pairs"`
	RougeLMean         *float64         `json:"rouge_l_mean"`
	RougeLP05          *float64         `json:"rouge_l_p05"`
	RougeLP50          *float64         `json:"rouge_l_p50"`
	RougeLCI           *CI              `json:"rouge_l_ci"`
	PairsContaminated  int              `json:"pairs_contaminated"`
	PairsErrored       int              `json:"pairs_errored"`
	Floors             map[string]Floor `json:"floors"`
	TTFTAA             *TTFTAA          `json:"ttft_aa"`
	Simulated          bool             `json:"simulated"`
	Extra              Extra            `json:"-"`
}
