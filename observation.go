package sembench

import (
	"fmt"
	"io"
	"iter"
)

// ObservationsSchema is the schema of a journal.
const ObservationsSchema = "sembench.observations.v1"

// Arms: what was done to the cache before the recipient was measured (protocol.md, section 2).
const (
	ArmCold   = "cold"   // no donors
	ArmWarm   = "warm"   // donors, settle, recipient
	ArmExact  = "exact"  // donors, where only the engine's own prefix cache can help
	ArmSham   = "sham"   // unrelated donors: some traffic just ran
	ArmAA     = "aa"     // the cold arm again
	ArmSingle = "single" // one arm of a run whose arms run apart
)

// Observation statuses: planned = ok + failed + excluded + not_sent.
const (
	StatusOK       = "ok"
	StatusFailed   = "failed"
	StatusExcluded = "excluded"
	StatusNotSent  = "not_sent"
)

// RoleRecipient is the measured request of a step. The others are donor-N, probe, canary-… and warmup-N.
const RoleRecipient = "recipient"

// Error classes of a failed request (formats.md, section 2).
const (
	ErrorConnect      = "connect"
	ErrorTLS          = "tls"
	ErrorTimeoutTotal = "timeout_total"
	ErrorTimeoutIdle  = "timeout_idle"
	ErrorHTTPStatus   = "http_status"
	ErrorInband       = "inband_error"
	ErrorTruncated    = "truncated"
	ErrorEmptyOutput  = "empty_output"
	ErrorUndecodable  = "undecodable"
	ErrorCanceled     = "canceled"
)

// Isolation methods and statuses (protocol.md, section 3). A step's own answer makes it accepted; judge raises accepted to
// a verified status when the canaries on both sides passed, or lowers it to failed.
const (
	IsolationReset        = "reset"
	IsolationSalt         = "salt"
	IsolationFreshProcess = "fresh_process"
	IsolationNone         = "none"

	IsolationAccepted      = "accepted"
	IsolationFailed        = "failed"
	IsolationResetVerified = "reset_verified"
	IsolationSaltVerified  = "salt_verified"
)

// JournalHead is the first line of observations.jsonl: what the run belongs to.
type JournalHead struct {
	Schema         string `json:"schema" required:"true"`
	RunID          string `json:"run_id" required:"true"`
	ManifestSHA256 string `json:"manifest_sha256" required:"true"`
	ConfigSHA256   string `json:"config_sha256" required:"true"`
	StartedAtUTC   string `json:"started_at_utc"`
	// EngineBootID tells one engine process from the next; null when the engine gives no sign of it.
	EngineBootID *string `json:"engine_boot_id"`
	Shard        *string `json:"shard"`
	ToolVersion  string  `json:"tool_version"`
	Extra        Extra   `json:"-"`
}

// Stamps are nanoseconds on the run's one monotonic origin; null where the moment did not come.
// TTFT is FirstOutput - WriteStart on an established connection.
type Stamps struct {
	Scheduled  *int64 `json:"scheduled"`
	WriteStart *int64 `json:"write_start"`
	Written    *int64 `json:"written"`
	FirstByte  *int64 `json:"first_byte"`
	// FirstEvent is the first data event of any kind, role-only and empty ones included: what a careless client takes for
	// the first token.
	FirstEvent  *int64 `json:"first_event"`
	FirstOutput *int64 `json:"first_output"`
	// FirstAnswer is the first output that is not reasoning.
	FirstAnswer *int64 `json:"first_answer"`
	LastOutput  *int64 `json:"last_output"`
	Done        *int64 `json:"done"`
}

// Chunk is one output event: when it was read (ns, run origin), its output bytes and, where the server said so, its
// tokens (-1 otherwise; chunk is not token).
type Chunk [3]int64

// Isolation is what was done so that a step starts cold, and what came of it.
type Isolation struct {
	Method string `json:"method"`
	Status string `json:"status"`
	// PrimedTokens is what the probe left cached for this step, in tokens: 0 without a probe, null when it could not be read.
	PrimedTokens *int `json:"primed_tokens"`
	// Canary holds the verdicts of a canary pass that this line concludes; empty on other lines.
	Canary []CanaryCheck `json:"canary"`
	// Detail is what the reset answered, or why the status is what it is; bounded and without secrets.
	Detail string `json:"detail"`
	Extra  Extra  `json:"-"`
}

// CanaryCheck is one field of one canary: Control is positive (it must show reuse) or negative (it must sit at the primed
// level). Outcome is pass, fail or not_exercised.
type CanaryCheck struct {
	Tier    string `json:"tier"` // prefix, external, fuzzy, semantic, ttft
	Control string `json:"control"`
	Field   string `json:"field"`
	// Expected and Observed are tokens, or milliseconds for tier ttft; Observed null when the engine reports nothing.
	Expected *float64 `json:"expected"`
	Observed *float64 `json:"observed"`
	Outcome  string   `json:"outcome"`
}

// DonorStatus is how a donor of a step ended: ok, failed, or not_sent; Attempts is 2 when it was retried.
type DonorStatus struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Attempts int    `json:"attempts"`
	// RequestID joins donor attribution back to this run; LatencyMS is the donor's whole service time.
	RequestID string   `json:"request_id"`
	LatencyMS *float64 `json:"latency_ms"`
}

// RequestError is why a request failed.
type RequestError struct {
	Class string `json:"class"`
	// Status is the HTTP status, null when none arrived.
	Status *int `json:"status"`
	// Message is bounded and cleaned of secrets.
	Message string `json:"message"`
}

