package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"sembench"
	"sembench/internal/wire"
)

// Isolation modes: how a step is made to start cold (protocol.md, section 3). Auto is decided by Preflight.
const (
	Auto  = "auto"
	Reset = "reset"
	Salt  = "salt"
	Fresh = "fresh"
	None  = "none"
)

// Kinds of salt: the request field, or a nonce at the start of the first message.
const (
	SaltField = "cache_salt"
	SaltText  = "text"
)

// Config is a run's protocol. The zero value of every field but BaseURL and RunID works; Model may be left out when the
// server offers exactly one.
type Config struct {
	RunID string
	Seed  uint64
	// Arms of every pair; empty means cold and warm.
	Arms []string
	API  wire.API
	// Engine is one of Engines; "" means auto.
	Engine  string
	BaseURL string
	// ExactBaseURL is a stock engine that serves the exact arm.
	ExactBaseURL string
	// DonorURLs take the donors, assigned by hash of the donor id; empty sends them to BaseURL.
	DonorURLs []string
	Model     string

	// Isolation is auto, reset, salt, fresh or none; "" means auto.
	Isolation string
	// SaltKind says how a salt is sent; "" leaves it to Preflight.
	SaltKind string
	// ResetURLs are all reset before each step, ExactResetURLs before a step on ExactBaseURL; empty leaves both to the preset.
	ResetURLs, ExactResetURLs []string
	// ResetTimeout bounds the retries of one reset while the engine is busy; 0 means 10 s.
	ResetTimeout time.Duration
	// CanaryEvery is the mean number of steps between canary passes; 0 means 24, below 0 only first and last.
	CanaryEvery int
	// TTFTCanaryMS is the time to first token below which a canary counts as reused, where the engine reports no cached tokens
	// and the pre-flight found TTFT to tell; nil otherwise.
	TTFTCanaryMS *float64
	// CanaryWords is the least length of a canary, in words; 0 for what BlockSize asks for.
	CanaryWords int
	// BlockSize is the engine's block size in tokens, for the length of canaries; 0 means 16.
	BlockSize int

	// MaxTokens limits a recipient's output, 0 means 64; DonorMaxTokens a donor's, 0 means 1.
	MaxTokens, DonorMaxTokens int
	// SamplingSeed is sent as seed; nil means 0.
	SamplingSeed *int64
	// Timeout bounds a request, 0 means 300 s. IdleTimeout bounds its silences, 0 means the same as Timeout.
	Timeout, IdleTimeout time.Duration
	// PostDonorDelay is waited between donors and recipient, outside any latency.
	PostDonorDelay time.Duration
	// AwaitDonors, when set, is asked to wait until the engine's evidence shows the donors of these request ids.
	AwaitDonors func(ctx context.Context, requestIDs []string) error
	// Repeats of every item; 0 means 1.
	Repeats int
	// Warmup is how many requests of disjoint text are sent first and counted nowhere.
	Warmup int
	// Concurrency is how many pairs run at a time; 0 means 1. Above 1 isolation cannot be a reset.
	Concurrency int
	// CalibrationPairs of each kind and length band; 0 means 30.
	CalibrationPairs int
	// MinDonorGap is the least number of other requests between a donor and its recipient; metadata.donor_gap_requests counts where it
	// is larger.
	MinDonorGap int
	// MaxTotalTokens ends the run, with the rest not sent, once the engine has counted so many tokens; 0 for no limit.
	MaxTotalTokens int
	// IncludeText is none, hash or full; "" means full. Outputs are hashed in any case.
	IncludeText string

	APIKey       string
	Header       map[string]string
	ExtraBody    map[string]any
	RouteHeaders []string
	TLS          *tls.Config
	UseProxy     bool
	// Dial, Clock and Sleep replace network and time where there is no wall time; nil for the real ones.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Clock wire.Clock
	Sleep func(ctx context.Context, d time.Duration) error
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// withDefaults gives the configuration with every default in place.
func (c Config) withDefaults() Config {
	if len(c.Arms) == 0 {
		c.Arms = []string{sembench.ArmCold, sembench.ArmWarm}
	}
	orDefault(&c.API, wire.Chat)
	orDefault(&c.Engine, Auto)
	orDefault(&c.Isolation, Auto)
	orDefault(&c.ResetTimeout, 10*time.Second)
	orDefault(&c.CanaryEvery, 24)
	orDefault(&c.BlockSize, 16)
	orDefault(&c.MaxTokens, 64)
	orDefault(&c.DonorMaxTokens, 1)
	orDefault(&c.Timeout, 300*time.Second)
	orDefault(&c.IdleTimeout, c.Timeout)
	orDefault(&c.Repeats, 1)
	orDefault(&c.Concurrency, 1)
	orDefault(&c.CalibrationPairs, 30)
	orDefault(&c.IncludeText, "full")
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.SamplingSeed == nil {
		c.SamplingSeed = new(int64)
	}
	return c
}

var knownArms = []string{sembench.ArmCold, sembench.ArmWarm, sembench.ArmExact, sembench.ArmSham, sembench.ArmAA, sembench.ArmSingle}

// Validate lists what is wrong with a configuration before anything is sent; nil when nothing is.
func (c Config) Validate() error {
	c = c.withDefaults()
	var problems []error
	check := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	oneOf := func(name, value string, list []string) {
		check(!slices.Contains(list, value), "%s is %q, want one of %v", name, value, list)
	}
	check(c.RunID == "", "run id is empty: request ids and salts are derived from it")
	for _, address := range append([]string{c.BaseURL}, c.DonorURLs...) {
		u, err := url.Parse(address)
		check(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "base URL is %q, want http://host:port", wire.CleanURL(address))
	}
	seen := map[string]bool{}
	for _, arm := range c.Arms {
		oneOf("arm", arm, knownArms)
		check(seen[arm], "arm %q is listed twice: use the arm aa for a second cold one", arm)
		seen[arm] = true
	}
	check(seen[sembench.ArmExact] && seen[sembench.ArmWarm] && c.ExactBaseURL == "",
		"arm exact beside warm needs the address of a stock engine: on the same engine it would be the warm arm again")
	check(c.ExactBaseURL != "" && strings.TrimRight(c.ExactBaseURL, "/") == strings.TrimRight(c.BaseURL, "/"),
		"the exact arm's address is that of the engine under test: it would measure the semantic layer and call it prefix caching")
	oneOf("api", string(c.API), []string{string(wire.Chat), string(wire.Completions), string(wire.Generate)})
	oneOf("engine", c.Engine, Engines)
	oneOf("isolation", c.Isolation, []string{Auto, Reset, Salt, Fresh, None})
	oneOf("include-text", c.IncludeText, []string{"none", "hash", "full"})
	check(c.Concurrency > 1 && c.Isolation == Reset, "concurrency is %d with isolation by reset: a reset would hit the other pairs; use salts", c.Concurrency)
	check(c.Isolation == Fresh && len(c.Arms) > 1, "isolation fresh means one arm alone on an engine started for it: got %d arms", len(c.Arms))
	for name, n := range map[string]int{"concurrency": c.Concurrency, "repeats": c.Repeats, "warmup": c.Warmup, "max tokens": c.MaxTokens,
		"donor max tokens": c.DonorMaxTokens, "block size": c.BlockSize, "calibration pairs": c.CalibrationPairs} {
		check(n < 0, "%s is %d, want 0 or more", name, n)
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// client makes the wire client of a run.
func (c Config) client() *wire.Client {
	return wire.New(wire.Options{
		Clock: c.Clock, Dial: c.Dial, TLS: c.TLS, UseProxy: c.UseProxy, APIKey: c.APIKey, Header: c.Header,
		Conns: c.Concurrency, Total: c.Timeout, Idle: c.IdleTimeout, RouteHeaders: c.RouteHeaders,
	})
}

// base is the engine that serves an arm.
func (c Config) base(arm string) string {
	if arm == sembench.ArmExact && c.ExactBaseURL != "" {
		return c.ExactBaseURL
	}
	return c.BaseURL
}

// resets are the addresses that make an engine forget.
func (c Config) resets(base string) []string {
	if base == c.ExactBaseURL && c.ExactBaseURL != "" && base != c.BaseURL {
		return c.ExactResetURLs
	}
	return c.ResetURLs
}
