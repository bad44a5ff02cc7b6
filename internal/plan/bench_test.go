//go:build linux

package plan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"sembench/internal/block"
)

// zipfIDs draws ids as text does: few frequent tokens, many rare ones.
func zipfIDs(r *rand.Rand, z *rand.Zipf, n int) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(z.Uint64())
	}
	return ids
}

// percentile reports the p-th of the durations in microseconds.
func percentile(d []time.Duration, p float64) float64 {
	slices.Sort(d)
	return float64(d[min(len(d)-1, int(p*float64(len(d))))].Nanoseconds()) / 1e3
}

// BenchmarkSpanPool is planner.md section 5: an 8k target against 10k donors of 8k tokens, novel targets and
// targets half of which is some donor's text.
func BenchmarkSpanPool(b *testing.B) {
	const donors, length = 10000, 8192
	r := rand.New(rand.NewPCG(1, 1))
	p := mustOpen(b, "span", Options{})
	some := [][]uint32{}
	start := time.Now()
	var spent time.Duration
	for d := range donors {
		ids := randomIDs(r, length, 150000)
		if d%100 == 0 {
			some = append(some, ids)
		}
		t := time.Now()
		mustRegister(b, p, fmt.Sprint(d), ids)
		spent += time.Since(t)
	}
	x := p.(*span).index
	b.Logf("%d windows of %d tokens: %.1f bytes a window, load %.2f; %.0f M tokens/s registered (%.1f s with generation)", x.used, x.w,
		float64(len(x.slots)*8+len(x.filter)*8)/float64(x.used), float64(x.used)/float64(len(x.slots)), float64(x.tokens)/spent.Seconds()/1e6, time.Since(start).Seconds())
	for name, share := range map[string]float64{"novel": 0, "half": 0.5} {
		targets := make([][]uint32, 200)
		for i := range targets {
			targets[i] = randomIDs(r, length, 150000)
			n := int(share * length)
			copy(targets[i][777:], some[i%len(some)][length-n-5:length-5])
		}
		b.Run(name, func(b *testing.B) {
			took, cpu := []time.Duration{}, cpuTime(b)
			for i := 0; b.Loop(); i++ {
				t := time.Now()
				plan := p.Plan(context.Background(), Target{Tokens: targets[i%len(targets)]})
				took = append(took, time.Since(t))
				if plan.Found != (share > 0) {
					b.Fatal("plan is wrong")
				}
			}
			b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(b.N)/1e3, "cpu-us/op")
			b.ReportMetric(percentile(took, 0.5), "p50-us")
			b.ReportMetric(percentile(took, 0.99), "p99-us")
			b.ReportAllocs()
		})
	}
}

// itemPool is one item: a donor and a target that edits, shifts and reorders it.
func itemPool(length int) (donors [][]uint32, target []uint32) {
	r := rand.New(rand.NewPCG(2, 2))
	z := rand.NewZipf(r, 1.1, 8, 50000)
	donor := zipfIDs(r, z, length)
	target = append(zipfIDs(r, z, 37), donor[:length/4]...)
	target = append(target, zipfIDs(r, z, length/4)...)
	target = append(target, donor[length/2:]...)
	return [][]uint32{donor, zipfIDs(r, z, length), zipfIDs(r, z, length)}, head(target, length)
}

// perPlan reports wall and CPU time of f.
func perPlan(b *testing.B, f func()) {
	b.Helper()
	b.ReportAllocs()
	cpu := cpuTime(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(b.N)/1e3, "cpu-us/op")
}

// BenchmarkItemPool is one target of 4k tokens against three donors, registering included in "all".
func BenchmarkItemPool(b *testing.B) {
	donors, target := itemPool(4096)
	for _, name := range []string{"span", "semblend"} {
		p := mustOpen(b, name, Options{})
		register := func() {
			if err := p.Reset(); err != nil {
				b.Fatal(err)
			}
			for i, d := range donors {
				mustRegister(b, p, fmt.Sprint(i), d)
			}
		}
		register()
		b.Run(name+"/plan", func(b *testing.B) {
			perPlan(b, func() { p.Plan(context.Background(), Target{Tokens: target}) })
		})
		b.Run(name+"/all", func(b *testing.B) {
			perPlan(b, func() {
				register()
				p.Plan(context.Background(), Target{Tokens: target})
			})
		})
	}
}

