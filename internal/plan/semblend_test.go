package plan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sembench"
)

// Edit scripts are optimal: as many pairs as the dynamic program allows for its distance, pairs ascending and
// equal. The distance comes from the textbook recurrence.
func TestEditorAgainstTable(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 12))
		alphabet := 1 + r.Uint32N(6)
		donor, target := randomIDs(r, r.IntN(150), alphabet), randomIDs(r, r.IntN(150), alphabet)
		var words vocabulary
		dense := words.learn(nil, target)
		var e editor
		pairs := e.align(nil, words.translate(nil, donor), dense, words.n)
		last := pair{-1, -1}
		replaced := 0
		for _, p := range append(pairs, pair{len(target), len(donor)}) {
			if p.t <= last.t || p.d <= last.d || p.t < len(target) && target[p.t] != donor[p.d] {
				t.Fatalf("seed %d: pairs %v", seed, pairs)
			}
			replaced += max(p.t-last.t, p.d-last.d) - 1
			last = p
		}
		if want := distance(donor, target); replaced != want {
			t.Fatalf("seed %d: script of %d edits, distance %d", seed, replaced, want)
		}
	}
}

func distance(a, b []uint32) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0]
		row[0] = i + 1
		for j := range b {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// A pool that forgot donors plans like one that never had them.
func TestSemblendForgets(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 13))
		p := mustOpen(t, "semblend", Options{BlockSize: 4, MaxTokens: 300})
		fresh := mustOpen(t, "semblend", Options{BlockSize: 4})
		var order []string
		live := map[string][]uint32{}
		for i := range 12 {
			id := fmt.Sprint(i % 9)
			order = slices.DeleteFunc(order, func(o string) bool { return o == id })
			order = append(order, id)
			live[id] = randomIDs(r, 10+r.IntN(80), 5)
			mustRegister(t, p, id, live[id])
		}
		for total := 0; ; order = order[1:] {
			total = 0
			for _, id := range order {
				total += len(live[id])
			}
			if total <= 300 {
				break
			}
		}
		for _, id := range order {
			mustRegister(t, fresh, id, live[id])
		}
		target := splice(r, [][]uint32{live[order[0]], live[order[len(order)-1]]}, 60, 5)
		got := p.Plan(context.Background(), Target{Tokens: target})
		want := fresh.Plan(context.Background(), Target{Tokens: target})
		if !slices.Equal(got.Spans, want.Spans) || got.Found != want.Found {
			t.Fatalf("seed %d: %+v, want %+v", seed, got, want)
		}
	}
}

// Reuse of buffers from plan to plan must not show.
func TestPlannersRepeat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 14))
	for _, name := range []string{"span", "semblend"} {
		p := mustOpen(t, name, Options{BlockSize: 8})
		var donors [][]uint32
		for d := range 4 {
			donors = append(donors, randomIDs(r, 200, 40))
			mustRegister(t, p, fmt.Sprint(d), donors[d])
		}
		var targets [][]uint32
		var first []sembench.Plan
		for range 20 {
			targets = append(targets, splice(r, donors, 10+r.IntN(300), 40))
			first = append(first, p.Plan(context.Background(), Target{Tokens: targets[len(targets)-1]}))
		}
		for i, target := range targets {
			if again := p.Plan(context.Background(), Target{Tokens: target}); !slices.Equal(again.Spans, first[i].Spans) {
				t.Fatalf("%s: plan %d changed: %v, was %v", name, i, again.Spans, first[i].Spans)
			}
		}
	}
}

func TestPlannersEdges(t *testing.T) {
	for _, name := range []string{"span", "semblend"} {
		p := mustOpen(t, name, Options{})
		check := func(what string, target []uint32) {
			t.Helper()
			plan := p.Plan(context.Background(), Target{ItemID: "i", Tokens: target})
			if plan.Error != nil || plan.Found || plan.Spans == nil || len(plan.Spans) != 0 || plan.ReuseRatio != nil || plan.RejectionReason == nil || plan.LatencyMS == nil ||
				plan.ItemID != "i" || plan.Planner != name || plan.BlockSize != 16 || plan.TargetTokens != len(target) {
				t.Errorf("%s: %s: %+v", name, what, plan)
			}
		}
		check("no donors", []uint32{1, 2, 3})
		check("nothing", nil)
		mustRegister(t, p, "empty", nil)
		check("an empty donor", []uint32{1, 2, 3})
		mustRegister(t, p, "short", []uint32{1, 2, 3})
		check("a donor below a block", []uint32{1, 2, 3})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if plan := p.Plan(ctx, Target{Tokens: []uint32{1}}); plan.Error == nil {
			t.Errorf("%s: no error from a canceled plan", name)
		}
	}
}

