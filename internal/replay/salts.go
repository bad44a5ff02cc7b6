package replay

import (
	"context"
	"fmt"

	"sembench"
)

// salts tries cache_salt, then a text nonce, and says what they do.
func (f *flight) salts(ctx context.Context) {
	kinds := []string{SaltField, SaltText}
	if f.preset.plain {
		kinds = kinds[1:]
	}
	if f.cfg.SaltKind != "" {
		kinds = []string{f.cfg.SaltKind}
	}
	honoured := false
	for _, kind := range kinds {
		ok, detail := f.saltWorks(ctx, kind)
		f.report.SaltKind, honoured = kind, ok
		if ok {
			f.check("salt_"+kind, "pass", detail, "")
			break
		}
		f.check("salt_"+kind, "warn", detail, "")
	}
	f.report.SaltHonoured = &honoured
	if f.report.SaltKind == SaltText {
		f.check("salt_cost", "warn", "a text nonce at the start of the first message isolates the steps: prompts grow by its tokens, the chat template ahead of it stays shared, "+
			"and a tier that ignores it, such as a semantic donor store, is not isolated", f.preset.resetHint)
	}
	if !honoured {
		f.check("salt_isolates", "warn", "no salt was seen to isolate requests: canaries will decide whether any step counts", f.preset.resetHint)
	}
}

// saltWorks is the test of protocol.md section 3.1: a prompt of at least four blocks with salt X twice, the second
// reports > 0; then with salt Y it reports 0, locally and externally. Nonces must also have equal token counts.
func (f *flight) saltWorks(ctx context.Context, kind string) (bool, string) {
	x, y := newSalt(kind, f.nonce, kind, "x"), newSalt(kind, f.nonce, kind, "y")
	text := f.words(kind, f.cfg.canaryWords())
	first, again := f.twice(ctx, text, x)
	other := f.ask(ctx, f.cfg.BaseURL, text, y, 1)
	if n, m := first.PromptTokens(), other.PromptTokens(); n != nil && m != nil && *n != *m {
		return false, fmt.Sprintf("two salts give %d and %d prompt tokens", *n, *m)
	}
	if again.CachedTokens() == nil && f.report.TTFTCanaryMS != nil {
		return f.saltTimes(first, again, other)
	}
	hit, left, external := again.CachedTokens(), other.CachedTokens(), other.ExternalCachedTokens()
	switch {
	case hit == nil || *hit == 0:
		return false, "no reuse is reported under one salt, so nothing can be said about two"
	case external != nil && *external > 0:
		return false, fmt.Sprintf("an external tier ignores it: %d tokens were reused under another salt", *external)
	case left != nil && (*left > *hit/2 || *left > 0 && kind == SaltField): // ahead of a nonce the chat template stays shared
		return false, fmt.Sprintf("the engine ignores it: %d tokens were reused under another salt", *left)
	}
	return true, fmt.Sprintf("%d tokens reused under one salt, %d under another", *hit, value(left))
}

// saltTimes judges the same three requests by time.
func (f *flight) saltTimes(first, again, other sembench.Observation) (bool, string) {
	limit := *f.report.TTFTCanaryMS
	a, b, c := reuseTime(first), reuseTime(again), reuseTime(other)
	switch {
	case a == nil || b == nil || c == nil || *a < limit || *b >= limit:
		return false, "TTFT shows no reuse under one salt, so nothing can be said about two"
	case *c < limit:
		return false, fmt.Sprintf("the engine ignores it: TTFT %.1f ms under another salt, %.1f ms for a new prompt", *c, *a)
	}
	return true, fmt.Sprintf("TTFT %.1f ms under one salt, %.1f ms under another", *b, *c)
}
