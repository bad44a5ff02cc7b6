package engine

import (
	"sembench"
)

// exactReuse picks the file's best account of exact reuse: per-request lookups before sums of batch lines
// before counters. Rolling rates are not turned into tokens.
func (c *collector) exactReuse(ev *sembench.Evidence) {
	if ev.ExactReuse == nil {
		switch {
		case ev.LMCache != nil:
			ev.ExactReuse = c.lmcacheReuse(ev.LMCache)
		case c.router.kvbm > 0:
			ev.ExactReuse = c.kvbmReuse()
		case ev.Prefill != nil && ev.Prefill.Lines > 0:
			p := ev.Prefill
			total := p.CachedTokens + p.NewTokens + deref(p.FuzzyTokens)
			ev.ExactReuse = &sembench.ExactReuse{
				LocalTokens: &p.CachedTokens, QueriedTokens: &total, Ratio: ratio(p.CachedTokens, total),
				Basis: "cached over cached + new + fuzzy tokens of prefill batches", Source: "sglang_prefill",
			}
		case ev.KVCacheStats != nil:
			ev.ExactReuse = &sembench.ExactReuse{
				Ratio: ev.KVCacheStats.CacheHitRate, Basis: "reused over reused + missed blocks, cumulative", Source: "trtllm_iterations",
			}
		case c.slots.ollama+c.slots.llama > 0:
			s := &c.slots
			ev.ExactReuse = &sembench.ExactReuse{
				LocalTokens: &s.used, QueriedTokens: &s.prompt, Ratio: ratio(s.used, s.prompt),
				Basis: "prompt tokens found in the slot", Source: "slot_cache",
			}
		case ev.Usage != nil && ev.Usage.CachedTokens != nil:
			ev.ExactReuse = &sembench.ExactReuse{
				QueriedTokens: &c.usage.with, Ratio: ev.Usage.ExactReuseFraction,
				Basis: "cached_tokens over prompt_tokens, local and external together", Source: "usage",
			}
		}
	}
	if c.lmcache.prefixRate != nil {
		if ev.BlendReuse == nil {
			ev.BlendReuse = &sembench.BlendReuse{Source: "lmcache"}
		}
		ev.BlendReuse.PrefixRate, ev.BlendReuse.NonPrefixRate = c.lmcache.prefixRate, c.lmcache.otherRate
	}
	if lm := ev.LMCache; lm != nil {
		ev.FailedRetrieves = &lm.FailedRetrieves
	}
}

func (c *collector) kvbmReuse() *sembench.ExactReuse {
	t := &c.router
	hit := sum(t.tiers)
	external := t.tiers["host"] + t.tiers["disk"]
	return &sembench.ExactReuse{
		LocalTokens: ptr(t.tiers["device"]), ExternalTokens: &external, QueriedTokens: &t.isl, Ratio: ratio(hit, t.isl),
		Basis: "cache hits over input length per request", Source: "kvbm", Tiers: &t.tiers,
	}
}

// ratio is a over b in [0,1], null when b is not positive or the parts exceed the whole.
func ratio(a, b int) *float64 {
	if b <= 0 || a > b || a < 0 {
		return nil
	}
	return ptr(float64(a) / float64(b))
}