// BenchmarkPythonPlanner is the item pool through the Python package, when SEMBENCH_SEMBLEND_PYTHON names a
// Python that has it: the peer of BenchmarkItemPool on the same ids.
func BenchmarkPythonPlanner(b *testing.B) {
	python := os.Getenv("SEMBENCH_SEMBLEND_PYTHON")
	if python == "" {
		b.Skip("SEMBENCH_SEMBLEND_PYTHON is not set")
	}
	donors, target := itemPool(4096)
	p := mustOpen(b, "exec:"+python+" ../../adapters/semblend_planner.py", Options{})
	for i, d := range donors {
		mustRegister(b, p, fmt.Sprint(i), d)
	}
	for b.Loop() {
		if plan := p.Plan(context.Background(), Target{Tokens: target}); plan.Error != nil {
			b.Fatal(*plan.Error)
		}
	}
}

// BenchmarkSemblendWorst is the slowest path: no chunk matches and donors are aligned by edit distance.
func BenchmarkSemblendWorst(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	p := mustOpen(b, "semblend", Options{})
	for d := range 3 {
		mustRegister(b, p, fmt.Sprint(d), randomIDs(r, 2048, 5000))
	}
	target := randomIDs(r, 2048, 5000)
	perPlan(b, func() { p.Plan(context.Background(), Target{Tokens: target}) })
}

// BenchmarkStream plans a request stream against all that came before it: span on one core, exact and prefix
// on the other, from token ids. A third of the requests repeats documents.
func BenchmarkStream(b *testing.B) {
	for _, total := range []int{10_000_000, 100_000_000} {
		b.Run(fmt.Sprintf("%dM", total/1_000_000), func(b *testing.B) {
			const length = 4096
			r := rand.New(rand.NewPCG(4, 4))
			ring := [][]uint32{}
			next := func() []uint32 {
				ids := randomIDs(r, length, 150000)
				if len(ring) > 0 && r.IntN(3) == 0 {
					copy(ids[100:], ring[r.IntN(len(ring))][:3000])
				}
				if ring = append(ring, ids); len(ring) > 1000 {
					ring = ring[1:]
				}
				return ids
			}
			var spans, exact, spanCPU, exactCPU time.Duration
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for b.Loop() {
				p := mustOpen(b, "span", Options{})
				pool := block.NewPool(16, 0)
				var hits []bool
				done := make(chan [2]time.Duration)
				work := make(chan []uint32, 64)
				go func() {
					runtime.LockOSThread()
					var busy [2]time.Duration
					for ids := range work {
						t, cpu := time.Now(), threadTime()
						hits, _ = pool.Visit(hits, "", ids)
						busy[0] += time.Since(t)
						busy[1] += threadTime() - cpu
					}
					done <- busy
				}()
				for i := range total / length {
					ids := next()
					work <- ids
					t, cpu := time.Now(), threadTime()
					p.Plan(context.Background(), Target{Tokens: ids})
					if err := p.Register(Donor{ID: fmt.Sprint(i), Tokens: ids}); err != nil {
						b.Fatal(err)
					}
					spans += time.Since(t)
					spanCPU += threadTime() - cpu
				}
				close(work)
				busy := <-done
				exact += busy[0]
				exactCPU += busy[1]
				x := p.(*span).index
				b.Logf("%d windows, %.1f bytes each", x.used, float64(8*(len(x.slots)+len(x.filter)))/float64(x.used))
			}
			tokens := float64(total) * float64(b.N)
			b.ReportMetric(tokens/max(spans, exact).Seconds()/1e6, "Mtokens/s")
			b.ReportMetric(tokens/max(spanCPU, exactCPU).Seconds()/1e6, "cpu-Mtokens/s")
			b.ReportMetric(tokens/spanCPU.Seconds()/1e6, "span-cpu-Mtokens/s")
			b.ReportMetric(tokens/exactCPU.Seconds()/1e6, "exact-cpu-Mtokens/s")
		})
	}
}

// cpuTime returns the process's CPU time so far: on a shared machine wall time measures the neighbours.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// threadTime is the CPU time of the calling thread, which must be locked.
func threadTime() time.Duration {
	const rusageThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
