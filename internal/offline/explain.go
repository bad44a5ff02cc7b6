package offline

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/plan"
)

// Fate is what becomes of one recipient block, the cheapest way first.
type Fate string

// The fates. A block that is an exact hit is shown as such even where a planner would copy it too.
const (
	Prefix      Fate = "prefix"      // exact hit, and every block before it too: an engine's prefix cache has it
	Exact       Fate = "exact"       // exact hit elsewhere
	SpanCopy    Fate = "span"        // eligible: copied from one donor, contiguous
	Scattered   Fate = "scattered"   // candidate only: the same ids, gathered from several places
	Approximate Fate = "approximate" // copied from tokens that differ
	Recompute   Fate = "recompute"
)

// Fates lists them in the order of legends.
var Fates = []Fate{Prefix, Exact, SpanCopy, Scattered, Approximate, Recompute}

// Run is consecutive blocks [First, Last] of one fate with one source. Donor is empty for recompute; DonorStart is the donor's token
// at the run's first token, and Shift how far donor positions lie ahead of the recipient's. Places is how many donor spans a scattered run gathers;
// its Donor and DonorStart are of the first.
type Run struct {
	Fate              Fate
	First, Last       int
	Donor             string
	DonorStart, Shift int
	Places            int
}

// Blocks is how many blocks the run has.
func (r Run) Blocks() int { return r.Last - r.First + 1 }

// Strip is one recipient's blocks under one planner; the first strip of an explanation has Name "exact" and no planner. Error is why the
// planner failed: its blocks are then unmeasured, and Runs is empty.
type Strip struct {
	Name   string
	Error  string
	Reason string // rejection reason; "" for none
	Runs   []Run
}

// Explanation is why one item's rates are what they are.
type Explanation struct {
	ItemID, Dataset, Transform   string
	PromptTokens, Blocks, Donors int
	BlockSize                    int
	Strips                       []Strip
	// IDs are the recipient's tokens.
	IDs []uint32
	// Texts is the text of each block; nil where the tokenizer tells no boundaries.
	Texts []string
}

// Explain counts the items up to the named one, as Rows does, and shows its blocks. An unknown id is an error.
func Explain(ctx context.Context, items iter.Seq2[sembench.Item, error], id string, o Options) (Explanation, error) {
	if err := o.Check(); err != nil {
		return Explanation{}, err
	}
	s := newStream(o)
	s.keep = true
	defer s.close()
	count := s.item
	if !o.Stream {
		c, err := newCounter(o)
		if err != nil {
			return Explanation{}, err
		}
		defer closeAll(c.planners)
		count = c.item
	}
	seen := 0
	for it, err := range items {
		if err != nil {
			return Explanation{}, err
		}
		seen++
		if !o.Stream && it.ItemID != id {
			continue // its pool is its own
		}
		x, err := count(ctx, it)
		if err != nil {
			return Explanation{}, err
		}
		if it.ItemID == id {
			return x.explain(o), nil
		}
	}
	return Explanation{}, fmt.Errorf("explaining item %q: it is none of the %d items", id, seen)
}

func (x counted) explain(o Options) Explanation {
	out := Explanation{
		ItemID: x.it.ItemID, Dataset: x.it.Dataset, Transform: x.it.Transform, PromptTokens: len(x.ids), Blocks: len(x.hits), Donors: len(x.donors),
		BlockSize: o.BlockSize, IDs: x.ids, Texts: x.texts(o),
	}
	where := block.NewIndex(o.BlockSize)
	for _, d := range x.donors {
		where.Add(d.ID, d.Tokens)
	}
	out.Strips = []Strip{{Name: "exact", Runs: x.runs(o, where, sembench.Plan{}, plan.Counts{})}}
	for i, made := range x.plans {
		strip := Strip{Name: o.Planners[i]}
		counts, err := plan.Count(made, x.hits)
		if made.Error != nil {
			strip.Error = *made.Error
		} else if err != nil {
			strip.Error = err.Error()
		} else {
			strip.Runs = x.runs(o, where, made, counts)
		}
		if made.RejectionReason != nil {
			strip.Reason = *made.RejectionReason
		}
		out.Strips = append(out.Strips, strip)
	}
	return out
}

