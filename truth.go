package sembench

// SimTruth is what the embedded engine's own block manager did and what its timing law charged for one request: the
// reference that a measurement is held against. Times are nanoseconds, tokens are recipient prompt tokens.
type SimTruth struct {
	RequestID    string `json:"request_id"`
	PromptTokens int    `json:"prompt_tokens"`
	PrefixTokens int    `json:"prefix_tokens"`
	// ExternalTokens came over a connector, SemanticTokens from a donor whose text may differ.
	ExternalTokens int    `json:"external_tokens"`
	SemanticTokens int    `json:"semantic_tokens"`
	DonorRequestID string `json:"donor_request_id"`
	Layers         int    `json:"layers"`
	QueueNS        int64  `json:"queue_ns"`
	PrefillNS      int64  `json:"prefill_ns"`
	LoadNS         int64  `json:"load_ns"`
	LookupNS       int64  `json:"lookup_ns"`
	// LawTTFTNS is what the law charged up to the first token; EmittedFirstNS when it was really written, from the
	// request's arrival.
	LawTTFTNS      int64    `json:"law_ttft_ns"`
	EmittedFirstNS int64    `json:"emitted_first_ns"`
	ResetsSeen     int      `json:"resets_seen"`
	FaultsActive   []string `json:"faults_active"`
	Extra          Extra    `json:"-"`
}
