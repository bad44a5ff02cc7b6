package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/plan"
	"sembench/internal/token"
	"sembench/internal/workload"
)

// spanTokens bounds the prompts that the span planner remembers: 20 million tokens cost about 100 MB. Beyond it the
// oldest are forgotten, and the curve says so.
const spanTokens = 20_000_000

// analyzeText turns prompts into block ids: a block's id covers all that precedes it in the prompt, as in an engine's
// prefix cache. Beside the curve stand any-position reuse by content and span reuse, both from all earlier prompts.
func analyzeText(s *Source, o Options) (c sembench.TraceCurve, err error) {
	size := o.BlockSize
	if size == 0 {
		size = bailianBlock
	}
	if s.Tokenizer = o.Tokenizer; s.Tokenizer == nil {
		if s.Tokenizer, err = token.Open(""); err != nil {
			return c, fmt.Errorf("analyzing trace: %w", err)
		}
	}
	a, err := NewAnalyzer(size, o)
	if err != nil {
		return c, err
	}
	spans, err := newSpans(size)
	if err != nil {
		return c, err
	}
	defer spans.planner.Close()
	var bad sembench.Problems
	var blocks blockIDs
	for r, err := range s.Requests() {
		var record *workload.BadRecord
		switch {
		case errors.As(err, &record):
			bad.Add(err)
			continue
		case err != nil:
			return c, err
		}
		blocks.of(r.tokens, size)
		r.IDs, r.contents = blocks.chained, blocks.contents
		a.Add(r)
		if err := spans.add(r.tokens); err != nil {
			return c, err
		}
	}
	if err := tooBad(s.name, bad, a.requests); err != nil {
		return c, err
	}
	c = withBad(a.Curve(), bad)
	c.Tokenizer = s.Tokenizer.Name()
	c.Span = &sembench.AnyPosition{BlockHitRate: rate(spans.eligible, a.ids)}
	if spans.forgot {
		c.Warnings = append(c.Warnings, fmt.Sprintf("span reuse was looked for in the last %d tokens only", spanTokens))
	}
	return c, nil
}

// blockIDs are the full blocks of a prompt: by content, and by content and all that precedes it.
type blockIDs struct{ contents, chained []uint64 }

func (b *blockIDs) of(ids []uint32, size int) {
	b.contents, b.chained = b.contents[:0], b.chained[:0]
	var link [16]byte
	for i := range block.Count(len(ids), size) {
		hash := block.Of(ids[i*size : (i+1)*size])
		content := binary.LittleEndian.Uint64(hash[:8])
		binary.LittleEndian.PutUint64(link[8:], content)
		chained := xxh3.Hash(link[:])
		binary.LittleEndian.PutUint64(link[:8], chained)
		b.contents, b.chained = append(b.contents, content), append(b.chained, chained)
	}
}

// spans counts what a planner that sees identical runs at any offset would add.
type spans struct {
	planner  plan.Planner
	size     int
	requests int
	tokens   int
	eligible int64
	forgot   bool
}

func newSpans(size int) (*spans, error) {
	p, err := plan.Open("span", plan.Options{BlockSize: size, MaxTokens: spanTokens})
	if err != nil {
		return nil, fmt.Errorf("analyzing trace: %w", err)
	}
	return &spans{planner: p, size: size}, nil
}

func (s *spans) add(ids []uint32) error {
	found := s.planner.Plan(context.Background(), plan.Target{Tokens: ids})
	counts, err := plan.Count(found, make([]bool, block.Count(len(ids), s.size)))
	if err != nil {
		return fmt.Errorf("analyzing trace: request %d: %w", s.requests+1, err)
	}
	s.eligible += int64(counts.Eligible)
	s.requests++
	s.tokens += len(ids)
	s.forgot = s.forgot || s.tokens > spanTokens
	return s.planner.Register(plan.Donor{ID: fmt.Sprint(s.requests), Tokens: append([]uint32(nil), ids...)})
}