// runs joins blocks of one fate and source. A plan without spans shows the exact rung alone.
func (x counted) runs(o Options, where *block.Index, made sembench.Plan, counts plan.Counts) (out []Run) {
	for b := range x.hits {
		run := Run{Fate: Recompute, First: b, Last: b}
		start := b * o.BlockSize
		switch {
		case x.hits[b]:
			run.Fate = Exact
			if b < x.prefix {
				run.Fate = Prefix
			}
			x.place(&run, o, where)
		case counts.EligibleMask != nil && counts.EligibleMask[b]:
			run.Fate = SpanCopy
			run.from(made.Spans, start, o.BlockSize)
		case counts.CandidateMask != nil && counts.CandidateMask[b]:
			run.Fate = Scattered
			run.from(made.Spans, start, o.BlockSize)
		case copied(made.Spans, start, o.BlockSize):
			run.Fate = Approximate
			run.from(made.Spans, start, o.BlockSize)
		}
		if n := len(out) - 1; n >= 0 && out[n].continues(run) {
			out[n].Last, out[n].Places = b, out[n].Places+run.Places
			continue
		}
		out = append(out, run)
	}
	return out
}

// continues says whether next goes on where r ends: the same fate, from the same place.
func (r Run) continues(next Run) bool {
	same := r.Fate == next.Fate && r.Donor == next.Donor
	return same && (r.Shift == next.Shift || r.Fate == Scattered)
}

// place finds where an exact hit stands: at its own position in a donor that it continues, else where its content was first seen.
func (x counted) place(run *Run, o Options, where *block.Index) {
	start := run.First * o.BlockSize
	if run.Fate == Prefix {
		for _, d := range x.donors {
			if block.Count(len(d.Tokens), o.BlockSize) > run.First && slices.Equal(d.Tokens[:start+o.BlockSize], x.ids[:start+o.BlockSize]) {
				run.Donor, run.DonorStart, run.Places = d.ID, start, 1
				return
			}
		}
	}
	if donor, number, ok := where.First(x.ids[start : start+o.BlockSize]); ok {
		run.Donor, run.DonorStart, run.Places = donor, number*o.BlockSize, 1
		run.Shift = run.DonorStart - start
	}
}

// from says where a copied block's tokens come from.
func (r *Run) from(spans []sembench.Span, start, size int) {
	for _, s := range spans {
		if s.TargetStart >= start+size || s.TargetStart+s.Length <= start {
			continue
		}
		if r.Places == 0 {
			ahead := max(start-s.TargetStart, 0)
			r.Donor, r.DonorStart, r.Shift = s.DonorID, s.DonorStart+ahead, s.DonorStart-s.TargetStart
		}
		r.Places++
	}
}

// copied says whether spans cover all tokens of a block.
func copied(spans []sembench.Span, start, size int) bool {
	n := 0
	for _, s := range spans {
		n += max(0, min(s.TargetStart+s.Length, start+size)-max(s.TargetStart, start))
	}
	return n == size
}

// texts cuts the text at block boundaries; nil where pieces and ids do not correspond.
func (x counted) texts(o Options) []string {
	pieces := o.Tokenizer.Pieces(x.text)
	added := len(x.ids) - len(pieces) // ids in front of a raw prompt have no text
	if added < 0 || added > 0 && !o.Raw || o.source() != "local" {
		return nil
	}
	out := make([]string, len(x.hits))
	for b := range out {
		out[b] = strings.Join(pieces[max(0, b*o.BlockSize-added):max(0, (b+1)*o.BlockSize-added)], "")
	}
	return out
}
