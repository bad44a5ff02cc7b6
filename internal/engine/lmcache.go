package engine

import (
	"bytes"

	"sembench"
)

// lookup is the last lookup line of one request; lookups repeat while a request waits or is preempted.
type lookup struct {
	total, hit int
	need       *int // as logged; may be negative
	computed   *int
}

// lmcacheText gathers LMCache's lines. All of it is exact reuse.
type lmcacheText struct {
	lookupLines, pending  int
	retrieveLines         int
	storeTotal            *int
	prefetchLines         int
	prefetches            []sembench.LMCachePrefetch
	prefixRate, otherRate *float64
	seen                  bool
}

// lmcacheMessage reads a message that begins with an LMCache marker. Matching is case-insensitive in the
// first word only as far as old builds differ.
func (c *collector) lmcacheMessage(r *record) bool {
	msg := r.msg
	switch msg[0] {
	case 'R':
		switch {
		case bytes.HasPrefix(msg, []byte("Retrieved ")):
			return c.retrieved(r, msg[len("Retrieved "):], nil)
		case bytes.HasPrefix(msg, []byte("Reusing ")):
			return c.retrieved(r, msg[len("Reusing "):], nil)
		case bytes.HasPrefix(msg, []byte("Reqid: ")):
			return c.lookupLine(msg)
		}
	case 'S':
		switch {
		case bytes.HasPrefix(msg, []byte("Stored ")):
			return c.stored(r, msg[len("Stored "):], nil)
		case bytes.HasPrefix(msg, []byte("Storing KV cache for ")):
			return c.storeStart(r, msg[len("Storing KV cache for "):])
		case bytes.HasPrefix(msg, []byte("Storing ")):
			return c.stored(r, msg[len("Storing "):], nil)
		case bytes.HasPrefix(msg, []byte("Stored/updated ")):
			return c.storedChunkLine(r, msg[len("Stored/updated "):])
		}
	case 'H':
		if rest, ok := bytes.CutPrefix(msg, []byte("Hybrid lookup: ")); ok {
			return c.lookupLine(rest)
		}
	case 'P':
		if rest, ok := bytes.CutPrefix(msg, []byte("Prefetch request completed")); ok {
			return c.prefetch(rest)
		}
	case 'T':
		if bytes.HasPrefix(msg, []byte("The number of retrieved tokens is less than")) {
			c.sawLMCache()
			c.ledger.none.tally(kindRetrieveFailed, r.rank, 0)
			return true
		}
		if bytes.HasPrefix(msg, []byte("Total tokens ")) {
			return c.genericHit(r, msg)
		}
	case 'I':
		if rest, ok := bytes.CutPrefix(msg, []byte("Injected token number: ")); ok {
			n, _, ok := parseCount(rest)
			if !ok {
				return c.torn()
			}
			c.sawLMCache()
			c.ledger.none.tally(kindInjected, r.rank, n)
			return true
		}
	case 'l':
		if bytes.HasPrefix(msg, []byte("lookup hit rate (over ")) {
			return c.lookupRates(msg)
		}
		if bytes.HasPrefix(msg, []byte("lookup hit")) {
			return c.genericHit(r, msg)
		}
	case 'L':
		if bytes.HasPrefix(msg, []byte("LMCache hit")) || bytes.HasPrefix(msg, []byte("LMCache cache hit")) {
			return c.genericHit(r, msg)
		}
	case 'c', 'C':
		if bytes.HasPrefix(msg[1:], []byte("ache hit")) {
			return c.genericHit(r, msg)
		}
	case 'r', 's':
		low := append([]byte{msg[0] &^ 0x20}, msg[1:]...)
		for _, m := range []string{"Retrieved ", "Reusing ", "Stored ", "Storing "} {
			if bytes.HasPrefix(low, []byte(m)) {
				up := *r
				up.msg = low
				return c.lmcacheMessage(&up)
			}
		}
	}
	return false
}

func (c *collector) sawLMCache() {
	c.lmcache.seen = true
	c.saw("lmcache")
}

// taggedLMCache reads "[req_id=R] Stored …" and "[req_id=R] Retrieved …".
func (c *collector) taggedLMCache(r *record) bool {
	i := bytes.IndexByte(r.msg, ']')
	if i < 0 {
		return c.torn()
	}
	id := r.msg[len("[req_id="):i]
	rest := trimLeft(r.msg[i+1:])
	if tail, ok := bytes.CutPrefix(rest, []byte("Retrieved ")); ok {
		return c.retrieved(r, tail, id)
	}
	if tail, ok := bytes.CutPrefix(rest, []byte("Stored ")); ok {
		return c.stored(r, tail, id)
	}
	return false
}

