package engine

import (
	"bytes"

	"sembench"
)

// routerText gathers Dynamo: the router's estimates, which prove nothing, and KVBM's per-request tiers,
// which are real evidence of exact reuse.
type routerText struct {
	seen   *sembench.RouterSeen
	kvbm   int
	isl    int
	tiers  map[string]int
	broken int // tiers and prefilled tokens that do not sum to the prompt
}

// routerMessage reads "Formula for W with C cached blocks: …", "Selected worker: W, …, cached blocks: C, …",
// "Worker ID: N with estimated prefix hit rate: x" and KVBM's "request complete isl: …".
func (c *collector) routerMessage(r *record) bool {
	msg := r.msg
	switch {
	case bytes.HasPrefix(msg, []byte("Formula for ")) && bytes.Contains(msg, []byte(" cached blocks: ")):
		c.estimate()
	case bytes.HasPrefix(msg, []byte("Selected worker: ")):
		e := c.estimate()
		e.Selections++
		if n, ok := countAfter(msg, "cached blocks: "); ok {
			e.CachedBlocks += n
		}
	case bytes.HasPrefix(msg, []byte("Worker ID: ")) && bytes.Contains(msg, []byte("estimated prefix hit rate")):
		c.estimate()
	case bytes.HasPrefix(msg, []byte("request complete isl: ")):
		return c.kvbmLine(msg)
	default:
		return false
	}
	return true
}

func (c *collector) estimate() *sembench.RouterSeen {
	c.saw("router_estimates")
	if c.router.seen == nil {
		c.router.seen = &sembench.RouterSeen{}
	}
	c.router.seen.Lines++
	return c.router.seen
}

// kvbmLine reads "request complete isl: N - cache hits: device: a, host: b, disk: c - prefilled: d".
func (c *collector) kvbmLine(msg []byte) bool {
	isl, ok := countAfter(msg, "isl: ")
	filled, okFilled := countAfter(msg, "prefilled: ")
	if !ok || !okFilled {
		return c.torn()
	}
	sum := filled
	found := map[string]int{}
	for _, tier := range []string{"device", "host", "disk"} {
		n, ok := countAfter(msg, tier+": ")
		if !ok {
			return c.torn()
		}
		found[tier] = n
		sum += n
	}
	c.saw("kvbm")
	t := &c.router
	t.kvbm++
	t.isl += isl
	if sum != isl {
		t.broken++
	}
	if t.tiers == nil {
		t.tiers = map[string]int{}
	}
	for tier, n := range found {
		t.tiers[tier] += n
	}
	if c.keep("kvbm_requests") {
		e := map[string]any{"isl": isl, "prefilled": filled}
		for tier, n := range found {
			e[tier] = n
		}
		if id, ok := field(msg, "request_id"); ok {
			e["request_id"] = clip(bytes.Trim(id, `"`))
		}
		c.event(nil, "kvbm_requests", e)
	}
	return true
}
