package trace

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sembench"
	"sembench/internal/token"
)

// Options say how to analyze; the zero value suits every trace.
type Options struct {
	// BlockSize in tokens; 0 means the format's (512 for Mooncake, 16 for Bailian, else fitted to the lengths).
	BlockSize int
	// Capacities of the curve in blocks; empty means 1, 2 and 5 times the powers of ten up to the unique blocks.
	Capacities []int
	// Tokenizer cuts prompts of logs with text; nil means the one that TokenizerSpec names, which is opened for such logs
	// alone: a vocabulary costs more memory than a hash-id trace.
	Tokenizer     token.Tokenizer
	TokenizerSpec string
	// SampleRate in (0, 1) analyzes that share of the blocks, chosen by hash; 0 or 1 means all.
	SampleRate float64
}

// Analyzer takes requests in order and gives the curve. Not safe for concurrent use.
type Analyzer struct {
	options   Options
	blockSize int

	index *numbers
	stack *stack
	// chain of numbers: predecessor at first sight (-1 for the head), and what became of it
	predecessor []int32
	state       []chainState

	requests, ids, tokens int64
	found                 [groups]histograms
	anyBlocks             []int64
	contents              map[uint64]struct{}
	contentHits           int64
	infinite              tally
	tenants, hours        map[string]*tally
	firstArrival          *float64
	misfits, beyond       int64

	// of the request at hand: place, depth and number of each block looked at
	places          []int
	depths, numbers []int32
}

// groups is how many parts a sample is dealt into, to tell its error from how they differ.
const groups = 8

// histograms by depth: how many blocks and tokens become prefix hits at that capacity; and all that were looked at.
type histograms struct {
	prefixBlocks, prefixTokens []int64
	blocks, tokens             int64
}

type chainState uint8

const (
	once chainState = iota
	again
	broken // seen after another block than at first
)

// tally counts the blocks and tokens of requests: all of them, those looked at (fewer in a sample), and those of these
// that hit an infinite cache.
type tally struct{ blocks, tokens, lookedBlocks, lookedTokens, hitBlocks, hitTokens int64 }

// NewAnalyzer begins an analysis of blocks of a size in tokens, at least 1.
func NewAnalyzer(blockSize int, o Options) (*Analyzer, error) {
	switch {
	case blockSize < 1:
		return nil, fmt.Errorf("analyzing trace: block size %d is below 1", blockSize)
	case !(o.SampleRate >= 0 && o.SampleRate <= 1):
		return nil, fmt.Errorf("analyzing trace: sample rate %v is not in (0, 1]", o.SampleRate)
	}
	a := &Analyzer{
		options: o, blockSize: blockSize, index: newNumbers(), stack: newStack(),
		tenants: map[string]*tally{}, contents: map[uint64]struct{}{}, hours: map[string]*tally{},
	}
	return a, nil
}

// absent is the depth of a block that no cache holds.
const absent = math.MaxInt32

// Add evaluates a request against what came before it and then makes its blocks the most recent.
func (a *Analyzer) Add(r Request) {
	a.requests++
	a.ids += int64(len(r.IDs))
	a.tokens += r.InputTokens
	a.fit(r)
	a.content(r)
	a.look(r.IDs)
	a.count(r)
	for _, n := range slices.Backward(a.numbers) {
		a.stack.touch(n)
	}
}

// fit counts requests whose ids do not fit their length. Prompts with text have no id for a partial block.
func (a *Analyzer) fit(r Request) {
	size := int64(a.blockSize)
	if want := (r.InputTokens + size - 1) / size; r.contents == nil && len(r.IDs) > 0 && want != int64(len(r.IDs)) {
		a.misfits++
	}
}

// content counts blocks whose content, with text, an earlier request held anywhere.
func (a *Analyzer) content(r Request) {
	for _, id := range r.contents {
		if _, seen := a.contents[id]; seen {
			a.contentHits++
		}
	}
	for _, id := range r.contents {
		a.contents[id] = struct{}{}
	}
}

