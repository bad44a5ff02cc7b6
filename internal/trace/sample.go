package trace

import "math"

// A sample looks at the blocks whose hash falls below a threshold, everywhere they occur, and scales depths by the rate
// (Waldspurger et al., SHARDS, FAST 2015). For prefix-chained ids a block's depth alone tells whether it is a prefix hit,
// because a parent is always touched after its child.

func (a *Analyzer) sampled() bool { return a.options.SampleRate > 0 && a.options.SampleRate < 1 }

func (a *Analyzer) rate() float64 {
	if a.sampled() {
		return a.options.SampleRate
	}
	return 1
}

func (a *Analyzer) takes(id uint64) bool {
	return !a.sampled() || float64(mix(id)>>11) < a.options.SampleRate*(1<<53)
}

// groupOf deals blocks of a sample to groups, by bits that the threshold does not look at.
func (a *Analyzer) groupOf(id uint64) int {
	if !a.sampled() {
		return 0
	}
	return int(mix(id) % groups)
}

// mix spreads ids, which are often small consecutive numbers, over all bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// standardError of the mean of parts; nil below two.
func standardError(parts []float64) *float64 {
	n := float64(len(parts))
	if n < 2 {
		return nil
	}
	var mean, squares float64
	for _, x := range parts {
		mean += x / n
	}
	for _, x := range parts {
		squares += (x - mean) * (x - mean)
	}
	se := math.Sqrt(squares / (n - 1) / n)
	return &se
}
