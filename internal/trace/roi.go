package trace

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"sembench"
)

// Costs is the time law of prefill: BaseMS + PerTokenUS x n + PerTokenSquaredNS x n², which is linear for the weights and
// quadratic for attention; and what a cache adds.
type Costs struct {
	BaseMS, PrefillUSPerToken, PrefillNSPerTokenSquared float64
	// LoadUSPerToken to bring cached KV back, LookupMS on every request, hit or miss.
	LoadUSPerToken, LookupMS float64
	// GPUs is how many work on one prefill; 0 means 1.
	GPUs float64
}

func (c Costs) valid() error {
	for _, x := range []struct {
		name  string
		value float64
	}{
		{"base-ms", c.BaseMS}, {"prefill-us-per-token", c.PrefillUSPerToken}, {"prefill-ns-per-token-squared", c.PrefillNSPerTokenSquared},
		{"load-us-per-token", c.LoadUSPerToken}, {"lookup-ms", c.LookupMS}, {"gpus", c.GPUs},
	} {
		if !(x.value >= 0) {
			return fmt.Errorf("estimating returns: %s is %v, want 0 or more", x.name, x.value)
		}
	}
	if c.PrefillUSPerToken == 0 && c.PrefillNSPerTokenSquared == 0 {
		return fmt.Errorf("estimating returns: prefill costs nothing per token: measure it and pass prefill-us-per-token")
	}
	return nil
}

func (c Costs) gpus() float64 {
	if c.GPUs == 0 {
		return 1
	}
	return c.GPUs
}

// prefillMS of the first n tokens without the base, which a hit does not save. It is also what a hit on n tokens saves of a
// longer prompt: the rest still attends to all of them.
func (c Costs) prefillMS(n float64) float64 {
	return c.PrefillUSPerToken*n/1e3 + c.PrefillNSPerTokenSquared*n*n/1e6
}

// Length is one bar of a histogram of prompt lengths.
type Length struct {
	Tokens   int64
	Requests int64
}

// Returns estimates what a cache returns on prompts of these lengths when a share of requests hits, and of those a share
// of the tokens is reused: GPU-seconds, mean time to first token, and the hit rate at which it breaks even. Lookups and
// loads cost time but no GPU work.
func Returns(lengths []Length, c Costs, hitRate, reusedShare float64) (sembench.Returns, error) {
	if err := c.valid(); err != nil {
		return sembench.Returns{}, err
	}
	if !(hitRate >= 0 && hitRate <= 1 && reusedShare >= 0 && reusedShare <= 1) {
		return sembench.Returns{}, fmt.Errorf("estimating returns: hit rate %v and reused share %v must be in [0, 1]", hitRate, reusedShare)
	}
	r := sembench.Returns{HitRate: hitRate, ReusedShare: reusedShare}
	var prefill, saved, loads float64 // ms: of all requests; and if every one hit
	for _, l := range lengths {
		if l.Tokens < 0 || l.Requests < 0 {
			return sembench.Returns{}, fmt.Errorf("estimating returns: a length of %d tokens in %d requests", l.Tokens, l.Requests)
		}
		n, times := float64(l.Tokens), float64(l.Requests)
		hit := n * reusedShare
		r.Requests += l.Requests
		r.InputTokens += l.Tokens * l.Requests
		prefill += times * (c.BaseMS + c.prefillMS(n))
		saved += times * c.prefillMS(hit)
		loads += times * c.LoadUSPerToken * hit / 1e3
	}
	r.PrefillGPUSeconds = prefill / 1e3 * c.gpus()
	r.SavedGPUSeconds = hitRate * saved / 1e3 * c.gpus()
	if prefill > 0 {
		share := hitRate * saved / prefill
		r.SavedShare = &share
	}
	if r.Requests > 0 {
		mean := hitRate*(saved-loads)/float64(r.Requests) - c.LookupMS
		r.MeanTTFTSavedMS = &mean
	}
	if saved > loads {
		even := c.LookupMS * float64(r.Requests) / (saved - loads)
		r.BreakEvenHitRate = &even
	}
	return r, nil
}

// Histogram counts prompt lengths of a trace.
func Histogram(requests iter.Seq2[Request, error]) (lengths []Length, err error) {
	times := map[int64]int64{}
	for r, err := range requests {
		if err != nil {
			return nil, err
		}
		times[r.InputTokens]++
	}
	for _, tokens := range slices.Sorted(maps.Keys(times)) {
		lengths = append(lengths, Length{tokens, times[tokens]})
	}
	return lengths, nil
}
