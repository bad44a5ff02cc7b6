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
	Chained     *bool               `json:"chained"`
	Infinite    HitRates            `json:"infinite"`
	LRU         []CurvePoint        `json:"lru"`
	AnyPosition AnyPosition         `json:"any_position"`
	PerTenant   map[string]HitRates `json:"per_tenant"`
	PerHour     map[string]HitRates `json:"per_hour"`
	Warnings    []string            `json:"warnings"`
	Extra       Extra               `json:"-"`
}
