package token

import "math/bits"

const (
	// cacheSlots bounds the word cache: 16384 slots of 64 bytes are 1 MB, about the level-2 cache of a core; the
	// distinct words of a book fit.
	cacheSlots = 1 << 14
	// keyBytes is the longest cached word; in English, longer ones are rarer than one in a thousand.
	keyBytes = 24
	// cachedIDs is the most ids a cached word may have; with it a slot fills one cache line.
	cachedIDs = 9
)

// wordCache remembers the ids of words. Direct-mapped: a newer word replaces the one in its slot, so memory is
// bounded and results do not depend on it. Not safe for concurrent use; each workspace has its own.
type wordCache [cacheSlots]cacheSlot

type cacheSlot struct {
	key    [3]uint64 // the word's bytes, little-endian, padded with 0
	ids    [cachedIDs]uint32
	length uint8 // of the word, in bytes; 0: free
	n      uint8 // number of ids
}

// key packs text[i:j] (at most keyBytes long).
func key(text string, i, j int) (k [3]uint64) {
	n := j - i
	if i+keyBytes <= len(text) {
		k[0] = load(text, i) & mask(n)
		if n > 8 {
			k[1] = load(text, i+8) & mask(n-8)
			if n > 16 {
				k[2] = load(text, i+16) & mask(n-16)
			}
		}
		return k
	}
	for at := range n {
		k[at/8] |= uint64(text[i+at]) << (at % 8 * 8)
	}
	return k
}

// load is the eight bytes at text[i], which the compiler reads as one.
func load(text string, i int) uint64 {
	s := text[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// mask keeps the first n bytes of eight; all of them for n >= 8.
func mask(n int) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*uint(n)) - 1
}

// slot is where the word with key k belongs.
func (c *wordCache) slot(k [3]uint64) *cacheSlot {
	// Multiplication by odd constants mixes upwards; the folded product brings the top bits down.
	hi, lo := bits.Mul64(k[0]^0x9E3779B97F4A7C15, k[1]^0xD6E8FEB86659FD93)
	hi2, lo2 := bits.Mul64(hi^lo^k[2], 0xA0761D6478BD642F)
	return &c[(hi2^lo2)%cacheSlots]
}
