package plan

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"sembench"
	"sembench/internal/block"
)

// bruteRuns enumerates maximal identical runs by trying every diagonal of every donor.
func bruteRuns(target []uint32, donors [][]uint32, minSpan int) (runs []run) {
	for d, donor := range donors {
		for shift := -len(donor); shift < len(target); shift++ {
			for i := 0; i < len(target); i++ {
				start := i
				for i < len(target) && i-shift >= 0 && i-shift < len(donor) && target[i] == donor[i-shift] {
					i++
				}
				if i-start >= minSpan {
					runs = append(runs, run{start: start, end: i, donor: d, shift: shift})
				}
			}
		}
	}
	return runs
}

// score is what a cover is judged by, in this order.
type score struct{ missed, donors, switches int }

func (a score) less(b score) bool {
	if a.missed != b.missed {
		return a.missed < b.missed
	}
	if a.donors != b.donors {
		return a.donors < b.donors
	}
	return a.switches < b.switches
}

// bruteBest tries every set of donors and, within it, every assignment of runs to blocks: all of them, by
// keeping the fewest switches for each last run.
func bruteBest(runs []run, donors, blocks, size int) score {
	best := score{missed: blocks + 1}
	for set := range 1 << donors {
		s := score{donors: bits.OnesCount(uint(set))}
		last := map[int]int{-1: 0} // run of the block before (-1: none) → fewest switches so far
		for b := range blocks {
			next := map[int]int{}
			for r, x := range runs {
				if set>>x.donor&1 == 0 || x.start > b*size || x.end < (b+1)*size {
					continue
				}
				next[r] = blocks
				for before, n := range last {
					if before >= 0 && before != r {
						n++
					}
					next[r] = min(next[r], n)
				}
			}
			if len(next) == 0 {
				s.missed++
				next[-1] = blocks
				for _, n := range last {
					next[-1] = min(next[-1], n)
				}
			}
			last = next
		}
		s.switches = blocks
		for _, n := range last {
			s.switches = min(s.switches, n)
		}
		if s.less(best) {
			best = s
		}
	}
	return best
}

// judge returns the score of a plan and fails the test when any copied token is not the donor's.
func judge(t *testing.T, p sembench.Plan, target []uint32, donors map[string][]uint32, size int) score {
	t.Helper()
	if err := Validate(p); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Spans {
		for k := range s.Length {
			if target[s.TargetStart+k] != donors[s.DonorID][s.DonorStart+k] {
				t.Fatalf("span %+v: token %d is not the donor's", s, k)
			}
		}
	}
	c, err := Count(p, make([]bool, block.Count(len(target), size)))
	if err != nil {
		t.Fatal(err)
	}
	from := make([]sembench.Span, len(c.EligibleMask))
	s, used := score{}, map[string]bool{}
	for b := range from {
		if !c.EligibleMask[b] {
			s.missed++
			continue
		}
		for _, sp := range p.Spans {
			if sp.TargetStart <= b*size && b*size < sp.TargetStart+sp.Length {
				from[b] = sp
			}
		}
		used[from[b].DonorID] = true
		if b > 0 && c.EligibleMask[b-1] && (from[b].DonorID != from[b-1].DonorID || from[b].DonorStart-from[b].TargetStart != from[b-1].DonorStart-from[b-1].TargetStart) {
			s.switches++
		}
	}
	s.donors = len(used)
	return s
}

func mustOpen(t testing.TB, spec string, o Options) Planner {
	t.Helper()
	p, err := Open(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func mustRegister(t testing.TB, p Planner, id string, ids []uint32) {
	t.Helper()
	if err := p.Register(Donor{ID: id, Tokens: ids}); err != nil {
		t.Fatal(err)
	}
}

func randomIDs(r *rand.Rand, n int, alphabet uint32) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = r.Uint32N(alphabet)
	}
	return ids
}

// splice builds a target from pieces of donors, so that long runs exist on a small alphabet.
func splice(r *rand.Rand, donors [][]uint32, n int, alphabet uint32) []uint32 {
	var ids []uint32
	for len(ids) < n {
		if d := donors[r.IntN(len(donors))]; len(d) > 0 && r.IntN(4) > 0 {
			from := r.IntN(len(d))
			ids = append(ids, d[from:min(len(d), from+1+r.IntN(12))]...)
		} else {
			ids = append(ids, randomIDs(r, 1+r.IntN(3), alphabet)...)
		}
	}
	return ids[:n]
}

