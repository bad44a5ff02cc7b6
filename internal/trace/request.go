package trace

// Request is one request of a trace.
type Request struct {
	// ArrivalMS is on the trace's own clock; null when it has none.
	ArrivalMS *float64
	// InputTokens is the prompt's length; OutputTokens the answer's, null when unknown.
	InputTokens  int64
	OutputTokens *int64
	// IDs are the prompt's blocks, one per block size tokens; the last may be partial.
	IDs []uint64
	// Tenant and Session are "" when unknown.
	Tenant, Session string
	// Text is the prompt, "" for traces without text.
	Text string

	// tokens are those of Text, valid until the next step.
	tokens []uint32
	// contents are the ids of the full blocks by content alone, where IDs are chained hashes of text.
	contents []uint64
}
