package trace

// numbers deals dense numbers to ids in order of first sight. Open addressing with linear probing at a load below 2/3:
// 12 bytes a slot, and one memory access where a Go map needs two or three, which was half the time of an analysis.
type numbers struct {
	keys []uint64
	vals []int32 // number + 1; 0 for an empty slot
	used int32
}

const firstNumbers = 1 << 12

func newNumbers() *numbers {
	return &numbers{keys: make([]uint64, firstNumbers), vals: make([]int32, firstNumbers)}
}

// of gives the number of an id and whether it was known.
func (t *numbers) of(id uint64) (n int32, known bool) {
	if int(t.used)*3 >= len(t.keys)*2 {
		t.double()
	}
	slot := t.find(id)
	if n = t.vals[slot] - 1; n >= 0 {
		return n, true
	}
	n = t.used
	t.used++
	t.keys[slot], t.vals[slot] = id, t.used
	return n, false
}

func (t *numbers) find(id uint64) uint64 {
	mask := uint64(len(t.keys) - 1)
	slot := mix(id) & mask
	for t.vals[slot] != 0 && t.keys[slot] != id {
		slot = (slot + 1) & mask
	}
	return slot
}

func (t *numbers) double() {
	old := *t
	t.keys, t.vals = make([]uint64, 2*len(old.keys)), make([]int32, 2*len(old.vals))
	for i, v := range old.vals {
		if v != 0 {
			slot := t.find(old.keys[i])
			t.keys[slot], t.vals[slot] = old.keys[i], v
		}
	}
}