func TestSpanAgainstBruteForce(t *testing.T) {
	for seed := range uint64(1200) {
		r := rand.New(rand.NewPCG(seed, 5))
		size := 1 + r.IntN(4)
		minSpan := size + r.IntN(2*size)
		alphabet := 2 + r.Uint32N(3)
		var donors [][]uint32
		byID := map[string][]uint32{}
		p := mustOpen(t, "span", Options{BlockSize: size, MinSpan: minSpan, MaxPlaces: -1, Seed: seed})
		for d := range 1 + r.IntN(4) {
			ids := randomIDs(r, r.IntN(30), alphabet)
			donors = append(donors, ids)
			byID[fmt.Sprint(d)] = ids
			mustRegister(t, p, fmt.Sprint(d), ids)
		}
		target := splice(r, donors, r.IntN(6*size+3), alphabet)
		runs := bruteRuns(target, donors, minSpan)

		var m matcher
		got, capped := m.find(p.(*span).index, target, minSpan)
		if capped {
			t.Fatalf("seed %d: capped without a cap", seed)
		}
		if !slices.Equal(sorted(got), sorted(runs)) {
			t.Fatalf("seed %d: runs\n got %v\nwant %v", seed, sorted(got), sorted(runs))
		}
		blocks := block.Count(len(target), size)
		plan := p.Plan(context.Background(), Target{Tokens: target})
		if got, want := judge(t, plan, target, byID, size), bruteBest(runs, len(donors), blocks, size); got != want {
			t.Fatalf("seed %d: size %d min %d\ntarget %v\ndonors %v\nplan %v\n got %+v\nwant %+v", seed, size, minSpan, target, donors, plan.Spans, got, want)
		}
	}
}

func sorted(runs []run) []run {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b run) int {
		return slices.Compare([]int{a.start, a.end, a.donor, a.shift}, []int{b.start, b.end, b.donor, b.shift})
	})
	return runs
}

// With min span c and no cap no exact grid block is missed.
func TestSpanNeverBelowExact(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 6))
		size := 1 + r.IntN(6)
		p := mustOpen(t, "span", Options{BlockSize: size, MinSpan: size, MaxPlaces: -1})
		x := block.NewIndex(size)
		var donors [][]uint32
		for d := range 1 + r.IntN(6) {
			donors = append(donors, randomIDs(r, r.IntN(100), 3))
			x.Add(fmt.Sprint(d), donors[d])
			mustRegister(t, p, fmt.Sprint(d), donors[d])
		}
		target := splice(r, donors, 100, 3)
		hits := x.Hits(nil, target)
		c, err := Count(p.Plan(context.Background(), Target{Tokens: target}), hits)
		if err != nil {
			t.Fatal(err)
		}
		for b, hit := range hits {
			if hit && !c.EligibleMask[b] {
				t.Fatalf("seed %d: exact block %d is not eligible", seed, b)
			}
		}
	}
}

func TestSpanShifted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for _, size := range []int{16, 64, 128, 256} {
		for _, shift := range []int{1, 5, size - 1, size, size + 1, 1000} {
			donor := randomIDs(r, 4000, 50000)
			target := append(randomIDs(r, shift, 50000), donor...)
			p := mustOpen(t, "span", Options{BlockSize: size})
			mustRegister(t, p, "d", donor)
			hits := make([]bool, block.Count(len(target), size))
			c, err := Count(p.Plan(context.Background(), Target{Tokens: target}), hits)
			if err != nil {
				t.Fatal(err)
			}
			if inside := len(hits) - (shift+size-1)/size; c.Eligible < inside || c.Eligible < 4000/size-2 {
				t.Errorf("size %d shift %d: %d eligible of %d", size, shift, c.Eligible, len(hits))
			}
			if c.CopiedTokens != 4000 {
				t.Errorf("size %d shift %d: %d tokens copied, want 4000", size, shift, c.CopiedTokens)
			}
		}
	}
}

func TestSpanEditSplits(t *testing.T) {
	donor := make([]uint32, 320)
	for i := range donor {
		donor[i] = uint32(i + 1)
	}
	target := slices.Clone(donor)
	target[100], target[200] = 0, 0
	p := mustOpen(t, "span", Options{})
	mustRegister(t, p, "d", donor)
	want := []sembench.Span{
		{TargetStart: 0, Length: 100, DonorID: "d", DonorStart: 0, Class: contiguous},
		{TargetStart: 101, Length: 99, DonorID: "d", DonorStart: 101, Class: contiguous},
		{TargetStart: 201, Length: 119, DonorID: "d", DonorStart: 201, Class: contiguous},
	}
	if got := p.Plan(context.Background(), Target{Tokens: target}); !slices.Equal(got.Spans, want) {
		t.Errorf("spans = %v, want %v", got.Spans, want)
	}
}