// FuzzSemblend asks that every plan is valid and copies equal tokens, whatever the ids.
func FuzzSemblend(f *testing.F) {
	f.Add([]byte("abcdabcdabcdabcd"), []byte("bcdabcda"), []byte("abcdabcdxabcdabcd"), uint8(3))
	f.Add(make([]byte, 200), make([]byte, 90), make([]byte, 150), uint8(15))
	f.Fuzz(func(t *testing.T, a, b, c []byte, s uint8) {
		if len(a)+len(b)+len(c) > 1000 {
			return
		}
		narrow := func(b []byte) []uint32 {
			ids := make([]uint32, len(b))
			for i, v := range b {
				ids[i] = uint32(v%7) << (v % 3 * 13)
			}
			return ids
		}
		size := 1 + int(s%20)
		p := mustOpen(t, "semblend", Options{BlockSize: size, MinReuseRatio: 0.05, Embedder: []string{"jaccard", "tfidf"}[s%2]})
		byID := map[string][]uint32{"a": narrow(a), "b": narrow(b)}
		mustRegister(t, p, "a", byID["a"])
		mustRegister(t, p, "b", byID["b"])
		target := narrow(c)
		judge(t, p.Plan(context.Background(), Target{Tokens: target}), target, byID, size)
	})
}

// FuzzExecAnswer asks that no answer of a child becomes a plan that copies other tokens.
func FuzzExecAnswer(f *testing.F) {
	f.Add([]byte(`{"spans":[{"target_start":0,"length":2,"donor_id":"d","donor_start":1}]}`))
	f.Add([]byte(`{"slot_actions":[{"action":"copy_from_donor","targetPos":0,"donorPos":1,"donorId":"d"}]}`))
	f.Add([]byte(`{"spans":[{"target_start":9223372036854775807,"length":9223372036854775807,"donor_id":"d","donor_start":1}]}`))
	f.Add([]byte(`{"spans":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p := mustOpen(t, "exec:child", Options{BlockSize: 2}).(*execPlanner)
		donors := map[string][]uint32{"d": {9, 1, 2, 3}}
		mustRegister(t, p, "d", donors["d"])
		target := Target{Tokens: []uint32{1, 2, 3}}
		answer, err := parseAnswer(line)
		if err != nil {
			return
		}
		plan, err := p.believe(started("exec", 2, target), target, answer)
		if err != nil {
			return
		}
		plan.Spans = slices.DeleteFunc(plan.Spans, func(s sembench.Span) bool { return s.Class == approximate })
		judge(t, plan, target.Tokens, donors, 2)
	})
}

// The index of large pools must name the donors that looking through them names.
func TestPoolIndexAgainstScan(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 16))
		size := 12 + r.IntN(20)
		o := Options{BlockSize: size, MinReuseRatio: 0.01}
		scan, pool := mustOpen(t, "semblend", o).(*semblend), mustOpen(t, "semblend", o).(*semblend)
		scan.poolFrom, pool.poolFrom = 1<<30, 0
		alphabet := 20 + r.Uint32N(60)
		for step := range 60 {
			id := fmt.Sprint(r.IntN(25))
			if r.IntN(4) == 0 {
				for _, p := range []*semblend{scan, pool} {
					if err := p.Forget(id); err != nil {
						t.Fatal(err)
					}
				}
			} else {
				ids := randomIDs(r, r.IntN(8*size), alphabet)
				mustRegister(t, scan, id, ids)
				mustRegister(t, pool, id, ids)
			}
			if step%4 != 0 {
				continue
			}
			target := randomIDs(r, 1+r.IntN(8*size), alphabet)
			got := pool.Plan(context.Background(), Target{Tokens: target})
			want := scan.Plan(context.Background(), Target{Tokens: target})
			if !slices.Equal(got.Spans, want.Spans) {
				t.Fatalf("seed %d step %d: %v, want %v", seed, step, got.Spans, want.Spans)
			}
			names := func(p *semblend) (ids []string) {
				for _, d := range p.multi.candidates(p, target) {
					ids = append(ids, d.id)
				}
				return ids
			}
			if got, want := names(pool), names(scan); !slices.Equal(got, want) {
				t.Fatalf("seed %d step %d: candidates %v, want %v", seed, step, got, want)
			}
		}
	}
}
