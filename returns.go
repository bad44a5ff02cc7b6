package sembench

// Returns is what a cache would give back on a histogram of prompt lengths, by a stated time law (formats.md, `roi`).
// Written by trace; read by people.
type Returns struct {
	Requests    int64 `json:"requests"`
	InputTokens int64 `json:"input_tokens"`
	// HitRate is the share of requests that hit, ReusedShare the share of a hit's tokens that need no prefill.
	HitRate     float64 `json:"hit_rate"`
	ReusedShare float64 `json:"reused_share"`
	// PrefillGPUSeconds is what all prefill costs without a cache, SavedGPUSeconds what hits take off it.
	PrefillGPUSeconds float64 `json:"prefill_gpu_seconds"`
	SavedGPUSeconds   float64 `json:"saved_gpu_seconds"`
	// SavedShare is their quotient; null when prefill costs nothing.
	SavedShare *float64 `json:"saved_share"`
	// MeanTTFTSavedMS per request is the prefill saved, less loads of hits and the lookup that every request pays; below 0
	// the cache costs time. Null without requests.
	MeanTTFTSavedMS *float64 `json:"mean_ttft_saved_ms"`
	// BreakEvenHitRate is the hit rate at which MeanTTFTSavedMS is 0. Null when a hit saves nothing; above 1 no hit rate pays.
	BreakEvenHitRate *float64 `json:"break_even_hit_rate"`
	Extra            Extra    `json:"-"`
}