// A pool that forgets and re-registers must answer like one built from what is left.
func TestSpanForgets(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 8))
		p := mustOpen(t, "span", Options{BlockSize: 2, MinSpan: 3, MaxPlaces: -1, MaxTokens: 400})
		var order []string
		live := map[string][]uint32{}
		for range 150 {
			id := fmt.Sprint(r.IntN(30))
			order = slices.DeleteFunc(order, func(o string) bool { return o == id })
			if r.IntN(4) == 0 {
				delete(live, id)
				if err := p.(Forgetter).Forget(id); err != nil {
					t.Fatal(err)
				}
				continue
			}
			live[id] = randomIDs(r, r.IntN(60), 3)
			order = append(order, id)
			mustRegister(t, p, id, live[id])
			for total := 0; ; {
				total = 0
				for _, ids := range live {
					total += len(ids)
				}
				if total <= 400 {
					break
				}
				delete(live, order[0])
				order = order[1:]
			}
			fresh := mustOpen(t, "span", Options{BlockSize: 2, MinSpan: 3, MaxPlaces: -1})
			for _, o := range order {
				mustRegister(t, fresh, o, live[o])
			}
			target := randomIDs(r, 40, 3)
			got := p.Plan(context.Background(), Target{Tokens: target})
			want := fresh.Plan(context.Background(), Target{Tokens: target})
			if judge(t, got, target, live, 2) != judge(t, want, target, live, 2) {
				t.Fatalf("seed %d: %v, want %v", seed, got.Spans, want.Spans)
			}
		}
	}
}

// A window in very many donors keeps its cap of places, says so, and still finds the copy.
func TestSpanCaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	boiler := randomIDs(r, 64, 50000)
	p := mustOpen(t, "span", Options{MaxPlaces: 4, Seed: 3})
	for d := range 500 {
		mustRegister(t, p, fmt.Sprint(d), append(slices.Clone(boiler), randomIDs(r, 64, 50000)...))
	}
	plan := p.Plan(context.Background(), Target{Tokens: boiler})
	if !plan.IndexCapped || len(plan.Spans) != 1 || plan.Spans[0].Length != 64 {
		t.Errorf("capped %v, spans %v", plan.IndexCapped, plan.Spans)
	}
	if x := p.(*span).index; x.used != 4*4+500*4 {
		t.Errorf("%d windows held, want %d", x.used, 4*4+500*4)
	}
	if plan := p.Plan(context.Background(), Target{Tokens: randomIDs(r, 64, 50000)}); plan.IndexCapped {
		t.Error("a target without the frequent window says capped")
	}
}

// The index costs at most 16 bytes per window (planner.md, section 2), filter included, whatever its size.
func TestSpanMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 15))
	x := newWindows(16, 16, 0)
	for d := range 3000 {
		if err := x.add(fmt.Sprint(d), randomIDs(r, 16+r.IntN(1000), 1<<30)); err != nil {
			t.Fatal(err)
		}
		if bytes := 8 * (len(x.slots) + len(x.filter)); x.used > 1000 && bytes > 16*x.used {
			t.Fatalf("%d bytes for %d windows", bytes, x.used)
		}
	}
}

// One repeated token is the worst case for run counting: it must stay fast and true.
func TestSpanRepetitive(t *testing.T) {
	ids := make([]uint32, 8000)
	p := mustOpen(t, "span", Options{})
	for d := range 4 {
		mustRegister(t, p, fmt.Sprint(d), ids)
	}
	plan := p.Plan(context.Background(), Target{Tokens: ids})
	c, err := Count(plan, make([]bool, 500))
	if err != nil || c.Eligible != 500 {
		t.Errorf("%d eligible of 500, %v", c.Eligible, err)
	}
}

func FuzzSpan(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0, 1, 2, 3}, []byte{1, 2, 3, 0}, []byte{3, 0, 1}, uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c []byte, s, extra uint8) {
		if len(a)+len(b)+len(c) > 200 {
			return
		}
		narrow := func(b []byte) []uint32 {
			ids := make([]uint32, len(b))
			for i, v := range b {
				ids[i] = uint32(v % 5)
			}
			return ids
		}
		size := 1 + int(s%8)
		minSpan := size + int(extra%16)
		donors := [][]uint32{narrow(a), narrow(b)}
		target := narrow(c)
		p := mustOpen(t, "span", Options{BlockSize: size, MinSpan: minSpan, MaxPlaces: -1})
		byID := map[string][]uint32{"0": donors[0], "1": donors[1]}
		mustRegister(t, p, "0", donors[0])
		mustRegister(t, p, "1", donors[1])
		runs := bruteRuns(target, donors, minSpan)
		covered := map[int]bool{}
		for _, r := range runs {
			for b := (r.start + size - 1) / size; b < r.end/size; b++ {
				covered[b] = true
			}
		}
		got := judge(t, p.Plan(context.Background(), Target{Tokens: target}), target, byID, size)
		if want := block.Count(len(target), size) - len(covered); got.missed != want {
			t.Fatalf("missed %d blocks, want %d", got.missed, want)
		}
	})
}
