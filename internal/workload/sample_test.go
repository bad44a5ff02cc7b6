package workload

import (
	"fmt"
	"slices"
	"testing"

	"sembench"
)

func many(counts map[string]int) (items []sembench.Item) {
	for _, name := range []string{"a@1", "a@2", "b", "c", "negative_control"} {
		for i := range counts[name] {
			items = append(items, sembench.Item{
				ItemID: fmt.Sprintf("%s-%d", name, i), SourceID: fmt.Sprint(i), Transform: name, NegativeControl: name == "negative_control",
			})
		}
	}
	return items
}

func tally(items []sembench.Item) map[string]int {
	n := map[string]int{}
	for _, it := range items {
		n[it.TransformName()]++
	}
	return n
}

// Expected counts by hand: controls first take min(8, have, max(n/2, n-2)), the rest is dealt to the smallest strata.
func TestSampleIsStratified(t *testing.T) {
	for _, c := range []struct {
		have map[string]int
		n    int
		want map[string]int
	}{
		{map[string]int{"a@1": 20, "a@2": 20, "b": 40, "c": 40, "negative_control": 40}, 24, map[string]int{"a": 6, "b": 5, "c": 5, "negative_control": 8}},
		{map[string]int{"a@1": 20, "b": 40, "negative_control": 3}, 9, map[string]int{"a": 3, "b": 3, "negative_control": 3}},
		{map[string]int{"a@1": 2, "b": 40, "c": 1}, 10, map[string]int{"a": 2, "b": 7, "c": 1}},
		{map[string]int{"b": 9, "negative_control": 40}, 4, map[string]int{"b": 2, "negative_control": 2}},
		{map[string]int{"b": 9}, 0, map[string]int{}},
		{map[string]int{"b": 9}, 100, map[string]int{"b": 9}},
	} {
		items := many(c.have)
		got := Sample(items, c.n, 5)
		n := tally(got)
		// Which of equal strata gets the odd item is drawn; the sums and sizes within one are not.
		for name, want := range c.want {
			if d := n[name] - want; d < -1 || d > 1 || name == "negative_control" && d != 0 {
				t.Errorf("sample of %d from %v: %v, want %v", c.n, c.have, n, c.want)
			}
		}
		if want := min(c.n, len(items)); len(got) != want {
			t.Errorf("%d items, want %d", len(got), want)
		}
		if !slices.IsSortedFunc(got, func(a, b sembench.Item) int { return index(items, a) - index(items, b) }) {
			t.Error("the manifest's order is lost")
		}
	}
}

func index(items []sembench.Item, it sembench.Item) int {
	return slices.IndexFunc(items, func(o sembench.Item) bool { return o.ItemID == it.ItemID })
}

func TestSampleDependsOnSeedAlone(t *testing.T) {
	items := many(map[string]int{"b": 100, "c": 100, "negative_control": 30})
	ids := func(seed uint64) string { return fmt.Sprint(Sample(items, 20, seed)) }
	first, again, other := ids(1), ids(1), ids(2)
	if first != again || first == other {
		t.Error("samples do not follow the seed")
	}
}

func TestHead(t *testing.T) {
	items := many(map[string]int{"b": 3})
	for n, want := range map[int]int{-1: 0, 0: 0, 2: 2, 9: 3} {
		if got := len(Head(items, n)); got != want {
			t.Errorf("Head(%d) has %d items", n, got)
		}
	}
}
