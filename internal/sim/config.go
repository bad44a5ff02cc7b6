package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"sembench/internal/plan"
	"sembench/internal/token"
)

// Config describes one engine. The zero value is an engine without a semantic layer that costs no time;
// [Default] is one with plausible costs. Milliseconds and microseconds are those of the timing law.
type Config struct {
	// As is the voice, one of [Voices]; empty means vllm.
	As string
	// Model is the served model name; empty means sembench-sim.
	Model string
	// BlockSize is the cache granularity in tokens; 0 means 16.
	BlockSize int
	// Seed decides jitter and every choice of a fault.
	Seed uint64

	// The law: see the package comment. BatchSlope lengthens a request's inter-token time by this share for each
	// other request that runs when it starts.
	BaseMS            float64
	PrefillUSPerToken float64
	LoadUSPerToken    float64
	OffloadUSPerToken float64
	LookupMS          float64
	ITLMS             float64
	BatchSlope        float64
	// Jitter is the relative standard deviation of the law's service time; JitterModel is lognormal (the default),
	// heavytail or drift.
	Jitter      float64
	JitterModel string

	// CapacityBlocks is the prefix cache's size; 0 means 65,536. OffloadBlocks is that of a second, exact tier which
	// takes what the first evicts; 0 means none.
	CapacityBlocks int
	OffloadBlocks  int
	// DonorTokens bounds the donor store, oldest out first; 0 means 4 million. DonorSettleMS passes between the end of
	// a request and the moment it can serve as a donor.
	DonorTokens   int
	DonorSettleMS float64
	// MaxRunning requests run at once, the rest wait in order of arrival; 0 means 256. PrefillSlots of them
	// prefill at once; 0 means any number.
	MaxRunning   int
	PrefillSlots int
	// MaxModelLen bounds prompt and output together, in tokens; 0 means 131,072.
	MaxModelLen int
	// TruthLimit is how many requests Truth remembers, oldest out first; 0 means 200,000.
	TruthLimit int

	// Semantic switches the donor store and its planner on; without it the engine is a stock one.
	Semantic bool
	// Planner is a plan.Open spec; empty means span.
	Planner string
	// MinSemanticTokens is the least that a lookup must find to be a hit; 0 means max(64, BlockSize).
	MinSemanticTokens int
	// Tokenizer is a token.Open spec; empty means o200k.
	Tokenizer string
	// Layers is the model's layer count, Ranks its tensor parallel size; 0 means 24 and 1.
	Layers, Ranks int
	// KVBytesPerToken is what one token's KV takes, for byte counters; 0 means 131,072.
	KVBytesPerToken int

	// Faults are what the engine does wrong, as name or name=value; see [Faults].
	Faults []string
	// Workers is the number of engines behind the gateway voice; 0 means 3. RouteFamily is its header family, one of
	// [RouteFamilies]; empty means x-synapse-route.
	Workers     int
	RouteFamily string

	// Audit and Log receive whole lines, one Write each, before the response that they speak of ends; nil drops them.
	// Events receives the KV event batches of the vLLM voice.
	Audit, Log io.Writer
	Events     func(KVBatch)
	// Clock is nil for the wall.
	Clock Clock
}

// Default is the engine that `sim` and `bench` start: costs like those of a small model on a middling GPU, scaled so
// that a prompt of a thousand tokens takes a tenth of a second.
func Default() Config {
	return Config{
		BaseMS: 30, PrefillUSPerToken: 60, LoadUSPerToken: 4, OffloadUSPerToken: 8, LookupMS: 2, ITLMS: 0.5,
		Jitter: 0.01, PrefillSlots: 1, Semantic: true, Seed: 1,
	}
}

// filled returns c with defaults in place of zeros, or why c cannot be used.
func (c Config) filled() (Config, error) {
	setString(&c.As, "vllm")
	switch c.As {
	case "llamacpp": // one slot that keeps its last prompt, token by token
		c.BlockSize, c.MaxRunning, c.Semantic, c.OffloadBlocks = 1, 1, false, 0
		c.CapacityBlocks = max(c.CapacityBlocks, 131_072)
	case "lmcache":
		c.Semantic = false
		setInt(&c.OffloadBlocks, 4*65_536)
	}
	setString(&c.Model, "sembench-sim")
	setString(&c.Planner, "span")
	setString(&c.JitterModel, jitterLognormal)
	setString(&c.RouteFamily, RouteFamilies()[0])
	setInt(&c.BlockSize, 16)
	setInt(&c.CapacityBlocks, 65_536)
	setInt(&c.DonorTokens, 4_000_000)
	setInt(&c.MaxRunning, 256)
	setInt(&c.MaxModelLen, 131_072)
	setInt(&c.TruthLimit, 200_000)
	setInt(&c.MinSemanticTokens, max(64, c.BlockSize))
	setInt(&c.Layers, 24)
	setInt(&c.Ranks, 1)
	setInt(&c.KVBytesPerToken, 131_072)
	setInt(&c.Workers, 3)
	if c.Clock == nil {
		c.Clock = NewWallClock()
	}
	return c, c.check()
}

func setString(s *string, otherwise string) {
	if *s == "" {
		*s = otherwise
	}
}

func setInt(n *int, otherwise int) {
	if *n == 0 {
		*n = otherwise
	}
}

func (c Config) check() error {
	var problems []error
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"base-ms", c.BaseMS}, {"prefill-us-per-token", c.PrefillUSPerToken}, {"load-us-per-token", c.LoadUSPerToken},
		{"offload-us-per-token", c.OffloadUSPerToken}, {"lookup-ms", c.LookupMS}, {"itl-ms", c.ITLMS}, {"batch-slope", c.BatchSlope},
		{"jitter", c.Jitter}, {"donor-settle-ms", c.DonorSettleMS},
	} {
		// Beyond a million the sums of the law would leave the range of time.Duration.
		if !(v.value >= 0 && v.value <= 1e6) || math.IsNaN(v.value) {
			problems = append(problems, fmt.Errorf("%s is %v, want 0 to 1000000", v.name, v.value))
		}
	}
	for _, v := range []struct {
		name  string
		value int
	}{
		{"block-size", c.BlockSize}, {"capacity-blocks", c.CapacityBlocks}, {"donor-tokens", c.DonorTokens}, {"max-running", c.MaxRunning},
		{"max-model-len", c.MaxModelLen}, {"truth-limit", c.TruthLimit}, {"min-semantic-tokens", c.MinSemanticTokens}, {"layers", c.Layers},
		{"ranks", c.Ranks}, {"kv-bytes-per-token", c.KVBytesPerToken}, {"workers", c.Workers}, {"offload-blocks", c.OffloadBlocks + 1},
		{"prefill-slots", c.PrefillSlots + 1},
	} {
		if v.value < 1 {
			problems = append(problems, fmt.Errorf("%s is negative", v.name))
		}
	}
	if !knownJitter(c.JitterModel) {
		problems = append(problems, fmt.Errorf("jitter model %q is unknown: use lognormal, heavytail or drift", c.JitterModel))
	}
	return errors.Join(problems...)
}

// open loads what a configuration names.
func (c Config) open() (token.Tokenizer, plan.Planner, error) {
	tok, err := token.Open(c.Tokenizer)
	if err != nil || !c.Semantic {
		return tok, nil, err
	}
	p, err := plan.Open(c.Planner, plan.Options{BlockSize: c.BlockSize, Seed: c.Seed})
	return tok, p, err
}

func millis(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}
func micros(us float64) time.Duration {
	return time.Duration(math.Round(us * float64(time.Microsecond)))
}
