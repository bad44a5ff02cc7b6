package judge

import (
	"math"
	"math/rand/v2"
)

// The order test draws orderShuffles random assignments. Where fewer than orderRare of them lie as far out as the data, it goes on
// to orderMore, so that a p-value below the check's limit can be told: the smallest is 1/100,000.
const (
	orderShuffles = 4999
	orderRare     = 5
	orderMore     = 99999
)

// orderEffect compares pairs whose cold arm ran first with those whose warm arm did: the ratio of geometric means of
// cold/warm (cold first over warm first; truth 1), and the two-sided p-value of a randomisation test. Orders are assigned at
// random, so shuffling them is the test's exact null distribution.
//
// Pairs of one transform may be ten times as fast as those of another, which chance spreads unevenly over the two orders. So
// the comparison is made within transforms, each weighted as in a blocked design (n1 n2 / (n1 + n2)); a transform with one
// order only tells nothing. Hits are no strata: an effect of the order may be that the second arm no longer hits. Pairs counts
// those in transforms that tell something. None: null, null, 0.
//
// Source: Ernst 2004, Permutation methods: a basis for exact inference (stratified two-sample case).
func orderEffect(pairs []*pair, transform func(*pair) string, seed uint64) (effect, pValue *float64, n int) {
	strata := map[string][]ordered{}
	for _, p := range pairs {
		if p.class != classUsed && p.class != classControl || p.cold.Order == nil || p.warm.Order == nil {
			continue
		}
		name := transform(p)
		strata[name] = append(strata[name], ordered{math.Log(p.ratio()), *p.cold.Order < *p.warm.Order})
	}
	var blocks [][]ordered
	for _, key := range sortedKeys(strata) {
		if first, second := split(strata[key]); first > 0 && second > 0 {
			blocks = append(blocks, strata[key])
			n += first + second
		}
	}
	if n == 0 {
		return nil, nil, 0
	}
	observed := difference(blocks)
	random := rand.New(rand.NewPCG(seed, 0x6f72646572)) // a stream of its own: "order"
	far, drawn := 0, 0
	for ; drawn < orderShuffles || drawn < orderMore && far < orderRare; drawn++ {
		for _, block := range blocks {
			random.Shuffle(len(block), func(i, j int) { block[i].coldFirst, block[j].coldFirst = block[j].coldFirst, block[i].coldFirst })
		}
		// Equal up to rounding counts as far: shuffles that repeat the observed assignment must not be lost.
		if math.Abs(difference(blocks)) >= math.Abs(observed)*(1-1e-12) {
			far++
		}
	}
	return finite(math.Exp(observed)), finite(float64(1+far) / float64(1+drawn)), n
}

// ordered is one pair's log ratio and whether its cold arm ran first.
type ordered struct {
	log       float64
	coldFirst bool
}

func split(block []ordered) (coldFirst, warmFirst int) {
	for _, v := range block {
		if v.coldFirst {
			coldFirst++
		}
	}
	return coldFirst, len(block) - coldFirst
}

// difference is the weighted mean over blocks of mean(cold first) - mean(warm first).
func difference(blocks [][]ordered) float64 {
	var sum, weights float64
	for _, block := range blocks {
		var s [2]float64
		for _, v := range block {
			if v.coldFirst {
				s[0] += v.log
			} else {
				s[1] += v.log
			}
		}
		first, second := split(block)
		a, b := float64(first), float64(second)
		w := a * b / (a + b)
		sum += w * (s[0]/a - s[1]/b)
		weights += w
	}
	return sum / weights
}
