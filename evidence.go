package sembench

// EvidenceSchema names the shape of Evidence.
const EvidenceSchema = "sembench.evidence.v1"

// Evidence is what engine logs, audits and iteration statistics say about KV reuse: the document of
// summarize-engine-events. Written by engine, read by judge and the gates.
//
// Three classes never mix: exact reuse (ExactReuse, BlendReuse), semantic candidates (SemanticHits) and
// semantic materialization (Materialization*). The one exception is old and named: with engine lmcache
// the Materialization* keys count retrieves, MaterializationClass then says "exact", and the flag
// stays false. A nil pointer is a source that never appeared; 0 is a source that said nothing of the kind.
type Evidence struct {
	Schema string `json:"schema"`
	// Engine is vllm, sglang, trtllm, lmcache, llamacpp, ollama or openai; for auto the one recognised,
	// "unknown" when none was.
	Engine string `json:"engine"`
	// Sources are the kinds of line that were recognised, sorted: connector_audit, semblend_text, lmcache, …
	Sources []string      `json:"sources"`
	Input   EvidenceInput `json:"input"`

	DonorRegistrations *int `json:"donor_registrations"`
	// SemanticHits are candidates that survived: proposals minus HitsDropped, one per rank group.
	SemanticHits       *int `json:"semantic_hits"`
	LoadAdvertisements *int `json:"load_advertisements"`
	// MaterializationEvents and MaterializedTokens are logical: what one rank reports, not the sum over ranks.
	MaterializationEvents *int `json:"materialization_events"`
	MaterializedTokens    *int `json:"materialized_tokens"`
	// MaterializedUnits is TensorRT-LLM's number; its unit is not known to be tokens.
	MaterializedUnits *int `json:"materialized_units"`
	// MaterializationClass is "semantic", "exact" (LMCache retrieves), or null without events.
	MaterializationClass *string         `json:"materialization_class"`
	RopeCorrections      *int            `json:"rope_corrections"`
	EngineBoundaries     *int            `json:"engine_boundaries"`
	RejectionReasons     *map[string]int `json:"rejection_reasons"`

	// Errors holds the first texts, ErrorCount all of them; a traceback is one error.
	Errors              []string `json:"errors"`
	ErrorCount          int      `json:"error_count"`
	RuntimeWarnings     []string `json:"runtime_warnings"`
	RuntimeWarningCount int      `json:"runtime_warning_count"`
	// WarningLines counts records of level WARNING.
	WarningLines int `json:"warning_lines"`
	// Events holds the first parsed events of each kind; EventsDropped counts what was not kept.
	Events        map[string][]map[string]any `json:"events"`
	EventsDropped map[string]int              `json:"events_dropped"`

	// MaterializedSemanticKVReuse: a surviving semantic candidate and its materialization, on one request
	// where Join is per_request, in one file where Join is file_level.
	MaterializedSemanticKVReuse          bool   `json:"materialized_semantic_kv_reuse"`
	MaterializedSemanticKVReuseFileLevel bool   `json:"materialized_semantic_kv_reuse_file_level"`
	Join                                 string `json:"join"`

	Requests   EvidenceRequests `json:"requests"`
	RanksSeen  []string         `json:"ranks_seen"`
	RankLines  *int             `json:"rank_lines"`
	LookupMiss *int             `json:"lookup_misses"`
	// Lookups counts matcher consultations; null where the format does not log misses.
	Lookups               *int `json:"lookups"`
	LookupsNonBooleanHits int  `json:"lookups_with_non_boolean_found"`
	// HitsDropped are proposals that the engine gave up after announcing them.
	HitsDropped *int `json:"hits_dropped"`
	// PartialMaterializations wrote only some layers; their tokens are not in MaterializedTokens.
	PartialMaterializations *int            `json:"partial_materializations"`
	SupersededTokens        *int            `json:"superseded_materialized_tokens"`
	FailedRetrieves         *int            `json:"failed_retrieves"`
	FailedMaterializations  *int            `json:"failed_materializations"`
	LookupSkips             *map[string]int `json:"lookup_skips"`
	Provider                *string         `json:"provider"`
	ExactReuse              *ExactReuse     `json:"exact_reuse"`
	BlendReuse              *BlendReuse     `json:"blend_reuse"`
	EngineStats             *EngineStats    `json:"engine_stats"`
	Prefill                 *PrefillStats   `json:"prefill"`
	KVCacheStats            *KVCacheStats   `json:"kv_cache_stats"`
	LMCache                 *LMCacheReport  `json:"lmcache"`
	Transfer                *TransferStats  `json:"transfer"`
	RouterEstimates         *RouterSeen     `json:"router_estimates"`
	KVEvents                *KVSummary      `json:"kv_events"`
	Audit                   *AuditReport    `json:"audit"`
	Usage                   *UsageSeen      `json:"usage"`
	Warnings                []string        `json:"warnings"`
	Extra                   map[string]any  `json:"-"`
}