// look finds the depth of each block before this request, in a sample of each block that the sample takes.
func (a *Analyzer) look(ids []uint64) {
	a.places, a.depths, a.numbers = a.places[:0], a.depths[:0], a.numbers[:0]
	known := int32(len(a.predecessor))
	before := int32(-1)
	for i, id := range ids {
		if !a.takes(id) {
			continue
		}
		n, seen := a.index.of(id)
		depth := int32(absent)
		switch {
		case !seen:
			a.predecessor = append(a.predecessor, before)
			a.state = append(a.state, once)
		case n < known: // else it is twice in this request and in no cache before
			depth = a.stack.depth(n)
		}
		if seen && a.state[n] != broken {
			a.state[n] = again
			if a.predecessor[n] != before {
				a.state[n] = broken
			}
		}
		a.places, a.depths, a.numbers = append(a.places, i), append(a.depths, depth), append(a.numbers, n)
		before = n
	}
}

// count notes from which capacity on each block hits.
func (a *Analyzer) count(r Request) {
	size, reach := int64(a.blockSize), int32(0)
	upTo := func(blocks int64) int64 { return min(blocks*size, r.InputTokens) }
	sum := tally{blocks: int64(len(r.IDs)), tokens: r.InputTokens}
	for j, depth := range a.depths {
		if depth != absent {
			bump(&a.anyBlocks, depth, 1)
		}
		i := a.places[j]
		gain := upTo(int64(i)+1) - upTo(int64(i))
		h := &a.found[a.groupOf(r.IDs[i])]
		h.blocks++
		h.tokens += gain
		sum.lookedBlocks++
		sum.lookedTokens += gain
		if reach = max(reach, depth); reach != absent {
			bump(&h.prefixBlocks, reach, 1)
			bump(&h.prefixTokens, reach, gain)
			sum.hitBlocks++
			sum.hitTokens += gain
		}
	}
	// Tokens beyond the ids, where a trace has too few of them, can hit nothing.
	beyond := int64(float64(r.InputTokens-upTo(int64(len(r.IDs)))) * a.rate())
	a.beyond += beyond
	sum.lookedTokens += beyond
	a.infinite.add(sum)
	if r.Tenant != "" {
		group(a.tenants, r.Tenant).add(sum)
	}
	if r.ArrivalMS != nil {
		if a.firstArrival == nil {
			first := *r.ArrivalMS
			a.firstArrival = &first
		}
		hour := int((*r.ArrivalMS - *a.firstArrival) / 3.6e6)
		group(a.hours, fmt.Sprintf("%04d", max(0, hour))).add(sum)
	}
}

func bump(histogram *[]int64, at int32, n int64) {
	if int(at) >= len(*histogram) {
		*histogram = append(*histogram, make([]int64, max(int(at)+1, 2*len(*histogram))-len(*histogram))...)
	}
	(*histogram)[at] += n
}

func group(groups map[string]*tally, name string) *tally {
	if groups[name] == nil {
		groups[name] = &tally{}
	}
	return groups[name]
}

func (t *tally) add(u tally) {
	t.blocks += u.blocks
	t.tokens += u.tokens
	t.lookedBlocks += u.lookedBlocks
	t.lookedTokens += u.lookedTokens
	t.hitBlocks += u.hitBlocks
	t.hitTokens += u.hitTokens
}

// rates are hits over all where everything was looked at. In a sample they are 1 less the misses, scaled up, over all:
// whether the sample holds the few hottest blocks then matters little (the adjustment of SHARDS).
func (t *tally) rates(share float64) sembench.HitRates {
	estimate := func(hit, looked, all int64) *float64 {
		if share == 1 || all == 0 {
			return rate(hit, all)
		}
		x := max(0, 1-float64(looked-hit)/(share*float64(all)))
		return &x
	}
	return sembench.HitRates{
		BlockHitRate: estimate(t.hitBlocks, t.lookedBlocks, t.blocks),
		TokenHitRate: estimate(t.hitTokens, t.lookedTokens, t.tokens),
	}
}

// rate is nil without a denominator.
func rate(n, of int64) *float64 {
	if of == 0 {
		return nil
	}
	r := float64(n) / float64(of)
	return &r
}

