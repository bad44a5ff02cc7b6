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

// Bounds of what the planners remember and do; a curve says where one was reached. 20 million tokens cost span about 100 MB.
// Semblend compares a prompt with many donors: it looks at the first prompts only, and at the latest million tokens before each.
const (
	spanTokens       = 20_000_000
	semanticTokens   = 1_000_000
	semanticRequests = 2000
)

// analyzeText turns prompts into block ids: a block's id covers all that precedes it in the prompt, as in an engine's
// prefix cache. Beside the curve stand any-position reuse by content, and what the planners span and semblend would copy,
// each from earlier prompts.
func analyzeText(s *Source, o Options) (c sembench.TraceCurve, err error) {
	size := o.BlockSize
	if size == 0 {
		size = bailianBlock
	}
	if s.Tokenizer, err = o.tokenizer(); err != nil {
		return c, fmt.Errorf("analyzing trace: %w", err)
	}
	a, err := NewAnalyzer(size, o)
	if err != nil {
		return c, err
	}
	runs, err := newProposals("span", plan.Options{BlockSize: size, MaxTokens: spanTokens})
	if err != nil {
		return c, err
	}
	defer runs.planner.Close()
	semantic, err := newProposals("semblend", plan.Options{BlockSize: size, MaxTokens: semanticTokens})
	if err != nil {
		return c, err
	}
	defer semantic.planner.Close()
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
		if err := runs.add(r); err != nil {
			return c, err
		}
		if semantic.requests < semanticRequests {
			if err := semantic.add(r); err != nil {
				return c, err
			}
		}
	}
	if err := tooBad(s.name, bad, a.requests); err != nil {
		return c, err
	}
	c = withBad(a.Curve(), bad)
	c.Tokenizer = s.Tokenizer.Name()
	c.Span = &sembench.AnyPosition{BlockHitRate: rate(runs.eligible, runs.blocks)}
	c.Semantic = &sembench.AnyPosition{BlockHitRate: rate(semantic.candidate, semantic.blocks)}
	if runs.tokens > spanTokens {
		c.Warnings = append(c.Warnings, fmt.Sprintf("span reuse was looked for in the latest %d tokens before each request", spanTokens))
	}
	if a.requests > semanticRequests {
		c.Warnings = append(c.Warnings, fmt.Sprintf("semantic reuse was looked for in the first %d requests", semanticRequests))
	}
	return c, nil
}

// tokenizer is the one given, else the one named.
func (o Options) tokenizer() (token.Tokenizer, error) {
	if o.Tokenizer != nil {
		return o.Tokenizer, nil
	}
	return token.Open(o.TokenizerSpec)
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

// proposals counts what a planner would copy from earlier prompts.
type proposals struct {
	planner                     plan.Planner
	size, requests, tokens      int
	blocks, eligible, candidate int64
}

func newProposals(name string, o plan.Options) (*proposals, error) {
	p, err := plan.Open(name, o)
	if err != nil {
		return nil, fmt.Errorf("analyzing trace: %w", err)
	}
	return &proposals{planner: p, size: o.BlockSize}, nil
}

func (s *proposals) add(r Request) error {
	blocks := block.Count(len(r.tokens), s.size)
	found := s.planner.Plan(context.Background(), plan.Target{Tokens: r.tokens, Text: r.Text})
	counts, err := plan.Count(found, make([]bool, blocks))
	if err != nil {
		return fmt.Errorf("analyzing trace: request %d: %w", s.requests+1, err)
	}
	s.blocks += int64(blocks)
	s.eligible += int64(counts.Eligible)
	s.candidate += int64(counts.Candidate)
	s.requests++
	s.tokens += len(r.tokens)
	return s.planner.Register(plan.Donor{ID: fmt.Sprint(s.requests), Tokens: append([]uint32(nil), r.tokens...), Text: r.Text})
}
