package block

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The expected values were printed by Python 3.11, which shares no code with this package:
//
//	import hashlib, struct
//	hashlib.sha256(struct.pack('<4I', 1, 2, 3, 4)).hexdigest()[:32]
//	hashlib.sha256(struct.pack('<16I', *range(16))).hexdigest()[:32]
//	hashlib.sha256(struct.pack('<2I', 0, 4294967295)).hexdigest()[:32]
func TestPublished(t *testing.T) {
	check := func(want string, ids ...uint32) {
		t.Helper()
		if got := Published(ids); got != want {
			t.Errorf("Published(%v) = %s, want %s", ids, got, want)
		}
	}
	seq := make([]uint32, 16)
	for i := range seq {
		seq[i] = uint32(i)
	}
	check("cf97adeedb59e05bfd73a2b4c2a88857", 1, 2, 3, 4)
	check("5d85718ec594b982c252d0279e5966ff", seq...)
	check("5981693c8df83eea16da42a0f748facb", 0, 4294967295)
}

func TestCount(t *testing.T) {
	check := func(tokens, size, want int) {
		t.Helper()
		if got := Count(tokens, size); got != want {
			t.Errorf("Count(%d, %d) = %d, want %d", tokens, size, got, want)
		}
	}
	check(0, 16, 0)
	check(15, 16, 0)
	check(16, 16, 1)
	check(17, 16, 1)
	check(31, 16, 1)
	check(32, 16, 2)
	check(5, 1, 5)
	check(5, 0, 0)
	check(-5, 16, 0)
}

// naive is the independent implementation: strings of ids in Go maps, no hashing of ours.
type naive struct {
	size   int
	donors [][]string
}

func (n *naive) blocks(ids []uint32) []string {
	var out []string
	for ; len(ids) >= n.size; ids = ids[n.size:] {
		out = append(out, fmt.Sprint(ids[:n.size]))
	}
	return out
}

func (n *naive) hits(ids []uint32) []bool {
	out := []bool{}
	for _, b := range n.blocks(ids) {
		out = append(out, slices.ContainsFunc(n.donors, func(d []string) bool { return slices.Contains(d, b) }))
	}
	return out
}

func (n *naive) prefix(ids []uint32) (best int) {
	want := n.blocks(ids)
	for _, d := range n.donors {
		k := 0
		for k < len(want) && k < len(d) && want[k] == d[k] {
			k++
		}
		best = max(best, k)
	}
	return best
}

func randomIDs(r *rand.Rand, n int, alphabet uint32) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = r.Uint32N(alphabet)
	}
	return ids
}

func TestIndexAgainstNaive(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := 1 + r.IntN(5)
		x, n := NewIndex(size), &naive{size: size}
		if seed%3 == 0 { // a used and reset index must answer like a new one
			x.Add("old", randomIDs(r, 50, 3))
			x.Reset()
		}
		target := randomIDs(r, r.IntN(40), 2)
		for d := range 1 + r.IntN(5) {
			ids := randomIDs(r, r.IntN(60), 2)
			if r.IntN(2) == 0 {
				copy(ids, target)
			}
			x.Add(fmt.Sprint(d), ids)
			n.donors = append(n.donors, n.blocks(ids))
		}
		if got, want := x.Hits(nil, target), n.hits(target); !slices.Equal(got, want) {
			t.Fatalf("seed %d: Hits = %v, want %v", seed, got, want)
		}
		if got, want := x.PrefixBlocks(target), n.prefix(target); got != want {
			t.Fatalf("seed %d: PrefixBlocks = %d, want %d", seed, got, want)
		}
		for b := range Count(len(target), size) {
			ids := target[b*size : (b+1)*size]
			donor, number, ok := x.First(ids)
			if !ok {
				continue
			}
			var d int
			fmt.Sscan(donor, &d)
			if n.donors[d][number] != fmt.Sprint(ids) {
				t.Fatalf("seed %d: First(%v) = donor %d block %d, which is %s", seed, ids, d, number, n.donors[d][number])
			}
		}
	}
}

