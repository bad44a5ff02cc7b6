package trace

import "math/bits"

// stack is an LRU stack over blocks, numbered densely from 0, that tells the depth of a block: how many blocks were
// touched since it was, itself included. A block is in an LRU cache of capacity c exactly when its depth is at most c
// (Mattson et al. 1970), so one pass serves all capacities.
//
// Each touch takes a new slot of time and frees the block's old one; a bitmap says which slots are taken, and a Fenwick
// tree over its words counts them. When slots run out, the taken ones move together. Time per operation is logarithmic
// in unique blocks / 64, memory about 5 bytes a slot.
type stack struct {
	taken []uint64 // bit t%64 of word t/64: slot t is some block's last touch
	sums  []int32  // Fenwick tree of the words' counts, from 1
	owner []int32  // block of a slot, valid where the bit is set
	slot  []int32  // last slot of a block, -1 before its first touch
	next  int32
	live  int32
}

// firstSlots is a start size; it doubles as needed.
const firstSlots = 1 << 12

func newStack() *stack {
	s := &stack{}
	s.resize(firstSlots)
	return s
}

func (s *stack) resize(slots int) {
	s.taken = make([]uint64, slots/64)
	s.sums = make([]int32, slots/64+1)
	s.owner = make([]int32, slots)
}

// depth of a block that was touched before.
func (s *stack) depth(block int32) int32 {
	t := s.slot[block]
	word := t >> 6
	before := int32(bits.OnesCount64(s.taken[word] & (1<<(uint(t)&63) - 1)))
	for i := word; i > 0; i &= i - 1 {
		before += s.sums[i]
	}
	return s.live - before
}

// touch moves a block to the top.
func (s *stack) touch(block int32) {
	if int(s.next) == len(s.owner) {
		s.compact()
	}
	for int(block) >= len(s.slot) {
		s.slot = append(s.slot, -1)
	}
	if s.slot[block] >= 0 {
		s.add(s.slot[block], -1)
	} else {
		s.live++
	}
	s.slot[block] = s.next
	s.owner[s.next] = block
	s.add(s.next, 1)
	s.next++
}

func (s *stack) add(slot, n int32) {
	word := slot >> 6
	s.taken[word] ^= 1 << (uint(slot) & 63)
	for i := word + 1; int(i) < len(s.sums); i += i & -i {
		s.sums[i] += n
	}
}

// compact moves the live slots together, in order, into room for as many again.
func (s *stack) compact() {
	taken, owner := s.taken, s.owner
	size := len(owner)
	for size < 2*int(s.live) {
		size *= 2
	}
	s.resize(size)
	s.next = 0
	for w, word := range taken {
		for ; word != 0; word &= word - 1 {
			block := owner[w<<6+bits.TrailingZeros64(word)]
			s.slot[block], s.owner[s.next] = s.next, block
			s.taken[s.next>>6] |= 1 << (uint(s.next) & 63)
			s.next++
		}
	}
	for i := 1; i < len(s.sums); i++ {
		s.sums[i] += int32(bits.OnesCount64(s.taken[i-1]))
		if up := i + i&-i; up < len(s.sums) {
			s.sums[up] += s.sums[i]
		}
	}
}
