// Package plan decides what a recipient prompt could copy from donor prompts: target ids and donors go
// in, a [sembench.Plan] of ascending, non-overlapping spans comes out (planner.md). One function, [Count],
// turns any planner's spans into candidate and eligible blocks, so planners cannot count differently.
//
// Three planners share one interface: `semblend` (the algorithm that the contract names), `span` (every
// identical run at any offset) and `exec:COMMAND` (a child process). All work on token ids of one
// tokenizer; text is used only by embedders and by child processes. Tokenizing, pools and rates are left
// to others.
package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sembench"
)

// Donor is an earlier prompt whose KV could be copied. Text may be empty where only ids are known.
type Donor struct {
	ID     string
	Tokens []uint32
	Text   string
}

// Target is the recipient prompt to plan for. Text may be empty where only ids are known.
type Target struct {
	ItemID string
	Tokens []uint32
	Text   string
}

// Planner proposes copies. Registering a donor id again replaces the earlier donor and makes it the most
// recent. A Planner is not safe for concurrent use: give each worker its own.
type Planner interface {
	// Name is the planner's column: "semblend", "span" or "exec:" and the command.
	Name() string
	// Reset forgets all donors.
	Reset() error
	// Register makes a donor known. Its Tokens may be kept but are never changed.
	Register(d Donor) error
	// Plan proposes spans for t. A failure is Plan.Error, never a panic and never an empty plan.
	Plan(ctx context.Context, t Target) sembench.Plan
	// Close releases what the planner holds, such as a child process.
	Close() error
}

// Forgetter is a planner that can drop one donor, as a pool with a capacity needs. Forgetting an unknown
// donor does nothing.
type Forgetter interface {
	Forget(donorID string) error
}

// Options are the parameters of all planners; the zero value is what planner.md calls the default.
type Options struct {
	// BlockSize is the block and chunk size c in tokens; 0 means 16.
	BlockSize int
	// MinSpan is the shortest run that `span` copies, in tokens, at least BlockSize; 0 means 2 x BlockSize.
	MinSpan int
	// MinReuseRatio is the least copied share of the target at which a `semblend` plan stands; 0 means 0.25.
	MinReuseRatio float64
	// MinSimilarity is the least embedding cosine of a `semblend` donor; 0 means 0.60.
	MinSimilarity float64
	// Embedder is "jaccard" (the default: no embedding) or "tfidf".
	Embedder string
	// Seed picks among equal choices, such as which places of a very frequent window stay indexed.
	Seed uint64
	// MaxTokens is how many donor tokens `span` and `semblend` hold before the least recently registered
	// donors are evicted; 0 means no bound.
	MaxTokens int
	// MaxPlaces is how many places of one window `span` keeps; 0 means 16, negative means all.
	MaxPlaces int
	// Approximate asks `span` to add spans of class approximate where no identical run was found but the
	// text is close (planner.md, section 2). They are never counted as identical reuse.
	Approximate bool
	// ExecTimeout bounds each answer of a child process; 0 means 30 s.
	ExecTimeout time.Duration
	// ExecEnv is the environment of a child process as KEY=VALUE; nil means the parent's.
	ExecEnv []string
}

const (
	defaultBlockSize     = 16
	defaultMinReuseRatio = 0.25
	defaultMinSimilarity = 0.60
	defaultMaxPlaces     = 16
	defaultExecTimeout   = 30 * time.Second
)

// filled returns o with defaults in place of zeros, or why o cannot be used.
func (o Options) filled() (Options, error) {
	if o.BlockSize == 0 {
		o.BlockSize = defaultBlockSize
	}
	if o.BlockSize < 0 {
		return o, fmt.Errorf("block size %d is below 1", o.BlockSize)
	}
	if o.MinSpan == 0 {
		o.MinSpan = 2 * o.BlockSize
	}
	if o.MinSpan < o.BlockSize {
		return o, fmt.Errorf("min span %d is below the block size %d", o.MinSpan, o.BlockSize)
	}
	if o.MinReuseRatio == 0 {
		o.MinReuseRatio = defaultMinReuseRatio
	}
	if o.MinSimilarity == 0 {
		o.MinSimilarity = defaultMinSimilarity
	}
	if !(o.MinReuseRatio > 0 && o.MinReuseRatio <= 1) {
		return o, fmt.Errorf("min reuse ratio %v is not in (0, 1]", o.MinReuseRatio)
	}
	if !(o.MinSimilarity > 0 && o.MinSimilarity <= 1) {
		return o, fmt.Errorf("min similarity %v is not in (0, 1]", o.MinSimilarity)
	}
	if o.MaxPlaces == 0 {
		o.MaxPlaces = defaultMaxPlaces
	}
	if o.ExecTimeout <= 0 {
		o.ExecTimeout = defaultExecTimeout
	}
	if o.Embedder == "" {
		o.Embedder = "jaccard"
	}
	if o.Embedder != "jaccard" && o.Embedder != "tfidf" {
		return o, fmt.Errorf("embedder %q is unknown: use jaccard or tfidf", o.Embedder)
	}
	return o, nil
}

// Open returns the planner that spec names: "semblend", "span" or "exec:COMMAND", where COMMAND is split
// into words without a shell. Close it when done.
func Open(spec string, o Options) (Planner, error) {
	o, err := o.filled()
	if err != nil {
		return nil, fmt.Errorf("opening planner %q: %w", spec, err)
	}
	switch name, command, _ := strings.Cut(spec, ":"); {
	case spec == "semblend":
		return newSemblend(o), nil
	case spec == "span":
		return newSpan(o), nil
	case name == "exec":
		return openExec(command, o)
	}
	return nil, fmt.Errorf("opening planner %q: unknown, use semblend, span or exec:COMMAND", spec)
}

// started returns the plan that every planner begins with.
func started(name string, size int, t Target) sembench.Plan {
	return sembench.Plan{ItemID: t.ItemID, Planner: name, BlockSize: size, TargetTokens: len(t.Tokens), Spans: []sembench.Span{}}
}

// finished fills what follows from a plan's spans and its cost.
func finished(p sembench.Plan, took time.Duration) sembench.Plan {
	ms := float64(took.Nanoseconds()) / 1e6
	p.LatencyMS = &ms
	if p.Error != nil {
		p.Found, p.Spans = false, []sembench.Span{}
		p.Similarity, p.ReuseRatio, p.RejectionReason = nil, nil, nil
		return p
	}
	copied := 0
	for _, s := range p.Spans {
		if s.Class != sembench.Approximate {
			copied += s.Length
		}
	}
	p.Found = len(p.Spans) > 0
	if p.Found && p.TargetTokens > 0 {
		ratio := float64(copied) / float64(p.TargetTokens)
		p.ReuseRatio = &ratio
	}
	return p
}

// failed records why a planner could not plan.
func failed(p sembench.Plan, err error) sembench.Plan {
	message := err.Error()
	p.Error = &message
	return p
}
