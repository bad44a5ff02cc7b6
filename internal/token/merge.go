package token

import "unicode/utf8"

// model is a byte-pair encoding: a vocabulary and the order in which neighbours join.
type model struct {
	vocab *vocab
	// pairs lists the joins of a tokenizer.json. Nil (tiktoken vocabularies): any two neighbours join whose
	// bytes together are a token, lowest id first.
	pairs *pairTable
	// wholeWords: a word that is a token is not built from joins (tiktoken; ignore_merges).
	wholeWords bool
	// bytes gives each byte's symbol, none where the vocabulary lacks it.
	bytes [256]uint32
	// characters: words begin as characters, and as bytes only where the vocabulary lacks one (byte fallback).
	characters bool
	// unknown stands for what the vocabulary lacks; none: such text has no token. fuse: one for a whole run.
	unknown uint32
	fuse    bool
}

// symbol is a token of the word so far: word[start:end].
type symbol struct {
	start, end int32 // end 0: joined away
	id         uint32
	// The join with the next symbol: its rank (none: they do not join) and the id it makes.
	rank, joined uint32
	prev, next   int32 // long words only: neighbours, -1 at the ends
}

// split appends the symbols that word begins as.
func (m *model) split(s []symbol, word string) []symbol {
	if !m.characters {
		for i := range len(word) {
			if id := m.bytes[word[i]]; id != none {
				s = append(s, symbol{start: int32(i), end: int32(i) + 1, id: id})
			}
		}
		return s
	}
	pending := symbol{id: none} // the unknown symbol that may still grow
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		if id := m.vocab.id(word[i:end]); id != none {
			if pending.id != none {
				s = append(s, pending)
				pending.id = none
			}
			s = append(s, symbol{start: int32(i), end: int32(end), id: id})
			continue
		}
		if m.hasBytes(word[i:end]) {
			for ; i < end; i++ {
				s = append(s, symbol{start: int32(i), end: int32(i) + 1, id: m.bytes[word[i]]})
			}
			continue
		}
		switch {
		case m.unknown == none:
		case pending.id != none && m.fuse:
			pending.end = int32(end)
		default:
			if pending.id != none {
				s = append(s, pending)
			}
			pending = symbol{start: int32(i), end: int32(end), id: m.unknown}
		}
	}
	if pending.id != none {
		s = append(s, pending)
	}
	return s
}

// hasBytes: every byte of s has a symbol.
func (m *model) hasBytes(s string) bool {
	for i := range len(s) {
		if m.bytes[s[i]] == none {
			return false
		}
	}
	return true
}

// join is the rank and the result of joining two neighbours of word; none, none when they do not join.
func (m *model) join(word string, a, b *symbol) (rank, id uint32) {
	if m.pairs != nil {
		return m.pairs.get(a.id, b.id)
	}
	id = m.vocab.id(word[a.start:b.end])
	return id, id
}

// linearLimit is the word length in symbols up to which finding the next join by a scan beats a heap.
const linearLimit = 100

// merge turns the symbols of word into its tokens, in place: always the leftmost join of the lowest rank.
func (m *model) merge(word string, s []symbol, heap []uint64) ([]symbol, []uint64) {
	if len(s) > linearLimit {
		return m.mergeLong(word, s, heap)
	}
	for i := 0; i+1 < len(s); i++ {
		s[i].rank, s[i].joined = m.join(word, &s[i], &s[i+1])
	}
	for len(s) > 1 {
		best, at := none, -1
		for i := range s[:len(s)-1] {
			if s[i].rank < best {
				best, at = s[i].rank, i
			}
		}
		if at < 0 {
			break
		}
		s[at].end, s[at].id = s[at+1].end, s[at].joined
		s = append(s[:at+1], s[at+2:]...)
		if at+1 < len(s) {
			s[at].rank, s[at].joined = m.join(word, &s[at], &s[at+1])
		}
		if at > 0 {
			s[at-1].rank, s[at-1].joined = m.join(word, &s[at-1], &s[at])
		}
	}
	return s, heap
}

// mergeLong does the same in n log n steps: a heap of (rank, position) whose stale entries are skipped.
func (m *model) mergeLong(word string, s []symbol, heap []uint64) ([]symbol, []uint64) {
	heap = heap[:0]
	offer := func(i int32) {
		if n := s[i].next; n >= 0 {
			s[i].rank, s[i].joined = m.join(word, &s[i], &s[n])
		} else {
			s[i].rank = none
		}
		if s[i].rank != none {
			heap = push(heap, uint64(s[i].rank)<<32|uint64(uint32(i)))
		}
	}
	last := int32(len(s) - 1)
	for i := range s {
		s[i].prev, s[i].next = int32(i)-1, int32(i)+1
	}
	s[last].next = -1
	for i := range s {
		offer(int32(i))
	}
	for len(heap) > 0 {
		top := heap[0]
		heap = pop(heap)
		i := int32(uint32(top))
		// A rank names one join, so an entry is current when its symbol lives and still has that rank.
		if s[i].end == 0 || s[i].rank != uint32(top>>32) {
			continue
		}
		n := s[i].next
		s[i].end, s[i].id, s[i].next = s[n].end, s[i].joined, s[n].next
		s[n].end = 0
		if s[i].next >= 0 {
			s[s[i].next].prev = i
		}
		offer(i)
		if p := s[i].prev; p >= 0 {
			offer(p)
		}
	}
	live := s[:0]
	for i := int32(0); i >= 0; {
		next := s[i].next
		live = append(live, s[i])
		i = next
	}
	return live, heap
}

// push adds x to the binary min-heap h.
func push(h []uint64, x uint64) []uint64 {
	h = append(h, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up] <= h[i] {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
	return h
}

// pop removes the smallest element of h.
func pop(h []uint64) []uint64 {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return h
		}
		if down+1 < last && h[down+1] < h[down] {
			down++
		}
		if h[i] <= h[down] {
			return h
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// pairTable maps two neighbouring ids to the rank of their join and the id it makes. Open addressing, no pointers.
type pairTable struct {
	slots []pair
	mask  uint64
}

type pair struct{ left, right, rank, id uint32 } // rank none: free

func newPairTable(n int) *pairTable {
	slots := 1
	for slots < 2*n {
		slots *= 2
	}
	t := &pairTable{slots: make([]pair, slots), mask: uint64(slots - 1)}
	for i := range t.slots {
		t.slots[i].rank = none
	}
	return t
}

func (t *pairTable) slot(left, right uint32) uint64 {
	h := (uint64(left)<<32 | uint64(right)) * 0x9E3779B97F4A7C15 // 2^64 / golden ratio
	return (h ^ h>>32) & t.mask
}

// put records a join; a pair listed twice keeps its last rank, as the Hugging Face loader does.
func (t *pairTable) put(left, right, rank, id uint32) {
	i := t.slot(left, right)
	for t.slots[i].rank != none && (t.slots[i].left != left || t.slots[i].right != right) {
		i = (i + 1) & t.mask
	}
	t.slots[i] = pair{left, right, rank, id}
}

func (t *pairTable) get(left, right uint32) (rank, id uint32) {
	for i := t.slot(left, right); t.slots[i].rank != none; i = (i + 1) & t.mask {
		if p := &t.slots[i]; p.left == left && p.right == right {
			return p.rank, p.id
		}
	}
	return none, none
}
