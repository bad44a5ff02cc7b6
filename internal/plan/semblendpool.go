package plan

import (
	"cmp"
	"slices"
)

// poolIndex tells, for large pools, which chunks and which donors hold a token. For a few donors it is
// cheaper to look through their tokens; for thousands only an index that outlives the plan is bearable.
// It is filled when first needed and holds about 5 bytes per donor token.
type poolIndex struct {
	chunks []place             // by chunk number; donor nil: gone
	holds  map[uint32][]uint32 // token → chunk numbers, ascending
	donors []*chunked          // by donor number; nil: gone
	held   map[uint32][]uint32 // token → donor numbers, ascending
	next   int                 // how many of semblend.donors are indexed
	gone   int

	hits    []uint8 // per chunk, for one target chunk
	touched []uint32
	common  []int32 // per donor, for one target
}

// poolDonors is from how many donors on the index is used.
const poolDonors = 32

// poolRepeats is how often a chunk must turn up among the rarest tokens before it is looked at: a chunk that
// lacks at most k tokens holds at least poolRepeats of any k + poolRepeats.
const poolRepeats = 3

// update indexes the donors registered since the last plan.
func (x *poolIndex) update(s *semblend) {
	if x.holds == nil || x.gone > len(x.donors)/2 {
		*x = poolIndex{holds: map[uint32][]uint32{}, held: map[uint32][]uint32{}}
	}
	for _, d := range s.donors[x.next:] {
		at := uint32(len(x.donors))
		for _, t := range d.tokens {
			x.held[t] = appendOnce(x.held[t], at)
		}
		x.donors = append(x.donors, d)
		for k := 0; k*s.c < len(d.tokens); k++ {
			chunk := d.tokens[k*s.c : min((k+1)*s.c, len(d.tokens))]
			if len(chunk) < s.c && len(chunk) < s.c/2 {
				break
			}
			for _, t := range chunk {
				x.holds[t] = appendOnce(x.holds[t], uint32(len(x.chunks)))
			}
			x.chunks = append(x.chunks, place{d, k})
		}
	}
	x.next = len(s.donors)
	x.hits = append(x.hits, make([]uint8, len(x.chunks)-len(x.hits))...)
}

// appendOnce keeps an ascending list free of repetitions.
func appendOnce(list []uint32, n uint32) []uint32 {
	if len(list) > 0 && list[len(list)-1] == n {
		return list
	}
	return append(list, n)
}

// forget drops the donor at position i of semblend.donors, before it leaves that list. Its numbers stay in
// the lists until half of the donors are gone.
func (x *poolIndex) forget(d *chunked, i int) {
	if i >= x.next {
		return
	}
	x.next--
	x.gone++
	for n, o := range x.donors {
		if o == d {
			x.donors[n] = nil
		}
	}
	for n := range x.chunks {
		if x.chunks[n].donor == d {
			x.chunks[n].donor = nil
		}
	}
}

// sharing adds the donors of the few chunks that share most distinct tokens with some target chunk; as
// multiDonor.sharing does without an index.
func (x *poolIndex) sharing(s *semblend, target []uint32, wanted map[*chunked]bool) {
	type rated struct{ shared, chunk uint32 }
	var top []rated
	for ; len(target) >= s.c; target = target[s.c:] {
		tokens := slices.Compact(slices.Sorted(slices.Values(target[:s.c])))
		need := max(sharedTokens, len(tokens)/2)
		if need > len(tokens) {
			continue
		}
		rare := slices.Clone(tokens)
		slices.SortStableFunc(rare, func(a, b uint32) int { return cmp.Compare(len(x.holds[a]), len(x.holds[b])) })
		top = top[:0]
		for _, k := range x.repeated(rare[:len(tokens)-need+poolRepeats]) {
			p := x.chunks[k]
			if p.donor == nil {
				continue
			}
			if n := inCommon(tokens, p.donor.tokens[p.chunk*s.c:min((p.chunk+1)*s.c, len(p.donor.tokens))]); n >= need {
				top = append(top, rated{uint32(n), k})
			}
		}
		slices.SortFunc(top, func(a, b rated) int { return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.chunk, b.chunk)) })
		for _, r := range top[:min(len(top), bestPerChunk)] {
			wanted[x.chunks[r.chunk].donor] = true
		}
	}
}

// repeated returns the chunks that hold at least poolRepeats of the tokens.
func (x *poolIndex) repeated(tokens []uint32) (list []uint32) {
	x.touched = x.touched[:0]
	for _, t := range tokens {
		for _, k := range x.holds[t] {
			switch x.hits[k]++; x.hits[k] {
			case 1:
				x.touched = append(x.touched, k)
			case poolRepeats:
				list = append(list, k)
			case poolRepeats + 1: // enough; must not wrap around
				x.hits[k] = poolRepeats
			}
		}
	}
	for _, k := range x.touched {
		x.hits[k] = 0
	}
	return list
}

// inCommon returns how many of the sorted distinct tokens stand in chunk.
func inCommon(tokens, chunk []uint32) (n int) {
	sorted := slices.Sorted(slices.Values(chunk))
	for i, t := range sorted {
		if i > 0 && t == sorted[i-1] {
			continue
		}
		if _, ok := slices.BinarySearch(tokens, t); ok {
			n++
		}
	}
	return n
}

// similar returns the donors of highest Jaccard similarity between token sets; as multiDonor.similar does
// without an index.
func (x *poolIndex) similar(target []uint32) []*chunked {
	tokens := slices.Compact(slices.Sorted(slices.Values(target)))
	x.common = append(x.common[:0], make([]int32, len(x.donors))...)
	for _, t := range tokens {
		for _, n := range x.held[t] {
			x.common[n]++
		}
	}
	var list []likely
	for n, d := range x.donors {
		if d != nil {
			list = append(list, likely{d, float64(x.common[n]) / float64(len(tokens)+d.vocabulary()-int(x.common[n]))})
		}
	}
	return mostLikely(list)
}
