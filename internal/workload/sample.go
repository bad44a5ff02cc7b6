package workload

import (
	"maps"
	"slices"

	"sembench"
)

// leastControls is how many negative controls a sample keeps where there are as many: fewer cannot be judged
// (contract, section 10).
const leastControls = 8

// Head is the first n items.
func Head(items []sembench.Item, n int) []sembench.Item { return items[:max(0, min(n, len(items)))] }

// Sample is n items, spread evenly over transforms, in their order in the manifest. At least 8 negative controls are
// kept where the manifest has them and n allows. Within a transform items are drawn from the seed, those of sources not
// sampled yet first. All items when n is at least their number; none for n below 1.
func Sample(items []sembench.Item, n int, seed uint64) []sembench.Item {
	if n >= len(items) {
		return items
	}
	strata := map[string][]int{}
	controls := 0
	for i, it := range items {
		strata[it.TransformName()] = append(strata[it.TransformName()], i)
		if it.NegativeControl {
			controls++
		}
	}
	names := slices.Sorted(maps.Keys(strata))
	for _, name := range names {
		strata[name] = shuffled(drawsFor(seed, "sample", name), strata[name])
	}
	s := sampler{items: items, sources: map[string]bool{}}
	// A sample too small for eight controls and something to compare them with is half controls.
	for left := min(leastControls, controls, max(n/2, n-2)); left > 0; {
		for _, name := range names {
			if list := strata[name]; left > 0 && len(list) > 0 && items[list[0]].NegativeControl {
				strata[name] = s.take(list)
				left--
			}
		}
	}
	// Transforms take turns, those with the fewest items so far first: a round of turns begins at a drawn place.
	turn := shuffled(drawsFor(seed, "sample turns"), names)
	for len(s.chosen) < n {
		slices.SortStableFunc(turn, func(a, b string) int { return s.count(a) - s.count(b) })
		for _, name := range turn {
			if len(strata[name]) > 0 {
				strata[name] = s.take(strata[name])
				break
			}
		}
	}
	slices.Sort(s.chosen)
	out := make([]sembench.Item, len(s.chosen))
	for i, at := range s.chosen {
		out[i] = items[at]
	}
	return out
}

type sampler struct {
	items   []sembench.Item
	chosen  []int
	sources map[string]bool
}

// take chooses the first of list whose source is new, else the first, and returns the rest.
func (s *sampler) take(list []int) []int {
	at := max(0, slices.IndexFunc(list, func(i int) bool { return !s.sources[s.items[i].SourceID] }))
	s.chosen = append(s.chosen, list[at])
	s.sources[s.items[list[at]].SourceID] = true
	return slices.Delete(slices.Clone(list), at, at+1)
}

func (s *sampler) count(transform string) (n int) {
	for _, i := range s.chosen {
		if s.items[i].TransformName() == transform {
			n++
		}
	}
	return n
}
