package plan

import (
	"cmp"
	"math/bits"
	"slices"
)

// coverer chooses which run copies which target block. The choice maximizes eligible blocks: every block
// that lies inside some run is copied from one run. Among those choices it takes the fewest donors, then
// the fewest switches (neighbouring blocks copied from different runs), then the donors registered first.
//
// Fewest donors is a set cover, so the exact search has a budget; beyond it the cover is greedy in donors
// and still exact in blocks and, for its donors, in switches.
type coverer struct {
	size int // block size

	runs    []blockRun // runs that hold a full block, by first block
	donors  []cand
	bits    []uint64 // backing array of all block sets
	try     []piece
	chosen  []bool // by position in donors
	best    []piece
	found   int // covers looked at
	nodes   int
	byDonor map[int]int
}

// blockRun is a run with its whole blocks [first, last).
type blockRun struct {
	run
	first, last int
	cand        int // position in coverer.donors
}

// cand is a donor that covers blocks.
type cand struct {
	donor  int
	blocks []uint64
}

// piece is a part of the cover: target tokens [start, end), blocks [first, last), copied along run.
type piece struct {
	start, end  int
	first, last int
	run         run
}

const (
	// coverNodes bounds the search for fewest donors; real prompts need a handful, an adversary could ask
	// for exponentially many.
	coverNodes = 4096
	// coverTries bounds how many equally small donor sets are compared by switches.
	coverTries = 512
)

// choose returns the cover's pieces in target order, non-overlapping, each within its run and widened to
// the run's ends where no neighbour is. The result is valid until the next call.
func (c *coverer) choose(runs []run, tokens int) []piece {
	c.prepare(runs, tokens)
	if len(c.runs) == 0 {
		return nil
	}
	c.chosen = append(c.chosen[:0], make([]bool, len(c.donors))...)
	c.search((tokens/c.size + 63) / 64)
	return c.widen(c.best)
}

func (c *coverer) prepare(runs []run, tokens int) {
	c.runs, c.donors = c.runs[:0], c.donors[:0]
	if c.byDonor == nil {
		c.byDonor = map[int]int{}
	}
	clear(c.byDonor)
	words := (tokens/c.size + 63) / 64
	for _, r := range runs {
		b := blockRun{run: r, first: (r.start + c.size - 1) / c.size, last: r.end / c.size}
		if b.first < b.last {
			c.runs = append(c.runs, b)
			if _, ok := c.byDonor[r.donor]; !ok {
				c.byDonor[r.donor] = 0
				c.donors = append(c.donors, cand{donor: r.donor})
			}
		}
	}
	slices.SortFunc(c.donors, func(a, b cand) int { return cmp.Compare(a.donor, b.donor) })
	c.bits = append(c.bits[:0], make([]uint64, (len(c.donors)+2)*words)...)
	for i := range c.donors {
		c.byDonor[c.donors[i].donor] = i
		c.donors[i].blocks = c.bits[i*words : (i+1)*words]
	}
	for i := range c.runs {
		r := &c.runs[i]
		r.cand = c.byDonor[r.donor]
		fill(c.donors[r.cand].blocks, r.first, r.last)
	}
	slices.SortFunc(c.runs, func(a, b blockRun) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last), cmp.Compare(a.donor, b.donor), cmp.Compare(a.shift, b.shift))
	})
}

// fill sets the bits [first, last).
func fill(set []uint64, first, last int) {
	for first < last {
		word, low := first/64, first%64
		n := min(64-low, last-first)
		set[word] |= (^uint64(0) >> (64 - n)) << low
		first += n
	}
}

// search sets c.best to the cover by the fewest donors with the fewest switches.
func (c *coverer) search(words int) {
	all := c.bits[len(c.donors)*words:][:words]
	for _, d := range c.donors {
		or(all, d.blocks)
	}
	greedy := c.greedy(all, slices.Clone(all))
	c.best, c.found, c.nodes = append(c.best[:0], c.partition(c.try)...), 0, 0
	if len(c.donors) == 1 {
		return
	}
	// Deepening from one donor: the first size with any cover is the fewest.
	for k := 1; k <= greedy && c.found == 0 && c.nodes < coverNodes; k++ {
		clear(c.chosen)
		c.deepen(slices.Clone(all), k, k == greedy)
	}
}

