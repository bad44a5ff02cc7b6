package sembench

// HitRates of one cache, as shares of blocks and of input tokens; null for an empty trace.
type HitRates struct {
	BlockHitRate *float64 `json:"block_hit_rate"`
	TokenHitRate *float64 `json:"token_hit_rate"`
}

// CurvePoint is the hit rate of an LRU cache of one capacity.
type CurvePoint struct {
	CapacityBlocks int `json:"capacity_blocks"`
	HitRates
	// BlockHitRateSE is the standard error of the block hit rate in a sample; null when all blocks were looked at.
	BlockHitRateSE *float64 `json:"block_hit_rate_se"`
	// MemoryGB is what the capacity costs for the model asked for, in 10^9 bytes; null without a model.
	MemoryGB *float64 `json:"memory_gb"`
}

// AnyPosition is block reuse wherever the block stands.
type AnyPosition struct {
	BlockHitRate *float64 `json:"block_hit_rate"`
}

// TraceCurve is what there is to reuse in a production trace as a function of cache size (workloads.md, section 5).
type TraceCurve struct {
	Requests     int64 `json:"requests"`
	BlockIDs     int64 `json:"block_ids"`
	UniqueBlocks int64 `json:"unique_blocks"`
	InputTokens  int64 `json:"input_tokens"`
	BlockSize    int   `json:"block_size"`
	// Chained tells whether equal ids mean equal prefixes; null below 100 ids with repeats.
	Chained     *bool        `json:"chained"`
	Infinite    HitRates     `json:"infinite"`
	LRU         []CurvePoint `json:"lru"`
	AnyPosition AnyPosition  `json:"any_position"`
	// Span is block reuse with identical runs at any offset; null without text.
	Span *AnyPosition `json:"span"`
	// Semantic is the share of blocks that planner semblend proposes to copy; null without text.
	Semantic *AnyPosition `json:"semantic"`
	// Model is whose KV memory_gb is computed for, "" for none.
	Model string `json:"model"`
	// Tokenizer of logs with text, "" for hash-id traces.
	Tokenizer string              `json:"tokenizer"`
	PerTenant map[string]HitRates `json:"per_tenant"`
	PerHour   map[string]HitRates `json:"per_hour"`
	// SampleRate is the share of the blocks that was looked at, 1 for all.
	SampleRate float64  `json:"sample_rate"`
	Warnings   []string `json:"warnings"`
	Extra      Extra    `json:"-"`
}
