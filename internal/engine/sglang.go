package engine

import (
	"bytes"
	"math"
	"strings"

	"sembench"
)

// sglangText gathers SGLang's batch lines and its fuzzy backend (sgl-project/sglang PR 31057).
type sglangText struct {
	decode, damaged int
	newSeqs         map[int]int // by rank
	newTokens       map[int]int
	pending         *int
	rate            *float64
	rateRank        int
	fuzzySeen       bool // any line of the fuzzy backend
	provider        string
	misses          int
	successLines    int
	failures        int
	skips           map[string]int
}

// bracketMessage reads messages that begin with a bracket: SGLang's fuzzy tags, SemBlend's, LMCache's.
func (c *collector) bracketMessage(r *record) bool {
	switch {
	case bytes.HasPrefix(r.msg, []byte("[FUZZY RADIX] ")):
		return c.fuzzyMessage(r, r.msg[len("[FUZZY RADIX] "):])
	case bytes.HasPrefix(r.msg, []byte("[FUZZY] ")):
		return c.fuzzyMessage(r, r.msg[len("[FUZZY] "):])
	case bytes.HasPrefix(r.msg, []byte("[SemBlend] ")):
		return c.semblendMessage(r)
	case bytes.HasPrefix(r.msg, []byte("[req_id=")):
		return c.taggedLMCache(r)
	}
	return false
}

// sglangMessage reads untagged SGLang messages.
func (c *collector) sglangMessage(r *record) bool {
	switch {
	case bytes.HasPrefix(r.msg, []byte("Prefill batch")):
		return c.prefillLine(r)
	case bytes.HasPrefix(r.msg, []byte("Decode batch")):
		c.saw("sglang_batch")
		c.sglang.decode++
		return true
	}
	return c.fuzzyMessage(r, r.msg)
}

// prefillLine parses the "key: value" pairs of a Prefill line. Without a clean #cached-token the line is
// torn (several processes write to one stream), and nothing of it counts.
func (c *collector) prefillLine(r *record) bool {
	s := &c.sglang
	pairs := map[string][]byte{}
	for _, part := range bytes.Split(r.msg, []byte(", ")) {
		if dot := bytes.Index(part, []byte(". #")); dot >= 0 { // 2024: "Prefill batch. #new-seq: 1"
			part = part[dot+2:]
		}
		if k, v, ok := bytes.Cut(part, []byte(": ")); ok {
			pairs[string(k)] = v
		}
	}
	read := func(key string) (int, bool) {
		v := bytes.TrimRight(pairs[key], ", ")
		n, rest, ok := parseCount(v)
		return n, ok && len(rest) == 0
	}
	cached, okCached := read("#cached-token")
	fresh, okFresh := read("#new-token")
	if !okCached || !okFresh {
		s.damaged++
		return c.torn()
	}
	c.saw("sglang_batch")
	if s.newTokens == nil {
		s.newSeqs, s.newTokens = map[int]int{}, map[int]int{}
	}
	c.ledger.none.tally(kindPrefill, r.rank, cached)
	s.newTokens[r.rank] += fresh
	if n, ok := read("#new-seq"); ok {
		s.newSeqs[r.rank] += n
	}
	if n, ok := read("#fuzzy-token"); ok {
		s.fuzzySeen = true
		c.ledger.none.tally(kindFuzzyPrefill, r.rank, n)
	}
	if n, ok := read("#pending-token"); ok {
		s.pending = &n
	}
	if v, ok := bytes.CutSuffix(pairs["cache hit rate"], []byte("%")); ok {
		if f, rest, ok := parseFloat(v); ok && len(rest) == 0 && f <= 100 {
			s.rate, s.rateRank = ptr(f/100), r.rank
		}
	}
	return true
}

// fuzzyMessage reads the fuzzy backend's messages; the bracket tag is optional.
func (c *collector) fuzzyMessage(r *record, msg []byte) bool {
	var taken bool
	switch msg[0] {
	case 'r':
		taken = c.fuzzyDonor(r, msg) || c.fuzzySkip(msg, "realized_locs missing")
	case 'R':
		taken = c.realized(r, msg)
	case 'f', 'F':
		taken = c.fuzzySuccess(r, msg) || c.fuzzyStart(msg) || c.genericFuzzyHit(r, msg) || c.fuzzySkip(msg, "fuzzy realization disabled")
	case 's', 'S':
		taken = c.segment(r, msg) || c.genericFuzzyHit(r, msg) ||
			c.fuzzySkip(msg, "segment without donor_kv_indices") || c.fuzzySkip(msg, "segment correction ran out of realized_locs")
	case 'd', 'p', 'c', 'n':
		taken = c.fuzzyDrop(r, msg)
	case 'm':
		taken = bytes.HasPrefix(msg, []byte("match_prefix:"))
	}
	if taken {
		c.sglang.fuzzySeen = true
		c.saw("sglang_fuzzy")
	}
	return taken
}