// lookupLine reads "Reqid: R, Total tokens T[, Inference Engine computed tokens: C], LMCache hit tokens: H,
// need to load: L". "None" hit tokens are a lookup still pending, not a miss.
func (c *collector) lookupLine(msg []byte) bool {
	rest, ok := bytes.CutPrefix(msg, []byte("Reqid: "))
	if !ok {
		return false
	}
	id, rest, ok := bytes.Cut(rest, []byte(", "))
	if !ok {
		return c.torn()
	}
	if bytes.Contains(rest, []byte("LMCache hit tokens: None")) {
		c.sawLMCache()
		c.lmcache.lookupLines++
		c.lmcache.pending++
		return true
	}
	var l lookup
	var okTotal, okHit bool
	l.total, okTotal = countAfter(rest, "Total tokens ")
	l.hit, okHit = countAfter(rest, "LMCache hit tokens: ")
	if !okTotal || !okHit {
		return c.torn()
	}
	if n, ok := countAfter(rest, "computed tokens: "); ok {
		l.computed = &n
	}
	if i := bytes.Index(rest, []byte("need to load: ")); i >= 0 {
		n, _, ok := parseSigned(rest[i+len("need to load: "):])
		if !ok {
			return c.torn()
		}
		l.need = &n
	}
	c.sawLMCache()
	c.lmcache.lookupLines++
	if q := c.ledger.get(id); q != c.ledger.none {
		q.lookup = &l
	}
	return true
}

// countAfter is the whole number right behind a label.
func countAfter(b []byte, label string) (int, bool) {
	i := bytes.Index(b, []byte(label))
	if i < 0 {
		return 0, false
	}
	n, _, ok := parseCount(b[i+len(label):])
	return n, ok
}

// retrieved reads what follows "Retrieved " or "Reusing ":
//
//	N out of Q required tokens (from T total tokens)   since autumn 2025
//	N out of Q out of total T tokens                   mid 2025, layerwise, blend
//	N out of [total ]T tokens, N / T tokens, N tokens  2024, 2025
//	N tokens in S seconds                              multi-process server
//	K chunks (N tokens in total), 0 chunks             v0.1
func (c *collector) retrieved(r *record, b []byte, id []byte) bool {
	n, rest, ok := parseCount(b)
	if !ok {
		return c.torn()
	}
	if tail, is := bytes.CutPrefix(rest, []byte(" chunks")); is {
		c.sawLMCache()
		c.ledger.get(id).tally(kindChunks, r.rank, n)
		tokens, _ := countAfter(tail, "(")
		return c.countRetrieve(r, id, tokens)
	}
	var required, total *int
	if m, tail, ok := outOf(rest); ok {
		rest = tail
		required = &m
		if m, tail, ok := outOf(rest); ok {
			rest, total = tail, ptr(m)
		}
	}
	rest = bytes.TrimPrefix(trimLeft(rest), []byte("required "))
	if !bytes.HasPrefix(trimLeft(rest), []byte("token")) {
		return c.notOurs(r)
	}
	if m, ok := countAfter(rest, "(from "); ok {
		total = &m
	}
	c.sawLMCache()
	if required != nil {
		c.ledger.get(id).tally(kindRequired, r.rank, *required)
	}
	if total != nil {
		c.ledger.get(id).tally(kindTotal, r.rank, *total)
	}
	return c.countRetrieve(r, id, n)
}

// notOurs refuses a line that only began alike; inside an LMCache record it is damage.
func (c *collector) notOurs(r *record) bool {
	if r.logger == loggerLMCache {
		return c.torn()
	}
	return false
}

func (c *collector) countRetrieve(r *record, id []byte, tokens int) bool {
	c.lmcache.retrieveLines++
	k := kindRetrieved
	if tokens == 0 {
		k = kindEmptyRetrieve
	}
	c.ledger.get(id).tally(k, r.rank, tokens)
	if c.keep("retrieved") {
		e := map[string]any{"tokens": tokens}
		if len(id) > 0 {
			e["request_id"] = clip(id)
		}
		c.event(r, "retrieved", e)
	}
	return true
}

