package plan

import (
	"cmp"
	"slices"

	"sembench"
	"sembench/internal/block"
)

// multiDonor copies chunks from several donors: exact ones by content hash, then fuzzy ones by multiset
// overlap; a chunk without a matched neighbour is dropped. Its buffers are reused from plan to plan.
type multiDonor struct {
	matches  []match
	known    int // target chunks whose content some donor chunk has
	used     map[place]bool
	lists    postings
	each     []int32   // occurrences of a dense token in the target chunk at hand
	seen     []bool    // donor chunks already listed in close
	close    []int32   // donor chunks that may overlap enough
	rare     []int32   // the target chunk's tokens, rarest first
	distinct []int32   // the target chunk's tokens, once each
	dense    [][]int32 // by candidate
	places   []place   // by chunk number over all candidates
	pairs    []pair
}

// match is what one target chunk is copied from; donor nil means recompute.
type match struct {
	donor *chunked
	chunk int
	fuzzy bool
}

// plan returns the spans that the chunks of target copy, ascending; none when nothing was matched.
func (m *multiDonor) plan(s *semblend, target []uint32) []sembench.Span {
	m.exact(s, target)
	if slices.ContainsFunc(m.matches, func(x match) bool { return x.donor == nil }) {
		m.fuzzy(s, target)
	}
	return m.spans(s)
}

// exact gives each full target chunk the donor chunk that continues the match before it, taken or not, else
// the first place with its content that no earlier chunk took.
func (m *multiDonor) exact(s *semblend, target []uint32) {
	if m.used == nil {
		m.used = map[place]bool{}
	}
	clear(m.used)
	m.matches, m.known = m.matches[:0], 0
	var last place
	for ; len(target) >= s.c; target = target[s.c:] {
		h := block.Of(target[:s.c])
		if len(s.index[h]) > 0 {
			m.known++
		}
		next := place{last.donor, last.chunk + 1}
		if last.donor == nil || next.chunk >= len(last.donor.hashes) || last.donor.hashes[next.chunk] != h {
			next = m.unused(s.index[h])
		}
		if next.donor != nil {
			m.used[next] = true
		}
		m.matches = append(m.matches, match{donor: next.donor, chunk: next.chunk})
		last = next
	}
}

func (m *multiDonor) unused(places []place) place {
	for _, p := range places {
		if !m.used[p] {
			return p
		}
	}
	return place{}
}

// fuzzy gives each unmatched chunk the candidates' unused chunk that overlaps it most; ties keep the donor
// registered first, then its first chunk.
func (m *multiDonor) fuzzy(s *semblend, target []uint32) {
	candidates := m.candidates(s, target)
	if len(candidates) == 0 {
		return
	}
	m.prepare(s, candidates, s.c)
	need := overlapNeeded(s.c, multiOverlap)
	for i := range m.matches {
		if m.matches[i].donor != nil {
			continue
		}
		best, most := int32(-1), need
		chunk := s.target[i*s.c : (i+1)*s.c]
		for _, k := range m.near(chunk, s.c-int(need)) {
			if m.used[m.places[k]] {
				continue
			}
			if n := m.overlap(chunk, m.chunk(s.c, k)); n > most || n == most && (best < 0 || k < best) {
				best, most = k, n
			}
		}
		if best >= 0 {
			p := m.places[best]
			m.used[p] = true
			m.matches[i] = match{donor: p.donor, chunk: p.chunk, fuzzy: true}
		}
	}
}

// candidates returns whose chunks are tried, in order of registration: the donors of exact chunks; without
// any, those that share enough tokens with some chunk; without any, those of similar vocabulary.
func (m *multiDonor) candidates(s *semblend, target []uint32) []*chunked {
	wanted := map[*chunked]bool{}
	for _, x := range m.matches {
		if x.donor != nil {
			wanted[x.donor] = true
		}
	}
	if len(wanted) == 0 && len(s.donors) > s.poolFrom {
		s.pool.update(s)
		if s.pool.sharing(s, target, wanted); len(wanted) == 0 {
			return s.pool.similar(target)
		}
	}
	if len(wanted) == 0 {
		m.prepare(s, s.donors, s.c/2)
		if m.sharing(s, wanted); len(wanted) == 0 {
			return m.similar(s)
		}
	}
	var list []*chunked
	for _, d := range s.donors {
		if wanted[d] {
			list = append(list, d)
		}
	}
	return list
}

// sharing adds the donors of the few chunks that share most distinct tokens with some target chunk.
func (m *multiDonor) sharing(s *semblend, wanted map[*chunked]bool) {
	type rated struct{ shared, chunk int32 }
	var top []rated
	for i := range m.matches {
		top = top[:0]
		chunk := s.target[i*s.c : (i+1)*s.c]
		distinct := m.unique(chunk)
		need := int32(max(sharedTokens, len(distinct)/2))
		if int(need) > len(distinct) {
			continue
		}
		for _, k := range m.near(distinct, len(distinct)-int(need)) {
			if n := m.overlap(distinct, m.chunk(s.c, k)); n >= need {
				top = append(top, rated{n, k})
			}
		}
		slices.SortFunc(top, func(a, b rated) int { return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.chunk, b.chunk)) })
		for _, r := range top[:min(len(top), bestPerChunk)] {
			wanted[m.places[r.chunk].donor] = true
		}
	}
}