// Observation is one line of the journal: one request, or one planned request that was not made. Written by replay, read
// by judge.
type Observation struct {
	Seq       int64  `json:"seq"`
	RequestID string `json:"request_id"`
	Attempt   int    `json:"attempt"`
	ItemID    string `json:"item_id"`
	Arm       string `json:"arm"`
	Role      string `json:"role"`
	// Position is the item's place in the run, from 0.
	Position int `json:"position"`
	// PairID joins the arms of one item; a repetition of the item has its own.
	PairID string `json:"pair_id"`
	// Order is the place of this arm within its pair, from 0; null outside pairs.
	Order     *int    `json:"order"`
	Endpoint  string  `json:"endpoint"`
	Status    string  `json:"status"`
	Reason    *string `json:"reason"`
	Stamps    Stamps  `json:"stamps_ns"`
	ConnectNS *int64  `json:"connect_ns"`
	TLSNS     *int64  `json:"tls_ns"`
	// ReusedConn tells that TTFT contains no connection time; null when nothing was sent.
	ReusedConn *bool   `json:"reused_conn"`
	Chunks     []Chunk `json:"chunks"`
	HTTPStatus *int    `json:"http_status"`
	// FinishReason as sent; null when the stream ended without one.
	FinishReason *string `json:"finish_reason"`
	// Usage is the last non-null usage object (for SGLang native, meta_info), verbatim; null when none came.
	Usage map[string]any `json:"usage"`
	// EngineMetrics is the server's per-request metrics object, verbatim.
	EngineMetrics map[string]any `json:"engine_metrics"`
	// OutputText obeys --include-text; OutputSHA256 is always of the whole text.
	OutputText   *string `json:"output_text"`
	OutputSHA256 *string `json:"output_sha256"`
	// OutputTokenIDs and OutputTopLogprobs only where asked for and given. One map a position: token → logprob.
	OutputTokenIDs    []int                `json:"output_token_ids,omitempty"`
	OutputTopLogprobs []map[string]float64 `json:"output_top_logprobs,omitempty"`
	// EngineResponseID is the id in the response body, EngineRequestID the one in its headers.
	EngineResponseID *string           `json:"engine_response_id"`
	EngineRequestID  *string           `json:"engine_request_id"`
	Headers          map[string]string `json:"headers"`
	Isolation        *Isolation        `json:"isolation"`
	Donors           []DonorStatus     `json:"donors"`
	Error            *RequestError     `json:"error"`
	// BootID names the engine process that served it; null when unknown.
	BootID *string `json:"boot_id"`
	// Superseded: a resume ran this pair again; the line counts for nothing.
	Superseded bool  `json:"superseded"`
	Extra      Extra `json:"-"`
}

// TTFT is first output minus write start in milliseconds; nil when either moment is missing.
func (o Observation) TTFT() *float64 { return span(o.Stamps.WriteStart, o.Stamps.FirstOutput) }

// Latency is last output minus write start in milliseconds; nil when either moment is missing.
func (o Observation) Latency() *float64 { return span(o.Stamps.WriteStart, o.Stamps.LastOutput) }

func span(from, to *int64) *float64 {
	if from == nil || to == nil {
		return nil
	}
	ms := float64(*to-*from) / 1e6
	return &ms
}

// CachedTokens is usage.prompt_tokens_details.cached_tokens (or SGLang's cached_tokens); nil when absent: absent is not 0.
func (o Observation) CachedTokens() *int {
	if details, ok := o.Usage["prompt_tokens_details"].(map[string]any); ok {
		if n, ok := integer(details["cached_tokens"]); ok {
			return new(int(n))
		}
	}
	return o.usageInt("cached_tokens")
}

// ExternalCachedTokens is the per-request external split where the engine gives one; nil when absent.
func (o Observation) ExternalCachedTokens() *int {
	if details, ok := o.Usage["prompt_tokens_details"].(map[string]any); ok {
		if n, ok := integer(details["external_cached_tokens"]); ok {
			return new(int(n))
		}
	}
	return o.usageInt("external_cached_tokens")
}

// PromptTokens is the engine's own count; nil when absent.
func (o Observation) PromptTokens() *int { return o.usageInt("prompt_tokens") }

// OutputTokens is the engine's own count; nil when absent.
func (o Observation) OutputTokens() *int { return o.usageInt("completion_tokens") }

func (o Observation) usageInt(key string) *int {
	if n, ok := integer(o.Usage[key]); ok {
		return new(int(n))
	}
	return nil
}

// ReadJournal reads a journal: its head, then its lines. A torn last line is what a killed writer leaves: it is dropped and
// yields nothing. Any other bad line is an error with its number.
func ReadJournal(r io.Reader, name string) (JournalHead, iter.Seq2[Observation, error], error) {
	next, stop := iter.Pull2(Lines(r))
	var head JournalHead
	first, err, ok := next()
	switch {
	case !ok:
		err = fmt.Errorf("it is empty: want a head line with schema %q", ObservationsSchema)
	case err == nil:
		err = Unmarshal(first.Text, &head)
	}
	if err == nil && head.Schema != ObservationsSchema {
		err = fmt.Errorf("line 1: schema is %q, want %q", head.Schema, ObservationsSchema)
	}
	if err != nil {
		stop()
		return head, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return head, func(yield func(Observation, error) bool) {
		defer stop()
		for {
			line, err, ok := next()
			if !ok || err == nil && line.Torn {
				return
			}
			var o Observation
			if err == nil {
				err = Unmarshal(line.Text, &o)
			}
			if !yield(o, atLine(name, line.Number, err)) {
				return
			}
		}
	}, nil
}
