// Package bench holds what make bench runs and no package's own benchmark can: memory of a whole process.
package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"

	"sembench/internal/block"
	"sembench/internal/plan"
)

// held is the heap that survives a collection.
func held() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestMemory compares what the pools of a stream hold with what planner.md section 2 and package block state, over SEMBENCH_BENCH_TOKENS tokens.
func TestMemory(t *testing.T) {
	total, _ := strconv.Atoi(os.Getenv("SEMBENCH_BENCH_TOKENS"))
	if total == 0 {
		t.Skip("SEMBENCH_BENCH_TOKENS is not set: make bench sets 100,000,000")
	}
	const length, size = 4096, 16
	requests := total / length
	r := rand.New(rand.NewPCG(6, 6))
	next := func() []uint32 {
		ids := make([]uint32, length)
		for i := range ids {
			ids[i] = r.Uint32N(150_000)
		}
		return ids
	}
	report := func(name string, bytes, stated int) {
		fmt.Printf("memory %s tokens=%d bytes=%d stated=%d\n", name, requests*length, bytes, stated)
		if bytes > stated {
			t.Errorf("%s holds %d bytes, stated are %d", name, bytes, stated)
		}
	}

	before := held()
	span, err := plan.Open("span", plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	highest := 0
	for i := range requests {
		if err := span.Register(plan.Donor{ID: strconv.Itoa(i), Tokens: next()}); err != nil {
			t.Fatal(err)
		}
		if i%(requests/20+1) == 0 {
			highest = max(highest, held()-before)
		}
	}
	// Windows of w = floor((2c+1)/2) = 16 tokens at stride 16: 16 bytes each and 4 a token; the index may be twice as large while it grows.
	windows := requests * length / 16
	report("span_held", held()-before, 2*16*windows+4*requests*length)
	report("span_highest", highest, 2*16*windows+4*requests*length)
	fmt.Printf("memory span_plain tokens=%d bytes=%d stated=%d\n", requests*length, held()-before, 16*windows+4*requests*length)
	runtime.KeepAlive(span)
	span = nil

	before = held()
	pool := block.NewPool(size, 0)
	var hits []bool
	for range requests {
		hits, _ = pool.Visit(hits, "", next())
	}
	// Two tables of 16-byte keys at a load of at least 1/3.
	report("exact_pool", held()-before, 2*3*16*(requests*length/size))
	runtime.KeepAlive(pool)
}
