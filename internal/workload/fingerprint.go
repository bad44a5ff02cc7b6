package workload

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/token"
)

// runs are hashes of every run of a block's length, at any offset, in the parts of a prompt that are not declared
// boilerplate; sorted, distinct. 64 bits of a 128-bit hash: among ten million runs a chance match has odds of 1 in 4e5.
func runs(tk token.Tokenizer, size int, text string, shared []span) (found []uint64) {
	var ids []uint32
	for _, part := range outside(text, shared) {
		ids = tk.Encode(ids[:0], part)
		for i := 0; i+size <= len(ids); i++ {
			h := block.Of(ids[i : i+size])
			found = append(found, binary.LittleEndian.Uint64(h[:8]))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// outside gives the parts of text between ranges of characters.
func outside(text string, shared []span) (parts []string) {
	shared = slices.SortedFunc(slices.Values(shared), func(a, b span) int { return a.start - b.start })
	runes, from := 0, 0 // position in characters and in bytes
	skip := func(n int) int {
		at := from
		for ; n > 0 && at < len(text); n-- {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			runes++
		}
		return at
	}
	for _, s := range shared {
		at := skip(s.start - runes)
		if at > from {
			parts = append(parts, text[from:at])
		}
		from = at
		from = skip(s.start + s.length - runes)
	}
	if from < len(text) {
		parts = append(parts, text[from:])
	}
	return parts
}

// declaredOf reads metadata.boilerplate; entries that are not {start, length} are passed over.
func declaredOf(metadata map[string]any) (found []span) {
	list, _ := metadata["boilerplate"].([]any)
	for _, entry := range list {
		object, _ := entry.(map[string]any)
		probe := sembench.Item{Metadata: object}
		if start, length := probe.Int("start"), probe.Int("length"); start != nil && length != nil && *start >= 0 && *length >= 0 {
			found = append(found, span{*start, *length})
		}
	}
	return found
}

// overlap counts the values that two sorted lists share.
func overlap(a, b []uint64) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

// hashSet is a set of hashes, by open addressing at a load below 2/3: 12 bytes a member instead of a Go map's 40. Zero is
// kept apart.
type hashSet struct {
	slots []uint64
	used  int
	zero  bool
}

const firstSlots = 1 << 12

func newHashSet() *hashSet { return &hashSet{slots: make([]uint64, firstSlots)} }

func (s *hashSet) has(h uint64) bool { return h == 0 && s.zero || h != 0 && s.slots[s.find(h)] == h }

func (s *hashSet) add(h uint64) {
	if h == 0 {
		s.zero = true
		return
	}
	if s.used*3 >= len(s.slots)*2 {
		old := s.slots
		s.slots = make([]uint64, 2*len(old))
		for _, h := range old {
			if h != 0 {
				s.slots[s.find(h)] = h
			}
		}
	}
	at := s.find(h)
	if s.slots[at] == 0 {
		s.used++
	}
	s.slots[at] = h
}

// find is the slot of a hash, or the empty one where it belongs. Hashes are spread already.
func (s *hashSet) find(h uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	at := h & mask
	for s.slots[at] != 0 && s.slots[at] != h {
		at = (at + 1) & mask
	}
	return at
}

// union is the sorted, distinct values of all lists.
func union(lists ...[]uint64) []uint64 {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// difference is the values of a that b lacks, both sorted.
func difference(a, b []uint64) (out []uint64) {
	j := 0
	for _, x := range a {
		for j < len(b) && b[j] < x {
			j++
		}
		if j == len(b) || b[j] != x {
			out = append(out, x)
		}
	}
	return out
}
