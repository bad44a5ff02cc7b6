package engine

import (
	"bytes"
)

// semblendText is what the SemBlend vLLM connector and the older in-process integrations print. Every
// worker rank prints its own materialized line; the scheduler alone prints the lookups.
type semblendText struct {
	misses    int
	skips     map[string]int
	rope      int
	provider  string
	connector bool // the connector announced itself
	hidden    bool // the serve arguments name a KV connector
	routed    int
}

// semblendMessage reads messages that begin with a SemBlend marker.
func (c *collector) semblendMessage(r *record) bool {
	msg := r.msg
	if rest, ok := bytes.CutPrefix(msg, []byte("SemBlend ")); ok {
		return c.semblendLine(r, rest)
	}
	if rest, ok := bytes.CutPrefix(msg, []byte("SemBlendVllmConnector initialized ")); ok {
		c.saw("semblend_text")
		c.semblend.connector = true
		if v, ok := field(rest, "provider"); ok {
			c.semblend.provider = clip(v)
		}
		return true
	}
	return c.semblendOld(r, msg)
}

func (c *collector) semblendLine(r *record, msg []byte) bool {
	switch {
	case bytes.HasPrefix(msg, []byte("donor registered ")):
		return c.semblendCount(r, kindDonor, "donor_registered", "tokens", "blocks")
	case bytes.HasPrefix(msg, []byte("semantic lookup hit ")):
		return c.semblendHit(r)
	case bytes.HasPrefix(msg, []byte("semantic lookup miss ")):
		c.saw("semblend_text")
		c.semblend.misses++
	case bytes.HasPrefix(msg, []byte("lookup skipped ")):
		return c.semblendSkip(msg)
	case bytes.HasPrefix(msg, []byte("request-local experimental load advertised ")):
		return c.semblendCount(r, kindAdvert, "advertised_loads", "tokens")
	case bytes.HasPrefix(msg, []byte("materializing ")):
		return c.semblendCount(r, kindMaterializing, "materializing", "tokens")
	case bytes.HasPrefix(msg, []byte("materialized ")):
		return c.semblendCount(r, kindMaterialized, "materialized", "tokens")
	case bytes.HasPrefix(msg, []byte("provider lookup failed")):
		c.saw("semblend_text")
		c.faults.warnings.add(r.text)
	case bytes.HasPrefix(msg, []byte("semantic hit: ")):
		return c.providerHit(r, msg[len("semantic hit: "):])
	case bytes.HasPrefix(msg, []byte("evicted filled blocks ")), bytes.HasPrefix(msg, []byte("left filled blocks ")), bytes.HasPrefix(msg, []byte("capped prefix")):
		c.saw("semblend_text")
	default:
		return false
	}
	return true
}

// semblendCount tallies a line of the shape "… request_id= … tokens=N". A line without either is torn.
func (c *collector) semblendCount(r *record, k kind, name string, counts ...string) bool {
	id, ok := field(r.msg, "request_id")
	tokens, hasTokens := fieldCount(r.msg, counts[0])
	if !ok || !hasTokens {
		return c.torn()
	}
	c.saw("semblend_text")
	c.ledger.get(id).tally(k, r.rank, tokens)
	if !c.keep(name) {
		return true
	}
	e := map[string]any{"request_id": clip(id), "tokens": tokens}
	for _, key := range []string{"donor_id", "namespace"} {
		if v, ok := field(r.msg, key); ok {
			e[key] = clip(v)
		}
	}
	for _, key := range counts[1:] {
		if n, ok := fieldCount(r.msg, key); ok {
			e[key] = n
		}
	}
	c.event(r, name, e)
	return true
}

// semblendHit reads the lookup hit. A kind that begins exact_prefix is exact reuse and no candidate.
func (c *collector) semblendHit(r *record) bool {
	id, ok := field(r.msg, "request_id")
	donor, hasDonor := field(r.msg, "donor_id")
	similarity, hasSimilarity := fieldFloat(r.msg, "similarity")
	tokens, hasTokens := fieldCount(r.msg, "reusable_tokens")
	if !ok || !hasDonor || !hasSimilarity || !hasTokens {
		return c.torn()
	}
	c.saw("semblend_text")
	q := c.ledger.get(id)
	kindOf, _ := field(r.msg, "kind")
	if bytes.HasPrefix(kindOf, []byte("exact_prefix")) {
		q.exact = q != c.ledger.none
		return true
	}
	q.exact = false
	q.tally(kindHit, r.rank, tokens)
	if !c.keep("semantic_hits") {
		return true
	}
	e := map[string]any{
		"request_id": clip(id), "donor_id": clip(donor), "similarity": similarity,
		"kind": clip(kindOf), "reusable_tokens": tokens,
	}
	if v, ok := field(r.msg, "reason"); ok {
		e["reason"] = clip(v)
	}
	if f, ok := fieldFloat(r.msg, "latency_ms"); ok {
		e["latency_ms"] = f
	}
	c.event(r, "semantic_hits", e)
	return true
}

