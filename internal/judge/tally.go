package judge

import "sembench"

// Tally sums offline rows as they come, so that a result of any number of rows takes the memory of its groups alone. Its result is that
// of Aggregate over the same rows, to the last bit; keys of live runs are null.
type Tally struct {
	o           Options
	all         *sums
	groups      map[string]*sums
	bands       map[string]*sums
	seen, clean int
}

// NewTally is a tally of nothing.
func NewTally(o Options) *Tally {
	return &Tally{o: o, all: newSums(), groups: map[string]*sums{}, bands: map[string]*sums{}}
}

// Add counts one row. A row that failed is in no aggregate.
func (t *Tally) Add(row *sembench.Row) {
	t.seen++
	if row.Error != nil {
		return
	}
	t.clean++
	t.all.add(row)
	for _, part := range []struct {
		of   map[string]*sums
		name string
	}{{t.groups, TransformName(row.Transform)}, {t.bands, band(row)}} {
		if part.of[part.name] == nil {
			part.of[part.name] = newSums()
		}
		part.of[part.name].add(row)
	}
}

// Rows is how many rows were added.
func (t *Tally) Rows() int { return t.seen }

// fill writes aggregate, ladder and groups into a result.
func (t *Tally) fill(out *sembench.Result) {
	size := t.o.blockSize()
	out.Aggregate, out.Ladder = t.all.aggregate(size), t.all.ladder(size)
	out.ByTransform, out.ByLength = map[string]sembench.Group{}, map[string]sembench.Group{}
	for name, s := range t.groups {
		out.ByTransform[name] = sembench.Group{Aggregate: s.aggregate(size)}
	}
	for name, s := range t.bands {
		out.ByLength[name] = sembench.Group{Aggregate: s.aggregate(size)}
	}
	if dropped := t.seen - t.clean; dropped > 0 {
		out.Warnings = append(out.Warnings, droppedRows(dropped, t.seen))
	}
}

// total is a sum over the rows that had the number; of nothing it is null.
type total struct{ sum, rows int }

func (t *total) add(n *int) {
	if n != nil {
		t.sum, t.rows = t.sum+*n, t.rows+1
	}
}

func (t total) value() *int {
	if t.rows == 0 {
		return nil
	}
	return new(t.sum)
}

// quotient is a sum over sum of the rows that have both sides.
type quotient struct{ over, under, rows int }

func (q *quotient) add(over, under *int) {
	if over != nil && under != nil {
		q.over, q.under, q.rows = q.over+*over, q.under+*under, q.rows+1
	}
}

func (q quotient) rate() *float64 { return rate(q.over, q.under) }

// running adds in the order of rows, as a mean over a list does.
type running struct {
	sum  float64
	rows int
}

func (r *running) add(x *float64) {
	if x != nil {
		r.sum, r.rows = r.sum+*x, r.rows+1
	}
}

func (r running) mean() *float64 {
	if r.rows == 0 {
		return nil
	}
	return finite(r.sum / float64(r.rows))
}

// answers counts rows that say yes among those that say anything.
type answers struct{ yes, rows int }

func (a *answers) add(b *bool) {
	if b != nil {
		a.rows++
		if *b {
			a.yes++
		}
	}
}

// sums is one group of a tally.
type sums struct {
	rows, promptTokens, totalBlocks, exactBlocks int
	localBlocks                                  total
	prefixBlocks, candidate, eligible, novel     total
	exactRate, prefixRate, candidateRate         quotient
	eligibleRate, novelRate                      quotient
	lift, prefixLift                             quotient
	agreement                                    answers
	exactTokens, candidateTokens, eligibleTokens quotient
	latency                                      running
	found                                        answers

	controls, controlBlocks int
	controlEligible         total
	controlRate             quotient
	wrong                   map[string]*sembench.WrongReuse
	planners                map[string]*plannerSums
}

type plannerSums struct {
	counts  sembench.PlannerAggregate
	found   int
	latency running
}

func newSums() *sums {
	return &sums{wrong: map[string]*sembench.WrongReuse{}, planners: map[string]*plannerSums{}}
}

func (s *sums) add(row *sembench.Row) {
	local, exact := row.LocalTotalBlocks, exactBlocks(*row)
	s.rows++
	s.promptTokens, s.totalBlocks, s.exactBlocks = s.promptTokens+row.PromptTokens, s.totalBlocks+row.TotalBlocks, s.exactBlocks+deref(exact)
	s.localBlocks.add(local)
	for _, part := range []struct {
		total *total
		rate  *quotient
		n     *int
	}{
		{&s.prefixBlocks, &s.prefixRate, row.ExactPrefixHitBlocks}, {&s.candidate, &s.candidateRate, row.SemanticCandidateBlocks},
		{&s.eligible, &s.eligibleRate, row.SemanticEligibleBlocks}, {&s.novel, &s.novelRate, row.SemanticNovelBlocks},
	} {
		part.total.add(part.n)
		part.rate.add(part.n, local)
	}
	s.exactRate.add(exact, local)
	if local != nil {
		s.agreement.add(new(*local == row.TotalBlocks))
	}
	// Denominators of both sides of a lift are the local blocks: they are always equal.
	if n := row.SemanticEligibleBlocks; n != nil && local != nil {
		if exact != nil {
			s.lift.add(new(*n-*exact), local)
		}
		if p := row.ExactPrefixHitBlocks; p != nil {
			s.prefixLift.add(new(*n-*p), local)
		}
	}
	s.addTokens(row, exact)
	s.latency.add(row.SemblendLatencyMS)
	s.found.add(row.SemblendFound)
	if row.NegativeControl {
		s.controls, s.controlBlocks = s.controls+1, s.controlBlocks+row.TotalBlocks
		s.controlEligible.add(row.SemanticEligibleBlocks)
		s.controlRate.add(row.SemanticEligibleBlocks, local)
	}
	if row.ControlKind != nil {
		w := s.wrong[*row.ControlKind]
		if w == nil {
			w = &sembench.WrongReuse{}
			s.wrong[*row.ControlKind] = w
		}
		w.Rows, w.PromptTokens = w.Rows+1, w.PromptTokens+row.PromptTokens
	}
	for name, column := range row.Planners {
		if s.planners[name] == nil {
			s.planners[name] = &plannerSums{}
		}
		s.planners[name].add(column, local)
	}
}

