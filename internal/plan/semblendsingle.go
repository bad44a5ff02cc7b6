package plan

import (
	"cmp"
	"math"
	"slices"

	"sembench"
)

// aligner aligns one donor with the target as a whole: exact runs at any offset when they are enough,
// else the best of those and of exact and fuzzy chunks, else edit distance. Sequences are dense ids.
type aligner struct {
	words   int
	edit    editor
	lists   postings
	results [3]alignment
	grams   map[uint64][]int32
	taken   []bool
	matched []chunkMatch
	each    []int32
	acc     []int32
	dense   [1][]int32
}

// alignment is what one donor would give: copied pairs, ascending in the target.
type alignment struct {
	pairs                    []pair
	copied, longest          int
	exactChunks, fuzzyChunks int
	scattered                bool // some pairs come from fuzzy chunks or edit distance
}

func (a alignment) class() sembench.Class {
	if a.scattered {
		return sembench.IdenticalScattered
	}
	return sembench.IdenticalContiguous
}

// chunkMatch is the donor chunk of one target chunk: -1 for none.
type chunkMatch struct {
	chunk   int
	overlap float64 // 1 for exact chunks
	fuzzy   bool
}

// align returns the alignment of donor and target with chunk size c; words bounds the dense ids and
// similarity is the global one, 0 when unknown. The pairs are valid until the next call.
func (a *aligner) align(target, donor []int32, c, words int, similarity float64) alignment {
	a.words = words
	runs := &a.results[0]
	a.runs(runs, target, donor, c)
	if float64(runs.copied) >= exactRunEnough*float64(len(target)) {
		return *runs
	}
	a.chunks(&a.results[1], target, donor, c, similarity, true)
	a.chunks(&a.results[2], target, donor, c, similarity, false)
	best := alignment{}
	for _, r := range a.results {
		if r.copied > best.copied || r.copied == best.copied && r.longest > best.longest {
			best = r
		}
	}
	if best.copied > 0 || len(donor) > editTokens || len(target) > editTokens {
		return best
	}
	best.pairs = a.edit.align(a.results[0].pairs[:0], donor, target, words)
	a.results[0].pairs = best.pairs
	best.scattered = true
	best.measure()
	return best
}

// measure sets copied and longest from the pairs.
func (a *alignment) measure() {
	a.copied, a.longest = len(a.pairs), 0
	run := 0
	for i, p := range a.pairs {
		if i > 0 && p.t == a.pairs[i-1].t+1 && p.d == a.pairs[i-1].d+1 {
			run++
		} else {
			run = 1
		}
		a.longest = max(a.longest, run)
	}
}

// runs takes the longest exact runs at any offset, whole, no two overlapping in target or donor.
func (a *aligner) runs(r *alignment, target, donor []int32, c int) {
	*r = alignment{pairs: r.pairs[:0]}
	found := scanRuns(a.maximalRuns(target, donor))
	slices.SortStableFunc(found, func(x, y run) int { return cmp.Compare(y.end-y.start, x.end-x.start) })
	var kept []run
	for _, x := range found {
		clash := slices.ContainsFunc(kept, func(k run) bool {
			return x.start < k.end && k.start < x.end || x.start-x.shift < k.end-k.shift && k.start-k.shift < x.end-x.shift
		})
		if !clash {
			kept = append(kept, x)
		}
		if len(kept) == exactRunMax {
			break
		}
	}
	slices.SortFunc(kept, func(x, y run) int { return cmp.Compare(x.start, y.start) })
	for _, k := range kept {
		for t := k.start; t < k.end; t++ {
			r.pairs = append(r.pairs, pair{t, t - k.shift})
		}
		r.exactChunks += max(1, (k.end-k.start)/c)
	}
	r.measure()
}

