package judge

import (
	"strings"

	"sembench"
	"sembench/internal/stat"
)

// Aggregate sums rows into the contract's keys (sections 1 to 6): rates are sum over sum, over the rows that have the
// number; null where none has it. Intervals resample rows.
func Aggregate(rows []sembench.Row, o Options) sembench.Aggregate {
	out := sembench.Aggregate{RequestCount: len(rows), WrongReuse: map[string]sembench.WrongReuse{}, RouteOutcomes: map[string]int{},
		Planners: map[string]sembench.PlannerAggregate{}}
	for _, row := range rows {
		out.PromptTokens += row.PromptTokens
		out.TotalBlocks += row.TotalBlocks
	}
	offlineRates(&out, rows)
	confirmedRates(&out, rows)
	tokenRates(&out, rows, o.blockSize())
	qualityMeans(&out, rows, newEstimator(o))
	negativeControls(&out, rows, o.blockSize())
	wrongReuses(&out, rows)
	placements(&out, rows)
	planners(&out, rows)
	return out
}

// sum adds what of gives; null when it gave nothing. Count is how many rows had it.
func sum(rows []sembench.Row, of func(sembench.Row) *int) (total *int, count int) {
	for _, row := range rows {
		if n := of(row); n != nil {
			if total == nil {
				total = new(0)
			}
			*total += *n
			count++
		}
	}
	return total, count
}

// share is the sum of of over the sum of per, over the rows that have both; null when that is nothing.
func share(rows []sembench.Row, of, per func(sembench.Row) *int) *float64 {
	a, b := 0, 0
	for _, row := range rows {
		if n, d := of(row), per(row); n != nil && d != nil {
			a, b = a+*n, b+*d
		}
	}
	return rate(a, b)
}

// mean averages what of gives.
func mean(rows []sembench.Row, of func(sembench.Row) *float64) *float64 {
	return average(values(rows, of))
}

