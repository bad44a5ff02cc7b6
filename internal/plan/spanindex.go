package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
)

// windows is the index of `span`: where, in which donor, does each w-token window at stride w stand.
//
// A slot is 8 bytes: a 32-bit hash of the window and its ordinal, one location each, in a linear-probing
// table whose home slot is the hash scaled to the table's length. Scaling keeps slots in hash order, so
// that growth by a third is one sequential pass and the load never falls below 0.56: with the filter
// 12 to 15.5 bytes per window. Hits are only hints; every one is verified token by token.
type windows struct {
	w      int
	places int // how many places of one window are kept; below 0: all
	seed   uint64

	slots  []slot
	used   int
	filter []uint64 // one word of 64 bits per 12 slots, two bits per window: tells most absent windows without a miss
	stale  int      // deletions since the filter was built

	donors []source // ascending base; order of registration, which is also recency
	byID   map[string]int
	dead   int
	first  int // no live donor stands before it
	next   uint32
	tokens int
	seen   map[uint32]uint32 // windows over their cap → places offered so far

	out  uint64 // multiplier^w, takes the leaving token out of a rolling hash
	hold []uint32
	sink uint32
}

type slot struct {
	hash    uint32
	ordinal uint32 // 1 + the window's number; 0 marks an empty slot
}

// source is a registered donor; tokens is nil once it was forgotten.
type source struct {
	base   uint32 // ordinal of its first window
	id     string
	tokens []uint32
}

const (
	multiplier    = 0x9e3779b97f4a7c15 // odd, 2^64 / golden ratio: the usual full-period spread
	finalizer     = 0xd6e8feb86659fd93
	minWindows    = 96
	slotsPerWord  = 12
	maxOrdinal    = 1<<32 - 2
	prefetchBatch = 64
)

func newWindows(w, places int, seed uint64) *windows {
	x := &windows{w: w, places: places, seed: seed}
	x.out = 1
	for range w {
		x.out *= multiplier
	}
	x.reset()
	return x
}

func (x *windows) reset() {
	if len(x.slots) == minWindows {
		clear(x.slots)
		clear(x.filter)
	} else {
		x.slots = make([]slot, minWindows)
		x.filter = make([]uint64, minWindows/slotsPerWord)
	}
	x.used, x.stale, x.dead, x.first, x.next, x.tokens = 0, 0, 0, 0, 0, 0
	clear(x.donors)
	x.donors = x.donors[:0]
	if x.byID == nil {
		x.byID, x.seen = map[string]int{}, map[uint32]uint32{}
	}
	clear(x.byID)
	clear(x.seen)
}

// fold turns the rolling sum into the 32 bits that are stored. Low bits of a product depend on low bits
// only, so the high half is taken after a second multiplication.
func fold(sum uint64) uint32 {
	return uint32(((sum ^ sum>>32) * finalizer) >> 32)
}

// token spreads an id, so that small ids differ in all bits; id 0 must not vanish from the sum.
func token(id uint32) uint64 { return (uint64(id) + 1) * finalizer }

// roll appends the hash of the window at each offset of ids, in order; none when ids are shorter than w.
func (x *windows) roll(dst, ids []uint32) []uint32 {
	if len(ids) < x.w {
		return dst
	}
	var sum uint64
	for _, id := range ids[:x.w] {
		sum = sum*multiplier + token(id)
	}
	dst = append(dst, fold(sum))
	leave := ids[:len(ids)-x.w]
	enter := ids[x.w:][:len(leave)]
	for i, id := range enter {
		sum = sum*multiplier + (token(id) - token(leave[i])*x.out)
		dst = append(dst, fold(sum))
	}
	return dst
}

// strides appends the hash of every window of ids at stride w.
func (x *windows) strides(dst, ids []uint32) []uint32 {
	for ; len(ids) >= x.w; ids = ids[x.w:] {
		var sum uint64
		for _, id := range ids[:x.w] {
			sum = sum*multiplier + token(id)
		}
		dst = append(dst, fold(sum))
	}
	return dst
}

func (x *windows) home(hash uint32) int {
	hi, _ := bits.Mul64(uint64(hash)<<32, uint64(len(x.slots)))
	return int(hi)
}

// mark returns the filter word of a hash and its two bits there.
func (x *windows) mark(hash uint32) (word int, mask uint64) {
	hi, _ := bits.Mul64(uint64(hash)<<32, uint64(len(x.filter)))
	return int(hi), 1<<(hash&63) | 1<<(hash>>6&63)
}

// maybe is false only for windows that no donor holds.
func (x *windows) maybe(hash uint32) bool {
	word, mask := x.mark(hash)
	return x.filter[word]&mask == mask
}

// add registers a donor, replacing an earlier one of that id.
func (x *windows) add(id string, ids []uint32) error {
	x.forget(id)
	x.hold = x.strides(x.hold[:0], ids)
	if uint64(x.next)+uint64(len(x.hold)) > maxOrdinal {
		return fmt.Errorf("index is full after %d windows: reset it or raise min span", x.next)
	}
	x.byID[id] = len(x.donors)
	x.donors = append(x.donors, source{base: x.next, id: id, tokens: append(make([]uint32, 0, len(ids)), ids...)})
	x.tokens += len(ids)
	x.reserve(len(x.hold))
	for at := 0; at < len(x.hold); at += prefetchBatch {
		hashes := x.hold[at:min(at+prefetchBatch, len(x.hold))]
		for _, h := range hashes { // independent loads, so that their misses overlap
			x.sink += x.slots[x.home(h)].hash
		}
		for i, h := range hashes {
			x.put(h, x.next+uint32(at+i)+1)
		}
	}
	x.next += uint32(len(x.hold))
	return nil
}