// scanRuns picks the longest run at each target position, ties by donor position, and goes on behind its
// end, as the package scans. At most exactRunPlaces donor positions are looked at, lowest first. runs must
// ascend by target and, within it, by donor.
func scanRuns(runs []run) (found []run) {
	at := 0
	for {
		next := -1
		for _, r := range runs {
			if last := r.end - exactRunTokens; last >= at && (next < 0 || max(r.start, at) < next) {
				next = max(r.start, at)
			}
		}
		if next < 0 {
			return found
		}
		var here []run
		for _, r := range runs {
			if r.start <= next && next <= r.end-exactRunTokens {
				here = append(here, r)
			}
		}
		slices.SortFunc(here, func(x, y run) int { return cmp.Compare(y.shift, x.shift) })
		best := here[0]
		for _, r := range here[:min(len(here), exactRunPlaces)] {
			if r.end-r.start > best.end-best.start {
				best = r
			}
		}
		found = append(found, best)
		at = best.end
	}
}

// maximalRuns returns every maximal run of at least exactRunTokens, by target, then donor position. Windows
// of half that length at half that stride in the donor find them all.
func (a *aligner) maximalRuns(target, donor []int32) (found []run) {
	const w = exactRunTokens / 2
	if len(target) < exactRunTokens || len(donor) < exactRunTokens {
		return nil
	}
	if a.grams == nil {
		a.grams = map[uint64][]int32{}
	}
	clear(a.grams)
	for at := 0; at+w <= len(donor); at += w {
		if sum, known := windowSum(donor[at : at+w]); known {
			a.grams[sum] = append(a.grams[sum], int32(at))
		}
	}
	if len(a.grams) == 0 {
		return nil
	}
	out := uint64(1)
	for range w {
		out *= multiplier
	}
	seen := map[int]int{} // shift → end of the last run there
	var sum uint64
	for i, id := range target {
		sum = sum*multiplier + token(uint32(id))
		if i >= w {
			sum -= token(uint32(target[i-w])) * out
		}
		if i < w-1 {
			continue
		}
		start := i - w + 1
		for _, at := range a.grams[sum] {
			shift := start - int(at)
			if seen[shift] > start {
				continue
			}
			r := extendDense(target, donor, start, int(at))
			seen[shift] = max(r.end, start+1)
			if r.end-r.start >= exactRunTokens {
				r.shift = shift
				found = append(found, r)
			}
		}
	}
	slices.SortFunc(found, func(x, y run) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.shift, x.shift))
	})
	return found
}

// windowSum hashes a window; known is false when it holds a token that the target lacks.
func windowSum(ids []int32) (sum uint64, known bool) {
	for _, id := range ids {
		if id < 0 {
			return 0, false
		}
		sum = sum*multiplier + token(uint32(id))
	}
	return sum, true
}

func extendDense(target, donor []int32, t, d int) run {
	r := run{start: t, end: t}
	for r.end < len(target) && d+r.end-t < len(donor) && target[r.end] == donor[d+r.end-t] {
		r.end++
	}
	for shift := t - d; r.start > 0 && r.start > shift && target[r.start-1] == donor[r.start-1-shift]; {
		r.start--
	}
	return r
}

// chunks matches full chunks, exact ones anywhere, fuzzy ones nearby, drops those without a matched
// neighbour, and keeps fuzzy ones only with enough confidence.
func (a *aligner) chunks(r *alignment, target, donor []int32, c int, similarity float64, fuzzy bool) {
	*r = alignment{pairs: r.pairs[:0]}
	a.exactChunks(target, donor, c)
	if fuzzy {
		a.fuzzyChunks(target, donor, c)
	}
	for i, m := range a.matched {
		alone := (i == 0 || a.matched[i-1].chunk < 0) && (i+1 == len(a.matched) || a.matched[i+1].chunk < 0)
		if m.chunk < 0 || alone && !(m.fuzzy && m.overlap >= exemptOverlap) {
			continue
		}
		from := len(r.pairs)
		t, d := target[i*c:(i+1)*c], donor[m.chunk*c:(m.chunk+1)*c]
		r.pairs = pairTokens(r.pairs, t, d, true)
		switch {
		case !m.fuzzy:
			r.exactChunks++
		case a.confidence(r.pairs[from:], t, d, m.overlap, similarity) < verifiedReuse:
			r.pairs = r.pairs[:from]
			continue
		default:
			r.fuzzyChunks++
			r.scattered = true
		}
		for k := from; k < len(r.pairs); k++ {
			r.pairs[k].t += i * c
			r.pairs[k].d += m.chunk * c
		}
	}
	r.measure()
}

