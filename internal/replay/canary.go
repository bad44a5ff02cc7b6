package replay

import (
	"context"
	"fmt"
	"strconv"

	"sembench"
)

// canaryWords is the length of a canary: four blocks more than a semantic tier wants at least (64 tokens, or a block), even if
// every word were one token; longer where the pre-flight found that only longer ones tell by time.
func (c Config) canaryWords() int {
	return max(c.CanaryWords, max(64, c.BlockSize)+4*c.BlockSize)
}

// canaryShift is how many words go ahead of B the second time: a few tokens, so that no prefix is shared.
const canaryShift = 3

// canaries runs one pass on one engine (protocol.md, section 3.3): A is seeded and must show reuse again, then B and B shifted, in
// the tiers that this engine has; then, isolated, both must sit at the primed level in every field. Each control follows what it
// asks about directly, B before A in the second half: an engine with one slot remembers its last prompt only. The last line of the
// pass carries the checks. It tells whether nothing failed.
func (r *runner) canaries(ctx context.Context, base string) bool {
	pass := r.journal.nextPass()
	name := "canary-" + strconv.Itoa(pass)
	random := rng(r.cfg.Seed, r.cfg.RunID, r.journal.Head().StartedAtUTC, r.phase, name, strconv.Itoa(r.journal.Resumes()))
	words := r.cfg.canaryWords()
	a, b := plain(randomWords(random, words)), randomWords(random, words)
	shifted := plain(randomWords(random, canaryShift) + " " + b)
	none := sembench.Item{}
	p := place{base: base, arm: armCanary, item: name, position: pass, attempt: r.journal.Resumes()}
	ask := func(role string, what prompt, s salt) sembench.Observation {
		p.role = role
		o := r.send(ctx, p, what, s, 1)
		r.log(o)
		return o
	}
	known := r.probing(ctx, base, a, none)

	before, s, _ := r.isolate(ctx, base, name, "seed")
	if known.send {
		ask("probe-seed", a.beginning(none, probeWord), s)
	}
	again := func(seed prompt, letter string, control prompt) sembench.Observation {
		ask("canary-"+letter+"-seed", seed, s)
		_ = r.cfg.Sleep(ctx, r.cfg.PostDonorDelay) // cut short when the run is stopped; the answers tell
		return ask("canary-"+letter+"-positive", control, s)
	}
	positive := pairOf{a: again(a, "a", a), b: again(plain(b), "b", shifted)}

	isolation, s, _ := r.isolate(ctx, base, name, "negative")
	if known.send {
		ask("probe-negative", a.beginning(none, probeWord), s)
	}
	negative := pairOf{b: ask("canary-b-negative", shifted, s)}
	p.role = "canary-a-negative"
	negative.a = r.send(ctx, p, a, s, 1)
	isolation.PrimedTokens = known.tokens
	isolation.Canary = append(canaryChecks(positive, negative, known.tokens), ttftChecks(positive, negative, r.cfg.TTFTCanaryMS)...)
	if before.Status == sembench.IsolationFailed && isolation.Detail == "" {
		isolation.Detail = "before seeding: " + before.Detail
	}
	negative.a.Isolation = &isolation
	r.log(negative.a)
	r.keep(r.journal.Sync())
	for _, check := range isolation.Canary {
		if check.Outcome == outcomeFail {
			return false
		}
	}
	return isolation.Status != sembench.IsolationFailed
}

// Canary outcomes.
const (
	outcomePass         = "pass"
	outcomeFail         = "fail"
	outcomeNotExercised = "not_exercised"
)

type pairOf struct{ a, b sembench.Observation }

// reading is one field of one canary, by tier.
type reading struct {
	tier, field string
	of          func(pairOf) *int
	// primed: the field counts what the probe left.
	primed bool
}

