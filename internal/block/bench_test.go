//go:build unix

package block

import (
	"crypto/sha256"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// BenchmarkIndex is planner.md section 5: 5 M blocks of 16 tokens, one core.
func BenchmarkIndex(b *testing.B) {
	const length, donors = 8000, 10000
	r := rand.New(rand.NewPCG(1, 1))
	all := make([][]uint32, donors)
	for i := range all {
		all[i] = randomIDs(r, length, 150000)
	}
	tokens := float64(length) * donors
	x := NewIndex(16)
	cpu := cpuTime(b)
	for _, ids := range all {
		x.Add("d", ids)
	}
	b.Logf("insert while growing from nothing: %.0f M tokens per CPU second", tokens/(cpuTime(b)-cpu).Seconds()/1e6)
	b.Run("insert", func(b *testing.B) {
		rates(b, tokens, func(int) {
			x.Reset()
			for _, ids := range all {
				x.Add("d", ids)
			}
		})
	})
	order := r.Perm(donors)
	novel := make([][]uint32, 500)
	for i := range novel {
		novel[i] = randomIDs(r, length, 150000)
	}
	var hits []bool
	b.Run("lookup/hit", func(b *testing.B) {
		rates(b, length, func(i int) { hits = x.Hits(hits, all[order[i%donors]]) })
	})
	b.Run("lookup/miss", func(b *testing.B) {
		rates(b, length, func(i int) { hits = x.Hits(hits, novel[i%len(novel)]) })
	})
	blocks := func(i int, f func(ids []uint32)) {
		ids := all[order[i%donors]]
		for at := 0; at+16 <= length; at += 16 {
			f(ids[at : at+16])
		}
	}
	b.Run("xxh3 alone", func(b *testing.B) {
		rates(b, length, func(i int) { blocks(i, func(ids []uint32) { x.sink += of(ids).Lo }) })
	})
	b.Run("sha256 alone", func(b *testing.B) {
		rates(b, length, func(i int) {
			blocks(i, func(ids []uint32) { sum := sha256.Sum256(littleEndian(ids)); x.sink += uint64(sum[0]) })
		})
	})
}

// rates runs f, which handles n tokens, and reports tokens per second of wall and of CPU time.
func rates(b *testing.B, n float64, f func(i int)) {
	b.Helper()
	i, cpu := 0, cpuTime(b)
	for b.Loop() {
		f(i)
		i++
	}
	n *= float64(b.N) / 1e6
	b.ReportMetric(n/b.Elapsed().Seconds(), "Mtokens/s")
	b.ReportMetric(n/(cpuTime(b)-cpu).Seconds(), "cpu-Mtokens/s")
}

// BenchmarkPool visits a stream under a capacity: a third of its requests repeats an earlier prefix.
func BenchmarkPool(b *testing.B) {
	const length = 4096
	r := rand.New(rand.NewPCG(2, 2))
	p := NewPool(16, 200000)
	requests := make([][]uint32, 3000)
	for i := range requests {
		requests[i] = randomIDs(r, length, 150000)
		if i > 0 && r.IntN(3) == 0 {
			copy(requests[i], requests[r.IntN(i)][:2048])
		}
	}
	var hits []bool
	rates(b, length, func(i int) { hits, _ = p.Visit(hits, "", requests[i%len(requests)]) })
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
