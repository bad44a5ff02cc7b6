package replay

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"sembench"
)

// pairPlan is one item of the run with the arms it will go through, in order.
type pairPlan struct {
	item     sembench.Item
	id       string // item_id#repeat
	position int    // place in the run, from 0, over all repeats
	arms     []string
}

// rng gives the random stream of one purpose: independent of every other purpose, the same for the same seed.
func rng(seed uint64, purpose ...string) *rand.Rand {
	digest := sembench.SHA256([]byte(strings.Join(purpose, "\x1f")))
	var mixed uint64
	for _, b := range []byte(digest[:16]) {
		mixed = mixed*31 + uint64(b)
	}
	return rand.New(rand.NewPCG(seed, mixed))
}

// arrange gives the pairs of a run: all items, then all items again for each repeat, each with its arms in a counterbalanced
// order. Orders are the rows of a Williams square, where every arm stands in every place, and follows every other arm, equally
// often. They are dealt in shuffled blocks of whole squares over items sorted by stratum (control or not, transform), so that
// both the run and each stratum are balanced as far as their size allows.
func arrange(items []sembench.Item, arms []string, repeats int, seed uint64) []pairPlan {
	plans := make([]pairPlan, 0, len(items)*repeats)
	for repeat := range repeats {
		for i, item := range items {
			plans = append(plans, pairPlan{item: item, id: pairID(item.ItemID, repeat), position: repeat*len(items) + i})
		}
	}
	random := rng(seed, "arm order")
	deal := random.Perm(len(plans))
	stratum := func(i int) string {
		item := plans[i].item
		control := "0"
		if item.NegativeControl {
			control = "1"
		}
		return control + item.Control() + "\x1f" + item.TransformName()
	}
	slices.SortStableFunc(deal, func(a, b int) int { return strings.Compare(stratum(a), stratum(b)) })
	square := williams(len(arms))
	var rows []int
	for _, i := range deal {
		if len(rows) == 0 {
			rows = random.Perm(len(square))
		}
		for _, arm := range square[rows[0]] {
			plans[i].arms = append(plans[i].arms, arms[arm])
		}
		rows = rows[1:]
	}
	return plans
}

// williams gives the rows of a Williams square of n treatments: n rows for even n, 2n for odd n.
func williams(n int) [][]int {
	first := make([]int, n) // 0, 1, n-1, 2, n-2, …
	for i, low, high := 1, 1, n-1; i < n; i++ {
		if i%2 == 1 {
			first[i] = low
			low++
		} else {
			first[i] = high
			high--
		}
	}
	var rows [][]int
	for shift := range n {
		row := make([]int, n)
		for i, arm := range first {
			row[i] = (arm + shift) % n
		}
		rows = append(rows, row)
		if n%2 == 1 && n > 1 {
			mirrored := slices.Clone(row)
			slices.Reverse(mirrored)
			rows = append(rows, mirrored)
		}
	}
	return rows
}

func pairID(itemID string, repeat int) string { return itemID + "#" + strconv.Itoa(repeat) }
