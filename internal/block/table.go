package block

// table is a set of keys with an ordinal each, open addressed with linear probing. The zero key marks an
// empty slot; a real zero key is stored as 1, which costs nothing but a 2^-128 chance of confusion.
// Deletion shifts later entries back, so that no tombstones slow a long-lived pool.
type table struct {
	slots []key
	vals  []uint32 // ordinal per slot; nil in a plain set
	used  int
}

// batch is how many keys are probed together: enough independent loads to hide memory latency, few
// enough that their cache lines are still resident when the second pass reads them.
const batch = 64

const minSlots = 64

func newTable(withVals bool) table {
	t := table{slots: make([]key, minSlots)}
	if withVals {
		t.vals = make([]uint32, minSlots)
	}
	return t
}

func nonzero(k key) key {
	if k.Lo == 0 && k.Hi == 0 {
		k.Lo = 1
	}
	return k
}

// find returns the slot that holds k, or the empty slot where it would go.
func (t *table) find(k key) (slot int, ok bool) {
	mask := uint64(len(t.slots) - 1)
	for i := k.Lo & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == k {
			return int(i), true
		}
		if s.Lo == 0 && s.Hi == 0 {
			return int(i), false
		}
	}
}

// touch loads the home slots of a batch of keys, so that their cache misses overlap.
func (t *table) touch(keys []key) (sum uint64) {
	mask := uint64(len(t.slots) - 1)
	for _, k := range keys {
		sum += t.slots[k.Lo&mask].Lo
	}
	return sum
}

// put adds k with ordinal v unless it is there, and returns its slot and whether it was new.
func (t *table) put(k key, v uint32) (slot int, added bool) {
	slot, ok := t.find(k)
	if ok {
		return slot, false
	}
	t.slots[slot] = k
	if t.vals != nil {
		t.vals[slot] = v
	}
	t.used++
	return slot, true
}

// reserve makes room for n more keys at a load of at most 2/3: beyond that an unsuccessful linear probe
// reads more than two cache lines. Slots move, so callers must not keep them across a reserve.
func (t *table) reserve(n int) {
	size := len(t.slots)
	for (t.used+n)*3 > size*2 {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	old, oldVals := t.slots, t.vals
	t.slots = make([]key, size)
	if oldVals != nil {
		t.vals = make([]uint32, size)
	}
	for i, k := range old {
		if k.Lo == 0 && k.Hi == 0 {
			continue
		}
		slot, _ := t.find(k)
		t.slots[slot] = k
		if oldVals != nil {
			t.vals[slot] = oldVals[i]
		}
	}
}

// remove deletes k if it is there, moving displaced followers back towards their home slot.
func (t *table) remove(k key) {
	hole, ok := t.find(k)
	if !ok {
		return
	}
	mask := len(t.slots) - 1
	for i := (hole + 1) & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s.Lo == 0 && s.Hi == 0 {
			break
		}
		home := int(s.Lo) & mask
		// s may move into the hole only if the hole lies cyclically between its home and its place.
		if (i-home)&mask >= (i-hole)&mask {
			t.slots[hole] = s
			if t.vals != nil {
				t.vals[hole] = t.vals[i]
			}
			hole = i
		}
	}
	t.slots[hole] = key{}
	t.used--
}

func (t *table) clear() {
	clear(t.slots)
	t.used = 0
}