// Curve is what was found so far. In a sample, counts of unique blocks and all rates are estimates.
func (a *Analyzer) Curve() sembench.TraceCurve {
	c := sembench.TraceCurve{
		Requests: a.requests, BlockIDs: a.ids, UniqueBlocks: int64(float64(len(a.predecessor)) / a.rate()), InputTokens: a.tokens, BlockSize: a.blockSize,
		Infinite: a.infinite.rates(a.rate()), PerTenant: rates(a.tenants, a.rate()), PerHour: rates(a.hours, a.rate()), Warnings: []string{},
		LRU: []sembench.CurvePoint{}, SampleRate: a.rate(),
	}
	c.Chained, c.Warnings = a.chained(c.Warnings)
	var sums [groups]struct{ blocks, tokens []int64 }
	for g, h := range a.found {
		sums[g].blocks, sums[g].tokens = cumulate(h.prefixBlocks), cumulate(h.prefixTokens)
	}
	for _, capacity := range a.capacities(int(c.UniqueBlocks)) {
		sum := tally{blocks: a.ids, tokens: a.tokens, lookedTokens: a.beyond}
		var parts []float64
		depth := int(float64(capacity) * a.rate())
		for g, h := range a.found {
			t := tally{lookedBlocks: h.blocks, hitBlocks: at(sums[g].blocks, depth), lookedTokens: h.tokens, hitTokens: at(sums[g].tokens, depth)}
			parts = append(parts, groups*float64(t.lookedBlocks-t.hitBlocks)/(a.rate()*float64(a.ids)))
			sum.add(t)
		}
		point := sembench.CurvePoint{CapacityBlocks: capacity, HitRates: sum.rates(a.rate())}
		if a.sampled() && a.ids > 0 {
			point.BlockHitRateSE = standardError(parts)
		}
		c.LRU = append(c.LRU, point)
	}
	anywhere := a.infinite
	anywhere.hitBlocks = at(cumulate(a.anyBlocks), math.MaxInt)
	c.AnyPosition.BlockHitRate = anywhere.rates(a.rate()).BlockHitRate
	if len(a.contents) > 0 {
		c.AnyPosition.BlockHitRate = rate(a.contentHits, a.ids)
	}
	if a.misfits > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d requests have another number of block ids than input_length / %d, rounded up", a.misfits, a.requests, a.blockSize))
	}
	if a.sampled() && c.Chained == nil {
		c.Warnings = append(c.Warnings, "the sample assumes prefix-chained ids: for others prefix rates are too high")
	}
	return c
}

func rates(groups map[string]*tally, share float64) map[string]sembench.HitRates {
	out := map[string]sembench.HitRates{}
	for name, t := range groups {
		out[name] = t.rates(share)
	}
	return out
}

// cumulate gives running sums.
func cumulate(histogram []int64) []int64 {
	out := make([]int64, len(histogram))
	var sum int64
	for i, n := range histogram {
		sum += n
		out[i] = sum
	}
	return out
}

func at(sums []int64, capacity int) int64 {
	if len(sums) == 0 || capacity < 0 {
		return 0
	}
	return sums[min(capacity, len(sums)-1)]
}

// capacities of the curve: those asked for, else a ladder that ends above the unique blocks.
func (a *Analyzer) capacities(unique int) []int {
	if len(a.options.Capacities) > 0 {
		return a.options.Capacities
	}
	var out []int
	for power := 10; power < math.MaxInt/10; power *= 10 {
		for _, step := range []int{1, 2, 5} {
			out = append(out, step*power)
			if step*power >= unique {
				return out
			}
		}
	}
	return out
}

// The rule of workloads.md: below 100 ids with repeats nothing is decided. brokenShare of them may stand after another
// block and the ids still count as chained: damaged lines do that, content hashes do far more.
const (
	leastRepeated = 100
	brokenShare   = 0.001
)

// chained tells whether equal ids mean equal prefixes: an id that repeats must always stand after the same block.
func (a *Analyzer) chained(warnings []string) (*bool, []string) {
	repeated, bad := 0, 0
	for _, s := range a.state {
		if s != once {
			repeated++
		}
		if s == broken {
			bad++
		}
	}
	if a.sampled() || repeated < leastRepeated {
		reason := "only " + strconv.Itoa(repeated) + " ids repeat"
		if a.sampled() {
			reason = "a sample does not show neighbours"
		}
		return nil, append(warnings, "whether ids are chained is undetermined: "+reason)
	}
	yes := float64(bad) <= brokenShare*float64(repeated)
	if yes && bad > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d repeated ids stand after different blocks", bad, repeated))
	}
	return &yes, warnings
}