// greedy marks donors as chosen, most new blocks first, until left is empty, and returns how many. It
// leaves the marks for partition.
func (c *coverer) greedy(all, left []uint64) (n int) {
	for {
		best, gain := -1, 0
		for i, d := range c.donors {
			if g := overlap(d.blocks, left); g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			return n
		}
		c.chosen[best] = true
		without(left, c.donors[best].blocks)
		n++
	}
}

// deepen tries every set of at most k more donors that covers left, branching on the block that fewest
// donors hold, and keeps the cover with fewest pieces; ties keep the earlier one.
func (c *coverer) deepen(left []uint64, k int, improveOnly bool) {
	if c.nodes++; c.nodes > coverNodes || c.found >= coverTries {
		return
	}
	block := c.rarest(left)
	if block < 0 {
		pieces := c.partition(c.try)
		if c.found == 0 && !improveOnly || len(pieces) < len(c.best) {
			c.best = append(c.best[:0], pieces...)
		}
		c.found++
		return
	}
	if k == 0 {
		return
	}
	rest := make([]uint64, len(left))
	for i, d := range c.donors {
		if c.chosen[i] || d.blocks[block/64]>>(block%64)&1 == 0 {
			continue
		}
		if k == 1 && !covers(d.blocks, left) {
			continue
		}
		copy(rest, left)
		without(rest, d.blocks)
		c.chosen[i] = true
		c.deepen(rest, k-1, improveOnly)
		c.chosen[i] = false
	}
}

// rarest returns the block of left that the fewest donors hold, -1 when left is empty.
func (c *coverer) rarest(left []uint64) int {
	best, fewest := -1, len(c.donors)+1
	for word, set := range left {
		for ; set != 0; set &= set - 1 {
			bit, n := bits.TrailingZeros64(set), 0
			for _, d := range c.donors {
				n += int(d.blocks[word] >> bit & 1)
			}
			if n < fewest {
				best, fewest = word*64+bit, n
			}
			if n == 1 {
				return best
			}
		}
	}
	return best
}

// partition cuts the blocks of the chosen donors into the fewest pieces: from the first uncovered block
// on, the run that reaches farthest.
func (c *coverer) partition(dst []piece) []piece {
	dst = dst[:0]
	at, i := 0, 0
	var reach blockRun
	for {
		for ; i < len(c.runs) && c.runs[i].first <= at; i++ {
			if r := c.runs[i]; c.chosen[r.cand] && r.last > reach.last {
				reach = r
			}
		}
		if reach.last > at {
			dst = append(dst, piece{first: at, last: reach.last, run: reach.run})
			at = reach.last
			continue
		}
		for i < len(c.runs) && !c.chosen[c.runs[i].cand] {
			i++
		}
		if i == len(c.runs) {
			c.try = dst
			return dst
		}
		at = max(at, c.runs[i].first)
	}
}

// widen gives each piece the tokens of its run beside its blocks that no other piece has.
func (c *coverer) widen(pieces []piece) []piece {
	end := 0
	for i := range pieces {
		p := &pieces[i]
		p.start = max(p.run.start, end)
		p.end = p.run.end
		if i+1 < len(pieces) {
			p.end = min(p.end, pieces[i+1].first*c.size)
		}
		end = p.end
	}
	return pieces
}

func or(dst, set []uint64) {
	for i, w := range set {
		dst[i] |= w
	}
}

func without(dst, set []uint64) {
	for i, w := range set {
		dst[i] &^= w
	}
}

func covers(set, left []uint64) bool {
	for i, w := range left {
		if w&^set[i] != 0 {
			return false
		}
	}
	return true
}

func overlap(a, b []uint64) (n int) {
	for i, w := range a {
		n += bits.OnesCount64(w & b[i])
	}
	return n
}
