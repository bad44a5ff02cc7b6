//go:build unix

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sembench/internal/block"
	"sembench/internal/plan"
)

// cpuTime is the CPU time of this process, collector included: on a shared machine wall time measures the neighbours.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// streamCost is the CPU time of a stream of total tokens in requests of 4,096, a third of which repeat most of an earlier one: of span planning and
// registering every request, and of exact and prefix lookups. Requests are made beforehand in batches, outside both times.
func streamCost(t *testing.T, total int) (span, exact time.Duration) {
	t.Helper()
	const length, batch = 4096, 500
	r := rand.New(rand.NewPCG(4, 4))
	p, err := plan.Open("span", plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := block.NewPool(16, 0)
	var hits []bool
	var requests [][]uint32
	made := 0
	for made < total/length {
		earlier := requests
		requests = make([][]uint32, min(batch, total/length-made))
		for i := range requests {
			requests[i] = novel(r, length)
			if len(earlier) > 0 && r.IntN(3) == 0 {
				copy(requests[i][100:], earlier[r.IntN(len(earlier))][:3000])
			}
		}
		runtime.GC()
		start := cpuTime(t)
		for i, ids := range requests {
			if made := p.Plan(context.Background(), plan.Target{Tokens: ids}); made.Error != nil {
				t.Fatal(*made.Error)
			}
			if err := p.Register(plan.Donor{ID: strconv.Itoa(made + i), Tokens: ids}); err != nil {
				t.Fatal(err)
			}
		}
		middle := cpuTime(t)
		for _, ids := range requests {
			hits, _ = pool.Visit(hits, "", ids)
		}
		span, exact = span+middle-start, exact+cpuTime(t)-middle
		made += len(requests)
	}
	return span, exact
}

// TestStreamCost is planner.md section 5: a stream pool on two cores, one for span and one for the exact and prefix pool.
func TestStreamCost(t *testing.T) {
	total, _ := strconv.Atoi(os.Getenv("SEMBENCH_BENCH_TOKENS"))
	if total == 0 {
		t.Skip("make bench runs it")
	}
	const small, turns = 10_000_000, 5
	report := func(tokens int, span, exact time.Duration) {
		rate := func(d time.Duration) float64 { return float64(tokens) / d.Seconds() / 1e6 }
		fmt.Printf("stream %dM span=%.1f exact=%.1f both=%.1f\n", tokens/1_000_000, rate(span), rate(exact), rate(max(span, exact)))
	}
	spans, exacts := make([]time.Duration, turns), make([]time.Duration, turns)
	for i := range turns {
		spans[i], exacts[i] = streamCost(t, small)
	}
	slices.Sort(spans)
	slices.Sort(exacts)
	report(small, spans[turns/2], exacts[turns/2])
	if total > small {
		span, exact := streamCost(t, total)
		report(total, span, exact)
	}
}