// EvidenceInput is what was read, before any meaning.
type EvidenceInput struct {
	// Lines are non-blank lines as split on LF, CRLF and lone CR.
	Lines            int `json:"lines"`
	Bytes            int `json:"bytes"`
	InvalidUTF8Lines int `json:"invalid_utf8_lines"`
	// DamagedLines began like evidence and could not be read: torn, truncated or not an object.
	DamagedLines int `json:"damaged_lines"`
	// Wrappers are the envelopes taken off, sorted: ansi, cri, docker, label, pod, progress, timestamp.
	Wrappers []string `json:"wrappers"`
	// Labels are the process names seen, sorted, at most 64.
	Labels []string `json:"labels"`
}

// EvidenceRequests counts requests by what was seen of them; all null where the format names no request.
type EvidenceRequests struct {
	Hit                   *int `json:"hit"`
	Materialized          *int `json:"materialized"`
	HitAndMaterialized    *int `json:"hit_and_materialized"`
	HitNotMaterialized    *int `json:"hit_not_materialized"`
	MaterializedWithoutID *int `json:"materialized_without_request_id"`
	MaterializedNoHit     *int `json:"materialized_without_hit"`
	// HitAndMaterializedIDs are the first hundred of those requests, sorted.
	HitAndMaterializedIDs []string `json:"hit_and_materialized_ids"`
}

// ExactReuse is prefill skipped for identical tokens, in tokens. Null members were not reported.
type ExactReuse struct {
	LocalTokens      *int `json:"local_tokens"`
	ExternalTokens   *int `json:"external_tokens"`
	RetrievedTokens  *int `json:"retrieved_tokens"`
	NeedToLoadTokens *int `json:"need_to_load_tokens"`
	QueriedTokens    *int `json:"queried_tokens"`
	// Ratio is reused over queried in [0,1]; Basis says of what.
	Ratio  *float64 `json:"ratio"`
	Basis  string   `json:"basis"`
	Source string   `json:"source"`
	// Tiers splits reused tokens by cache tier (device, host, disk) where the engine does.
	Tiers *map[string]int `json:"tiers"`
}

// BlendReuse is exact-chunk reuse at another position (CacheBlend, hash-matching fuzzy providers): never
// semantic, and no prefix either.
type BlendReuse struct {
	Events *int `json:"events"`
	Tokens *int `json:"tokens"`
	// PrefixRate and NonPrefixRate are LMCache's own lookup rates in [0,1], the last seen.
	PrefixRate    *float64 `json:"prefix_rate"`
	NonPrefixRate *float64 `json:"non_prefix_rate"`
	Source        string   `json:"source"`
}

// EngineStats are vLLM's periodic statistics lines. The rates are rolling windows: they may be quoted, not
// averaged and not turned into tokens.
type EngineStats struct {
	Lines           int          `json:"lines"`
	SpecDecodeLines int          `json:"spec_decode_lines"`
	Engines         []string     `json:"engines"`
	Samples         []StatSample `json:"samples"`
	SamplesDropped  int          `json:"samples_dropped"`
	Last            *StatSample  `json:"last"`
	// Preemptions is the highest count seen; reuse figures of a window with preemptions are inflated.
	Preemptions *int `json:"preemptions"`
}

// StatSample is one statistics line; ratios in [0,1].
type StatSample struct {
	Engine                     string   `json:"engine"`
	Process                    string   `json:"process"`
	PrefixCacheHitRate         *float64 `json:"prefix_cache_hit_rate"`
	ExternalPrefixCacheHitRate *float64 `json:"external_prefix_cache_hit_rate"`
	CPUPrefixCacheHitRate      *float64 `json:"cpu_prefix_cache_hit_rate"`
	KVCacheUsage               *float64 `json:"kv_cache_usage"`
	Running                    *int     `json:"running"`
	Waiting                    *int     `json:"waiting"`
}

