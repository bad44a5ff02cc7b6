package sembench

// ResultVersion is the version of a result document.
const ResultVersion = "sembench.result.v2"

// CI is an estimate with its interval. Lo and Hi are null when not computable; Unit is what was resampled.
type CI struct {
	Point     *float64 `json:"point"`
	Lo        *float64 `json:"lo"`
	Hi        *float64 `json:"hi"`
	Level     float64  `json:"level"`
	Method    string   `json:"method"`
	N         int      `json:"n"`
	Resamples int      `json:"resamples"`
	Seed      uint64   `json:"seed"`
	Unit      string   `json:"unit"`
	Warnings  []string `json:"warnings"`
}

// Producer names the program that wrote a document.
type Producer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Run identifies what was run. Null fields were not stated or not found out.
type Run struct {
	RunID           string  `json:"run_id"`
	Engine          *string `json:"engine"`
	ManifestPath    string  `json:"manifest_path"`
	ManifestSHA256  string  `json:"manifest_sha256"`
	Arm             string  `json:"arm"` // cold, warm, exact, sham, aa, single, paired
	EngineVersion   *string `json:"engine_version"`
	BackendID       *string `json:"backend_id"`
	BaselineID      *string `json:"baseline_id"`
	SembenchVersion string  `json:"sembench_version"`
	TimestampUTC    string  `json:"timestamp_utc"`
	Seed            *int64  `json:"seed"`
	Simulated       bool    `json:"simulated"`
	Shard           *string `json:"shard"`
	Extra           Extra   `json:"-"`
}

// EngineInfo is what the endpoint told of itself in the pre-flight.
type EngineInfo struct {
	Kind    string  `json:"kind"`
	Model   string  `json:"model"`
	BaseURL string  `json:"base_url"`
	Version *string `json:"version"`
	BootID  *string `json:"boot_id"`
	Extra   Extra   `json:"-"`
}

