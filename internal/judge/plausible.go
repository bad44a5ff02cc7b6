package judge

import (
	"maps"
	"slices"

	"sembench"
)

// checkOffline refuses offline rows that are not one for each item, or that no analysis can have found. Null rows: there was no analysis.
func (in Inputs) checkOffline(items map[string]bool) error {
	if in.Offline == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range in.Offline {
		row := &in.Offline[i]
		switch {
		case !items[row.ItemID]:
			return refuse("offline row %q is of no item of the manifest", row.ItemID)
		case seen[row.ItemID]:
			return refuse("item %q has two offline rows", row.ItemID)
		}
		seen[row.ItemID] = true
		if err := plausible(row, in.blockSize()); err != nil {
			return err
		}
	}
	for _, it := range in.Items {
		if !seen[it.ItemID] {
			return refuse("item %q has no offline row: they are one for each item", it.ItemID)
		}
	}
	return nil
}

// plausible refuses a row with a count below 0, or with more blocks or tokens found than its prompt has.
func plausible(row *sembench.Row, size int) error {
	type count struct {
		name string
		n    *int
	}
	blocks := []count{{"exact_hit_blocks", &row.ExactHitBlocks}, {"exact_prefix_hit_blocks", row.ExactPrefixHitBlocks},
		{"semantic_candidate_blocks", row.SemanticCandidateBlocks}, {"semantic_eligible_blocks", row.SemanticEligibleBlocks}, {"semantic_novel_blocks", row.SemanticNovelBlocks}}
	tokens := []count{{"exact_hit_tokens", &row.ExactHitTokens}, {"semantic_candidate_tokens", row.SemanticCandidateTokens}, {"semantic_eligible_tokens", row.SemanticEligibleTokens}}
	for _, name := range slices.Sorted(maps.Keys(row.Planners)) {
		p, at := row.Planners[name], "planners."+name+"."
		blocks = append(blocks, count{at + "candidate_blocks", p.CandidateBlocks}, count{at + "eligible_blocks", p.EligibleBlocks}, count{at + "novel_blocks", p.NovelBlocks})
		tokens = append(tokens, count{at + "copied_tokens", p.CopiedTokens}, count{at + "identical_contiguous_tokens", p.IdenticalTokens},
			count{at + "identical_scattered_tokens", p.ScatteredTokens}, count{at + "approximate_tokens", p.ApproxTokens})
	}
	local, prompt := localBlocks(*row), localTokens(*row)
	totals := []count{{"prompt_tokens", &row.PromptTokens}, {"total_blocks", &row.TotalBlocks}, {"local_total_blocks", local}, {"local_prompt_tokens", prompt}}
	for _, c := range slices.Concat(blocks, tokens, totals) {
		if c.n != nil && *c.n < 0 {
			return refuse("offline row %q: %s is %d, want 0 or more", row.ItemID, c.name, *c.n)
		}
	}
	for _, c := range blocks {
		if c.n != nil && local != nil && *c.n > *local {
			return refuse("offline row %q: %s is %d of %d blocks", row.ItemID, c.name, *c.n, *local)
		}
	}
	for _, c := range tokens {
		if c.n != nil && prompt != nil && *c.n > *prompt {
			return refuse("offline row %q: %s is %d of %d tokens", row.ItemID, c.name, *c.n, *prompt)
		}
	}
	if local != nil && prompt != nil && *local > *prompt/size {
		return refuse("offline row %q: %d blocks of %d tokens in a prompt of %d", row.ItemID, *local, size, *prompt)
	}
	return nil
}
