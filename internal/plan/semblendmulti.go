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
	matches []match
	used    map[place]bool
	lists   postings
	each    []int32   // occurrences of a dense token in the target chunk at hand
	acc     []int32   // multiset overlap per donor chunk
	shared  []int32   // distinct tokens in common per donor chunk
	touched []int32   // donor chunks with acc or shared set
	dense   [][]int32 // by candidate
	places  []place   // by chunk number over all candidates
	pairs   []pair
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
		m.fuzzy(s)
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
	m.matches = m.matches[:0]
	var last place
	for ; len(target) >= s.c; target = target[s.c:] {
		h := block.Of(target[:s.c])
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
func (m *multiDonor) fuzzy(s *semblend) {
	candidates := m.candidates(s)
	if len(candidates) == 0 {
		return
	}
	m.prepare(s, candidates)
	need := overlapNeeded(s.c, multiOverlap)
	for i := range m.matches {
		if m.matches[i].donor != nil {
			continue
		}
		m.count(s.target[i*s.c : (i+1)*s.c])
		best, most := int32(-1), need-1
		slices.Sort(m.touched)
		for _, k := range m.touched {
			if m.acc[k] > most && !m.used[m.places[k]] {
				best, most = k, m.acc[k]
			}
		}
		m.forgetCounts()
		if best >= 0 {
			p := m.places[best]
			m.used[p] = true
			m.matches[i] = match{donor: p.donor, chunk: p.chunk, fuzzy: true}
		}
	}
}

// candidates returns whose chunks are tried, in order of registration: the donors of exact chunks; without
// any, those that share enough tokens with some chunk; without any, those of similar vocabulary.
func (m *multiDonor) candidates(s *semblend) []*chunked {
	wanted := map[*chunked]bool{}
	for _, x := range m.matches {
		if x.donor != nil {
			wanted[x.donor] = true
		}
	}
	if len(wanted) == 0 {
		m.prepare(s, s.donors)
		m.sharing(s, wanted)
	}
	if len(wanted) == 0 {
		return m.similar(s)
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
	for i := range m.matches {
		distinct := m.count(s.target[i*s.c : (i+1)*s.c])
		need := int32(max(sharedTokens, distinct/2))
		var top []int32
		for _, k := range m.touched {
			if m.shared[k] >= need {
				top = append(top, k)
			}
		}
		slices.SortFunc(top, func(a, b int32) int { return cmp.Or(cmp.Compare(m.shared[b], m.shared[a]), cmp.Compare(a, b)) })
		for _, k := range top[:min(len(top), bestPerChunk)] {
			wanted[m.places[k].donor] = true
		}
		m.forgetCounts()
	}
}

// similar returns the donors of highest Jaccard similarity between token sets.
func (m *multiDonor) similar(s *semblend) []*chunked {
	type rated struct {
		donor *chunked
		value float64
	}
	var list []rated
	seen := map[uint32]bool{}
	known := make([]bool, s.words.n)
	for _, d := range s.donors {
		clear(seen)
		clear(known)
		common := 0
		for i, id := range s.denseOf(d) {
			switch {
			case id < 0:
				seen[d.tokens[i]] = true
			case !known[id]:
				known[id] = true
				common++
			}
		}
		if v := float64(common) / float64(s.words.n+len(seen)); v > jaccardSimilar {
			list = append(list, rated{d, v})
		}
	}
	slices.SortStableFunc(list, func(a, b rated) int { return cmp.Compare(b.value, a.value) })
	var donors []*chunked
	for _, r := range list[:min(len(list), jaccardDonors)] {
		donors = append(donors, r.donor)
	}
	return donors
}

// prepare indexes the chunks of donors by token.
func (m *multiDonor) prepare(s *semblend, donors []*chunked) {
	m.dense, m.places = m.dense[:0], m.places[:0]
	for _, d := range donors {
		m.dense = append(m.dense, s.denseOf(d))
		for k := range d.hashes {
			m.places = append(m.places, place{d, k})
		}
	}
	m.lists.build(m.dense, s.c, s.words.n)
	m.each = append(m.each[:0], make([]int32, s.words.n)...)
	m.acc = append(m.acc[:0], make([]int32, len(m.places))...)
	m.shared = append(m.shared[:0], make([]int32, len(m.places))...)
	m.touched = m.touched[:0]
}

// count sets acc and shared for one target chunk and returns its number of distinct tokens.
func (m *multiDonor) count(chunk []int32) (distinct int) {
	for _, id := range chunk {
		m.each[id]++
	}
	for _, id := range chunk {
		n := m.each[id]
		if n == 0 {
			continue
		}
		m.each[id] = 0
		distinct++
		for at := m.lists.start[id]; at < m.lists.start[id+1]; at++ {
			k := m.lists.chunks[at]
			if m.shared[k] == 0 {
				m.touched = append(m.touched, k)
			}
			m.shared[k]++
			m.acc[k] += min(n, m.lists.counts[at])
		}
	}
	return distinct
}

func (m *multiDonor) forgetCounts() {
	for _, k := range m.touched {
		m.acc[k], m.shared[k] = 0, 0
	}
	m.touched = m.touched[:0]
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