// Environment is where the measurement was made and how good the instrument was there.
type Environment struct {
	Host      string `json:"host"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPU       string `json:"cpu"`
	CPUs      int    `json:"cpus"`
	GoVersion string `json:"go_version"`
	// ClientOverhead is what this client adds to TTFT on this machine, in milliseconds; null when not measured.
	ClientOverheadP50MS *float64 `json:"client_overhead_p50_ms"`
	ClientOverheadP99MS *float64 `json:"client_overhead_p99_ms"`
	ServeLine           *string  `json:"serve_line"`
	Extra               Extra    `json:"-"`
}

// PlannerAggregate sums one planner's columns over rows where it ran without error.
type PlannerAggregate struct {
	Rows                int      `json:"rows"`
	Errors              int      `json:"errors"`
	TotalBlocks         int      `json:"total_blocks"`
	CandidateBlocks     int      `json:"candidate_blocks"`
	EligibleBlocks      int      `json:"eligible_blocks"`
	NovelBlocks         int      `json:"novel_blocks"`
	CopiedTokens        int      `json:"copied_tokens"`
	IdenticalTokens     int      `json:"identical_contiguous_tokens"`
	ScatteredTokens     int      `json:"identical_scattered_tokens"`
	ApproxTokens        int      `json:"approximate_tokens"`
	CandidateBlockRate  *float64 `json:"candidate_block_rate"`
	EligibleBlockRate   *float64 `json:"eligible_block_rate"`
	NovelBlockRate      *float64 `json:"novel_block_rate"`
	HitRateByRequest    *float64 `json:"hit_rate_by_request"`
	MeanLatencyMS       *float64 `json:"mean_latency_ms"`
	IndexCappedRequests int      `json:"index_capped_requests"`
}

// Aggregate holds the contract's keys over a set of rows: rates with numerators and denominators, sum over sum. Null is
// unmeasured. Live keys cover clean warm (or single-arm) recipient rows.
type Aggregate struct {
	RequestCount int `json:"request_count"`
	PromptTokens int `json:"prompt_tokens"`
	TotalBlocks  int `json:"total_blocks"`
	// LocalTotalBlocks is the denominator of the offline rates; LocalCountAgreement the share of rows where the engine's count equals it.
	LocalTotalBlocks    *int     `json:"local_total_blocks"`
	LocalCountAgreement *float64 `json:"local_count_agreement"`

	ExactHitBlocks             int      `json:"exact_hit_blocks"`
	ExactBlockHitRate          *float64 `json:"exact_block_hit_rate"`
	ExactPrefixHitBlocks       *int     `json:"exact_prefix_hit_blocks"`
	ExactPrefixBlockHitRate    *float64 `json:"exact_prefix_block_hit_rate"`
	SemanticCandidateBlocks    *int     `json:"semantic_candidate_blocks"`
	SemanticCandidateBlockRate *float64 `json:"semantic_candidate_block_rate"`
	SemanticEligibleBlocks     *int     `json:"semantic_eligible_blocks"`
	SemanticEligibleBlockRate  *float64 `json:"semantic_eligible_block_rate"`
	SemanticNovelBlocks        *int     `json:"semantic_novel_blocks"`
	SemanticNovelBlockRate     *float64 `json:"semantic_novel_block_rate"`
	SemanticEligibleLift       *float64 `json:"semantic_eligible_lift"`
	SemanticLiftOverPrefix     *float64 `json:"semantic_eligible_lift_over_prefix"`
	BackendConfirmedBlocks     *int     `json:"backend_confirmed_blocks"`
	BackendConfirmedBlockRate  *float64 `json:"backend_confirmed_block_rate"`
	BackendConfirmedLift       *float64 `json:"backend_confirmed_lift"`
	BackendConfirmedCoverage   *float64 `json:"backend_confirmed_coverage"` // rows with the number / rows

	BackendConfirmedTokens  *int `json:"backend_confirmed_tokens"`
	ExternalConfirmedTokens *int `json:"external_confirmed_tokens"`
	FuzzyConfirmedTokens    *int `json:"fuzzy_confirmed_tokens"`
	SemanticConfirmedTokens *int `json:"semantic_confirmed_tokens"`
	// Coverages are rows with the number / rows; the prompt tokens are those of the rows with the semantic number.
	ExternalConfirmedCoverage     *float64 `json:"external_confirmed_coverage"`
	SemanticConfirmedCoverage     *float64 `json:"semantic_confirmed_coverage"`
	SemanticConfirmedPromptTokens *int     `json:"semantic_confirmed_prompt_tokens"`

	ExactTokenWeightedReuseRate             *float64 `json:"exact_token_weighted_reuse_rate"`
	SemanticCandidateTokenWeightedReuseRate *float64 `json:"semantic_candidate_token_weighted_reuse_rate"`
	SemanticEligibleTokenWeightedReuseRate  *float64 `json:"semantic_eligible_token_weighted_reuse_rate"`
	ExternalConfirmedTokenWeightedReuseRate *float64 `json:"external_confirmed_token_weighted_reuse_rate"`
	SemanticConfirmedTokenWeightedReuseRate *float64 `json:"semantic_confirmed_token_weighted_reuse_rate"`

	MeanTTFTMS               *float64 `json:"mean_ttft_ms"` // informational: the paired block is the source of truth
	MeanQualityF1            *float64 `json:"mean_quality_f1"`
	MeanQualityRougeL        *float64 `json:"mean_quality_rouge_l"`
	QualityF1CI              *CI      `json:"quality_f1_ci"`
	QualityRougeLCI          *CI      `json:"quality_rouge_l_ci"`
	QualityPassRate          *float64 `json:"quality_pass_rate"`
	MeanSemblendLatencyMS    *float64 `json:"mean_semblend_latency_ms"`
	SemblendHitRateByRequest *float64 `json:"semblend_hit_rate_by_request"`

	NegativeControlCount                  int      `json:"negative_control_count"`
	NegativeControlBlocks                 int      `json:"negative_control_blocks"`
	NegativeControlSemanticEligibleBlocks *int     `json:"negative_control_semantic_eligible_blocks"`
	NegativeControlSemanticEligibleRate   *float64 `json:"negative_control_semantic_eligible_rate"`
	NegativeControlSemanticPlacements     *int     `json:"negative_control_semantic_placements"`
	NegativeControlSemanticPlacementRate  *float64 `json:"negative_control_semantic_placement_rate"`
	NegativeControlBackendConfirmedBlocks *int     `json:"negative_control_backend_confirmed_blocks"`
	NegativeControlBackendConfirmedRate   *float64 `json:"negative_control_backend_confirmed_rate"`

	// WrongReuse is keyed by control kind; the rates over all kinds stand beside it.
	WrongReuse       map[string]WrongReuse `json:"wrong_reuse"`
	WrongReuseTokens *int                  `json:"wrong_reuse_tokens"`
	WrongReuseRate   *float64              `json:"wrong_reuse_rate"`
	LeakRate         *float64              `json:"leak_rate"`

	SemanticPlacements             *int           `json:"semantic_placements"`
	SemanticPlacementRateByRequest *float64       `json:"semantic_placement_rate_by_request"`
	RouteOutcomes                  map[string]int `json:"route_outcomes"`

	Planners map[string]PlannerAggregate `json:"planners"`
	Extra    Extra                       `json:"-"`
}

// WrongReuse is what one kind of wrong-reuse control showed.
type WrongReuse struct {
	Rows             int      `json:"rows"`
	PromptTokens     int      `json:"prompt_tokens"`
	WrongReuseTokens *int     `json:"wrong_reuse_tokens"`
	WrongReuseRate   *float64 `json:"wrong_reuse_rate"`
	Leaks            *int     `json:"leaks"`
	LeakRate         *float64 `json:"leak_rate"`
}

// Paired is the source of truth for TTFT (contract, section 7). Ratios are cold over warm of the same item.
type Paired struct {
	BlendedTTFTSpeedupMean               *float64 `json:"blended_ttft_speedup_mean"`
	BlendedTTFTSpeedupMeanCI             *CI      `json:"blended_ttft_speedup_mean_ci"`
	BlendedTTFTSpeedupCI                 *CI      `json:"blended_ttft_speedup_ci"` // the public name of the same interval
	BlendedTTFTSpeedupMedian             *float64 `json:"blended_ttft_speedup_median"`
	BlendedTTFTSpeedupMedianCI           *CI      `json:"blended_ttft_speedup_median_ci"`
	BlendedTTFTSpeedupGeomean            *float64 `json:"blended_ttft_speedup_geomean"`
	BlendedTTFTSpeedupGeomeanCI          *CI      `json:"blended_ttft_speedup_geomean_ci"`
	BlendedTTFTSpeedupHodgesLehmann      *float64 `json:"blended_ttft_speedup_hodges_lehmann"`
	BlendedTTFTSpeedupHodgesLehmannCI    *CI      `json:"blended_ttft_speedup_hodges_lehmann_ci"`
	BlendedTTFTSpeedupMeanWithWrongReuse *float64 `json:"blended_ttft_speedup_mean_with_wrong_reuse"`
	// EqualTransformSpeedupMean weighs every transform alike.
	EqualTransformSpeedupMean *float64 `json:"blended_ttft_speedup_mean_equal_weight_per_transform"`

	HitOnlyTTFTSpeedupMean     *float64 `json:"hit_only_ttft_speedup_mean"`
	HitOnlyTTFTSpeedupMeanCI   *CI      `json:"hit_only_ttft_speedup_mean_ci"`
	HitOnlyTTFTSpeedupCI       *CI      `json:"hit_only_ttft_speedup_ci"`
	HitOnlyTTFTSpeedupMedian   *float64 `json:"hit_only_ttft_speedup_median"`
	HitOnlyTTFTSpeedupMedianCI *CI      `json:"hit_only_ttft_speedup_median_ci"`

	HitRate                  *float64 `json:"hit_rate"`
	Hits                     *int     `json:"hits"`
	HitRateCoverage          *float64 `json:"hit_rate_coverage"`
	HitRate10Pct             *float64 `json:"hit_rate_10pct"`
	HitRate50Pct             *float64 `json:"hit_rate_50pct"`
	PairsExternalConfirmed   int      `json:"pairs_external_confirmed"`
	PairsExternalUnconfirmed int      `json:"pairs_external_unconfirmed"`
	HitsUnverifiedExternal   int      `json:"hits_unverified_external"`
	HitDefinition            string   `json:"hit_definition"`

	ExactBaselineTTFTSpeedupMean          *float64 `json:"exact_baseline_ttft_speedup_mean"`
	ExactBaselineTTFTSpeedupMeanCI        *CI      `json:"exact_baseline_ttft_speedup_mean_ci"`
	ExactBaselineTTFTSpeedupMedian        *float64 `json:"exact_baseline_ttft_speedup_median"`
	ExactBaselineTTFTSpeedupMedianCI      *CI      `json:"exact_baseline_ttft_speedup_median_ci"`
	ExactBaselineTTFTSpeedupGeomean       *float64 `json:"exact_baseline_ttft_speedup_geomean"`
	ExactBaselineTTFTSpeedupGeomeanCI     *CI      `json:"exact_baseline_ttft_speedup_geomean_ci"`
	ExactBaselinePairs                    *int     `json:"exact_baseline_pairs"`
	SemanticIncrementalTTFTSpeedupMean    *float64 `json:"semantic_incremental_ttft_speedup_mean"`
	SemanticIncrementalTTFTSpeedupMeanCI  *CI      `json:"semantic_incremental_ttft_speedup_mean_ci"`
	SemanticIncrementalTTFTSpeedupMedian  *float64 `json:"semantic_incremental_ttft_speedup_median"`
	SemanticIncrementalMedianCI           *CI      `json:"semantic_incremental_ttft_speedup_median_ci"`
	SemanticIncrementalTTFTSpeedupGeomean *float64 `json:"semantic_incremental_ttft_speedup_geomean"`
	SemanticIncrementalGeomeanCI          *CI      `json:"semantic_incremental_ttft_speedup_geomean_ci"`

	TTFTColdP50MS *float64 `json:"ttft_cold_p50_ms"`
	TTFTColdP95MS *float64 `json:"ttft_cold_p95_ms"`
	TTFTWarmP50MS *float64 `json:"ttft_warm_p50_ms"`
	TTFTWarmP95MS *float64 `json:"ttft_warm_p95_ms"`

	NegativeControlTTFTSpeedupMean      *float64 `json:"negative_control_ttft_speedup_mean"`
	NegativeControlTTFTSpeedupMeanCI    *CI      `json:"negative_control_ttft_speedup_mean_ci"`
	NegativeControlTTFTSpeedupMedian    *float64 `json:"negative_control_ttft_speedup_median"`
	NegativeControlTTFTSpeedupMedianCI  *CI      `json:"negative_control_ttft_speedup_median_ci"`
	NegativeControlTTFTSpeedupGeomean   *float64 `json:"negative_control_ttft_speedup_geomean"`
	NegativeControlTTFTSpeedupGeomeanCI *CI      `json:"negative_control_ttft_speedup_geomean_ci"`
	ShamTTFTSpeedupGeomean              *float64 `json:"sham_ttft_speedup_geomean"`
	ShamTTFTSpeedupGeomeanCI            *CI      `json:"sham_ttft_speedup_geomean_ci"`
	AATTFTSpeedupMean                   *float64 `json:"aa_ttft_speedup_mean"`
	AATTFTSpeedupGeomean                *float64 `json:"aa_ttft_speedup_geomean"`
	AATTFTSpeedupGeomeanCI              *CI      `json:"aa_ttft_speedup_geomean_ci"`
	AAFirstOverSecond                   *float64 `json:"aa_first_over_second_geomean"`
	AAFirstOverSecondCI                 *CI      `json:"aa_first_over_second_geomean_ci"`
	MissTaxMS                           *float64 `json:"miss_tax_ms"`
	MissTaxPairs                        *int     `json:"miss_tax_pairs"`
	DonorCostMS                         *float64 `json:"donor_cost_ms"`
	BreakEvenReuses                     *float64 `json:"break_even_reuses"`
	// OrderEffect compares pairs whose cold arm ran first with those whose warm arm did: ratio of geometric means, truth 1.
	OrderEffect       *float64 `json:"order_effect"`
	OrderEffectPValue *float64 `json:"order_effect_p_value"`
	OrderEffectPairs  int      `json:"order_effect_pairs"`

	PairsTotal              int            `json:"pairs_total"`
	PairsUsed               int            `json:"pairs_used"`
	NegativeControlPairs    int            `json:"negative_control_pairs"`
	WrongReusePairs         int            `json:"wrong_reuse_pairs"`
	PairsContaminated       int            `json:"pairs_contaminated"`
	PairsContaminatedCached int            `json:"pairs_contaminated_cached"`
	PairsContaminatedStrict int            `json:"pairs_contaminated_strict"`
	PairsIsolationUnknown   int            `json:"pairs_isolation_unknown"`
	PairsErrored            int            `json:"pairs_errored"`
	PairsUnpaired           int            `json:"pairs_unpaired"`
	PairsExcluded           map[string]int `json:"pairs_excluded"`
	ContaminationReasons    map[string]int `json:"contamination_reasons"`
	ContaminationJudged     bool           `json:"contamination_judged"`
	ArmErrorRateCold        *float64       `json:"arm_error_rate_cold"`
	ArmErrorRateWarm        *float64       `json:"arm_error_rate_warm"`
	Valid                   bool           `json:"valid"`
	InvalidReason           *string        `json:"invalid_reason"`
	WarmVsColdRougeLMean    *float64       `json:"warm_vs_cold_output_rouge_l_mean"`
	WarmVsColdRougeLMeanCI  *CI            `json:"warm_vs_cold_output_rouge_l_mean_ci"`
	WarmVsColdRougeLHitMean *float64       `json:"warm_vs_cold_output_rouge_l_hit_only_mean"`
	WarmVsColdRougeLHitCI   *CI            `json:"warm_vs_cold_output_rouge_l_hit_only_mean_ci"`
	WarmVsColdRougeLHitN    int            `json:"warm_vs_cold_output_rouge_l_hit_only_n"`
	WarmVsColdRougeLP05     *float64       `json:"warm_vs_cold_output_rouge_l_p05"`
	WarmVsColdRougeLN       int            `json:"warm_vs_cold_output_rouge_l_n"`
	KLMean                  *float64       `json:"warm_vs_cold_kl_mean"`
	TopKOverlapMean         *float64       `json:"warm_vs_cold_topk_overlap_mean"`
	KLN                     int            `json:"warm_vs_cold_kl_n"`
	FirstDivergenceP50      *float64       `json:"first_divergence_p50"`
	DivergedPairs           *int           `json:"diverged_pairs"`
	RougeLDropVsFloor       *float64       `json:"warm_vs_cold_rouge_l_drop"`
	RougeLDropVsFloorCI     *CI            `json:"warm_vs_cold_rouge_l_drop_ci"`
	NoiseFloor              *string        `json:"noise_floor"` // cold_cold or exact_prefix: the floor that the drop was taken from
	EngineTTFTPairs         int            `json:"engine_ttft_pairs"`
	EngineTTFTSpeedupMedian *float64       `json:"engine_ttft_speedup_median"`
	EngineTTFTSpeedupCI     *CI            `json:"engine_ttft_speedup_median_ci"`
	QueueTimeColdP50MS      *float64       `json:"queue_time_cold_p50_ms"`
	QueueTimeWarmP50MS      *float64       `json:"queue_time_warm_p50_ms"`
	ReuseMechanisms         map[string]int `json:"reuse_mechanisms"`
	SemanticMechanisms      map[string]int `json:"semantic_mechanisms"`
	MinDetectableSpeedup    *float64       `json:"min_detectable_speedup"`
	Extra                   Extra          `json:"-"`
}

// Rung is one step of the ladder exact → candidate → eligible → advertised → allocated → materialized → faster.
type Rung struct {
	Name string `json:"name"`
	// Unit is what numerator and denominator count: blocks, tokens, requests or pairs.
	Unit        string   `json:"unit"`
	Numerator   *float64 `json:"numerator"`
	Denominator *float64 `json:"denominator"`
	Rate        *float64 `json:"rate"`
	Coverage    *float64 `json:"coverage"` // rows with the signal / rows; null when nothing could carry it
	Source      string   `json:"source"`
}

// CheckResult is one named check of the measurement itself (not of how good the engine is).
type CheckResult struct {
	Name     string   `json:"name"`
	Outcome  string   `json:"outcome"` // pass, fail, inconclusive, not_judged
	Observed *float64 `json:"observed"`
	Limit    *float64 `json:"limit"`
	Detail   string   `json:"detail"`
}

// Group is one transform's, or one length band's, share of a result.
type Group struct {
	Aggregate Aggregate `json:"aggregate"`
	Paired    *Paired   `json:"paired"`
	// PValue is of the signed-rank test that log(cold/warm) of the group's used pairs is symmetric about 0; PAdjusted is
	// Holm's over all groups beside it. Null without a used pair.
	PValue    *float64 `json:"speedup_p_value"`
	PAdjusted *float64 `json:"speedup_p_adjusted"`
}

// Result is what a run showed: every number that a verdict or a report uses (formats.md, section 2). Written by judge and
// offline, read by judge (gates, merge, compare) and report.
type Result struct {
	ResultVersion string   `json:"result_version" required:"true"`
	CreatedAtUTC  string   `json:"created_at_utc"`
	Producer      Producer `json:"producer"`
	Run           Run      `json:"run"`
	Config        Extra    `json:"config"`
	ConfigSHA256  string   `json:"config_sha256"`
	// BlockSize is what every block count divides by, in tokens.
	BlockSize   int         `json:"block_size"`
	Protocol    *Protocol   `json:"protocol"` // null offline
	Engine      *EngineInfo `json:"engine"`
	Environment Environment `json:"environment"`
	Aggregate   Aggregate   `json:"aggregate"`
	// Cold holds the live keys of the cold arm's rows; null offline and for single arms.
	Cold *Aggregate `json:"aggregate_cold"`
	// Paired is null for offline and single-arm results.
	Paired      *Paired          `json:"paired"`
	ByTransform map[string]Group `json:"by_transform"`
	// ByLength groups by metadata.length_band; rows without one stand under "all".
	ByLength map[string]Group `json:"by_length"`
	Ladder   []Rung           `json:"ladder"`
	Checks   []CheckResult    `json:"checks"`
	// Contradictions between sources are listed, never averaged away.
	Contradictions []string     `json:"contradictions"`
	Calibration    *Calibration `json:"calibration"`
	Throughput     *Throughput  `json:"throughput"`
	Warnings       []string     `json:"warnings"`
	// Requests holds the rows, or is empty when RowsFile names the file beside the document that does.
	Requests []Row   `json:"requests"`
	RowsFile *string `json:"rows_file"`
	Extra    Extra   `json:"-"`
}
