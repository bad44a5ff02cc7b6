package sembench

// ManifestAudit says whether the guards of workloads.md section 4 hold for a manifest, and how degenerate its texts
// are. Written by workload; read by report and CI.
type ManifestAudit struct {
	// ManifestSHA256 is the identity of the audited file; null where items were audited before they were written.
	ManifestSHA256 *string `json:"manifest_sha256"`
	Tokenizer      string  `json:"tokenizer"`
	BlockSize      int     `json:"block_size"`
	Items          int     `json:"items"`
	// NegativeControls and Sources are counts of items and of distinct source ids.
	NegativeControls int `json:"negative_controls"`
	Sources          int `json:"sources"`
	// WordForms is how many distinct words (runs of letters, lower case) all prompts hold.
	WordForms int `json:"word_forms"`
	// Violations counts by kind (see ManifestViolation); kinds without any are absent.
	Violations map[string]int `json:"violations"`
	// Shown are the first 20 violations of each kind.
	Shown       []ManifestViolation       `json:"shown"`
	ByTransform map[string]TransformAudit `json:"by_transform"`
	// Degeneracy has one entry per domain and length band, sorted.
	Degeneracy []Degeneracy `json:"degeneracy"`
	// Passed is true without violations.
	Passed bool  `json:"passed"`
	Extra  Extra `json:"-"`
}

// ManifestViolation is one broken guard. Kinds:
//
//	control_shares_run      a donor of a negative control shares a run of a block's length with its recipient
//	unrelated_share_run     two items of different sources share such a run beyond declared boilerplate
//	run_too_common          a run occurs in more than 1 % of the sources
//	answer_missing          no reference answer is stated in the recipient
//	answers_absent          the item has no reference answer
//	leak_value_present      the value that a leak would produce is stated in the recipient
//	leak_value_is_answer    that value equals the true answer
//	donor_too_long          a donor is longer than the limit
//	off_band                the recipient's length is more than 2 % off its declared band
//	duplicate_item          two items have the same donors and recipient
//	source_in_two_splits    one source id stands in two splits
//	degenerate              a recipient repeats itself or compresses too well
type ManifestViolation struct {
	Kind   string `json:"kind"`
	ItemID string `json:"item_id"`
	// OtherItemID is the other side, "" where there is none.
	OtherItemID string `json:"other_item_id"`
	Detail      string `json:"detail"`
}

// TransformAudit is the exact reuse that a transform's items have to offer already.
type TransformAudit struct {
	Items           int   `json:"items"`
	RecipientTokens int64 `json:"recipient_tokens"`
	DonorTokens     int64 `json:"donor_tokens"`
	TotalBlocks     int64 `json:"total_blocks"`
	// ExactHitBlocks and ExactPrefixHitBlocks as in contract section 2, the item's donors being the pool.
	ExactHitBlocks       int64 `json:"exact_hit_blocks"`
	ExactPrefixHitBlocks int64 `json:"exact_prefix_hit_blocks"`
	// The rates are null without a full block.
	ExactBlockHitRate       *float64 `json:"exact_block_hit_rate"`
	ExactPrefixBlockHitRate *float64 `json:"exact_prefix_block_hit_rate"`
}

// Degeneracy tells how repetitive the recipients of a domain and length band are.
type Degeneracy struct {
	Domain     string `json:"domain"`
	LengthBand string `json:"length_band"`
	Documents  int    `json:"documents"`
	// DistinctBlockShare is distinct blocks over full blocks within a document; the least and the mean over documents.
	DistinctBlockShareMin  float64 `json:"distinct_block_share_min"`
	DistinctBlockShareMean float64 `json:"distinct_block_share_mean"`
	// GzipRatio is bytes over bytes after gzip -6; the greatest and the mean over documents.
	GzipRatioMax  float64 `json:"gzip_ratio_max"`
	GzipRatioMean float64 `json:"gzip_ratio_mean"`
	// GzipLimit is the ratio that must not be exceeded: 5 for prose and code, 8 for logs and tables.
	GzipLimit float64 `json:"gzip_limit"`
}

// BuildReport tells how a manifest was made and what was left out. Written by workload.
type BuildReport struct {
	// Recipe rebuilds the manifest byte for byte.
	Recipe FreezeRecipe `json:"recipe"`
	Items  int          `json:"items"`
	// SourceRecords is how many records the source held; null for generated manifests.
	SourceRecords *int `json:"source_records"`
	// Excluded counts items that could not be made, by reason; IDs of the first 20 of each reason are in ExcludedIDs.
	Excluded    map[string]int      `json:"excluded"`
	ExcludedIDs map[string][]string `json:"excluded_ids"`
	// Found counts the violations in the source before anything was excluded, by kind.
	Found map[string]int `json:"found"`
	// Redrawn is how many generated documents were thrown away because they shared a run with an earlier one.
	Redrawn int           `json:"redrawn"`
	Audit   ManifestAudit `json:"audit"`
	Extra   Extra         `json:"-"`
}

// FreezeRecipe is what a manifest is a function of, with the identity that a rebuild must have.
type FreezeRecipe struct {
	// Profile is smoke, dev, test or live; "from" for a source of your own.
	Profile    string   `json:"profile"`
	Seed       uint64   `json:"seed"`
	Transforms []string `json:"transforms"`
	Bands      []string `json:"bands"`
	// Tokenizer is its spec as given, TokenizerName what it resolved to.
	Tokenizer     string `json:"tokenizer"`
	TokenizerName string `json:"tokenizer_name"`
	BlockSize     int    `json:"block_size"`
	MaxItems      int    `json:"max_items"`
	Head          int    `json:"head"`
	Split         string `json:"split"`
	// Dataset is the name that items of a source carry; "" for the default.
	Dataset string `json:"dataset"`
	// Source, its format and the SHA-256 of the file as it is; "" for generated manifests.
	Source       string `json:"source"`
	Format       string `json:"format"`
	SourceSHA256 string `json:"source_sha256"`
	License      string `json:"license"`
	// ManifestSHA256 is the identity of the manifest; "" before it was written.
	ManifestSHA256 string `json:"manifest_sha256"`
	Extra          Extra  `json:"-"`
}
