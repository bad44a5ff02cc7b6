package token

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

// none is no id: vocabularies stay far below it.
const none = ^uint32(0)

// vocab is the byte string of each id and the way back. All strings stand in one arena and the table holds no
// pointers, so 200,000 tokens cost the garbage collector nothing.
type vocab struct {
	arena []byte
	spans []span   // by id; length 0: the id has no string
	table []uint64 // open addressing, linear probing: upper half of the hash | id+1; 0 is free
	mask  uint64
}

type span struct{ start, length uint32 }

// newVocab makes room for n tokens of size bytes in all.
func newVocab(n, size int) *vocab {
	slots := 1
	for slots < 2*n {
		slots *= 2
	}
	return &vocab{
		arena: make([]byte, 0, size),
		spans: make([]span, 0, n),
		table: make([]uint64, slots),
		mask:  uint64(slots - 1),
	}
}

// add gives id the string s. A vocabulary holds each string once and each id once, and fewer than the n of newVocab.
func (v *vocab) add(s []byte, id uint32) error {
	if len(s) == 0 {
		return fmt.Errorf("token %d is empty", id)
	}
	// Ids are dense in practice; a wild one must not allocate gigabytes.
	if id > 1<<24 {
		return fmt.Errorf("token id %d is out of range", id)
	}
	for int(id) >= len(v.spans) {
		v.spans = append(v.spans, span{})
	}
	if v.spans[id].length != 0 {
		return fmt.Errorf("token id %d occurs twice", id)
	}
	h := xxh3.Hash(s)
	slot := h & v.mask
	for ; v.table[slot] != 0; slot = (slot + 1) & v.mask {
		e := v.table[slot]
		if uint32(e>>32) == uint32(h>>32) && string(v.bytes(uint32(e)-1)) == string(s) {
			return fmt.Errorf("token %q occurs twice, as %d and %d", s, uint32(e)-1, id)
		}
	}
	v.table[slot] = h>>32<<32 | uint64(id+1)
	v.spans[id] = span{uint32(len(v.arena)), uint32(len(s))}
	v.arena = append(v.arena, s...)
	return nil
}

// id is the id of s; none when the vocabulary lacks it.
func (v *vocab) id(s string) uint32 {
	h := xxh3.HashString(s)
	for slot := h & v.mask; v.table[slot] != 0; slot = (slot + 1) & v.mask {
		e := v.table[slot]
		if uint32(e>>32) == uint32(h>>32) && string(v.bytes(uint32(e)-1)) == s {
			return uint32(e) - 1
		}
	}
	return none
}

// bytes is the string of id; empty for an id that has none.
func (v *vocab) bytes(id uint32) []byte {
	if int(id) >= len(v.spans) {
		return nil
	}
	s := v.spans[id]
	return v.arena[s.start : s.start+s.length]
}
