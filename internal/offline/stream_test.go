package offline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sembench"
	"sembench/internal/plan"
)

// cache is the pool of planner.md section 4 as plainly as it can be written: leading runs of blocks with the time of their last use.
type cache struct {
	size, capacity int
	used           map[string]int // leading run → time of its last use
	requests       []string
	clock          int
}

func (c *cache) blocks(text string) int { return len(text) / c.size }

// resident is how many leading characters of text are cached.
func (c *cache) resident(text string) int {
	n := 0
	for n < c.blocks(text) && c.used[text[:(n+1)*c.size]] > 0 {
		n++
	}
	return n * c.size
}

// look gives exact hits anywhere, hits as a prefix, and the blocks that lie in a run of at least least characters of what is cached of one
// earlier request, at any offset.
func (c *cache) look(text string, least int) (anywhere, prefix, copied int) {
	contents := map[string]bool{}
	for run := range c.used {
		contents[run[len(run)-c.size:]] = true
	}
	covered := make([]bool, c.blocks(text))
	for _, donor := range c.requests {
		donor = donor[:c.resident(donor)]
		for shift := -len(text); shift < len(donor); shift++ { // text[i] against donor[i+shift]
			for i := 0; i < len(text); {
				j := i
				for j < len(text) && j+shift >= 0 && j+shift < len(donor) && text[j] == donor[j+shift] {
					j++
				}
				if j-i >= least {
					for b := range covered {
						covered[b] = covered[b] || b*c.size >= i && (b+1)*c.size <= j
					}
				}
				i = max(j, i+1)
			}
		}
	}
	for b := range covered {
		if contents[text[b*c.size:(b+1)*c.size]] {
			anywhere++
		}
		if covered[b] {
			copied++
		}
	}
	return anywhere, c.resident(text) / c.size, copied
}

func (c *cache) visit(text string) {
	for b := c.blocks(text); b > 0; b-- {
		c.clock++
		c.used[text[:b*c.size]] = c.clock
	}
	for c.capacity > 0 && len(c.used) > c.capacity {
		oldest := ""
		for run, at := range c.used {
			if oldest == "" || at < c.used[oldest] {
				oldest = run
			}
		}
		delete(c.used, oldest)
	}
	c.requests = append(c.requests, text)
}

// Streams with several tenants, several planners and every capacity count what the plain cache counts: exact blocks, prefix blocks, and
// with span every block that lies in a run of what is resident.
func TestStreamAgainstPlainCache(t *testing.T) {
	const size = 4
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		word := func(blocks int) string {
			b := make([]byte, blocks*size)
			for i := range b {
				b[i] = "abc"[r.IntN(3)]
			}
			return string(b)
		}
		o := Options{Tokenizer: letters{}, BlockSize: size, Planners: []string{"span", "semblend"}, Stream: true,
			CapacityBlocks: []int{0, 1, 3, 7, 20, 1000}[seed%6], Plan: plan.Options{MinSpan: size, MaxPlaces: -1}}
		caches := map[string]*cache{}
		for _, tenant := range []string{"", "x", "y"} {
			caches[tenant] = &cache{size: size, capacity: o.CapacityBlocks, used: map[string]int{}}
		}
		var items []sembench.Item
		var want [][3]int
		var earlier []string
		next := func() string {
			text := word(1 + r.IntN(5))
			if len(earlier) > 0 && r.IntN(3) > 0 {
				old := earlier[r.IntN(len(earlier))]
				switch r.IntN(3) {
				case 0:
					text = old + text // a chat goes on
				case 1:
					text = text[:2] + old + "ab" // shifted
				case 2:
					text = old[:len(old)/size/2*size] + text
				}
				text = text[:len(text)/size*size]
			}
			earlier = append(earlier, text)
			return text
		}
		for i := range 40 {
			tenant := []string{"", "x", "y"}[r.IntN(3)]
			it := item(fmt.Sprint(i), "", make([]string, r.IntN(3))...)
			it.Metadata = map[string]any{"tenant": tenant}
			c := caches[tenant]
			for d := range it.DonorPrompts {
				it.DonorPrompts[d].Text = next()
				c.visit(it.DonorPrompts[d].Text)
			}
			it.RecipientPrompt = next()
			anywhere, prefix, copied := c.look(it.RecipientPrompt, size)
			c.visit(it.RecipientPrompt)
			items, want = append(items, it), append(want, [3]int{anywhere, prefix, copied})
		}
		for i, row := range collect(t, Rows(context.Background(), seq(items...), o)) {
			got := [3]int{row.ExactHitBlocks, *row.ExactPrefixHitBlocks, *row.Planners["span"].EligibleBlocks}
			if got != want[i] {
				t.Errorf("seed %d, capacity %d, item %d: exact, prefix, span are %v, want %v", seed, o.CapacityBlocks, i, got, want[i])
			}
			if n := *row.Planners["semblend"].EligibleBlocks; n > want[i][2] {
				t.Errorf("seed %d, capacity %d, item %d: semblend has %d eligible blocks, only %d are resident in a run", seed, o.CapacityBlocks, i, n, want[i][2])
			}
		}
	}
}

// Evicting the first of two donors of one text leaves the second: nothing is lost to a planner that would have chosen the first.
func TestEvictedDonorHidesNoOther(t *testing.T) {
	doc := "abcdefghijklmnop"
	o := Options{Tokenizer: letters{}, BlockSize: 4, Planners: []string{"span"}, Stream: true, CapacityBlocks: 6, Plan: plan.Options{MinSpan: 4}}
	rows := collect(t, Rows(context.Background(), seq(item("1", "1234"+doc), item("2", "5678"+doc), item("3", "xx"+doc)), o))
	if n := *rows[2].Planners["span"].EligibleBlocks; n != 3 {
		t.Errorf("%d eligible blocks, want 3", n)
	}
}

// Rows of item pools do not depend on the number of workers.
func TestWorkersChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var items []sembench.Item
	for i := range 50 {
		text := make([]byte, 200)
		for j := range text {
			text[j] = "abcd"[r.IntN(4)]
		}
		items = append(items, item(fmt.Sprint(i), "zz"+string(text), string(text), string(text[50:])))
	}
	var first []string
	for _, workers := range []int{1, 2, 7} {
		o := Options{Tokenizer: letters{}, BlockSize: 8, Planners: []string{"span", "semblend"}, Workers: workers}
		var now []string
		for _, row := range collect(t, Rows(context.Background(), seq(items...), o)) {
			for name, column := range row.Planners {
				column.LatencyMS = nil
				row.Planners[name] = column
			}
			row.SemblendLatencyMS = nil
			now = append(now, string(sembench.Marshal(row)))
		}
		if first == nil {
			first = now
		}
		if !slices.Equal(first, now) {
			t.Errorf("%d workers give other rows", workers)
		}
	}
}