func (c *collector) fuzzyStart(msg []byte) bool {
	rest, ok := bytes.CutPrefix(msg, []byte("Fuzzy matching initialized: "))
	if !ok {
		return false
	}
	if v, ok := field(rest, "provider"); ok {
		c.sglang.provider = clip(v)
	}
	return true
}

func (c *collector) fuzzyDonor(r *record, msg []byte) bool {
	for _, head := range []string{"register_donor_async: ok", "register_donor: ok"} {
		if !bytes.HasPrefix(msg, []byte(head)) {
			continue
		}
		id, _ := field(msg, "request_id")
		tokens, ok := fieldCount(msg, "tokens")
		if !ok {
			return c.torn()
		}
		c.ledger.get(id).tally(kindDonor, r.rank, tokens)
		if c.keep("donor_registered") {
			c.event(r, "donor_registered", map[string]any{"request_id": clip(id), "tokens": tokens})
		}
		return true
	}
	if bytes.HasPrefix(msg, []byte("register_donor")) && bytes.Contains(msg, []byte(" failed")) {
		c.sglang.failures++
		return true
	}
	return false
}

// fuzzySuccess reads "fuzzy match success:", old and new. It is printed before validation: a later drop
// takes it back.
func (c *collector) fuzzySuccess(r *record, msg []byte) bool {
	if len(msg) < 20 || !strings.EqualFold(string(msg[:20]), "fuzzy match success:") {
		return false
	}
	tokens, ok := fieldCount(msg, "cached")
	if !ok {
		return c.torn()
	}
	id, _ := field(msg, "rid")
	c.sglang.successLines++
	c.ledger.get(id).tally(kindHit, r.rank, tokens)
	if !c.keep("semantic_hits") {
		return true
	}
	e := map[string]any{"tokens": tokens}
	if len(id) > 0 {
		e["request_id"] = clip(id)
	}
	for _, key := range []string{"quality_cosine", "cosine"} {
		if f, ok := fieldFloat(msg, key); ok {
			e["similarity"] = f
		}
	}
	if f, ok := fieldFloat(msg, "reuse"); ok {
		e["reuse_ratio"] = f
	}
	if v, ok := field(msg, "tier"); ok {
		e["tier"] = clip(v)
	}
	c.event(r, "semantic_hits", e)
	return true
}

// genericFuzzyHit reads "(semantic|fuzzy) … (hit|matched) … (similarity|score)= … tokens=", another
// component's wording of the same proposal.
func (c *collector) genericFuzzyHit(r *record, msg []byte) bool {
	low := bytes.ToLower(msg[:min(len(msg), 600)])
	if !bytes.HasPrefix(low, []byte("semantic")) && !bytes.HasPrefix(low, []byte("fuzzy")) {
		return false
	}
	if !bytes.Contains(low, []byte("hit")) && !bytes.Contains(low, []byte("matched")) {
		return false
	}
	similarity, ok := fieldFloat(low, "similarity")
	if !ok {
		similarity, ok = fieldFloat(low, "score")
	}
	if !ok {
		return false
	}
	for _, key := range []string{"tokens", "matched_tokens", "reused_tokens"} {
		tokens, ok := fieldCount(low, key)
		if !ok {
			continue
		}
		c.ledger.none.tally(kindHitOther, r.rank, tokens)
		if c.keep("semantic_hits") {
			c.event(r, "semantic_hits", map[string]any{"tokens": tokens, "similarity": similarity})
		}
		return true
	}
	return false
}

// fuzzyDrop reads what takes a success back, shrinks it, or says that there was none.
func (c *collector) fuzzyDrop(r *record, msg []byte) bool {
	switch {
	case bytes.HasPrefix(msg, []byte("dropping fuzzy match")), bytes.HasPrefix(msg, []byte("dropping position-aligned fuzzy match")),
		bytes.HasPrefix(msg, []byte("provider returned ")) && bytes.Contains(msg, []byte("falling back to exact-only")),
		bytes.HasPrefix(msg, []byte("no pool capacity for ")):
		id, _ := field(msg, "rid")
		id = bytes.TrimRight(id, ":;")
		c.ledger.get(id).tally(kindDrop, r.rank, 0)
		if c.keep("hits_dropped") {
			c.event(r, "hits_dropped", map[string]any{"request_id": clip(id), "reason": clip(msg)})
		}
	case bytes.HasPrefix(msg, []byte("no fuzzy match:")):
		c.sglang.misses++
	case bytes.HasPrefix(msg, []byte("clamping fuzzy match")):
	case bytes.HasPrefix(msg, []byte("provider match failed")), bytes.HasPrefix(msg, []byte("donor registration failed")):
		c.sglang.failures++
		c.faults.warnings.add(r.text)
	default:
		return false
	}
	return true
}

