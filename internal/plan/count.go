package plan

import (
	"fmt"

	"sembench"
	"sembench/internal/block"
)

// Counts is what a plan's spans amount to in full target blocks (contract, section 3).
type Counts struct {
	// Candidate is the number of blocks whose every token is copied with its own id, from anywhere.
	Candidate int
	// Eligible is the number of candidates that come from one donor at contiguous ascending positions.
	Eligible int
	// Novel is the number of eligible blocks that are no exact hit.
	Novel int
	// CopiedTokens is the number of tokens copied with their own id, in full blocks or not. Approximate
	// tokens are in TokensByClass alone.
	CopiedTokens int
	// ByClass counts each wholly copied block once: approximate when any of its tokens is, else
	// identical_contiguous when eligible, else identical_scattered. Candidate is the sum of the last two.
	ByClass map[sembench.Class]int
	// TokensByClass counts copied tokens by the class of their span.
	TokensByClass map[sembench.Class]int
	// CandidateMask and EligibleMask have one value per full block.
	CandidateMask, EligibleMask []bool
}

// Count is the one counting function that all planners share. exactHits has one value per full target
// block, as block.Index.Hits returns it.
// A plan that failed, or whose spans are out of range, out of order, overlapping or of an unknown class,
// is an error: it must be reported as unmeasured, never as zero.
func Count(p sembench.Plan, exactHits []bool) (Counts, error) {
	if p.Error != nil {
		return Counts{}, fmt.Errorf("counting plan of %s: planner failed: %s", p.Planner, *p.Error)
	}
	if err := Validate(p); err != nil {
		return Counts{}, fmt.Errorf("counting plan of %s: %w", p.Planner, err)
	}
	total := block.Count(p.TargetTokens, p.BlockSize)
	if len(exactHits) != total {
		return Counts{}, fmt.Errorf("counting plan of %s: %d exact hits for %d blocks: use the same tokens and block size", p.Planner, len(exactHits), total)
	}
	c := Counts{
		ByClass:       map[sembench.Class]int{},
		TokensByClass: map[sembench.Class]int{},
		CandidateMask: make([]bool, total),
		EligibleMask:  make([]bool, total),
	}
	for _, s := range p.Spans {
		c.TokensByClass[s.Class] += s.Length
	}
	c.CopiedTokens = c.TokensByClass[sembench.IdenticalContiguous] + c.TokensByClass[sembench.IdenticalScattered]
	rest := p.Spans
	for b := range total {
		start, end := b*p.BlockSize, (b+1)*p.BlockSize
		for len(rest) > 0 && rest[0].TargetStart+rest[0].Length <= start {
			rest = rest[1:]
		}
		class, whole := classify(rest, start, end)
		if !whole {
			continue
		}
		c.ByClass[class]++
		c.CandidateMask[b] = class != sembench.Approximate
		c.EligibleMask[b] = class == sembench.IdenticalContiguous
		if c.EligibleMask[b] && !exactHits[b] {
			c.Novel++
		}
	}
	c.Eligible = c.ByClass[sembench.IdenticalContiguous]
	c.Candidate = c.Eligible + c.ByClass[sembench.IdenticalScattered]
	return c, nil
}

// classify returns the class of the block [start, end) and whether spans, whose first may begin earlier,
// copy all of it. Contiguity follows from positions, not from the class that a planner gave its spans:
// fuzzy pairs that happen to be contiguous are eligible.
func classify(spans []sembench.Span, start, end int) (class sembench.Class, whole bool) {
	class = sembench.IdenticalContiguous
	for _, s := range spans {
		if s.TargetStart > start {
			return "", false
		}
		switch {
		case s.Class == sembench.Approximate:
			class = sembench.Approximate
		case class == sembench.Approximate:
		case s.DonorID != spans[0].DonorID || s.DonorStart-s.TargetStart != spans[0].DonorStart-spans[0].TargetStart:
			class = sembench.IdenticalScattered
		}
		if start = s.TargetStart + s.Length; start >= end {
			return class, true
		}
	}
	return "", false
}

// Validate returns the first reason why a plan's spans cannot be counted: block size below 1, an empty
// span, a position outside the target, a negative donor position, descending or overlapping spans, or an
// unknown class. Donor ends are the planner's to check: a plan does not say how long donors are.
func Validate(p sembench.Plan) error {
	if p.BlockSize < 1 {
		return fmt.Errorf("block size %d is below 1", p.BlockSize)
	}
	end := 0
	for i, s := range p.Spans {
		switch {
		case s.Length < 1:
			return fmt.Errorf("spans[%d]: length %d is below 1", i, s.Length)
		case s.TargetStart < 0 || s.TargetStart > p.TargetTokens-s.Length:
			return fmt.Errorf("spans[%d]: target tokens [%d, +%d) lie outside the target's %d", i, s.TargetStart, s.Length, p.TargetTokens)
		case s.DonorStart < 0:
			return fmt.Errorf("spans[%d]: donor_start %d is negative", i, s.DonorStart)
		case s.TargetStart < end:
			return fmt.Errorf("spans[%d]: target_start %d lies before the end %d of the span before it", i, s.TargetStart, end)
		}
		switch s.Class {
		case sembench.IdenticalContiguous, sembench.IdenticalScattered, sembench.Approximate:
		default:
			return fmt.Errorf("spans[%d]: class %q is unknown", i, s.Class)
		}
		end = s.TargetStart + s.Length
	}
	return nil
}

// Clip returns p without what a pool no longer holds: held gives the number of leading tokens of a donor
// that are still resident, and spans are cut there. It lets every planner see the pool that the exact
// baseline sees. p is not changed; its reuse ratio and Found follow.
func Clip(p sembench.Plan, held func(donorID string) int) sembench.Plan {
	if p.Error != nil {
		return p
	}
	kept, copied := make([]sembench.Span, 0, len(p.Spans)), 0
	for _, s := range p.Spans {
		if s.Length = min(s.Length, held(s.DonorID)-s.DonorStart); s.Length > 0 {
			kept = append(kept, s)
			if s.Class != sembench.Approximate {
				copied += s.Length
			}
		}
	}
	p.Spans, p.Found, p.ReuseRatio = kept, len(kept) > 0, nil
	if p.Found && p.TargetTokens > 0 {
		ratio := float64(copied) / float64(p.TargetTokens)
		p.ReuseRatio = &ratio
	}
	return p
}
