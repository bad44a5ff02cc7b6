package sembench

// PlannerRow is what one planner found for one recipient: blocks are full recipient blocks. Null fields: the planner
// errored or did not run.
type PlannerRow struct {
	CandidateBlocks *int     `json:"candidate_blocks"`
	EligibleBlocks  *int     `json:"eligible_blocks"`
	NovelBlocks     *int     `json:"novel_blocks"`  // eligible and no exact hit
	CopiedTokens    *int     `json:"copied_tokens"` // full block or not
	IdenticalTokens *int     `json:"identical_contiguous_tokens"`
	ScatteredTokens *int     `json:"identical_scattered_tokens"`
	ApproxTokens    *int     `json:"approximate_tokens"`
	Found           *bool    `json:"found"`
	Similarity      *float64 `json:"similarity"`
	ReuseRatio      *float64 `json:"reuse_ratio"`
	LatencyMS       *float64 `json:"latency_ms"`
	RejectionReason *string  `json:"rejection_reason"`
	DonorIDs        []string `json:"donor_ids"`
	IndexCapped     bool     `json:"index_capped"`
	Error           *string  `json:"error"`
}

// Row is one recipient as measured: offline rungs, live evidence, times and quality (formats.md, section 2). Offline rows
// are written by offline; judge joins observations and evidence onto them, one row an arm. Every pointer is
// null when unmeasured. Blocks are full recipient blocks; tokens of rungs are blocks x block size.
type Row struct {
	ItemID          string `json:"item_id" required:"true"`
	Dataset         string `json:"dataset"`
	Transform       string `json:"transform"`
	NegativeControl bool   `json:"negative_control"`
	DonorCount      int    `json:"donor_count"`
	// PromptTokens and TotalBlocks are the engine's count where it gave one (PromptTokensSource), else the local count.
	PromptTokens            int  `json:"prompt_tokens"`
	TotalBlocks             int  `json:"total_blocks"`
	ExactHitBlocks          int  `json:"exact_hit_blocks"`
	ExactHitTokens          int  `json:"exact_hit_tokens"`
	SemanticCandidateBlocks *int `json:"semantic_candidate_blocks"`
	SemanticCandidateTokens *int `json:"semantic_candidate_tokens"`
	SemanticEligibleBlocks  *int `json:"semantic_eligible_blocks"`
	SemanticEligibleTokens  *int `json:"semantic_eligible_tokens"`

	// Offline.
	PromptTokensSource   *string               `json:"prompt_tokens_source"` // engine, engine_tokenize, local
	LocalPromptTokens    *int                  `json:"local_prompt_tokens"`
	LocalTotalBlocks     *int                  `json:"local_total_blocks"`
	EngineBlockSize      *int                  `json:"engine_block_size"`
	ExactPrefixHitBlocks *int                  `json:"exact_prefix_hit_blocks"`
	SemanticNovelBlocks  *int                  `json:"semantic_novel_blocks"`
	Planners             map[string]PlannerRow `json:"planners"`
	LengthBand           *string               `json:"length_band"`
	ControlKind          *string               `json:"control_kind"`

	// Evidence of the engine. The token fields are never added together (contract, section 4).
	BackendConfirmedBlocks        *int    `json:"backend_confirmed_blocks"`
	BackendConfirmedTokens        *int    `json:"backend_confirmed_tokens"`
	FuzzyConfirmedTokens          *int    `json:"fuzzy_confirmed_tokens"`
	FuzzyConfirmedTokensSource    *string `json:"fuzzy_confirmed_tokens_source"`
	ExternalConfirmedTokens       *int    `json:"external_confirmed_tokens"`
	ExternalConfirmedTokensSource *string `json:"external_confirmed_tokens_source"` // per_request_usage, connector_audit
	SemanticConfirmedTokens       *int    `json:"semantic_confirmed_tokens"`
	Mechanism                     *string `json:"mechanism"` // scatter, head, external, exact_external, exact, none
	StepPrimedTokens              *int    `json:"step_primed_tokens"`
	WrongReuseTokens              *int    `json:"wrong_reuse_tokens"`
	// PrefixUnexplainedTokens is local prefix reuse beyond what this step's donors share with the recipient, in whole blocks: it
	// came from another step. Null where the local split, the offline prefix or the donors are not known.
	PrefixUnexplainedTokens *int     `json:"prefix_unexplained_tokens"`
	Isolation               *string  `json:"isolation"`
	ContaminationReason     *string  `json:"contamination_reason"`
	DonorAttribution        *string  `json:"donor_attribution"` // own_donor, own_twin, other_item, foreign, unknown
	EngineRequestID         *string  `json:"engine_request_id"`
	EngineResponseID        *string  `json:"engine_response_id"`
	SemblendFound           *bool    `json:"semblend_found"`
	SemblendSimilarity      *float64 `json:"semblend_similarity"`
	SemblendReuseRatio      *float64 `json:"semblend_reuse_ratio"`
	SemblendLatencyMS       *float64 `json:"semblend_latency_ms"`
	DonorIDs                []string `json:"donor_ids"`
	DonorStatus             []string `json:"donor_status"`
	RejectionReason         *string  `json:"rejection_reason"`

	// Placement.
	RouteEndpointID    *string  `json:"route_endpoint_id"`
	RouteOutcome       *string  `json:"route_outcome"`
	RouteSemanticScore *float64 `json:"route_semantic_score"`
	RouteTotalScore    *float64 `json:"route_total_score"`
	RouteReason        *string  `json:"route_reason"`
	GatewayRouteHeader *string  `json:"gateway_route_header"`
	WorkerID           *string  `json:"worker_id"`
	DonorWorkerIDs     []string `json:"donor_worker_ids"`

	// Times, milliseconds.
	TTFTMS           *float64 `json:"ttft_ms"`
	FirstAnswerMS    *float64 `json:"first_answer_ms"`
	UploadMS         *float64 `json:"upload_ms"`
	LatencyMS        *float64 `json:"latency_ms"` // service time of the item's donors plus its recipient, harness waits excluded
	EngineTTFTMS     *float64 `json:"engine_ttft_ms"`
	QueueTimeMS      *float64 `json:"queue_time_ms"`
	ITLMSMean        *float64 `json:"itl_ms_mean"`
	DonorLatencyMS   *float64 `json:"donor_latency_ms"`
	Chunks           *int     `json:"chunks"`
	StreamCoalescing *float64 `json:"stream_coalescing"` // output tokens a chunk
	OutputTokens     *int     `json:"output_tokens"`
	FinishReason     *string  `json:"finish_reason"`

	// Quality (contract, section 8); null without references.
	OutputText      *string  `json:"output_text"`
	QualityPass     *bool    `json:"quality_pass"`
	QualityScore    *float64 `json:"quality_score"`
	QualityF1       *float64 `json:"quality_f1"`
	QualityRougeL   *float64 `json:"quality_rouge_l"`
	Leak            *bool    `json:"leak"`
	FirstDivergence *int     `json:"first_divergence"`
	// KL of the cold twin's next-token distributions from this row's, in nats, up to and including the first divergence, and the
	// mean share of top tokens that both name there; null without top logprobs of both.
	KLMean            *float64             `json:"warm_vs_cold_kl_mean"`
	KLMax             *float64             `json:"warm_vs_cold_kl_max"`
	TopKOverlap       *float64             `json:"warm_vs_cold_topk_overlap"`
	OutputTokenIDs    []int                `json:"output_token_ids,omitempty"`
	OutputTopLogprobs []map[string]float64 `json:"output_top_logprobs,omitempty"`

	// Protocol.
	Arm     *string `json:"arm"`
	Order   *int    `json:"order"`
	Attempt *int    `json:"attempt"`
	PairID  *string `json:"pair_id"`
	// PairClass is what became of the row's pair: used, control, wrong_reuse, contaminated, errored, excluded or unpaired; on cold
	// and warm rows. SemanticHit, TTFTSpeedup (cold/warm) and WarmVsColdRougeL stand on warm rows of clean pairs.
	PairClass         *string  `json:"pair_class"`
	SemanticHit       *bool    `json:"semantic_hit"`
	TTFTSpeedup       *float64 `json:"ttft_speedup"`
	WarmVsColdRougeL  *float64 `json:"warm_vs_cold_output_rouge_l"`
	FlushContaminated *bool    `json:"flush_contaminated"`
	GapUnhonoured     *bool    `json:"gap_unhonoured"`
	Error             *string  `json:"error"`
	ErrorClass        *string  `json:"error_class"`
	// Status is the observation's (ok, failed, excluded, not_sent) and Reason why it was excluded; null offline.
	Status *string `json:"status"`
	Reason *string `json:"reason"`
	// BootID names the engine process that served the recipient; IsolationMethod what was done before it.
	BootID          *string `json:"boot_id"`
	IsolationMethod *string `json:"isolation_method"`
	// OutputSHA256 is of the whole output text, whatever --include-text keeps of it.
	OutputSHA256 *string `json:"output_sha256"`

	// Audit is what the connector audit says of this request; its keys stand in the row as audit_* (engine-evidence.md 2.3).
	AuditJoined                       *bool    `json:"audit_joined"` // null: no audit loaded; false: loaded, not matched
	AuditObservedBoundary             *int     `json:"audit_observed_boundary"`
	AuditAdvertisedTokens             *int     `json:"audit_advertised_tokens"`
	AuditAdvertisedTargetStart        *int     `json:"audit_advertised_target_start"`
	AuditBoundaryAtSpanStart          *bool    `json:"audit_boundary_at_span_start"`
	AuditLoadAllocated                *int     `json:"audit_load_allocated"`
	AuditMaterialized                 *int     `json:"audit_materialized"`
	AuditMaterializationKind          *string  `json:"audit_materialization_kind"`
	AuditDonorID                      *string  `json:"audit_donor_id"`
	AuditDeclinedReasons              []string `json:"audit_declined_reasons"`
	AuditSemanticLookupHit            *bool    `json:"audit_semantic_lookup_hit"`
	AuditLookupHitBoundary            *int     `json:"audit_lookup_hit_boundary"`
	AuditLookupReusableTokens         *int     `json:"audit_lookup_reusable_tokens"`
	AuditBoundaryMissReason           *string  `json:"audit_boundary_miss_reason"`
	AuditBoundaryMissedAt             *int     `json:"audit_boundary_missed_at"`
	AuditSpanDeclineEvent             *string  `json:"audit_span_decline_event"`
	AuditSpanDeclineReason            *string  `json:"audit_span_decline_reason"`
	AuditSpanDeclinedAt               *int     `json:"audit_span_declined_at"`
	AuditSupersededMaterializedTokens *int     `json:"audit_superseded_materialized_tokens"`
	AuditPrefixBlocksEvicted          *int     `json:"audit_prefix_blocks_evicted"`

	Extra Extra `json:"-"`
}
