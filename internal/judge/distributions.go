package judge

import (
	"strconv"

	"sembench"
	"sembench/internal/quality"
)

// compareTokens fills the warm row's comparison with its cold twin token by token: the first divergence where both kept
// their token ids, KL and overlap where both kept top logprobs.
func (p *pair) compareTokens() {
	if p.cold == nil || p.warm == nil {
		return
	}
	if len(p.cold.OutputTokenIDs) > 0 && len(p.warm.OutputTokenIDs) > 0 {
		p.warm.FirstDivergence = quality.FirstDivergence(words(p.cold.OutputTokenIDs), words(p.warm.OutputTokenIDs))
	}
	if len(p.cold.OutputTopLogprobs) == 0 || len(p.warm.OutputTopLogprobs) == 0 {
		return
	}
	ids := map[string]int{}
	cold, warm := numbered(p.cold.OutputTopLogprobs, ids), numbered(p.warm.OutputTopLogprobs, ids)
	profile := quality.KL(cold, warm)
	if bothIDs(p) {
		profile = quality.KLUntil(cold, warm, p.warm.FirstDivergence)
	}
	p.warm.KLMean, p.warm.KLMax, p.warm.TopKOverlap = profile.Mean, profile.Max, profile.Overlap
}

// bothIDs tells that the outputs were compared by token ids: a null divergence then means that they are equal.
func bothIDs(p *pair) bool { return len(p.cold.OutputTokenIDs) > 0 && len(p.warm.OutputTokenIDs) > 0 }

func words(ids []int) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strconv.Itoa(id)
	}
	return out
}

// numbered names tokens by number, the same in both outputs of a pair.
func numbered(positions []map[string]float64, ids map[string]int) []map[int]float64 {
	out := make([]map[int]float64, len(positions))
	for i, position := range positions {
		out[i] = make(map[int]float64, len(position))
		for _, token := range sortedKeys(position) {
			id, known := ids[token]
			if !known {
				id = len(ids)
				ids[token] = id
			}
			out[i][id] = position[token]
		}
	}
	return out
}

// distributions sums the token-by-token comparison over used pairs.
func (g pairing) distributions(out *sembench.Paired, used []*pair) {
	var kl, overlap, first []float64
	for _, p := range used {
		kl, overlap = addTo(kl, p.warm.KLMean), addTo(overlap, p.warm.TopKOverlap)
		if !bothIDs(p) {
			continue
		}
		if out.DivergedPairs == nil {
			out.DivergedPairs = new(0)
		}
		if p.warm.FirstDivergence != nil {
			*out.DivergedPairs++
			first = append(first, float64(*p.warm.FirstDivergence))
		}
	}
	out.KLN, out.KLMean, out.TopKOverlapMean = len(kl), average(kl), average(overlap)
	out.FirstDivergenceP50 = quantile(first, 0.5, 1)
}