// readings are the fields that are compared. Where the engine splits cached tokens into local and external ones, the split
// tells the tiers apart; where it does not, cached_tokens stands for both.
func readings(positive pairOf) []reading {
	local := func(o sembench.Observation) *int { return usageDetail(o, "local_cached_tokens") }
	prefix := reading{"prefix", "cached_tokens", func(p pairOf) *int { return p.a.CachedTokens() }, true}
	if local(positive.a) != nil {
		// Shifted B is a prefix that was seen once it comes again, and it comes a moment later than A.
		prefix = reading{"prefix", "local_cached_tokens", func(p pairOf) *int { return larger(local(p.a), local(p.b)) }, true}
	}
	list := []reading{prefix}
	semantic := reading{"semantic", "cached_tokens", func(p pairOf) *int { return p.b.CachedTokens() }, true}
	if positive.b.ExternalCachedTokens() != nil || positive.a.ExternalCachedTokens() != nil {
		list = append(list, reading{"external", "external_cached_tokens", func(p pairOf) *int { return p.a.ExternalCachedTokens() }, false})
		semantic = reading{"semantic", "external_cached_tokens", func(p pairOf) *int { return p.b.ExternalCachedTokens() }, false}
	}
	return append(list, semantic)
}

func larger(a, b *int) *int {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// canaryChecks judges a pass. A tier whose positive control is silent is not exercised and proves nothing; reuse in a negative
// control is a failure all the same. An engine that leaves the field out when it is 0 said 0, once the positive control showed
// that it reports at all.
func canaryChecks(positive, negative pairOf, primedTokens *int) []sembench.CanaryCheck {
	var checks []sembench.CanaryCheck
	for _, r := range readings(positive) {
		primed := 0
		if r.primed && primedTokens != nil {
			primed = *primedTokens
		}
		shown, left := r.of(positive), r.of(negative)
		exercised := shown != nil && *shown > primed
		outcome := outcomeNotExercised
		if exercised {
			outcome = outcomePass
		}
		checks = append(checks, canaryCheck(r, "positive", primed, shown, outcome))
		switch level := left; {
		case !prefilled(negative.a) || !prefilled(negative.b):
			outcome = outcomeNotExercised
		case level != nil && *level != primed, level == nil && exercised && primed > 0:
			outcome = outcomeFail
		}
		checks = append(checks, canaryCheck(r, "negative", primed, left, outcome))
	}
	return checks
}

// reuseTime is TTFT in milliseconds; for a request whose one token had no text, the time to its end. Nil for any other failure.
func reuseTime(o sembench.Observation) *float64 {
	switch {
	case !prefilled(o):
		return nil
	case o.TTFT() == nil:
		return serviceTime(o)
	}
	return o.TTFT()
}

// ttftChecks judges a pass by time alone, where the engine reports no cached tokens and the pre-flight found a limit that tells
// reused from computed: A for the prefix cache, B shifted for any tier that does not need a prefix. No checks without
// a limit.
func ttftChecks(positive, negative pairOf, limit *float64) []sembench.CanaryCheck {
	if limit == nil {
		return nil
	}
	var checks []sembench.CanaryCheck
	for _, canary := range []struct {
		field string
		of    func(pairOf) *float64
	}{
		{"ttft_ms", func(p pairOf) *float64 { return reuseTime(p.a) }},
		{"ttft_ms_shifted", func(p pairOf) *float64 { return reuseTime(p.b) }},
	} {
		shown, left := canary.of(positive), canary.of(negative)
		outcome := outcomeNotExercised
		if shown != nil && *shown < *limit {
			outcome = outcomePass
		}
		checks = append(checks, sembench.CanaryCheck{Tier: "ttft", Control: "positive", Field: canary.field, Expected: limit, Observed: shown, Outcome: outcome})
		switch {
		case left == nil:
			outcome = outcomeNotExercised
		case *left < *limit:
			outcome = outcomeFail
		}
		checks = append(checks, sembench.CanaryCheck{Tier: "ttft", Control: "negative", Field: canary.field, Expected: limit, Observed: left, Outcome: outcome})
	}
	return checks
}

func canaryCheck(r reading, control string, expected int, observed *int, outcome string) sembench.CanaryCheck {
	check := sembench.CanaryCheck{Tier: r.tier, Control: control, Field: r.field, Expected: new(float64(expected)), Outcome: outcome}
	if observed != nil {
		check.Observed = new(float64(*observed))
	}
	return check
}

// usageDetail is a whole number in usage.prompt_tokens_details; nil when absent.
func usageDetail(o sembench.Observation, key string) *int {
	details, _ := o.Usage["prompt_tokens_details"].(map[string]any)
	var n int
	if value, ok := details[key]; ok {
		if _, err := fmt.Sscan(fmt.Sprint(value), &n); err == nil {
			return &n
		}
	}
	return nil
}