func (a *aligner) exactChunks(target, donor []int32, c int) {
	a.taken = append(a.taken[:0], make([]bool, len(donor)/c)...)
	a.matched = a.matched[:0]
	clear(a.gramsOf())
	for k := range a.taken {
		if sum, known := windowSum(donor[k*c : (k+1)*c]); known {
			a.grams[sum] = append(a.grams[sum], int32(k))
		}
	}
	for i := range len(target) / c {
		m := chunkMatch{chunk: -1}
		sum, _ := windowSum(target[i*c : (i+1)*c])
		for _, k := range a.grams[sum] {
			if !a.taken[k] && slices.Equal(target[i*c:(i+1)*c], donor[int(k)*c:(int(k)+1)*c]) {
				a.taken[k] = true
				m = chunkMatch{chunk: int(k), overlap: 1}
				break
			}
		}
		a.matched = append(a.matched, m)
	}
}

func (a *aligner) gramsOf() map[uint64][]int32 {
	if a.grams == nil {
		a.grams = map[uint64][]int32{}
	}
	return a.grams
}

func (a *aligner) fuzzyChunks(target, donor []int32, c int) {
	a.dense[0] = donor
	a.lists.build(a.dense[:], c, c, a.words)
	a.each = append(a.each[:0], make([]int32, a.words)...)
	a.acc = append(a.acc[:0], make([]int32, len(a.taken))...)
	need := overlapNeeded(c, singleOverlap)
	for i := range a.matched {
		if a.matched[i].chunk >= 0 {
			continue
		}
		a.overlaps(target[i*c : (i+1)*c])
		best, most := -1, need-1
		for k := max(0, i-chunkWindow); k < min(len(a.taken), i+chunkWindow+1); k++ {
			if a.acc[k] > most && !a.taken[k] {
				best, most = k, a.acc[k]
			}
		}
		clear(a.acc)
		if best >= 0 {
			a.taken[best] = true
			a.matched[i] = chunkMatch{chunk: best, overlap: float64(most) / float64(c), fuzzy: true}
		}
	}
}

// overlaps sets acc to the multiset overlap of each donor chunk with the target chunk.
func (a *aligner) overlaps(chunk []int32) {
	for _, id := range chunk {
		a.each[id]++
	}
	for _, id := range chunk {
		if n := a.each[id]; n > 0 {
			a.each[id] = 0
			for at := a.lists.start[id]; at < a.lists.start[id+1]; at++ {
				a.acc[a.lists.chunks[at]] += min(n, a.lists.counts[at])
			}
		}
	}
}

// confidence is overlap x positional coherence x decay of the mean offset, 0 when the bags of tokens
// differ too much. Offsets are within the chunks: a chunk that moved as a whole keeps full confidence.
func (a *aligner) confidence(pairs []pair, target, donor []int32, overlap, similarity float64) float64 {
	least := bagCosine + bagCosineSlope*similarity
	if bagOf(target, donor) < least {
		return 0
	}
	counts, common, sum := map[int]int{}, 0, 0
	for _, p := range pairs {
		offset := p.d - p.t
		counts[offset]++
		common = max(common, counts[offset])
		sum += max(offset, -offset)
	}
	n := float64(len(pairs))
	return overlap * float64(common) / n * math.Exp(-float64(sum)/n/offsetDecay)
}

// bagOf returns the cosine between the token counts of two chunks.
func bagOf(target, donor []int32) float64 {
	t, d := map[int32]int{}, map[int32]int{}
	for _, id := range target {
		t[id]++
	}
	for _, id := range donor {
		d[id]++
	}
	dot, tt, dd := 0, 0, 0
	for id, n := range t {
		dot += n * d[id]
		tt += n * n
	}
	for _, n := range d {
		dd += n * n
	}
	return float64(dot) / math.Sqrt(float64(tt)*float64(dd))
}