func TestBlockEdges(t *testing.T) {
	const size = 16
	donor := make([]uint32, 3*size)
	for i := range donor {
		donor[i] = uint32(100 + i)
	}
	x := NewIndex(size)
	x.Add("d", donor)
	check := func(name string, target []uint32, wantHits, wantPrefix int) {
		t.Helper()
		hits := 0
		got := x.Hits(nil, target)
		for _, h := range got {
			if h {
				hits++
			}
		}
		if len(got) != Count(len(target), size) || hits != wantHits || x.PrefixBlocks(target) != wantPrefix {
			t.Errorf("%s: %d of %d hits, prefix %d; want %d, %d", name, hits, len(got), x.PrefixBlocks(target), wantHits, wantPrefix)
		}
	}
	check("empty", nil, 0, 0)
	check("size-1", donor[:size-1], 0, 0)
	check("size", donor[:size], 1, 1)
	check("size+1", donor[:size+1], 1, 1)
	check("whole", donor, 3, 3)
	check("off the grid", donor[1:], 0, 0)
	check("second block first", slices.Concat(donor[size:2*size], donor[:size]), 2, 0)
	check("gap", slices.Concat(donor[:size], donor[2*size:]), 2, 1)
}

// A partial tail of a donor is no block, even where a target has the same tokens as a full one.
func TestDonorTailIsNoBlock(t *testing.T) {
	x := NewIndex(4)
	x.Add("a", []uint32{1, 2, 3, 4, 5, 6})
	x.Add("b", []uint32{7, 8})
	if got := x.Hits(nil, []uint32{5, 6, 7, 8}); got[0] {
		t.Error("tails of two donors were joined into a block")
	}
}

// Zero-valued ids must not be mistaken for empty slots.
func TestZeroIDs(t *testing.T) {
	x := NewIndex(1)
	if x.Hits(nil, []uint32{0})[0] {
		t.Error("empty index hit")
	}
	x.Add("d", []uint32{0})
	if !x.Hits(nil, []uint32{0})[0] || x.PrefixBlocks([]uint32{0, 0}) != 1 {
		t.Error("block of id 0 not found")
	}
}

func TestTableRemove(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		tab, want := newTable(true), map[key]uint32{}
		for step := range 2000 {
			// Few low bits: long runs of displaced entries, wrapping around the end.
			k := key{Lo: uint64(r.IntN(8)) * 61, Hi: uint64(1 + r.IntN(20))}
			if r.IntN(2) == 0 {
				tab.reserve(1)
				if _, added := tab.put(k, uint32(step)); added {
					want[k] = uint32(step)
				}
			} else {
				tab.remove(k)
				delete(want, k)
			}
			if tab.used != len(want) {
				t.Fatalf("seed %d step %d: %d keys, want %d", seed, step, tab.used, len(want))
			}
		}
		for k, v := range want {
			if slot, ok := tab.find(k); !ok || tab.vals[slot] != v {
				t.Fatalf("seed %d: key %v lost", seed, k)
			}
		}
	}
}

// naivePool keeps whole prefixes as strings in one recency list, newest last.
type naivePool struct {
	naive
	capacity int
	order    []string
	last     map[string]string // prefix → its last block
}

func (p *naivePool) visit(ids []uint32) (hits []bool, prefix int) {
	blocks := p.blocks(ids)
	heads := make([]string, len(blocks))
	for i := range blocks {
		heads[i] = fmt.Sprint(blocks[:i+1])
	}
	for i, b := range blocks {
		hits = append(hits, slices.ContainsFunc(p.order, func(h string) bool { return p.last[h] == b }))
		if prefix == i && slices.Contains(p.order, heads[i]) {
			prefix++
		}
	}
	for i := len(heads) - 1; i >= 0; i-- {
		p.last[heads[i]] = blocks[i]
		p.order = slices.DeleteFunc(p.order, func(h string) bool { return h == heads[i] })
		p.order = append(p.order, heads[i])
	}
	if over := len(p.order) - p.capacity; p.capacity > 0 && over > 0 {
		p.order = slices.Delete(p.order, 0, over)
	}
	return hits, prefix
}

