package sembench

// Class says how the tokens of a copied span relate to the donor's (contract, section 3). The three
// classes damage quality differently and are never pooled.
type Class string

const (
	// IdenticalContiguous: the same tokens, one run of one donor.
	IdenticalContiguous Class = "identical_contiguous"
	// IdenticalScattered: the same token ids, gathered from scattered donor positions.
	IdenticalScattered Class = "identical_scattered"
	// Approximate: donor tokens differ from the recipient's.
	Approximate Class = "approximate"
)

// Span is one run of recipient tokens that a planner would copy from one donor: target tokens
// [TargetStart, TargetStart+Length) from donor tokens [DonorStart, DonorStart+Length). Positions and
// lengths are in tokens.
type Span struct {
	TargetStart int    `json:"target_start"`
	Length      int    `json:"length"`
	DonorID     string `json:"donor_id"`
	DonorStart  int    `json:"donor_start"`
	Class       Class  `json:"class"`
}

// Plan is what one planner proposes for one recipient: ascending, non-overlapping spans, and what it
// cost to find them. Written by plan, read by offline and judge.
type Plan struct {
	ItemID       string `json:"item_id"`
	Planner      string `json:"planner"`
	BlockSize    int    `json:"block_size"`
	TargetTokens int    `json:"target_tokens"`
	Found        bool   `json:"found"`
	// Similarity of the best donor in [0,1]; null when the planner computes none.
	Similarity *float64 `json:"similarity"`
	// ReuseRatio is copied tokens over target tokens; null when nothing was planned.
	ReuseRatio      *float64 `json:"reuse_ratio"`
	RejectionReason *string  `json:"rejection_reason"`
	// LatencyMS is the planner's own time for this target, in milliseconds.
	LatencyMS *float64 `json:"latency_ms"`
	// IndexCapped: a window occurred in too many donors and only a seeded choice of places was searched.
	IndexCapped bool   `json:"index_capped"`
	Spans       []Span `json:"spans"`
	// Error is why the planner failed on this item; null when it did not. An errored plan counts as
	// unmeasured, never as zero.
	Error *string `json:"error"`
}