// unique returns the distinct tokens of a chunk, valid until the next call.
func (m *multiDonor) unique(chunk []int32) []int32 {
	m.distinct = m.distinct[:0]
	for _, id := range chunk {
		if m.each[id] == 0 {
			m.each[id] = 1
			m.distinct = append(m.distinct, id)
		}
	}
	for _, id := range m.distinct {
		m.each[id] = 0
	}
	return m.distinct
}

// near returns every donor chunk that lacks at most miss of the target chunk's tokens, and others. A chunk
// that lacks no more than miss holds at least one of any miss+1 tokens, so the rarest ones are looked up:
// in natural text that leaves few candidates where frequent tokens would leave all.
func (m *multiDonor) near(chunk []int32, miss int) []int32 {
	m.rare = append(m.rare[:0], chunk...)
	length := func(id int32) int32 { return m.lists.start[id+1] - m.lists.start[id] }
	slices.SortFunc(m.rare, func(a, b int32) int { return cmp.Or(cmp.Compare(length(a), length(b)), cmp.Compare(a, b)) })
	m.close = m.close[:0]
	for i, id := range m.rare[:miss+1] {
		if i > 0 && id == m.rare[i-1] {
			continue
		}
		for _, k := range m.lists.chunks[m.lists.start[id]:m.lists.start[id+1]] {
			if !m.seen[k] {
				m.seen[k] = true
				m.close = append(m.close, k)
			}
		}
	}
	for _, k := range m.close {
		m.seen[k] = false
	}
	return m.close
}

// overlap returns how many tokens two chunks have in common, counted with multiplicity.
func (m *multiDonor) overlap(target, donor []int32) (n int32) {
	for _, id := range target {
		m.each[id]++
	}
	for _, id := range donor {
		if id >= 0 && m.each[id] > 0 {
			m.each[id]--
			n++
		}
	}
	for _, id := range target {
		m.each[id] = 0
	}
	return n
}

// chunk returns the dense ids of donor chunk k.
func (m *multiDonor) chunk(c int, k int32) []int32 {
	p := m.places[k]
	return p.donor.dense[p.chunk*c : min((p.chunk+1)*c, len(p.donor.dense))]
}

// similar returns the donors of highest Jaccard similarity between token sets.
func (m *multiDonor) similar(s *semblend) []*chunked {
	var list []likely
	known := make([]bool, s.words.n)
	for _, d := range s.donors {
		clear(known)
		common := 0
		for _, id := range s.denseOf(d) {
			if id >= 0 && !known[id] {
				known[id] = true
				common++
			}
		}
		list = append(list, likely{d, float64(common) / float64(s.words.n+d.vocabulary()-common)})
	}
	return mostLikely(list)
}

// likely is a donor and its similarity to the target.
type likely struct {
	donor *chunked
	value float64
}

// mostLikely returns the few donors above the least similarity, most similar first; ties keep their order.
func mostLikely(list []likely) (donors []*chunked) {
	list = slices.DeleteFunc(list, func(l likely) bool { return !(l.value > jaccardSimilar) })
	slices.SortStableFunc(list, func(a, b likely) int { return cmp.Compare(b.value, a.value) })
	for _, l := range list[:min(len(list), jaccardDonors)] {
		donors = append(donors, l.donor)
	}
	return donors
}

// prepare indexes the chunks of donors by token: full ones, and a tail of at least minTail tokens. Tails
// say which donors share tokens; they are never copied.
func (m *multiDonor) prepare(s *semblend, donors []*chunked, minTail int) {
	m.dense, m.places = m.dense[:0], m.places[:0]
	for _, d := range donors {
		m.dense = append(m.dense, s.denseOf(d))
		for k := range d.hashes {
			m.places = append(m.places, place{d, k})
		}
		if tail := len(d.tokens) % s.c; tail > 0 && tail >= minTail {
			m.places = append(m.places, place{d, len(d.hashes)})
		}
	}
	m.lists.build(m.dense, s.c, minTail, s.words.n)
	m.each = append(m.each[:0], make([]int32, s.words.n)...)
	m.seen = append(m.seen[:0], make([]bool, len(m.places))...)
}

// spans drops chunks without a matched neighbour and returns what the others copy.
func (m *multiDonor) spans(s *semblend) (spans []sembench.Span) {
	for i, x := range m.matches {
		before := i > 0 && m.matches[i-1].donor != nil
		after := i+1 < len(m.matches) && m.matches[i+1].donor != nil
		if x.donor == nil || !before && !after {
			continue
		}
		at, from := i*s.c, x.chunk*s.c
		if !x.fuzzy {
			spans = extended(spans, sembench.Span{TargetStart: at, Length: s.c, DonorID: x.donor.id, DonorStart: from, Class: sembench.IdenticalContiguous})
			continue
		}
		m.pairs = pairTokens(m.pairs[:0], s.target[at:at+s.c], s.denseOf(x.donor)[from:from+s.c], false)
		for _, p := range m.pairs {
			spans = extended(spans, sembench.Span{TargetStart: at + p.t, Length: 1, DonorID: x.donor.id, DonorStart: from + p.d, Class: sembench.IdenticalScattered})
		}
	}
	return spans
}

// overlapNeeded returns the least number of common tokens whose share of c reaches the threshold.
func overlapNeeded(c int, threshold float64) int32 {
	n := int32(float64(c) * threshold)
	for float64(n)/float64(c) < threshold {
		n++
	}
	return n
}
