package quality

import "math/bits"

// lcs returns the length of the longest common subsequence of two id streams with ids in [0, ids).
//
// Bit-parallel after Hyyrö 2004 (Crochemore et al. 2001): a clear bit of v marks a column where the dynamic programme's row
// steps up, so one word advances 64 cells by an addition. Columns are processed in strips of one word with the carry of each
// row kept for the next strip, so that memory is O(len(a) + ids) whatever the lengths.
func lcs(a, b []int32, ids int) int {
	match := make([]uint64, ids)
	carry := make([]uint64, len(a))
	length := 0
	for from := 0; from < len(b); from += 64 {
		strip := b[from:min(from+64, len(b))]
		for j, id := range strip {
			match[id] |= 1 << j
		}
		v := ^uint64(0)
		for i, id := range a {
			m := match[id]
			var sum uint64
			sum, carry[i] = bits.Add64(v, v&m, carry[i])
			v = sum | v&^m
		}
		length += bits.OnesCount64(^v << (64 - len(strip)))
		for _, id := range strip {
			match[id] = 0
		}
	}
	return length
}

// intern gives equal tokens equal small ids.
func intern(a, b []string) (ia, ib []int32, ids int) {
	seen := make(map[string]int32, len(a)+len(b))
	number := func(tokens []string) []int32 {
		out := make([]int32, len(tokens))
		for i, t := range tokens {
			id, ok := seen[t]
			if !ok {
				id = int32(len(seen))
				seen[t] = id
			}
			out[i] = id
		}
		return out
	}
	ia, ib = number(a), number(b)
	return ia, ib, len(seen)
}
