package plan

// This file holds what both paths of `semblend` share: dense token ids, the overlap of two chunks, the
// pairing of their tokens and the context gate.

// vocabulary gives each distinct target token a small number, so that counting needs arrays, not maps.
// It is an open-addressed table of the target's tokens alone.
type vocabulary struct {
	keys []uint32
	ids  []int32 // 1 + dense id; 0 marks an empty slot
	n    int
}

func (v *vocabulary) learn(dst []int32, tokens []uint32) []int32 {
	size := 64
	for size < 2*len(tokens) {
		size *= 2
	}
	if len(v.ids) < size {
		v.keys, v.ids = make([]uint32, size), make([]int32, size)
	} else {
		clear(v.ids)
	}
	v.n = 0
	dst = dst[:0]
	for _, t := range tokens {
		i := v.slot(t)
		if v.ids[i] == 0 {
			v.n++
			v.keys[i], v.ids[i] = t, int32(v.n)
		}
		dst = append(dst, v.ids[i]-1)
	}
	return dst
}

// translate writes the dense ids of tokens; those that the target lacks become negative, one number each.
func (v *vocabulary) translate(dst []int32, tokens []uint32) []int32 {
	dst = dst[:0]
	for _, t := range tokens {
		id := v.ids[v.slot(t)] - 1
		if id < 0 {
			id = -1 - int32(t&0x7fffffff)
		}
		dst = append(dst, id)
	}
	return dst
}

func (v *vocabulary) slot(t uint32) int {
	mask := len(v.ids) - 1
	i := int(uint64(t)*multiplier>>32) & mask
	for v.ids[i] != 0 && v.keys[i] != t {
		i = (i + 1) & mask
	}
	return i
}

// postings lists, per dense token, the donor chunks that hold it and how often.
type postings struct {
	start  []int32 // by dense id; the list of id is entries[start[id]:start[id+1]]
	fill   []int32
	chunks []int32 // numbers over all chunks added
	counts []int32
	each   []int32 // occurrences of a token in the chunk at hand
}

// build indexes the chunks of c tokens of each donor's dense ids, and tails of at least minTail; chunk
// numbers count on across donors. n bounds the dense ids.
func (p *postings) build(donors [][]int32, c, minTail, n int) {
	p.start = append(p.start[:0], make([]int32, n+1)...)
	p.each = append(p.each[:0], make([]int32, n)...)
	total := int32(0)
	chunks(donors, c, minTail, func(_ int32, ids []int32) {
		p.distinct(ids, func(id, _ int32) { p.start[id+1]++; total++ })
	})
	for i := range n {
		p.start[i+1] += p.start[i]
	}
	p.fill = append(p.fill[:0], p.start[:n]...)
	p.chunks = append(p.chunks[:0], make([]int32, total)...)
	p.counts = append(p.counts[:0], make([]int32, total)...)
	chunks(donors, c, minTail, func(chunk int32, ids []int32) {
		p.distinct(ids, func(id, count int32) {
			at := p.fill[id]
			p.chunks[at], p.counts[at] = chunk, count
			p.fill[id]++
		})
	})
}

// chunks calls f with each chunk of each sequence and its number.
func chunks(donors [][]int32, c, minTail int, f func(chunk int32, ids []int32)) {
	n := int32(0)
	for _, ids := range donors {
		for ; len(ids) >= c; ids = ids[c:] {
			f(n, ids[:c])
			n++
		}
		if len(ids) > 0 && len(ids) >= minTail {
			f(n, ids)
			n++
		}
	}
}

// distinct calls f once per distinct known token of a chunk with its count, in order of first occurrence.
func (p *postings) distinct(chunk []int32, f func(id, count int32)) {
	for _, id := range chunk {
		if id >= 0 {
			p.each[id]++
		}
	}
	for _, id := range chunk {
		if id >= 0 && p.each[id] > 0 {
			f(id, p.each[id])
			p.each[id] = 0
		}
	}
}

// pairTokens appends the copies that a fuzzy chunk makes, as offsets within target and donor chunk: each
// target token from the first free donor token with its id, ascending in the target. With aligned, equal
// tokens at the same offset are paired before any other.
func pairTokens(dst []pair, target, donor []int32, aligned bool) []pair {
	taken := make([]bool, len(donor))
	stays := func(i int) bool { return aligned && i < len(donor) && same(target[i], donor[i]) }
	for i := range target {
		if stays(i) {
			taken[i] = true
		}
	}
	for i, id := range target {
		if stays(i) {
			dst = append(dst, pair{i, i})
			continue
		}
		for j, d := range donor {
			if d == id && !taken[j] {
				taken[j] = true
				dst = append(dst, pair{i, j})
				break
			}
		}
	}
	return dst
}