// put stores one place of a window. Above the cap a seeded reservoir decides which places stay, so every
// place has the same chance whatever the order.
func (x *windows) put(hash, ordinal uint32) {
	i, same := x.home(hash), 0
	for ; x.slots[i].ordinal != 0; i = x.after(i) {
		if x.slots[i].hash == hash {
			same++
		}
	}
	if x.places >= 0 && same >= x.places {
		x.replace(hash, ordinal, uint32(same))
		return
	}
	x.slots[i] = slot{hash, ordinal}
	x.used++
	word, mask := x.mark(hash)
	x.filter[word] |= mask
}

func (x *windows) replace(hash, ordinal, same uint32) {
	n := max(x.seen[hash], same) + 1
	x.seen[hash] = n
	pick := uint32(mix(x.seed^uint64(hash)<<32^uint64(n)) % uint64(n))
	if pick >= same {
		return
	}
	for i := x.home(hash); ; i = x.after(i) {
		if x.slots[i].hash != hash {
			continue
		}
		if pick == 0 {
			x.slots[i].ordinal = ordinal
			return
		}
		pick--
	}
}

// mix is the finalizer of SplitMix64: a bijection whose outputs pass for random.
func mix(z uint64) uint64 {
	z += multiplier
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (x *windows) after(i int) int {
	if i++; i == len(x.slots) {
		return 0
	}
	return i
}

// reserve makes room for n more windows at a load of at most 3/4.
func (x *windows) reserve(n int) {
	need := (x.used + n) * 4 / 3
	if need < len(x.slots) {
		if x.stale > x.used+minWindows {
			x.refilter()
		}
		return
	}
	old := x.slots
	x.slots = make([]slot, max(need+slotsPerWord, len(old)*4/3)/slotsPerWord*slotsPerWord+slotsPerWord)
	x.filter, x.stale = make([]uint64, len(x.slots)/slotsPerWord), 0
	for _, s := range old {
		if s.ordinal == 0 {
			continue
		}
		i := x.home(s.hash)
		for x.slots[i].ordinal != 0 {
			i = x.after(i)
		}
		x.slots[i] = s
		word, mask := x.mark(s.hash)
		x.filter[word] |= mask
	}
}

// refilter rebuilds the filter, which cannot forget single windows.
func (x *windows) refilter() {
	clear(x.filter)
	for _, s := range x.slots {
		if s.ordinal != 0 {
			word, mask := x.mark(s.hash)
			x.filter[word] |= mask
		}
	}
	x.stale = 0
}

// forget removes a donor and its windows; an unknown id does nothing.
func (x *windows) forget(id string) {
	at, ok := x.byID[id]
	if !ok {
		return
	}
	d := x.donors[at]
	x.hold = x.strides(x.hold[:0], d.tokens)
	for i, h := range x.hold {
		x.drop(h, d.base+uint32(i)+1)
	}
	x.tokens -= len(d.tokens)
	x.donors[at].tokens, x.donors[at].id = nil, ""
	delete(x.byID, id)
	if x.dead++; x.dead > len(x.donors)/2 {
		x.compact()
	}
}

// oldest returns the least recently registered donor's id.
func (x *windows) oldest() (id string, ok bool) {
	for ; x.first < len(x.donors); x.first++ {
		if d := x.donors[x.first]; d.tokens != nil {
			return d.id, true
		}
	}
	return "", false
}

func (x *windows) compact() {
	x.donors = slices.DeleteFunc(x.donors, func(d source) bool { return d.tokens == nil })
	for i, d := range x.donors {
		x.byID[d.id] = i
	}
	x.dead, x.first = 0, 0
}

// drop removes one place of a window and moves displaced followers back, so that no tombstones stay.
func (x *windows) drop(hash, ordinal uint32) {
	hole := x.home(hash)
	for ; x.slots[hole].ordinal != ordinal; hole = x.after(hole) {
		if x.slots[hole].ordinal == 0 {
			return // not kept when the window was over its cap
		}
	}
	n := len(x.slots)
	for i := x.after(hole); x.slots[i].ordinal != 0; i = x.after(i) {
		home := x.home(x.slots[i].hash)
		if (i-home+n)%n >= (i-hole+n)%n {
			x.slots[hole] = x.slots[i]
			hole = i
		}
	}
	x.slots[hole] = slot{}
	x.used--
	x.stale++
}

// at returns which donor holds the window of that ordinal (1-based, as stored) and where it starts there.
func (x *windows) at(ordinal uint32) (donor, start int) {
	n := ordinal - 1
	donor = sort.Search(len(x.donors), func(i int) bool { return x.donors[i].base > n }) - 1
	// Donors without a window share their successor's base; the last of equal bases is the holder.
	return donor, int(n-x.donors[donor].base) * x.w
}