// PrefillStats sums SGLang's Prefill lines over one rank.
type PrefillStats struct {
	Lines        int `json:"lines"`
	DecodeLines  int `json:"decode_lines"`
	DamagedLines int `json:"damaged_lines"`
	NewSeqs      int `json:"new_seqs"`
	NewTokens    int `json:"new_tokens"`
	CachedTokens int `json:"cached_tokens"`
	// FuzzyTokens is null unless a line carried #fuzzy-token.
	FuzzyTokens *int `json:"fuzzy_tokens"`
	// FuzzyMatchesRealized: the sum equals the realized tokens of one rank; null when either is absent.
	FuzzyMatchesRealized *bool `json:"fuzzy_matches_realized"`
	PendingTokensLast    *int  `json:"pending_tokens_last"`
	// LastHitRate is the logged cumulative rate in [0,1] (2024 builds); HitRateConsistent compares it with
	// the sums, within its own rounding.
	LastHitRate       *float64 `json:"last_hit_rate"`
	HitRateConsistent *bool    `json:"hit_rate_consistent"`
}

// KVCacheStats are TensorRT-LLM's cumulative counters, the last value seen.
type KVCacheStats struct {
	Iterations     int      `json:"iterations"`
	ReusedBlocks   *int     `json:"reused_blocks"`
	MissedBlocks   *int     `json:"missed_blocks"`
	CacheHitRate   *float64 `json:"cache_hit_rate"`
	TokensPerBlock *int     `json:"tokens_per_block"`
	// ReusedTokensUpperBound is blocks times tokens per block: a block may be partly used.
	ReusedTokensUpperBound *int `json:"reused_tokens_upper_bound"`
	CounterReset           bool `json:"counter_reset"`
}

// LMCacheReport is what LMCache's own lines say; exact reuse throughout.
type LMCacheReport struct {
	LookupLines    int             `json:"lookup_lines"`
	LookupPending  int             `json:"lookup_pending"`
	LookupRequests int             `json:"lookup_requests"`
	Lookups        []LMCacheLookup `json:"lookups"`
	LookupsDropped int             `json:"lookups_dropped"`
	// HitLines counts the generic "cache hit … tokens" lines of older builds.
	HitLines         int               `json:"hit_lines"`
	HitTokens        *int              `json:"hit_tokens"`
	RetrieveLines    int               `json:"retrieve_lines"`
	RetrieveEvents   int               `json:"retrieve_events_with_tokens"`
	EmptyRetrieves   int               `json:"empty_retrieves"`
	RetrievedTokens  *int              `json:"retrieved_tokens"`
	RequiredTokens   *int              `json:"required_tokens"`
	TotalTokens      *int              `json:"total_tokens"`
	OverRetrieved    *int              `json:"over_retrieved_tokens"`
	RetrievedChunks  *int              `json:"retrieved_chunks"`
	InjectedTokens   *int              `json:"injected_tokens"`
	StoreStartLines  int               `json:"store_start_lines"`
	StoreStarts      int               `json:"store_starts"`
	StoreStartTokens *int              `json:"store_start_tokens"`
	StoreStartTotal  *int              `json:"store_start_total"`
	StoreEvents      int               `json:"store_events"`
	StoredTokens     *int              `json:"stored_tokens"`
	StoredChunks     *int              `json:"stored_chunks"`
	PrefetchLines    int               `json:"prefetch_lines"`
	Prefetches       []LMCachePrefetch `json:"prefetches"`
	FailedRetrieves  int               `json:"failed_retrieves"`
}

// LMCacheLookup is the last lookup of one request, in tokens. NeedToLoad is as logged and may be negative.
type LMCacheLookup struct {
	RequestID      string `json:"request_id"`
	Total          int    `json:"total"`
	Hit            int    `json:"hit"`
	NeedToLoad     *int   `json:"need_to_load"`
	EngineComputed *int   `json:"engine_computed"`
	// EngineComputedSource is "logged" or "derived hit-need".
	EngineComputedSource string `json:"engine_computed_source"`
	// ExternalTokens is what LMCache promised: max(0, NeedToLoad).
	ExternalTokens  *int `json:"external_tokens"`
	FullHitMinusOne bool `json:"full_hit_minus_one"`
}

