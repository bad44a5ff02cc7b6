package offline

import (
	"slices"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/plan"
)

// newRow is an item's row before anything was counted in it.
func newRow(it sembench.Item, tokens int, o Options) sembench.Row {
	blocks := block.Count(tokens, o.BlockSize)
	row := sembench.Row{
		ItemID: it.ItemID, Dataset: it.Dataset, Transform: it.Transform, NegativeControl: it.NegativeControl,
		DonorCount: len(it.DonorPrompts), PromptTokens: tokens, TotalBlocks: blocks,
		PromptTokensSource: new(o.source()), LocalPromptTokens: &tokens, LocalTotalBlocks: &blocks,
		Planners: map[string]sembench.PlannerRow{},
	}
	if band := it.Text("length_band"); band != "" {
		row.LengthBand = &band
	}
	if kind := it.Control(); kind != "" {
		row.ControlKind = &kind
	}
	for _, d := range it.DonorPrompts {
		row.DonorIDs = append(row.DonorIDs, d.DonorID)
	}
	return row
}

// exact fills the exact rung: blocks hit anywhere, and as a prefix of one donor.
func exact(row *sembench.Row, hits []bool, prefix, size int) {
	for _, hit := range hits {
		if hit {
			row.ExactHitBlocks++
		}
	}
	row.ExactHitTokens = row.ExactHitBlocks * size
	row.ExactPrefixHitBlocks = &prefix
}

// addPlan fills one planner's columns, and the seed's keys when it is semblend. A plan that failed or cannot be counted
// leaves null everywhere and its reason in error.
func addPlan(row *sembench.Row, name string, made sembench.Plan, hits []bool, size int) {
	column := sembench.PlannerRow{Error: made.Error, IndexCapped: made.IndexCapped, LatencyMS: made.LatencyMS, DonorIDs: []string{}}
	if made.Error == nil {
		if counts, err := plan.Count(made, hits); err != nil {
			column.Error = new(err.Error())
		} else {
			column.CandidateBlocks, column.EligibleBlocks, column.NovelBlocks = &counts.Candidate, &counts.Eligible, &counts.Novel
			column.CopiedTokens = &counts.CopiedTokens
			column.IdenticalTokens = new(counts.TokensByClass[sembench.IdenticalContiguous])
			column.ScatteredTokens = new(counts.TokensByClass[sembench.IdenticalScattered])
			column.ApproxTokens = new(counts.TokensByClass[sembench.Approximate])
			column.Found, column.Similarity, column.ReuseRatio = &made.Found, made.Similarity, made.ReuseRatio
			column.RejectionReason = made.RejectionReason
			column.DonorIDs = donors(made)
		}
	}
	row.Planners[name] = column
	if name != Seed {
		return
	}
	row.SemanticCandidateBlocks, row.SemanticEligibleBlocks, row.SemanticNovelBlocks = column.CandidateBlocks, column.EligibleBlocks, column.NovelBlocks
	row.SemanticCandidateTokens, row.SemanticEligibleTokens = times(column.CandidateBlocks, size), times(column.EligibleBlocks, size)
	row.SemblendFound, row.SemblendSimilarity, row.SemblendReuseRatio = column.Found, column.Similarity, column.ReuseRatio
	row.SemblendLatencyMS, row.RejectionReason = column.LatencyMS, column.RejectionReason
}

func times(blocks *int, size int) *int {
	if blocks == nil {
		return nil
	}
	return new(*blocks * size)
}

// donors lists the donors that a plan copies from, sorted.
func donors(made sembench.Plan) []string {
	used := []string{}
	for _, s := range made.Spans {
		used = append(used, s.DonorID)
	}
	slices.Sort(used)
	return slices.Compact(used)
}
