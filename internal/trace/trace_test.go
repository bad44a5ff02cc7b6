package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"sembench"
)

const mooncake = "../../../shared/data/mooncake/conversation_trace.jsonl"

func openMooncake(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Open(mooncake)
	if err != nil {
		t.Skip("the Mooncake trace is not beside the project")
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The golden values of workloads.md section 5.
func TestMooncakeGolden(t *testing.T) {
	c, err := Analyze(openMooncake(t), mooncake, "", Options{Capacities: []int{1000, 5000, 10000, 30000, 50000, 100000}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Requests != 12031 || c.BlockIDs != 288500 || c.UniqueBlocks != 182790 || c.InputTokens != 144793823 || c.BlockSize != 512 {
		t.Errorf("counts %d %d %d %d, block %d", c.Requests, c.BlockIDs, c.UniqueBlocks, c.InputTokens, c.BlockSize)
	}
	check := func(name string, got *float64, want float64) {
		t.Helper()
		if got == nil || fmt.Sprintf("%.4f", *got) != fmt.Sprintf("%.4f", want) {
			t.Errorf("%s: got %v, want %.4f", name, got, want)
		}
	}
	check("infinite block", c.Infinite.BlockHitRate, 0.3664)
	check("infinite token", c.Infinite.TokenHitRate, 0.3736)
	for i, want := range []float64{0.0445, 0.1118, 0.2116, 0.3257, 0.3546, 0.3637} {
		check(fmt.Sprint(c.LRU[i].CapacityBlocks), c.LRU[i].BlockHitRate, want)
	}
	if c.Chained == nil || !*c.Chained {
		t.Errorf("chained: %v", c.Chained)
	}
	if len(c.PerHour) != 1 && len(c.PerHour) != 2 || len(c.Warnings) != 0 {
		t.Errorf("hours %v, warnings %v", c.PerHour, c.Warnings)
	}
}

// simulate is an LRU cache of one capacity, done the plain way: a list, newest first.
func simulate(requests []Request, size int64, capacity int) (blocks, tokens, any int64) {
	var list []uint64
	for _, r := range requests {
		hit := 0
		for hit < len(r.IDs) && slices.Contains(list, r.IDs[hit]) {
			hit++
		}
		for _, id := range r.IDs {
			if slices.Contains(list, id) {
				any++
			}
		}
		blocks += int64(hit)
		tokens += min(int64(hit)*size, r.InputTokens)
		for _, id := range slices.Backward(r.IDs) {
			list = slices.DeleteFunc(list, func(o uint64) bool { return o == id })
			list = append([]uint64{id}, list...)
		}
		list = list[:min(len(list), capacity)]
	}
	return blocks, tokens, any
}

// randomTrace has prefix-chained ids, or loose ones in any order, some twice in one request.
func randomTrace(seed uint64, n int, chained bool) (requests []Request) {
	r := rand.New(rand.NewPCG(seed, 1))
	next := uint64(1000)
	for range n {
		var ids []uint64
		if chained && len(requests) > 0 && r.IntN(3) > 0 {
			from := requests[r.IntN(len(requests))].IDs
			ids = append(ids, from[:r.IntN(len(from)+1)]...)
		}
		for range r.IntN(12) {
			id := next
			if next++; !chained {
				id = uint64(r.IntN(200))
			}
			ids = append(ids, id)
		}
		tokens := int64(len(ids)) * 16
		if tokens > 0 {
			tokens -= int64(r.IntN(16))
		}
		requests = append(requests, Request{InputTokens: tokens, IDs: ids})
	}
	return requests
}

func TestCurveEqualsSimulation(t *testing.T) {
	capacities := []int{0, 1, 2, 3, 7, 20, 45, 100, 333, 5000}
	for seed := range uint64(6) {
		for _, chained := range []bool{true, false} {
			requests := randomTrace(seed, 300, chained)
			a, err := NewAnalyzer(16, Options{Capacities: capacities})
			if err != nil {
				t.Fatal(err)
			}
			var ids, tokens int64
			for _, r := range requests {
				a.Add(r)
				ids += int64(len(r.IDs))
				tokens += r.InputTokens
			}
			c := a.Curve()
			for i, capacity := range capacities {
				blocks, hit, any := simulate(requests, 16, capacity)
				if got := *c.LRU[i].BlockHitRate; got != float64(blocks)/float64(ids) {
					t.Errorf("seed %d, chained %v, capacity %d: blocks %v, want %v", seed, chained, capacity, got, float64(blocks)/float64(ids))
				}
				if got := *c.LRU[i].TokenHitRate; got != float64(hit)/float64(tokens) {
					t.Errorf("seed %d, chained %v, capacity %d: tokens %v, want %v", seed, chained, capacity, got, float64(hit)/float64(tokens))
				}
				if capacity == 5000 && *c.AnyPosition.BlockHitRate != float64(any)/float64(ids) {
					t.Errorf("seed %d: any position %v, want %v", seed, *c.AnyPosition.BlockHitRate, float64(any)/float64(ids))
				}
			}
			if *c.Infinite.BlockHitRate != *c.LRU[9].BlockHitRate {
				t.Error("an infinite cache differs from a large one")
			}
			if c.Chained == nil || *c.Chained != chained {
				t.Errorf("seed %d: chained %v, want %v", seed, c.Chained, chained)
			}
			if !chained && *c.AnyPosition.BlockHitRate <= *c.Infinite.BlockHitRate {
				t.Error("loose ids: any position is not above prefix")
			}
		}
	}
}

// Below 100 ids with repeats nothing is said: 99 and 100 chained ids, each once more.
func TestChainedIsUndeterminedBelowHundred(t *testing.T) {
	for n, want := range map[int]string{99: "<nil>", 100: "true"} {
		a, _ := NewAnalyzer(16, Options{})
		var ids []uint64
		for i := range n {
			ids = append(ids, uint64(i))
		}
		for range 2 {
			a.Add(Request{InputTokens: int64(16 * n), IDs: ids})
		}
		c := a.Curve()
		got := "<nil>"
		if c.Chained != nil {
			got = fmt.Sprint(*c.Chained)
		}
		if got != want || (want == "<nil>") != (len(c.Warnings) == 1) {
			t.Errorf("%d repeats: %s, want %s; warnings %v", n, got, want, c.Warnings)
		}
	}
}

// By hand: tenant a asks [1 2], then [1 2 3] an hour later: 2 of 5 blocks hit, 32 of 72 tokens; b has nothing.
func TestTenantsAndHours(t *testing.T) {
	a, _ := NewAnalyzer(16, Options{})
	ms := func(x float64) *float64 { return &x }
	a.Add(Request{ArrivalMS: ms(5000), InputTokens: 32, IDs: []uint64{1, 2}, Tenant: "a"})
	a.Add(Request{ArrivalMS: ms(5000 + 3.6e6), InputTokens: 40, IDs: []uint64{1, 2, 3}, Tenant: "a"})
	a.Add(Request{ArrivalMS: ms(5000 + 3.6e6), InputTokens: 16, IDs: []uint64{9}, Tenant: "b"})
	c := a.Curve()
	show := func(h sembench.HitRates) string { return fmt.Sprintf("%.4f %.4f", *h.BlockHitRate, *h.TokenHitRate) }
	for name, want := range map[string]string{"a": "0.4000 0.4444", "b": "0.0000 0.0000"} {
		if got := show(c.PerTenant[name]); got != want {
			t.Errorf("tenant %s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"0000": "0.0000 0.0000", "0001": "0.5000 0.5714"} {
		if got := show(c.PerHour[name]); got != want {
			t.Errorf("hour %s: %s, want %s", name, got, want)
		}
	}
}

// A sample's curve lies within four of its standard errors (or two points) of the full one, on the real trace.
func TestSampleIsNearTheTruth(t *testing.T) {
	capacities := []int{5000, 10000, 30000, 100000}
	full, err := Analyze(openMooncake(t), mooncake, "", Options{Capacities: capacities})
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := Analyze(openMooncake(t), mooncake, "", Options{Capacities: capacities, SampleRate: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range capacities {
		p := sampled.LRU[i]
		if p.BlockHitRateSE == nil || *p.BlockHitRateSE > 0.05 {
			t.Fatalf("standard error %v", p.BlockHitRateSE)
		}
		if d := math.Abs(*p.BlockHitRate - *full.LRU[i].BlockHitRate); d > max(0.02, 4**p.BlockHitRateSE) {
			t.Errorf("capacity %d: sample %v ± %v, truth %v", capacities[i], *p.BlockHitRate, *p.BlockHitRateSE, *full.LRU[i].BlockHitRate)
		}
	}
	if d := float64(sampled.UniqueBlocks)/float64(full.UniqueBlocks) - 1; math.Abs(d) > 0.03 {
		t.Errorf("unique blocks off by %v", d)
	}
	if full.LRU[0].BlockHitRateSE != nil || sampled.Chained != nil {
		t.Error("a full curve has an error, or a sample claims to know chains")
	}
}

// Numbers are dealt like a map would, over keys that collide in their low bits and over zero.
func TestNumbers(t *testing.T) {
	table, want := newNumbers(), map[uint64]int32{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50000 {
		id := uint64(r.IntN(9000)) << 40
		n, known := table.of(id)
		expected, seen := want[id]
		if !seen {
			expected = int32(len(want))
			want[id] = expected
		}
		if n != expected || known != seen {
			t.Fatalf("id %d: %d, %v; want %d, %v", id, n, known, expected, seen)
		}
	}
}

func TestEmptyAndLengthsOnly(t *testing.T) {
	for _, text := range []string{"", "\n \n", "\xef\xbb\xbf"} {
		if _, err := Analyze(strings.NewReader(text), "f", "", Options{}); err == nil || err.Error() != "reading f: no request in it" {
			t.Errorf("%q: %v", text, err)
		}
	}
	c, err := Analyze(strings.NewReader("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,374,44\n2023-11-16 18:17:04.0319600,396,109\n"), "azure.csv", "", Options{})
	if err != nil || c.Requests != 2 || c.InputTokens != 770 || c.Infinite.BlockHitRate != nil || c.AnyPosition.BlockHitRate != nil {
		t.Errorf("lengths only: %+v, %v", c, err)
	}
}

// BenchmarkMooncake is the target of workloads.md: under 0.15 s and 60 MB.
func BenchmarkMooncake(b *testing.B) {
	text, err := os.ReadFile(mooncake)
	if err != nil {
		b.Skip("the Mooncake trace is not beside the project")
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(strings.NewReader(string(text)), "f", "", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
