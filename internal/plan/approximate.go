package plan

import (
	"slices"

	"sembench"
)

// approximator adds spans of class approximate where `span` found nothing identical: whole segments of the
// target whose bag of tokens is close to a donor segment's. They are proposals of another kind, reported in
// columns of their own and never counted as identical reuse.
type approximator struct {
	segment  int // tokens
	docs     tfidf
	segments []segment // of all donors, by donor in order of registration
	held     map[string]bool
}

type segment struct {
	donor string
	start int
	bag   bag
}

const (
	// approximateCosine is the least similarity of a segment (planner.md, section 2).
	approximateCosine = 0.85
	// approximateBlocks is a segment's length in blocks: long enough for a bag of tokens to mean something.
	approximateBlocks = 4
)

func newApproximator(blockSize int) *approximator {
	return &approximator{segment: approximateBlocks * blockSize, held: map[string]bool{}}
}

func (a *approximator) reset() {
	a.docs, a.segments, a.held = tfidf{}, nil, map[string]bool{}
}

func (a *approximator) add(id string, ids []uint32) {
	a.forget(id)
	a.held[id] = true
	for start := 0; start+a.segment <= len(ids); start += a.segment {
		s := segment{id, start, bagOfTokens(ids[start : start+a.segment])}
		a.docs.add(s.bag, 1)
		a.segments = append(a.segments, s)
	}
}

func (a *approximator) forget(id string) {
	if !a.held[id] {
		return
	}
	delete(a.held, id)
	a.segments = slices.DeleteFunc(a.segments, func(s segment) bool {
		if s.donor == id {
			a.docs.add(s.bag, -1)
		}
		return s.donor == id
	})
}

// fill returns spans with approximate ones in their gaps, on the target's segment grid; the closest donor
// segment wins, ties keep the one registered first.
func (a *approximator) fill(spans []sembench.Span, target []uint32) []sembench.Span {
	var added []sembench.Span
	rest := spans
	for start := 0; start+a.segment <= len(target); start += a.segment {
		end := start + a.segment
		for len(rest) > 0 && rest[0].TargetStart+rest[0].Length <= start {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].TargetStart < end {
			continue
		}
		b := bagOfTokens(target[start:end])
		best, most := -1, approximateCosine
		for i, s := range a.segments {
			if v := a.docs.cosine(b, s.bag); v > most || v == most && best < 0 {
				best, most = i, v
			}
		}
		if best >= 0 {
			s := a.segments[best]
			added = append(added, sembench.Span{TargetStart: start, Length: a.segment, DonorID: s.donor, DonorStart: s.start, Class: sembench.Approximate})
		}
	}
	all := append(slices.Clone(spans), added...)
	slices.SortFunc(all, func(x, y sembench.Span) int { return x.TargetStart - y.TargetStart })
	return all
}