func (c *collector) fuzzySkip(msg []byte, marker string) bool {
	if !bytes.HasPrefix(msg, []byte(marker)) {
		return false
	}
	if c.sglang.skips == nil {
		c.sglang.skips = map[string]int{}
	}
	c.sglang.skips[marker]++
	return true
}

// realized reads "Realized N fuzzy tokens[ (contiguous)…| (K segments)]". It names no request and comes
// once per rank. The segments form sums up segmented phases logged before it.
func (c *collector) realized(r *record, msg []byte) bool {
	rest, ok := bytes.CutPrefix(msg, []byte("Realized "))
	if !ok {
		return false
	}
	n, rest, ok := parseCount(rest)
	if !ok || !bytes.HasPrefix(rest, []byte(" fuzzy tokens")) {
		return c.torn()
	}
	k := kindMaterialized
	if i := bytes.Index(rest, []byte(" segments)")); i >= 0 && bytes.HasPrefix(rest, []byte(" fuzzy tokens (")) {
		k = kindSegmentRealized
	}
	c.ledger.none.tally(k, r.rank, n)
	if c.keep("materialized") {
		c.event(r, "materialized", map[string]any{"tokens": n, "segments": k == kindSegmentRealized})
	}
	return true
}

// segment reads "segmented prefill realized donor phase: … donor_tokens=N target=[a,b) … direct_paged_kv=".
func (c *collector) segment(r *record, msg []byte) bool {
	if !bytes.HasPrefix(msg, []byte("segmented prefill realized donor phase:")) {
		return false
	}
	n, ok := fieldCount(msg, "donor_tokens")
	if !ok {
		return c.torn()
	}
	id, _ := field(msg, "rid")
	c.ledger.get(id).tally(kindSegment, r.rank, n)
	if c.keep("segmented_phases") {
		e := map[string]any{"tokens": n}
		if i := bytes.Index(msg, []byte("target=[")); i >= 0 {
			if a, rest, ok := parseCount(msg[i+len("target=["):]); ok {
				e["target_start"] = a
				if b, _, ok := parseCount(bytes.TrimLeft(rest, ", ")); ok {
					e["target_end"] = b
				}
			}
		}
		if v, ok := field(msg, "direct_paged_kv"); ok {
			e["direct_paged_kv"] = clip(v)
		}
		c.event(r, "segmented_phases", e)
	}
	return true
}

// prefill sums the Prefill lines: one rank's total per group. The 2024 rate is cumulative since start,
// so it must equal the sums as far as it is printed.
func (c *collector) prefill() *sembench.PrefillStats {
	s := &c.sglang
	f := c.ledger.none.fold(kindPrefill, c.ranks.names)
	if f.lines == 0 && s.damaged == 0 {
		return nil
	}
	p := &sembench.PrefillStats{
		Lines: f.events, DecodeLines: s.decode, DamagedLines: s.damaged,
		CachedTokens: f.tokens, PendingTokensLast: s.pending, LastHitRate: s.rate,
	}
	p.NewTokens, p.NewSeqs = c.perGroup(s.newTokens), c.perGroup(s.newSeqs)
	if z := c.ledger.none.fold(kindFuzzyPrefill, c.ranks.names); z.lines > 0 {
		p.FuzzyTokens = &z.tokens
	}
	if s.rate != nil && len(f.ranks) == 1 {
		// Printed with two decimals of a percent.
		own := float64(p.CachedTokens) / math.Max(1, float64(p.CachedTokens+p.NewTokens))
		p.HitRateConsistent = ptr(math.Abs(own-*s.rate) <= 0.5e-4+1e-9)
	}
	return p
}

// perGroup is the maximum over ranks of a group, summed over groups.
func (c *collector) perGroup(byRank map[int]int) int {
	groups := map[string]int{}
	for rank, n := range byRank {
		g := c.ranks.names[rank].group
		groups[g] = max(groups[g], n)
	}
	sum := 0
	for _, n := range groups {
		sum += n
	}
	return sum
}

// exactProvider says whether SGLang's fuzzy provider matches identical tokens only, at another position.
func (s *sglangText) exactProvider() bool {
	p := strings.ToLower(s.provider)
	return strings.Contains(p, "exacthash") || strings.Contains(p, "exact_hash") ||
		strings.Contains(p, "tokenblock") || strings.Contains(p, "token_block")
}