// LMCachePrefetch is one prefetch of the multi-process server, in keys (chunks times ranks), never tokens.
type LMCachePrefetch struct {
	RequestID       string `json:"request_id"`
	ClientRequestID string `json:"client_request_id"`
	RetainedKeys    int    `json:"retained_keys"`
	TotalKeys       int    `json:"total_keys"`
	L1              int    `json:"l1"`
	L2              int    `json:"l2"`
}

// TransferStats are KV transfers between engines: evidence of movement, not of reuse.
type TransferStats struct {
	Lines               int      `json:"lines"`
	SuccessfulTransfers *int     `json:"successful_transfers"`
	Megabytes           *float64 `json:"megabytes"`
}

// RouterSeen counts a router's cached-block estimates. They come from its index and prove no reuse.
type RouterSeen struct {
	Lines        int `json:"lines"`
	Selections   int `json:"selections"`
	CachedBlocks int `json:"cached_blocks"`
}

// UsageSeen sums the usage objects of OpenAI-shaped responses.
type UsageSeen struct {
	Responses          int      `json:"responses"`
	PromptTokens       *int     `json:"prompt_tokens"`
	CompletionTokens   *int     `json:"completion_tokens"`
	CachedTokens       *int     `json:"cached_tokens"`
	CreatedCacheTokens *int     `json:"created_cache_tokens"`
	ExactReuseFraction *float64 `json:"exact_reuse_fraction"`
	// WithoutDetails are responses that carried usage but no cached_tokens: unmeasured, not zero.
	WithoutDetails int `json:"without_details"`
}

// KVSummary counts a stream of KV events.
type KVSummary struct {
	Batches            int  `json:"batches"`
	BlockStoredEvents  int  `json:"block_stored_events"`
	BlocksStored       int  `json:"blocks_stored"`
	BlockRemovedEvents int  `json:"block_removed_events"`
	BlocksRemoved      int  `json:"blocks_removed"`
	AllBlocksCleared   int  `json:"all_blocks_cleared"`
	OtherEvents        int  `json:"other_events"`
	TokensStored       int  `json:"tokens_stored"`
	BlockSize          int  `json:"block_size"`
	BlockSizeChanged   bool `json:"block_size_changed"`
	// Resident is how many distinct blocks are held now, MaxResident the most at any time.
	Resident    int `json:"resident"`
	MaxResident int `json:"max_resident"`
	// Gaps are jumps of the sequence number; Lost the messages that they skip. Then Resident is a guess.
	Gaps     int `json:"gaps"`
	Lost     int `json:"lost"`
	Restarts int `json:"restarts"`
	// UnknownRemovals name blocks whose store was not seen.
	UnknownRemovals int `json:"unknown_removals"`
	// Untracked are stores beyond the bound on blocks kept.
	Untracked int `json:"untracked"`
}