func values(rows []sembench.Row, of func(sembench.Row) *float64) (out []float64) {
	for _, row := range rows {
		if v := of(row); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// localBlocks is the denominator of offline rates; null on a row that was never analysed offline. Rows of producers that know
// one count only carry no source of it: there it is both.
func localBlocks(row sembench.Row) *int {
	if row.LocalTotalBlocks == nil && row.PromptTokensSource == nil && row.TotalBlocks > 0 {
		return &row.TotalBlocks
	}
	return row.LocalTotalBlocks
}

// localTokens is the whole prompt by the same count.
func localTokens(row sembench.Row) *int {
	if row.LocalPromptTokens == nil && row.LocalTotalBlocks == nil && row.PromptTokensSource == nil && row.PromptTokens > 0 {
		return &row.PromptTokens
	}
	return row.LocalPromptTokens
}

func totalBlocks(row sembench.Row) *int { return &row.TotalBlocks }

func promptTokens(row sembench.Row) *int { return &row.PromptTokens }

// exactBlocks is null on a row that was never analysed offline: its 0 would be a zero value, no measurement.
func exactBlocks(row sembench.Row) *int {
	if localBlocks(row) == nil {
		return nil
	}
	return &row.ExactHitBlocks
}

func offlineRates(out *sembench.Aggregate, rows []sembench.Row) {
	prefix := func(r sembench.Row) *int { return r.ExactPrefixHitBlocks }
	candidate := func(r sembench.Row) *int { return r.SemanticCandidateBlocks }
	eligible := func(r sembench.Row) *int { return r.SemanticEligibleBlocks }
	novel := func(r sembench.Row) *int { return r.SemanticNovelBlocks }
	out.LocalTotalBlocks, _ = sum(rows, localBlocks)
	for _, row := range rows {
		out.ExactHitBlocks += deref(exactBlocks(row))
	}
	out.ExactBlockHitRate = share(rows, exactBlocks, localBlocks)
	out.ExactPrefixHitBlocks, _ = sum(rows, prefix)
	out.ExactPrefixBlockHitRate = share(rows, prefix, localBlocks)
	out.SemanticCandidateBlocks, _ = sum(rows, candidate)
	out.SemanticCandidateBlockRate = share(rows, candidate, localBlocks)
	out.SemanticEligibleBlocks, _ = sum(rows, eligible)
	out.SemanticEligibleBlockRate = share(rows, eligible, localBlocks)
	out.SemanticNovelBlocks, _ = sum(rows, novel)
	out.SemanticNovelBlockRate = share(rows, novel, localBlocks)
	out.SemanticEligibleLift = lift(rows, eligible, localBlocks, exactBlocks)
	out.SemanticLiftOverPrefix = lift(rows, eligible, localBlocks, prefix)
	known, agree := 0, 0
	for _, row := range rows {
		if local := localBlocks(row); local != nil {
			known++
			if *local == row.TotalBlocks {
				agree++
			}
		}
	}
	out.LocalCountAgreement = rate(agree, known)
}

// lift is the rate of of over per minus the rate of base over local blocks, over the rows that have all of them and on which
// both denominators are equal: on the others the two sides count different blocks.
func lift(rows []sembench.Row, of, per, base func(sembench.Row) *int) *float64 {
	a, b, blocks := 0, 0, 0
	for _, row := range rows {
		n, d, m, l := of(row), per(row), base(row), localBlocks(row)
		if n != nil && d != nil && m != nil && l != nil && *d == *l {
			a, b, blocks = a+*n, b+*m, blocks+*d
		}
	}
	return rate(a-b, blocks)
}

func confirmedRates(out *sembench.Aggregate, rows []sembench.Row) {
	confirmed := func(r sembench.Row) *int { return r.BackendConfirmedBlocks }
	var count int
	out.BackendConfirmedBlocks, count = sum(rows, confirmed)
	out.BackendConfirmedBlockRate = share(rows, confirmed, totalBlocks)
	out.BackendConfirmedLift = lift(rows, confirmed, totalBlocks, exactBlocks)
	out.BackendConfirmedCoverage = rate(count, len(rows))
	out.BackendConfirmedTokens, _ = sum(rows, func(r sembench.Row) *int { return r.BackendConfirmedTokens })
	out.ExternalConfirmedTokens, count = sum(rows, func(r sembench.Row) *int { return r.ExternalConfirmedTokens })
	out.ExternalConfirmedCoverage = rate(count, len(rows))
	out.FuzzyConfirmedTokens, _ = sum(rows, func(r sembench.Row) *int { return r.FuzzyConfirmedTokens })
	out.SemanticConfirmedTokens, count = sum(rows, func(r sembench.Row) *int { return r.SemanticConfirmedTokens })
	out.SemanticConfirmedCoverage = rate(count, len(rows))
	out.SemanticConfirmedPromptTokens, _ = sum(rows, func(r sembench.Row) *int {
		if r.SemanticConfirmedTokens == nil {
			return nil
		}
		return &r.PromptTokens
	})
}

// tokenRates divides tokens by whole prompts; offline ones by the local count.
func tokenRates(out *sembench.Aggregate, rows []sembench.Row, size int) {
	local := localTokens
	exact := func(r sembench.Row) *int {
		if b := exactBlocks(r); b != nil {
			return new(*b * size)
		}
		return nil
	}
	out.ExactTokenWeightedReuseRate = share(rows, exact, local)
	out.SemanticCandidateTokenWeightedReuseRate = share(rows, func(r sembench.Row) *int { return r.SemanticCandidateTokens }, local)
	out.SemanticEligibleTokenWeightedReuseRate = share(rows, func(r sembench.Row) *int { return r.SemanticEligibleTokens }, local)
	out.ExternalConfirmedTokenWeightedReuseRate = share(rows, func(r sembench.Row) *int { return r.ExternalConfirmedTokens }, promptTokens)
	out.SemanticConfirmedTokenWeightedReuseRate = share(rows, func(r sembench.Row) *int { return r.SemanticConfirmedTokens }, promptTokens)
}

func qualityMeans(out *sembench.Aggregate, rows []sembench.Row, est estimator) {
	out.MeanTTFTMS = mean(rows, func(r sembench.Row) *float64 { return r.TTFTMS })
	f1 := values(rows, func(r sembench.Row) *float64 { return r.QualityF1 })
	rouge := values(rows, func(r sembench.Row) *float64 { return r.QualityRougeL })
	out.QualityF1CI, out.QualityRougeLCI = ci(stat.Mean(f1, est.o), "row"), ci(stat.Mean(rouge, est.o), "row")
	out.MeanQualityF1, out.MeanQualityRougeL = point(out.QualityF1CI), point(out.QualityRougeLCI)
	passed, judged := 0, 0
	for _, row := range rows {
		if row.QualityPass != nil {
			judged++
			if *row.QualityPass {
				passed++
			}
		}
	}
	out.QualityPassRate = rate(passed, judged)
	out.MeanSemblendLatencyMS = mean(rows, func(r sembench.Row) *float64 { return r.SemblendLatencyMS })
	found, ran := 0, 0
	for _, row := range rows {
		if row.SemblendFound != nil {
			ran++
			if *row.SemblendFound {
				found++
			}
		}
	}
	out.SemblendHitRateByRequest = rate(found, ran)
}

func negativeControls(out *sembench.Aggregate, rows []sembench.Row, size int) {
	var controls []sembench.Row
	for _, row := range rows {
		if row.NegativeControl {
			controls = append(controls, row)
			out.NegativeControlBlocks += row.TotalBlocks
		}
	}
	out.NegativeControlCount = len(controls)
	eligible := func(r sembench.Row) *int { return r.SemanticEligibleBlocks }
	confirmed := func(r sembench.Row) *int {
		if r.BackendConfirmedTokens == nil {
			return nil
		}
		return new(max(0, *r.BackendConfirmedTokens-deref(r.StepPrimedTokens)) / size)
	}
	out.NegativeControlSemanticEligibleBlocks, _ = sum(controls, eligible)
	out.NegativeControlSemanticEligibleRate = share(controls, eligible, localBlocks)
	out.NegativeControlBackendConfirmedBlocks, _ = sum(controls, confirmed)
	out.NegativeControlBackendConfirmedRate = share(controls, confirmed, totalBlocks)
	out.NegativeControlSemanticPlacements, out.NegativeControlSemanticPlacementRate = placementRate(controls)
}

// placementRate is rows placed semantically over all rows; null when no row has route metadata.
func placementRate(rows []sembench.Row) (placed *int, byRequest *float64) {
	for _, row := range rows {
		if row.RouteOutcome == nil {
			continue
		}
		if placed == nil {
			placed = new(0)
		}
		if *row.RouteOutcome == semanticPlacement {
			*placed++
		}
	}
	if placed == nil {
		return nil, nil
	}
	return placed, rate(*placed, len(rows))
}

func placements(out *sembench.Aggregate, rows []sembench.Row) {
	out.SemanticPlacements, out.SemanticPlacementRateByRequest = placementRate(rows)
	for _, row := range rows {
		if row.RouteOutcome != nil {
			out.RouteOutcomes[*row.RouteOutcome]++
		}
	}
}

// wrongReuses sums what wrong-reuse controls showed, by kind and in all.
func wrongReuses(out *sembench.Aggregate, rows []sembench.Row) {
	byKind := map[string][]sembench.Row{}
	var all []sembench.Row
	for _, row := range rows {
		if row.ControlKind != nil {
			byKind[*row.ControlKind] = append(byKind[*row.ControlKind], row)
			all = append(all, row)
		}
	}
	for kind, rows := range byKind {
		out.WrongReuse[kind] = wrongReuseOf(rows)
	}
	total := wrongReuseOf(all)
	out.WrongReuseTokens, out.WrongReuseRate, out.LeakRate = total.WrongReuseTokens, total.WrongReuseRate, total.LeakRate
}

func wrongReuseOf(rows []sembench.Row) sembench.WrongReuse {
	wrong := func(r sembench.Row) *int { return r.WrongReuseTokens }
	out := sembench.WrongReuse{Rows: len(rows), WrongReuseRate: share(rows, wrong, promptTokens)}
	out.WrongReuseTokens, _ = sum(rows, wrong)
	judged := 0
	for _, row := range rows {
		out.PromptTokens += row.PromptTokens
		if row.Leak == nil {
			continue
		}
		judged++
		if out.Leaks == nil {
			out.Leaks = new(0)
		}
		if *row.Leak {
			*out.Leaks++
		}
	}
	if out.Leaks != nil {
		out.LeakRate = rate(*out.Leaks, judged)
	}
	return out
}

// planners sums each planner's columns over the rows where it ran without error.
func planners(out *sembench.Aggregate, rows []sembench.Row) {
	latency := map[string][]float64{}
	found := map[string]int{}
	for _, row := range rows {
		for name, column := range row.Planners {
			a := out.Planners[name]
			switch {
			case column.Error != nil:
				a.Errors++
			case column.CandidateBlocks != nil:
				a.Rows++
				a.TotalBlocks += deref(localBlocks(row))
				a.CandidateBlocks += deref(column.CandidateBlocks)
				a.EligibleBlocks += deref(column.EligibleBlocks)
				a.NovelBlocks += deref(column.NovelBlocks)
				a.CopiedTokens += deref(column.CopiedTokens)
				a.IdenticalTokens += deref(column.IdenticalTokens)
				a.ScatteredTokens += deref(column.ScatteredTokens)
				a.ApproxTokens += deref(column.ApproxTokens)
				if column.Found != nil && *column.Found {
					found[name]++
				}
				if column.LatencyMS != nil {
					latency[name] = append(latency[name], *column.LatencyMS)
				}
				if column.IndexCapped {
					a.IndexCappedRequests++
				}
			}
			out.Planners[name] = a
		}
	}
	for name, a := range out.Planners {
		a.CandidateBlockRate, a.EligibleBlockRate = rate(a.CandidateBlocks, a.TotalBlocks), rate(a.EligibleBlocks, a.TotalBlocks)
		a.NovelBlockRate, a.HitRateByRequest = rate(a.NovelBlocks, a.TotalBlocks), rate(found[name], a.Rows)
		a.MeanLatencyMS = average(latency[name])
		out.Planners[name] = a
	}
}

// TransformName is the part of a transform before '@': what reports group by.
func TransformName(transform string) string {
	name, _, _ := strings.Cut(transform, "@")
	return name
}