// addTokens sums tokens over whole prompts. Exact blocks count times the block size later: the size is the tally's.
func (s *sums) addTokens(row *sembench.Row, exact *int) {
	s.exactTokens.add(exact, row.LocalPromptTokens)
	s.candidateTokens.add(row.SemanticCandidateTokens, row.LocalPromptTokens)
	s.eligibleTokens.add(row.SemanticEligibleTokens, row.LocalPromptTokens)
}

func (p *plannerSums) add(column sembench.PlannerRow, local *int) {
	a := &p.counts
	if column.Error != nil {
		a.Errors++
		return
	}
	if column.CandidateBlocks == nil {
		return
	}
	a.Rows++
	for _, part := range []struct {
		to *int
		n  *int
	}{
		{&a.TotalBlocks, local}, {&a.CandidateBlocks, column.CandidateBlocks}, {&a.EligibleBlocks, column.EligibleBlocks},
		{&a.NovelBlocks, column.NovelBlocks}, {&a.CopiedTokens, column.CopiedTokens}, {&a.IdenticalTokens, column.IdenticalTokens},
		{&a.ScatteredTokens, column.ScatteredTokens}, {&a.ApproxTokens, column.ApproxTokens},
	} {
		*part.to += deref(part.n)
	}
	if column.Found != nil && *column.Found {
		p.found++
	}
	if column.IndexCapped {
		a.IndexCappedRequests++
	}
	p.latency.add(column.LatencyMS)
}

func (s *sums) aggregate(size int) sembench.Aggregate {
	out := sembench.Aggregate{
		RequestCount: s.rows, PromptTokens: s.promptTokens, TotalBlocks: s.totalBlocks, LocalTotalBlocks: s.localBlocks.value(),
		LocalCountAgreement: rate(s.agreement.yes, s.agreement.rows),
		ExactHitBlocks:      s.exactBlocks, ExactBlockHitRate: s.exactRate.rate(),
		ExactPrefixHitBlocks: s.prefixBlocks.value(), ExactPrefixBlockHitRate: s.prefixRate.rate(),
		SemanticCandidateBlocks: s.candidate.value(), SemanticCandidateBlockRate: s.candidateRate.rate(),
		SemanticEligibleBlocks: s.eligible.value(), SemanticEligibleBlockRate: s.eligibleRate.rate(),
		SemanticNovelBlocks: s.novel.value(), SemanticNovelBlockRate: s.novelRate.rate(),
		SemanticEligibleLift: s.lift.rate(), SemanticLiftOverPrefix: s.prefixLift.rate(),
		BackendConfirmedCoverage:                rate(0, s.rows),
		ExternalConfirmedCoverage:               rate(0, s.rows),
		SemanticConfirmedCoverage:               rate(0, s.rows),
		ExactTokenWeightedReuseRate:             rate(s.exactTokens.over*size, s.exactTokens.under),
		SemanticCandidateTokenWeightedReuseRate: s.candidateTokens.rate(),
		SemanticEligibleTokenWeightedReuseRate:  s.eligibleTokens.rate(),
		MeanSemblendLatencyMS:                   s.latency.mean(), SemblendHitRateByRequest: rate(s.found.yes, s.found.rows),
		NegativeControlCount: s.controls, NegativeControlBlocks: s.controlBlocks,
		NegativeControlSemanticEligibleBlocks: s.controlEligible.value(), NegativeControlSemanticEligibleRate: s.controlRate.rate(),
		WrongReuse: map[string]sembench.WrongReuse{}, RouteOutcomes: map[string]int{}, Planners: map[string]sembench.PlannerAggregate{},
	}
	for kind, w := range s.wrong {
		out.WrongReuse[kind] = *w
	}
	for name, p := range s.planners {
		a := p.counts
		a.CandidateBlockRate, a.EligibleBlockRate = rate(a.CandidateBlocks, a.TotalBlocks), rate(a.EligibleBlocks, a.TotalBlocks)
		a.NovelBlockRate, a.HitRateByRequest = rate(a.NovelBlocks, a.TotalBlocks), rate(p.found, a.Rows)
		a.MeanLatencyMS = p.latency.mean()
		out.Planners[name] = a
	}
	return out
}

// ladder has the offline rungs; those of an engine are covered by no row.
func (s *sums) ladder(size int) []sembench.Rung {
	out := ladder(nil, nil, size)
	for i := range out {
		r := &out[i]
		if r.Unit != "pairs" {
			r.Coverage = rate(0, s.rows)
		}
		q, offline := map[string]quotient{"exact": s.exactRate, "candidate": s.candidateRate, "eligible": s.eligibleRate}[r.Name]
		if !offline {
			continue
		}
		if r.Coverage = rate(q.rows, s.rows); q.rows > 0 {
			r.Numerator, r.Denominator, r.Rate = new(float64(q.over)), new(float64(q.under)), q.rate()
		}
	}
	return out
}