// AuditRecord is everything the connector audit says about one engine request id, folded. Written by
// engine, joined to rows by judge. Token fields are null when no such event was seen, and hold one rank's
// total: the maximum over the worker connectors that reported.
type AuditRecord struct {
	RequestID    string `json:"request_id"`
	PromptTokens *int   `json:"prompt_tokens"`
	// ObservedBoundary is the last semantic advert's boundary, else the last span event's.
	ObservedBoundary      *int `json:"observed_boundary"`
	AdvertisedTokens      *int `json:"advertised_tokens"`
	AdvertisedTargetStart *int `json:"advertised_target_start"`
	AdvertiseCount        int  `json:"advertise_count"`
	// AdvertiseKinds are the advertise events seen, sorted, without their _advertised ending.
	AdvertiseKinds []string `json:"advertise_kinds"`
	Attempt        *int     `json:"attempt"`
	// BoundaryAtSpanStart: some snapped span starts at the boundary; null without spans.
	BoundaryAtSpanStart *bool `json:"boundary_at_span_start"`
	LoadAllocated       *int  `json:"load_allocated"`
	// Materialized are semantic tokens written in full at or after the last advert; null without a
	// runtime_materialized event there.
	Materialized        *int `json:"materialized"`
	MaterializedRankSum *int `json:"materialized_rank_sum"`
	// PartialTokens were written by some layers only and are not in Materialized.
	PartialTokens       *int `json:"partial_tokens"`
	PartialEvents       int  `json:"partial_materializations"`
	SupersededTokens    *int `json:"superseded_materialized_tokens"`
	SupersededRankSum   *int `json:"superseded_rank_sum"`
	ExactMaterialized   *int `json:"exact_materialized"`
	MaterializedEvents  int  `json:"materialization_events"`
	MaterializedRanks   int  `json:"materialization_ranks"`
	MaterializationLogs int  `json:"materialization_rank_lines"`
	RanksDisagree       bool `json:"ranks_disagree"`
	// MaterializationKinds are the kinds reported, sorted; those that begin exact_prefix are not semantic.
	MaterializationKinds []string `json:"materialization_kinds"`
	DeclinedReasons      []string `json:"declined_reasons"`
	Failures             []string `json:"failures"`
	// DonorIDs are the donors named by hit, advert and materialization, in first-seen order.
	DonorIDs             []string `json:"donor_ids"`
	SemanticLookupHit    bool     `json:"semantic_lookup_hit"`
	SemanticLookupMiss   bool     `json:"semantic_lookup_miss"`
	LookupHitBoundary    *int     `json:"lookup_hit_boundary"`
	LookupReusableTokens *int     `json:"lookup_reusable_tokens"`
	LookupSimilarity     *float64 `json:"lookup_similarity"`
	LookupLatencyMS      *float64 `json:"lookup_latency_ms"`
	LookupSkipped        []string `json:"lookup_skipped"`
	BoundaryMissReason   *string  `json:"boundary_miss_reason"`
	BoundaryMissedAt     *int     `json:"boundary_missed_at"`
	SpanDeclineEvent     *string  `json:"span_decline_event"`
	SpanDeclineReason    *string  `json:"span_decline_reason"`
	SpanDeclinedAt       *int     `json:"span_declined_at"`
	PrefixBlocksEvicted  *int     `json:"prefix_blocks_evicted"`
	DonorRegistered      bool     `json:"donor_registered"`
	// RequestIDReused: one connector used the id for more than one request; the fold mixes them.
	RequestIDReused bool           `json:"request_id_reused"`
	Extra           map[string]any `json:"-"`
}

// AuditReport counts what the audit reader met, and after the join what became of the rows.
type AuditReport struct {
	Lines               int            `json:"lines"`
	Events              int            `json:"events"`
	MalformedLines      int            `json:"malformed_lines"`
	OtherSchemaVersions int            `json:"other_schema_versions"`
	EngineScopeEvents   int            `json:"engine_scope_events"`
	Requests            int            `json:"requests"`
	RequestsDropped     int            `json:"requests_dropped"`
	Connectors          int            `json:"connectors"`
	EventCounts         map[string]int `json:"event_counts"`
	// The rows are null until judge has joined.
	RowsTotal            *int     `json:"rows_total"`
	RowsMatchedExact     *int     `json:"rows_matched_exact"`
	RowsMatchedNormal    *int     `json:"rows_matched_normalized"`
	RowsUnmatched        *int     `json:"rows_unmatched"`
	RowsAmbiguous        *int     `json:"rows_ambiguous"`
	RowsWithoutRequestID *int     `json:"rows_without_request_id"`
	RowsReusedRequestID  *int     `json:"rows_reused_request_id"`
	Warnings             []string `json:"warnings"`
}

// MetricsSnapshot is one scrape of one endpoint, reduced to the families that matter. Written by
// engine-snapshot, read by engine-window.
type MetricsSnapshot struct {
	Schema   string `json:"schema"`
	Endpoint string `json:"endpoint"`
	// ScrapedAtUTC is RFC 3339; empty when unknown.
	ScrapedAtUTC string `json:"scraped_at_utc"`
	// Error is why the scrape failed; null when it did not.
	Error *string `json:"error"`
	// Counters by canonical name, label sets summed. A counter that the endpoint does not export is absent.
	Counters map[string]float64 `json:"counters"`
	// Series are the values behind a counter by label set, written as {name="value",…} sorted by name, empty for none.
	// A counter that was left out because a series of it is not a number has no label set here. Absent in snapshots of older versions and for JSON pages.
	Series     map[string]map[string]float64 `json:"series,omitempty"`
	Gauges     map[string]float64            `json:"gauges"`
	Histograms map[string]MetricsHistogram   `json:"histograms"`
	// Units names the unit of a counter whose meaning changed between versions: tokens or blocks.
	Units map[string]string `json:"units"`
	// DeprecatedSeen are old family names present, sorted; they are never added to their successors.
	DeprecatedSeen []string `json:"deprecated_families_seen"`
	// Truncated is true when the page ended inside a line: that line was left out, and what followed it is not known.
	Truncated bool           `json:"truncated,omitempty"`
	Warnings  []string       `json:"warnings"`
	Extra     map[string]any `json:"-"`
}