func (c *collector) semblendSkip(msg []byte) bool {
	reason, ok := field(msg, "reason")
	if !ok {
		return c.torn()
	}
	c.saw("semblend_text")
	c.skip(clip(reason))
	return true
}

// maxReasons bounds the distinct reasons kept; the emitters know about a dozen.
const maxReasons = 200

func (c *collector) skip(reason string) {
	if c.semblend.skips == nil {
		c.semblend.skips = map[string]int{}
	}
	if _, ok := c.semblend.skips[reason]; !ok && len(c.semblend.skips) >= maxReasons {
		reason = "other"
	}
	c.semblend.skips[reason]++
}

// providerHit reads "SemBlend semantic hit: …" of the SGLang, TensorRT-LLM and Dynamo integrations.
// Dynamo's says where a request was routed, not that a donor was found on that worker.
func (c *collector) providerHit(r *record, msg []byte) bool {
	c.saw("semblend_text")
	if bytes.Contains(msg, []byte("donor_overlap=")) {
		c.semblend.routed++
		return true
	}
	e := map[string]any{}
	if sim, ok := fieldFloat(msg, "sim"); ok {
		e["similarity"] = sim
	}
	if donor, ok := field(msg, "donor"); ok {
		e["donor_id"] = clip(donor)
	}
	tokens := 0
	if _, to, ok := bytes.Cut(msg, []byte(" -> ")); ok {
		tokens, _, _ = parseCount(to)
		e["tokens"] = tokens
	}
	c.ledger.none.tally(kindHitOther, r.rank, tokens)
	if c.keep("semantic_hits") {
		c.event(r, "semantic_hits", e)
	}
	return true
}

// semblendOld reads the semblend 0.3.x integration in vLLM with LMCache. Its lines propose and correct
// donors; none says that donor KV was written, so none counts as materialization.
func (c *collector) semblendOld(r *record, msg []byte) bool {
	msg, tagged := bytes.CutPrefix(msg, []byte("[SemBlend] "))
	switch {
	case tagged && bytes.HasPrefix(msg, []byte("HIT ")):
		id, ok := field(msg, "req")
		if !ok {
			return c.torn()
		}
		c.ledger.get(id).tally(kindHit, r.rank, 0)
		if c.keep("semantic_hits") {
			e := map[string]any{"request_id": clip(id)}
			if donor, ok := field(msg, "donor"); ok {
				e["donor_id"] = clip(donor)
			}
			if sim, ok := fieldFloat(msg, "sim"); ok {
				e["similarity"] = sim
			}
			c.event(r, "semantic_hits", e)
		}
	case tagged && bytes.HasPrefix(msg, []byte("MISS ")):
		c.semblend.misses++
		if reason, ok := field(msg, "reason"); ok {
			c.skip("miss:" + clip(reason))
		}
	case bytes.HasPrefix(msg, []byte("donor hit=")):
		id, ok := field(msg, "req")
		tokens, okTokens := fieldCount(msg, "hit")
		if !ok || !okTokens {
			return c.torn()
		}
		c.ledger.get(id).tally(kindHitOther, r.rank, tokens)
	case tagged && bytes.HasPrefix(msg, []byte("COMPOSITE HIT")):
		c.ledger.none.tally(kindHitOther, r.rank, 0)
	case bytes.HasPrefix(msg, []byte("RoPE APPLIED:")), bytes.HasPrefix(msg, []byte("RoPE correction applied:")):
		c.semblend.rope++
	case bytes.HasPrefix(msg, []byte("Semantic hit: donor=")):
		return c.providerHit(r, msg[len("Semantic hit: "):])
	case tagged && bytes.HasPrefix(msg, []byte("registered donor req=")):
		id, _ := field(msg, "req")
		c.ledger.get(id).tally(kindDonor, r.rank, 0)
	case tagged && bytes.HasPrefix(msg, []byte("LOAD ERRORS")):
		c.faults.errors.add(r.text)
	case tagged:
	default:
		return false
	}
	c.saw("semblend_text")
	return true
}
