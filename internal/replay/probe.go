package replay

import (
	"context"
	"fmt"
	"sync"

	"sembench"
)

// probing is what is known of one prefix on one engine, measured once.
type probing struct {
	once sync.Once
	// send: the prefix fills a block, so every step that starts with it is primed with a probe.
	send bool
	// tokens is what the probe leaves cached; nil when the engine does not say.
	tokens *int
}

// The two user words of a probe's measurement. They begin with different tokens in any tokenizer.
const (
	probeWord = "ready"
	otherWord = "Hello"
)

// probe primes a step with the item's own template, system prompt and tools, in every arm alike, where they fill a block.
func (r *runner) probe(ctx context.Context, p place, known *probing, what prompt, item sembench.Item, s salt) {
	if known.send {
		p.role = "probe"
		r.log(r.send(ctx, p, what.beginning(item, probeWord), s, 1))
	}
}

// probing measures a prefix: isolate, send it with one word, then with another; what the second finds cached is what
// they share.
func (r *runner) probing(ctx context.Context, base string, what prompt, item sembench.Item) *probing {
	first, second := what.beginning(item, probeWord), what.beginning(item, otherWord)
	if len(first.messages) == 1 && len(first.tools) == 0 && r.cfg.API != "chat" {
		return &probing{tokens: new(int)} // no template and no system prompt: nothing to share
	}
	digest := sembench.SHA256(sembench.Marshal(map[string]any{"messages": first.messages, "tools": first.tools, "text": first.text, "base": base}))[:16]
	r.mu.Lock()
	known := r.primed[digest]
	if known == nil {
		known = &probing{}
		r.primed[digest] = known
	}
	r.mu.Unlock()
	known.once.Do(func() {
		pass := r.journal.nextPass()
		p := place{base: base, arm: armProbe, item: "prefix-" + digest, position: pass, attempt: r.journal.Resumes()}
		_, s, _ := r.isolate(ctx, base, "prefix", digest, fmt.Sprint(pass))
		p.role = "probe"
		r.log(r.send(ctx, p, first, s, 1))
		p.role = "probe-measure"
		seen := r.send(ctx, p, second, s, 1)
		r.log(seen)
		switch cached, length := seen.CachedTokens(), seen.PromptTokens(); {
		case cached != nil:
			known.tokens, known.send = cached, *cached > 0
		case length != nil && *length <= r.cfg.BlockSize:
			known.tokens = new(int)
		default:
			known.send = true // it may fill a block and nobody says so
		}
	})
	return known
}