// EngineSnapshotSchema names the shape of EngineSnapshot.
const EngineSnapshotSchema = "sembench.engine_snapshot.v1"

// EngineSnapshot is what engine-snapshot writes: counters of one or several endpoints at one time, and the serve line that they run under.
type EngineSnapshot struct {
	Schema string `json:"schema"`
	// CreatedAtUTC is RFC 3339; each scrape has its own time too.
	CreatedAtUTC string `json:"created_at_utc"`
	// Config is the serve line as read; null without --serve-line.
	Config *EngineConfig `json:"config"`
	// Endpoints are the scrapes in the order asked for. One that failed says why in its error.
	Endpoints []MetricsSnapshot `json:"endpoints"`
	Extra     Extra             `json:"-"`
}

// MetricsHistogram is a cumulative histogram: upper bounds with counts at or below, sum and count.
type MetricsHistogram struct {
	Count   float64      `json:"count"`
	Sum     float64      `json:"sum"`
	Buckets [][2]float64 `json:"buckets"`
}

// MetricsWindow is end minus start of paired scrapes. Advertised-and-allocated external hits and
// accepted by-source tokens are in it; neither is materialization.
type MetricsWindow struct {
	Schema               string           `json:"schema"`
	EndpointsPaired      int              `json:"endpoints_paired"`
	EndpointsFailed      int              `json:"endpoints_failed"`
	CounterResetDetected bool             `json:"counter_reset_detected"`
	Total                WindowValues     `json:"total"`
	PerEndpoint          []EndpointWindow `json:"per_endpoint"`
	ScrapeErrors         []string         `json:"scrape_errors"`
	Warnings             []string         `json:"warnings"`
	Extra                map[string]any   `json:"-"`
}

// EndpointWindow is the window of one endpoint.
type EndpointWindow struct {
	Endpoint             string `json:"endpoint"`
	CounterResetDetected bool   `json:"counter_reset_detected"`
	WindowValues
}

// WindowValues are deltas by canonical counter name; a name absent was not exported at both ends. A
// negative delta is kept: it means that the counter was reset inside the window.
type WindowValues struct {
	Deltas map[string]float64 `json:"deltas"`
	// The ratios are hits over queries in [0,1]; null when queries are absent, not positive, or reset.
	PrefixCacheHitRatio         *float64                    `json:"prefix_cache_hit_ratio"`
	ExternalPrefixCacheHitRatio *float64                    `json:"external_prefix_cache_hit_ratio"`
	Histograms                  map[string]MetricsHistogram `json:"histograms"`
}

// EngineConfig is a serve command line as read: the flags that decide what a measurement means.
type EngineConfig struct {
	Schema string `json:"schema"`
	Arm    string `json:"arm"`
	Engine string `json:"engine"`
	// Flags; null is a flag that the line does not settle.
	PrefixCaching       *bool    `json:"prefix_caching"`
	PrefixCachingFrom   *string  `json:"prefix_caching_from"`
	BlockSize           *int     `json:"block_size"`
	MaxNumBatchedTokens *int     `json:"max_num_batched_tokens"`
	MaxModelLen         *int     `json:"max_model_len"`
	ChunkedPrefill      *bool    `json:"chunked_prefill"`
	CUDAGraphMode       *string  `json:"cuda_graph_mode"`
	CUDAGraphModeFrom   *string  `json:"cuda_graph_mode_from"`
	KVTransferConfig    *string  `json:"kv_transfer_config"`
	KVConnector         *string  `json:"kv_connector"`
	KVRole              *string  `json:"kv_role"`
	TensorParallelSize  *int     `json:"tensor_parallel_size"`
	Model               *string  `json:"model"`
	PromptTokensDetails bool     `json:"enable_prompt_tokens_details"`
	PerRequestMetrics   bool     `json:"enable_per_request_metrics"`
	DisableLogStats     bool     `json:"disable_log_stats"`
	ServerDevMode       bool     `json:"server_dev_mode"`
	CachedTokensMeaning string   `json:"cached_tokens_meaning"`
	Violations          []string `json:"phase0_flag_violations"`
	FlagsOK             bool     `json:"phase0_flags_ok"`
	// Unread are flags of the line that carry no meaning here, sorted, values left out.
	Unread []string       `json:"unread_flags"`
	Extra  map[string]any `json:"-"`
}