func TestPoolAgainstNaive(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		size, capacity := 1+r.IntN(3), r.IntN(12)
		p := NewPool(size, capacity)
		want := map[string]*naivePool{}
		var earlier [][]uint32
		for step := range 40 {
			name := fmt.Sprint(r.IntN(2))
			if want[name] == nil {
				want[name] = &naivePool{naive: naive{size: size}, capacity: capacity, last: map[string]string{}}
			}
			ids := randomIDs(r, r.IntN(20), 2)
			if len(earlier) > 0 && r.IntN(2) == 0 {
				copy(ids, earlier[r.IntN(len(earlier))])
			}
			earlier = append(earlier, ids)
			hits, prefix := p.Visit(nil, name, ids)
			wantHits, wantPrefix := want[name].visit(ids)
			if !slices.Equal(hits, wantHits) || prefix != wantPrefix {
				t.Fatalf("seed %d step %d: %v prefix %d, want %v prefix %d", seed, step, hits, prefix, wantHits, wantPrefix)
			}
			if p.Blocks(name) != len(want[name].order) {
				t.Fatalf("seed %d step %d: %d blocks, want %d", seed, step, p.Blocks(name), len(want[name].order))
			}
			left := 0
			for i := range Count(len(ids), size) {
				if slices.Contains(want[name].order, fmt.Sprint(want[name].blocks(ids)[:i+1])) {
					left++
				}
			}
			if got := p.Resident(name, ids); got != left {
				t.Fatalf("seed %d step %d: %d resident, want %d", seed, step, got, left)
			}
		}
	}
}

// With capacity 2 the head of a three-block request survives and its tail does not.
func TestPoolHeadSurvives(t *testing.T) {
	p := NewPool(1, 2)
	p.Visit(nil, "", []uint32{1, 2, 3})
	if got := p.Resident("", []uint32{1, 2, 3}); got != 2 {
		t.Errorf("resident = %d, want 2", got)
	}
	hits, prefix := p.Visit(nil, "", []uint32{1, 2, 3})
	if !slices.Equal(hits, []bool{true, true, false}) || prefix != 2 {
		t.Errorf("hits %v, prefix %d", hits, prefix)
	}
	if hits, _ := p.Visit(nil, "other tenant", []uint32{1}); hits[0] {
		t.Error("a tenant saw another tenant's block")
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{3, 4, 1, 2}, uint8(2))
	f.Fuzz(func(t *testing.T, donor, target []byte, s uint8) {
		if len(donor) > 300 || len(target) > 300 {
			return
		}
		size := 1 + int(s%9)
		d, g := widen(donor), widen(target)
		x, n := NewIndex(size), &naive{size: size}
		x.Add("d", d)
		n.donors = [][]string{n.blocks(d)}
		if got, want := x.Hits(nil, g), n.hits(g); !slices.Equal(got, want) {
			t.Fatalf("Hits = %v, want %v", got, want)
		}
		if got, want := x.PrefixBlocks(g), n.prefix(g); got != want {
			t.Fatalf("PrefixBlocks = %d, want %d", got, want)
		}
	})
}

func widen(b []byte) []uint32 {
	ids := make([]uint32, len(b))
	for i, v := range b {
		ids[i] = uint32(v % 4)
	}
	return ids
}

// The in-process hash is defined on little-endian bytes on every machine.
func TestLittleEndian(t *testing.T) {
	ids := []uint32{1, 0xdeadbeef}
	var want []byte
	for _, id := range ids {
		want = binary.LittleEndian.AppendUint32(want, id)
	}
	if got := littleEndian(ids); !slices.Equal(got, want) {
		t.Errorf("littleEndian = %x, want %x", got, want)
	}
}
