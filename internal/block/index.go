package block

import "sort"

// Index is the exact index of contract section 2 over donors that are never evicted: which full blocks
// of a prompt equal any full block of any donor, and how many leading blocks continue one donor from its
// first block on. For a cache with a capacity see [Pool].
//
// It costs about 20 bytes per slot and distinct block, plus 16 per distinct prefix, at a load between 1/3
// and 2/3. An Index is not safe for concurrent use.
type Index struct {
	size    int
	content table // content key → ordinal of its first occurrence
	heads   table // chained keys: one per distinct leading run of any donor
	next    uint32
	donors  []placed
	keys    [batch]key
	chained [batch]key
	sink    uint64
}

// placed says which ordinals a donor's blocks took.
type placed struct {
	first uint32
	id    string
}

// NewIndex returns an empty index of blocks of size tokens. A size below 1 holds no block and matches
// none; callers reject it earlier.
func NewIndex(size int) *Index {
	return &Index{size: size, content: newTable(true), heads: newTable(false)}
}

// Reset forgets all donors and keeps the memory.
func (x *Index) Reset() {
	x.content.clear()
	x.heads.clear()
	x.next = 0
	x.donors = x.donors[:0]
}

// Blocks returns the number of distinct block contents held.
func (x *Index) Blocks() int { return x.content.used }

// Add registers the full blocks of one donor's ids. Adding the same ids again changes no answer.
func (x *Index) Add(donor string, ids []uint32) {
	n := Count(len(ids), x.size)
	if n == 0 {
		return
	}
	x.donors = append(x.donors, placed{first: x.next, id: donor})
	prefix := key{}
	for at := 0; at < n; at += batch {
		keys := x.hash(ids, at, n)
		chained := x.chained[:len(keys)]
		for i, k := range keys {
			prefix = chain(prefix, k)
			chained[i] = nonzero(prefix)
		}
		x.content.reserve(len(keys))
		x.heads.reserve(len(keys))
		x.sink += x.content.touch(keys) + x.heads.touch(chained)
		for i, k := range keys {
			x.content.put(k, x.next+uint32(at+i))
			x.heads.put(chained[i], 0)
		}
	}
	x.next += uint32(n)
}

// Hits returns one value per full block of ids, appended to dst[:0]: true when the block equals any full
// block of any donor, wherever either stands. It is empty when ids hold no full block.
func (x *Index) Hits(dst []bool, ids []uint32) []bool {
	dst = dst[:0]
	n := Count(len(ids), x.size)
	for at := 0; at < n; at += batch {
		keys := x.hash(ids, at, n)
		x.sink += x.content.touch(keys)
		for _, k := range keys {
			_, ok := x.content.find(k)
			dst = append(dst, ok)
		}
	}
	return dst
}

// PrefixBlocks returns how many leading full blocks of ids match one donor from its first block on: the
// maximum over donors, 0 when the first block matches no donor's first block.
func (x *Index) PrefixBlocks(ids []uint32) int {
	n := Count(len(ids), x.size)
	prefix := key{}
	for b := range n {
		prefix = chain(prefix, nonzero(of(ids[b*x.size:(b+1)*x.size])))
		if _, ok := x.heads.find(nonzero(prefix)); !ok {
			return b
		}
	}
	return n
}

// First returns where a block's content was first added: the donor and the block's number in it. ok is
// false when no donor holds it or ids is not exactly one block.
func (x *Index) First(ids []uint32) (donor string, number int, ok bool) {
	if x.size < 1 || len(ids) != x.size {
		return "", 0, false
	}
	slot, ok := x.content.find(nonzero(of(ids)))
	if !ok {
		return "", 0, false
	}
	ordinal := x.content.vals[slot]
	i := sort.Search(len(x.donors), func(i int) bool { return x.donors[i].first > ordinal }) - 1
	return x.donors[i].id, int(ordinal - x.donors[i].first), true
}

// hash fills the key buffer with up to one batch of blocks, starting at block number at.
func (x *Index) hash(ids []uint32, at, n int) []key {
	m := min(batch, n-at)
	for i := range m {
		b := at + i
		x.keys[i] = nonzero(of(ids[b*x.size : (b+1)*x.size]))
	}
	return x.keys[:m]
}
