package plan

import (
	"context"
	"time"

	"sembench"
)

// span finds every maximal run of identical tokens at any offset, of at least the minimum length, and
// covers the target with them (planner.md, section 2).
type span struct {
	o       Options
	index   *windows
	matcher matcher
	cover   coverer
	near    *approximator // nil unless Options.Approximate
}

func newSpan(o Options) *span {
	s := &span{o: o, index: newWindows((o.MinSpan+1)/2, o.MaxPlaces, o.Seed), cover: coverer{size: o.BlockSize}}
	if o.Approximate {
		s.near = newApproximator(o.BlockSize)
	}
	return s
}

func (s *span) Name() string { return "span" }

func (s *span) Reset() error {
	s.index.reset()
	if s.near != nil {
		s.near.reset()
	}
	return nil
}

// Register indexes a donor and evicts the least recently registered ones beyond Options.MaxTokens. A
// donor longer than that bound is kept alone.
func (s *span) Register(d Donor) error {
	if err := s.index.add(d.ID, d.Tokens); err != nil {
		return err
	}
	if s.near != nil {
		s.near.add(d.ID, d.Tokens)
	}
	for s.o.MaxTokens > 0 && s.index.tokens > s.o.MaxTokens {
		id, ok := s.index.oldest()
		if !ok || id == d.ID {
			break
		}
		if err := s.Forget(id); err != nil {
			return err
		}
	}
	return nil
}

func (s *span) Forget(donorID string) error {
	s.index.forget(donorID)
	if s.near != nil {
		s.near.forget(donorID)
	}
	return nil
}

func (s *span) Close() error { return nil }

// Plan covers t with runs of the registered donors. Similarity is null: none is computed.
func (s *span) Plan(ctx context.Context, t Target) sembench.Plan {
	p := started(s.Name(), s.o.BlockSize, t)
	if err := ctx.Err(); err != nil {
		return failed(p, err)
	}
	start := time.Now()
	runs, capped := s.matcher.find(s.index, t.Tokens, s.o.MinSpan)
	p.IndexCapped = capped
	pieces := s.cover.choose(runs, len(t.Tokens))
	p.Spans = make([]sembench.Span, 0, len(pieces))
	for _, c := range pieces {
		p.Spans = append(p.Spans, sembench.Span{
			TargetStart: c.start,
			Length:      c.end - c.start,
			DonorID:     s.index.donors[c.run.donor].id,
			DonorStart:  c.start - c.run.shift,
			Class:       sembench.IdenticalContiguous,
		})
	}
	if s.near != nil {
		p.Spans = s.near.fill(p.Spans, t.Tokens)
	}
	if len(p.Spans) == 0 {
		reason := "no identical run of min_span tokens"
		p.RejectionReason = &reason
	}
	return finished(p, time.Since(start))
}

// run is one maximal run of identical tokens: target [start, end) equals donor [start-shift, end-shift).
type run struct {
	start, end int
	donor      int // position in windows.donors
	shift      int
}

// matcher enumerates runs; its buffers are reused from plan to plan.
type matcher struct {
	hashes []uint32
	hits   []int32
	runs   []run
	seen   map[diagonal]int // → end of the last run found there
}

// diagonal is where a run lies: at most one run covers a target token on a diagonal.
type diagonal struct{ donor, shift int }

// workPerToken bounds the tokens compared per target token. Natural text needs 1 to 20; only a target that
// repeats one short pattern against donors that do likewise reaches it, where runs number in the square.
const workPerToken = 256

// find returns every maximal run of at least minSpan tokens between ids and any donor, ascending by start,
// then by donor and shift of discovery. capped is true when a window met more places than the index keeps
// or the work bound was reached; runs are then a choice, but each one is still true.
func (m *matcher) find(x *windows, ids []uint32, minSpan int) (runs []run, capped bool) {
	if m.seen == nil {
		m.seen = map[diagonal]int{}
	}
	clear(m.seen)
	m.runs = m.runs[:0]
	if x.used == 0 {
		return nil, false
	}
	m.hashes = x.roll(m.hashes[:0], ids)
	m.filter(x)
	for _, at := range m.hits { // independent loads, so that their misses overlap
		x.sink += x.slots[x.home(m.hashes[at])].hash
	}
	budget := workPerToken * (len(ids) + x.w)
	covered := 0 // beyond the budget only hits past every known run are followed
	for _, at := range m.hits {
		i := int(at)
		if budget < 0 && i+x.w <= covered {
			continue
		}
		hash := m.hashes[i]
		if len(x.seen) > 0 && x.seen[hash] > 0 {
			capped = true
		}
		for s := x.home(hash); x.slots[s].ordinal != 0; s = x.after(s) {
			if x.slots[s].hash != hash {
				continue
			}
			donor, p := x.at(x.slots[s].ordinal)
			d := diagonal{donor, i - p}
			if end, ok := m.seen[d]; ok && end > i {
				continue
			}
			r, compared := extend(ids, x.donors[donor].tokens, i, p)
			budget -= compared
			m.seen[d] = max(r.end, i+1)
			if r.end-r.start < minSpan {
				continue
			}
			r.donor, r.shift = donor, i-p
			m.runs = append(m.runs, r)
			covered = max(covered, r.end)
		}
		capped = capped || budget < 0
	}
	return m.runs, capped
}

// filter collects the offsets whose window may be in the index, without a branch per token: most windows
// of novel text are not there, and a mispredicted branch costs more than the filter word.
func (m *matcher) filter(x *windows) {
	if cap(m.hits) < len(m.hashes) {
		m.hits = make([]int32, len(m.hashes))
	}
	hits, n := m.hits[:len(m.hashes)], 0
	for i, h := range m.hashes {
		hits[n] = int32(i)
		if x.maybe(h) {
			n++
		}
	}
	m.hits = hits[:n]
}

// extend returns the maximal run through target token i and donor token p, as target positions, empty at i
// when those tokens differ, and how many tokens it compared.
func extend(target, donor []uint32, i, p int) (r run, compared int) {
	r.start, r.end = i, i
	for a, b := target[i:], donor[p:]; r.end-i < len(a) && r.end-i < len(b) && a[r.end-i] == b[r.end-i]; {
		r.end++
	}
	if r.end == i {
		return r, 1
	}
	for shift := i - p; r.start > 0 && r.start > shift && target[r.start-1] == donor[r.start-1-shift]; {
		r.start--
	}
	return r, r.end - r.start + 2
}