// outOf reads " out of [total ]M" or " / M".
func outOf(b []byte) (int, []byte, bool) {
	for _, sep := range []string{" out of total ", " out of ", " / ", "/"} {
		if rest, ok := bytes.CutPrefix(b, []byte(sep)); ok {
			n, rest, ok := parseCount(rest)
			return n, rest, ok
		}
	}
	return 0, b, false
}

// stored reads what follows "Stored " or a bare "Storing ": N [out of total M] [new|XPU] tokens.
func (c *collector) stored(r *record, b []byte, id []byte) bool {
	n, rest, ok := parseCount(b)
	if !ok {
		return c.notOurs(r)
	}
	if _, tail, ok := outOf(rest); ok {
		rest = tail
	}
	rest = trimLeft(rest)
	for _, word := range []string{"new ", "XPU "} {
		rest = bytes.TrimPrefix(rest, []byte(word))
	}
	if !bytes.HasPrefix(rest, []byte("token")) {
		return c.notOurs(r)
	}
	c.sawLMCache()
	c.ledger.get(id).tally(kindStored, r.rank, n)
	return true
}

func (c *collector) storedChunkLine(r *record, b []byte) bool {
	n, _, ok := parseCount(b)
	if !ok {
		return c.torn()
	}
	c.sawLMCache()
	c.ledger.none.tally(kindStoredChunks, r.rank, n)
	return true
}

// storeStart reads "N out of M tokens [(skip_leading_tokens=K)] for request R": an intent, one per
// chunked-prefill step and rank.
func (c *collector) storeStart(r *record, b []byte) bool {
	n, rest, ok := parseCount(b)
	m, rest, okTotal := outOf(rest)
	i := bytes.LastIndex(rest, []byte("for request "))
	if !ok || !okTotal || i < 0 {
		return c.torn()
	}
	id := rest[i+len("for request "):]
	if end := bytes.IndexByte(id, ' '); end >= 0 {
		id = id[:end]
	}
	c.sawLMCache()
	c.ledger.get(id).tally(kindStoreStart, r.rank, n)
	c.lmcache.storeTotal = &m
	return true
}

// prefetch reads the multi-process server's "(L1+L2): a/b retained keys (x L1, y L2) in t ms
// (external_request_id=R, …)".
func (c *collector) prefetch(b []byte) bool {
	_, rest, ok := bytes.Cut(b, []byte(": "))
	a, rest, okA := parseCount(rest)
	total, rest, okB := outOf(rest)
	if !ok || !okA || !okB {
		return c.torn()
	}
	c.sawLMCache()
	p := sembench.LMCachePrefetch{RetainedKeys: a, TotalKeys: total}
	if i := bytes.IndexByte(rest, '('); i >= 0 {
		tail := rest[i+1:]
		p.L1, tail, _ = parseCount(tail)
		if j := bytes.Index(tail, []byte(", ")); j >= 0 {
			p.L2, _, _ = parseCount(tail[j+2:])
		}
	}
	if id, ok := field(rest, "external_request_id"); ok {
		p.RequestID = clip(id)
		forms := IDForms(p.RequestID)
		p.ClientRequestID = forms[len(forms)-1]
	}
	c.lmcache.prefetchLines++
	if len(c.lmcache.prefetches) < c.opts.MaxEvents {
		c.lmcache.prefetches = append(c.lmcache.prefetches, p)
	}
	return true
}

// genericHit reads older builds' "[Total tokens T, Inference Engine computed tokens: C, ]… cache hit …
// tokens: H".
func (c *collector) genericHit(r *record, msg []byte) bool {
	low := bytes.ToLower(msg[:min(len(msg), 400)])
	i := bytes.Index(low, []byte(" hit"))
	if i < 0 {
		return false
	}
	j := bytes.LastIndex(low[i:], []byte("tokens"))
	if j < 0 {
		return false
	}
	rest := bytes.TrimLeft(low[i+j+len("tokens"):], " =:")
	n, _, ok := parseCount(rest)
	if !ok {
		return false
	}
	c.sawLMCache()
	c.ledger.none.tally(kindLMCHit, r.rank, n)
	return true
}

// lookupRates reads "lookup hit rate (over N lookup(s)): prefix=X% non_prefix=Y%"; the second is blend.
func (c *collector) lookupRates(msg []byte) bool {
	p, ok := fieldFloat(msg, "prefix")
	q, okOther := fieldFloat(msg, "non_prefix")
	if !ok || !okOther || p > 100 || q > 100 {
		return c.torn()
	}
	c.sawLMCache()
	c.lmcache.prefixRate, c.lmcache.otherRate = ptr(p/100), ptr(q/100)
	return true
}
