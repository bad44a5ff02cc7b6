package quality

import (
	"math"
	"sort"
)

// missing is how far below the smallest reported log probability of its side an absent token is put, in nats. The truth is only
// known to be at most that smallest one; the reference implementation's choice is kept so that values compare.
const missing = 1.0

// Profile compares the next-token distributions of two outputs, position by position, up to and including the first position
// at which they chose different tokens. Behind it the contexts differ, and a difference says nothing about reused KV.
type Profile struct {
	// Positions compared: both sides reported at least one token there.
	Positions int
	// Unreported positions in the same range: a side reported nothing. They enter no mean.
	Unreported int
	// FirstDivergence is the index of the first differing choice; nil when there is none.
	FirstDivergence *int
	// Mean and Max of the KL divergence KL(a || b) in nats over compared positions; nil when there are none.
	// Over a truncated support two disjoint distributions look near (0.46 for one token each): never read KL without Overlap.
	Mean, Max *float64
	// Overlap is the mean share of the top k tokens that both sides name, in [0,1]; nil when there are none.
	Overlap *float64
	// MinK and MaxK are the smallest and largest k compared. KL of different k do not compare.
	MinK, MaxK int
}

// KL returns the profile of two outputs from the log probabilities of their top tokens by token id, where each side's choice
// is its most probable token (greedy decoding). Use KLUntil where the chosen ids are known.
// A side that reported no position at all: the zero Profile, nothing measured.
func KL(a, b []map[int]float64) Profile {
	if len(a) == 0 || len(b) == 0 {
		return Profile{}
	}
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			return KLUntil(a, b, &i)
		}
		if len(a[i]) > 0 && len(b[i]) > 0 && ranked(a[i])[0] != ranked(b[i])[0] {
			return KLUntil(a, b, &i)
		}
	}
	return KLUntil(a, b, nil)
}

// KLUntil returns the profile up to and including position first; nil means that the outputs do not diverge.
//
// At each position both sides are cut to the smaller k of the two, so that a side asked for more alternatives is not punished. Over the union
// of both sets an absent token gets its side's smallest log probability minus 1 nat, and both are renormalised.
func KLUntil(a, b []map[int]float64, first *int) Profile {
	p := Profile{FirstDivergence: first}
	until := min(len(a), len(b))
	if first != nil {
		until = min(until, *first+1)
	}
	var sum, largest, overlap float64
	for i := range until {
		k := min(len(a[i]), len(b[i]))
		if k == 0 {
			p.Unreported++
			continue
		}
		d, o := compare(a[i], b[i], k)
		if math.IsNaN(d) {
			p.Unreported++
			continue
		}
		if p.Positions == 0 || k < p.MinK {
			p.MinK = k
		}
		p.MaxK = max(p.MaxK, k)
		p.Positions++
		sum += d
		largest = max(largest, d)
		overlap += o
	}
	if p.Positions > 0 {
		mean, share := sum/float64(p.Positions), overlap/float64(p.Positions)
		p.Mean, p.Max, p.Overlap = &mean, &largest, &share
	}
	return p
}

// ranked returns the token ids by falling log probability, ties by id.
func ranked(m map[int]float64) []int {
	ids := make([]int, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		if m[ids[i]] != m[ids[j]] {
			return m[ids[i]] > m[ids[j]]
		}
		return ids[i] < ids[j]
	})
	return ids
}

// compare returns KL(p || q) and the overlap of the k best of each; NaN when a log probability is not finite.
func compare(p, q map[int]float64, k int) (kl, overlap float64) {
	top, other := ranked(p)[:k], ranked(q)[:k]
	union := append([]int(nil), top...)
	inP, inQ := set(top), set(other)
	shared := 0
	for _, id := range other {
		if inP[id] {
			shared++
		} else {
			union = append(union, id)
		}
	}
	lp, lq := normalized(p, inP, union, p[top[k-1]]-missing), normalized(q, inQ, union, q[other[k-1]]-missing)
	for i := range union {
		kl += math.Exp(lp[i]) * (lp[i] - lq[i])
	}
	return max(0, kl), float64(shared) / float64(k) // rounding may leave -1e-17; a NaN stays NaN
}

func set(ids []int) map[int]bool {
	m := make(map[int]bool, len(ids))
	for _, id := range ids {
		m[id] = true
	}
	return m
}

// normalized returns log probabilities over union that sum to one in probability.
func normalized(m map[int]float64, in map[int]bool, union []int, absent float64) []float64 {
	out := make([]float64, len(union))
	highest := math.Inf(-1)
	for i, id := range union {
		out[i] = absent
		if in[id] {
			out[i] = m[id]
		}
		highest = max(highest, out[i])
	}
	var sum float64
	for _, l := range out {
		sum += math.Exp(l - highest)
	}
	for i := range out {
		out[i] -= highest + math.Log(sum)
	}
	return out
}
