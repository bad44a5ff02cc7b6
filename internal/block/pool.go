package block

// Pool is the donor pool of a request stream (planner.md, section 4): every earlier request of the same
// tenant under a capacity in blocks, least recently used blocks evicted first.
//
// A cached block is a leading run, as in an engine: the same content behind another prefix is another
// block and takes its own room. Because a request touches its blocks tail first, a prefix is never older
// than what follows it, so what is left of any request is always a leading run of its blocks.
//
// A Pool is not safe for concurrent use.
type Pool struct {
	size, capacity int
	tenants        map[string]*tenant
}

// NewPool returns an empty pool of blocks of size tokens holding at most capacity blocks per tenant;
// 0 or less means unbounded.
func NewPool(size, capacity int) *Pool {
	return &Pool{size: size, capacity: max(capacity, 0), tenants: map[string]*tenant{}}
}

// Reset forgets all requests of all tenants.
func (p *Pool) Reset() { clear(p.tenants) }

// Visit evaluates one request against the state before it, then makes it part of the pool: blocks are
// touched tail first, then the least recently used beyond the capacity go (workloads.md, section 5).
// hits has one value per full block (appended to dst[:0]), true when any resident block has the same
// content; prefix is the number of leading blocks that are resident as a prefix.
func (p *Pool) Visit(dst []bool, tenantName string, ids []uint32) (hits []bool, prefix int) {
	t := p.tenants[tenantName]
	if t == nil {
		t = newTenant(p.capacity > 0)
		p.tenants[tenantName] = t
	}
	t.hash(ids, Count(len(ids), p.size), p.size)
	hits, prefix = t.look(dst[:0])
	if p.capacity == 0 {
		t.keep()
		return hits, prefix
	}
	t.touch()
	for t.held() > p.capacity {
		t.evict()
	}
	return hits, prefix
}

// Resident returns how many leading blocks of ids the tenant's pool holds now: what is left of an
// earlier request with these ids. Donor positions from Resident x size on are gone.
func (p *Pool) Resident(tenantName string, ids []uint32) int {
	t := p.tenants[tenantName]
	if t == nil {
		return 0
	}
	t.hash(ids, Count(len(ids), p.size), p.size)
	return t.prefix()
}

// Blocks returns the number of blocks that the tenant's pool holds.
func (p *Pool) Blocks(tenantName string) int {
	if t := p.tenants[tenantName]; t != nil {
		return t.held()
	}
	return 0
}

// tenant is the state of one tenant. keys and chained are the hashes of the request at hand.
type tenant struct {
	content table // content key → number of resident blocks with it
	heads   table // chained key → node
	nodes   []node
	free    uint32 // head of the list of unused nodes, linked by next
	oldest  uint32
	newest  uint32
	keys    []key
	chained []key
	sink    uint64
}

// node is one resident block in the recency list; 0 is the list's end.
type node struct {
	head, content key
	older, newer  uint32
}

func newTenant(bounded bool) *tenant {
	t := &tenant{content: newTable(bounded), heads: newTable(bounded)}
	if bounded {
		t.nodes = make([]node, 1)
	}
	return t
}

func (t *tenant) held() int { return t.heads.used }

func (t *tenant) hash(ids []uint32, n, size int) {
	t.keys, t.chained = t.keys[:0], t.chained[:0]
	prefix := key{}
	for b := range n {
		k := nonzero(of(ids[b*size : (b+1)*size]))
		prefix = chain(prefix, k)
		t.keys = append(t.keys, k)
		t.chained = append(t.chained, nonzero(prefix))
	}
}

func (t *tenant) look(dst []bool) ([]bool, int) {
	for at := 0; at < len(t.keys); at += batch {
		keys := t.keys[at:min(at+batch, len(t.keys))]
		t.sink += t.content.touch(keys)
		for _, k := range keys {
			_, ok := t.content.find(k)
			dst = append(dst, ok)
		}
	}
	return dst, t.prefix()
}

func (t *tenant) prefix() int {
	for b, k := range t.chained {
		if _, ok := t.heads.find(k); !ok {
			return b
		}
	}
	return len(t.chained)
}

// keep adds the request to an unbounded pool, where recency decides nothing.
func (t *tenant) keep() {
	t.content.reserve(len(t.keys))
	t.heads.reserve(len(t.keys))
	for at := 0; at < len(t.keys); at += batch {
		end := min(at+batch, len(t.keys))
		t.sink += t.heads.touch(t.chained[at:end])
		for i := at; i < end; i++ {
			t.content.put(t.keys[i], 0)
			t.heads.put(t.chained[i], 0)
		}
	}
}

// touch makes the request's blocks the newest, tail first, so that its first block is the newest of all.
func (t *tenant) touch() {
	t.content.reserve(len(t.keys))
	t.heads.reserve(len(t.keys))
	for i := len(t.keys) - 1; i >= 0; i-- {
		slot, added := t.heads.put(t.chained[i], 0)
		if !added {
			n := t.heads.vals[slot]
			t.unlink(n)
			t.link(n)
			continue
		}
		n := t.newNode()
		t.nodes[n].head, t.nodes[n].content = t.chained[i], t.keys[i]
		t.heads.vals[slot] = n
		t.link(n)
		slot, _ = t.content.put(t.keys[i], 0)
		t.content.vals[slot]++
	}
}

// evict removes the least recently used block.
func (t *tenant) evict() {
	n := t.oldest
	t.unlink(n)
	t.heads.remove(t.nodes[n].head)
	slot, _ := t.content.find(t.nodes[n].content)
	if t.content.vals[slot]--; t.content.vals[slot] == 0 {
		t.content.remove(t.nodes[n].content)
	}
	t.nodes[n].newer = t.free
	t.free = n
}

func (t *tenant) newNode() uint32 {
	if n := t.free; n != 0 {
		t.free = t.nodes[n].newer
		return n
	}
	t.nodes = append(t.nodes, node{})
	return uint32(len(t.nodes) - 1)
}

func (t *tenant) link(n uint32) {
	t.nodes[n].older, t.nodes[n].newer = t.newest, 0
	if t.newest != 0 {
		t.nodes[t.newest].newer = n
	} else {
		t.oldest = n
	}
	t.newest = n
}

func (t *tenant) unlink(n uint32) {
	older, newer := t.nodes[n].older, t.nodes[n].newer
	if older != 0 {
		t.nodes[older].newer = newer
	} else {
		t.oldest = newer
	}
	if newer != 0 {
		t.nodes[newer].older = older
	} else {
		t.newest = older
	}
}
