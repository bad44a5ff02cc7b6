package plan

// editor recovers one optimal edit script between two token sequences by Hyyrö's bit-parallel form of
// Myers' algorithm (Hyyrö 2003, "A bit-vector algorithm for computing Levenshtein and Damerau edit
// distances"), keeping the vertical deltas of every row for the way back: 2 bits per cell.
type editor struct {
	vp, vn []uint64 // row-major, words per row
	peq    []uint64 // match bits per dense token, words each; the last entry is "not in the pattern"
	pv, mv []uint64
}

// pair says that target token t may be copied from donor token d.
type pair struct{ t, d int }

// align appends to dst the pairs of equal tokens on an optimal edit script from donor to target, ascending.
// Where scripts tie, deletions from the donor come last in reading order, then insertions: the script that
// the Python package's edit-distance library returns. Tokens are dense ids below n, negative for foreign ones.
func (e *editor) align(dst []pair, donor, target []int32, n int) []pair {
	prefix := 0
	for prefix < len(donor) && prefix < len(target) && same(donor[prefix], target[prefix]) {
		dst = append(dst, pair{prefix, prefix})
		prefix++
	}
	dEnd, tEnd := len(donor), len(target)
	for dEnd > prefix && tEnd > prefix && same(donor[dEnd-1], target[tEnd-1]) {
		dEnd--
		tEnd--
	}
	middle := len(dst)
	if dEnd > prefix && tEnd > prefix {
		dst = e.trace(dst, donor[prefix:dEnd], target[prefix:tEnd], n)
		for i := middle; i < len(dst); i++ {
			dst[i].t += prefix
			dst[i].d += prefix
		}
		for i, j := middle, len(dst)-1; i < j; i, j = i+1, j-1 {
			dst[i], dst[j] = dst[j], dst[i]
		}
	}
	for ; dEnd < len(donor); dEnd, tEnd = dEnd+1, tEnd+1 {
		dst = append(dst, pair{tEnd, dEnd})
	}
	return dst
}

func same(a, b int32) bool { return a == b && a >= 0 }

// trace appends the pairs of one script in descending order.
func (e *editor) trace(dst []pair, donor, target []int32, n int) []pair {
	words := (len(donor) + 63) / 64
	e.fill(donor, target, n, words)
	col, row := len(donor), len(target)
	for row > 0 && col > 0 {
		word, bit := (col-1)/64, uint(col-1)%64
		if e.vp[(row-1)*words+word]>>bit&1 == 1 {
			col-- // a donor token without counterpart
			continue
		}
		row--
		if row > 0 && e.vn[(row-1)*words+word]>>bit&1 == 1 {
			continue // a target token without counterpart
		}
		col--
		if same(donor[col], target[row]) {
			dst = append(dst, pair{row, col})
		}
	}
	return dst
}

// fill computes the delta rows: pattern = donor, text = target.
func (e *editor) fill(donor, target []int32, n, words int) {
	e.peq = zeroed(e.peq, (n+1)*words)
	for i, id := range donor {
		if id >= 0 {
			e.peq[int(id)*words+i/64] |= 1 << (uint(i) % 64)
		}
	}
	e.pv, e.mv = zeroed(e.pv, words), zeroed(e.mv, words)
	for w := range e.pv {
		e.pv[w] = ^uint64(0)
	}
	e.vp, e.vn = grown(e.vp, words*len(target)), grown(e.vn, words*len(target))
	for r, id := range target {
		if id < 0 {
			id = int32(n)
		}
		eq := e.peq[int(id)*words:][:words]
		vp, vn := e.vp[r*words:][:words], e.vn[r*words:][:words]
		hp, hn := uint64(1), uint64(0) // the row above the first: distances grow by one per target token
		for w := range words {
			pv, mv, x := e.pv[w], e.mv[w], eq[w]|hn
			d0 := (((x & pv) + pv) ^ pv) | x | mv
			p, m := mv|^(d0|pv), d0&pv
			outP, outN := p>>63, m>>63
			p, m = p<<1|hp, m<<1|hn
			hp, hn = outP, outN
			pv, mv = m|^(d0|p), p&d0
			e.pv[w], e.mv[w] = pv, mv
			vp[w], vn[w] = pv, mv
		}
	}
}

// zeroed returns s with length n, all zero, reusing its memory.
func zeroed(s []uint64, n int) []uint64 {
	s = grown(s, n)
	clear(s)
	return s
}

func grown(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	return s[:n]
}
