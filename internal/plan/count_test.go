package plan

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"sembench"
)

const (
	contiguous  = sembench.IdenticalContiguous
	scattered   = sembench.IdenticalScattered
	approximate = sembench.Approximate
)

func planOf(size, tokens int, spans ...sembench.Span) sembench.Plan {
	return sembench.Plan{Planner: "test", BlockSize: size, TargetTokens: tokens, Found: len(spans) > 0, Spans: spans}
}

func TestCountByHand(t *testing.T) {
	check := func(name string, p sembench.Plan, hits string, candidate, eligible, novel, copied int) {
		t.Helper()
		c, err := Count(p, mask(hits))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if c.Candidate != candidate || c.Eligible != eligible || c.Novel != novel || c.CopiedTokens != copied {
			t.Errorf("%s: candidate %d eligible %d novel %d copied %d; want %d %d %d %d", name, c.Candidate, c.Eligible, c.Novel, c.CopiedTokens, candidate, eligible, novel, copied)
		}
	}
	span := func(target, length int, donor string, start int, class sembench.Class) sembench.Span {
		return sembench.Span{TargetStart: target, Length: length, DonorID: donor, DonorStart: start, Class: class}
	}
	check("nothing", planOf(4, 11), "00", 0, 0, 0, 0)
	check("no full block", planOf(4, 3, span(0, 3, "a", 0, contiguous)), "", 0, 0, 0, 3)
	check("one block", planOf(4, 8, span(0, 4, "a", 0, contiguous)), "10", 1, 1, 0, 4)
	check("off by one", planOf(4, 8, span(1, 7, "a", 0, contiguous)), "00", 1, 1, 1, 7)
	check("partial tail is no block", planOf(4, 7, span(0, 7, "a", 0, contiguous)), "0", 1, 1, 1, 7)
	check("two donors in a block", planOf(4, 4, span(0, 2, "a", 0, contiguous), span(2, 2, "b", 2, contiguous)), "0", 1, 0, 0, 4)
	check("two diagonals in a block", planOf(4, 4, span(0, 2, "a", 0, contiguous), span(2, 2, "a", 3, contiguous)), "0", 1, 0, 0, 4)
	check("one diagonal in two spans", planOf(4, 4, span(0, 2, "a", 5, contiguous), span(2, 2, "a", 7, contiguous)), "0", 1, 1, 1, 4)
	check("fuzzy but contiguous", planOf(4, 4, span(0, 4, "a", 9, scattered)), "0", 1, 1, 1, 4)
	check("hole", planOf(4, 4, span(0, 2, "a", 0, contiguous), span(3, 1, "a", 3, contiguous)), "0", 0, 0, 0, 3)
	check("approximate is not pooled", planOf(4, 8, span(0, 4, "a", 0, approximate), span(4, 4, "a", 4, contiguous)), "00", 1, 1, 1, 4)
	check("half approximate", planOf(4, 4, span(0, 3, "a", 0, contiguous), span(3, 1, "a", 3, approximate)), "0", 0, 0, 0, 3)
	check("block size 1", planOf(1, 3, span(0, 1, "a", 0, contiguous), span(2, 1, "b", 7, contiguous)), "001", 2, 2, 1, 2)
}

func mask(s string) []bool {
	m := make([]bool, len(s))
	for i := range s {
		m[i] = s[i] == '1'
	}
	return m
}

// perToken is the contract's wording, token by token, over random plans.
func TestCountAgainstDefinition(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 4))
		size, tokens := 1+r.IntN(6), r.IntN(40)
		p := planOf(size, tokens)
		type source struct {
			donor string
			pos   int
			class sembench.Class
		}
		from := make([]*source, tokens)
		for at := r.IntN(3); at < tokens; at += r.IntN(3) * r.IntN(2) {
			s := sembench.Span{TargetStart: at, Length: 1 + r.IntN(min(9, tokens-at)), DonorID: string(rune('a' + r.IntN(2))), DonorStart: r.IntN(3)}
			s.Class = []sembench.Class{contiguous, contiguous, scattered, approximate}[r.IntN(4)]
			if r.IntN(2) == 0 {
				s.DonorStart = at
			}
			for k := range s.Length {
				from[at+k] = &source{s.DonorID, s.DonorStart + k, s.Class}
			}
			p.Spans = append(p.Spans, s)
			at += s.Length
		}
		hits := make([]bool, tokens/size)
		want := Counts{ByClass: map[sembench.Class]int{}, TokensByClass: map[sembench.Class]int{}, CandidateMask: make([]bool, tokens/size), EligibleMask: make([]bool, tokens/size)}
		for _, f := range from {
			if f != nil {
				want.TokensByClass[f.class]++
				if f.class != approximate {
					want.CopiedTokens++
				}
			}
		}
		for b := range hits {
			hits[b] = r.IntN(2) == 0
			whole, same, approx := true, true, false
			for k := range size {
				f, first := from[b*size+k], from[b*size]
				if f == nil {
					whole = false
					continue
				}
				approx = approx || f.class == approximate
				same = same && first != nil && f.donor == first.donor && f.pos == first.pos+k
			}
			if !whole {
				continue
			}
			if approx {
				want.ByClass[approximate]++
				continue
			}
			want.Candidate++
			want.CandidateMask[b] = true
			if !same {
				want.ByClass[scattered]++
				continue
			}
			want.ByClass[contiguous]++
			want.Eligible++
			want.EligibleMask[b] = true
			if !hits[b] {
				want.Novel++
			}
		}
		got, err := Count(p, hits)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %+v\n got %+v\nwant %+v", seed, p, got, want)
		}
	}
}

func TestCountRefuses(t *testing.T) {
	check := func(want string, p sembench.Plan, hits ...bool) {
		t.Helper()
		if _, err := Count(p, hits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	ok := sembench.Span{TargetStart: 0, Length: 2, DonorID: "a", Class: contiguous}
	with := func(change func(*sembench.Span)) sembench.Span {
		s := ok
		change(&s)
		return s
	}
	check("block size 0", planOf(0, 4))
	check("length 0", planOf(2, 4, with(func(s *sembench.Span) { s.Length = 0 })), false, false)
	check("outside the target's 4", planOf(2, 4, with(func(s *sembench.Span) { s.TargetStart = 3 })), false, false)
	check("outside the target's 4", planOf(2, 4, with(func(s *sembench.Span) { s.TargetStart = -1 })), false, false)
	check("outside the target's 4", planOf(2, 4, with(func(s *sembench.Span) { s.TargetStart, s.Length = 1, 1<<63-1 })), false, false)
	check("donor_start -1 is negative", planOf(2, 4, with(func(s *sembench.Span) { s.DonorStart = -1 })), false, false)
	check("before the end 2", planOf(2, 4, ok, with(func(s *sembench.Span) { s.TargetStart = 1 })), false, false)
	check(`class "" is unknown`, planOf(2, 4, with(func(s *sembench.Span) { s.Class = "" })), false, false)
	check("1 exact hits for 2 blocks", planOf(2, 4), false)
	check("planner failed: boom", failed(planOf(2, 4), errBoom), false, false)
}

type constError string

func (e constError) Error() string { return string(e) }

const errBoom = constError("boom")

func TestClip(t *testing.T) {
	p := planOf(2, 10,
		sembench.Span{TargetStart: 0, Length: 4, DonorID: "a", DonorStart: 2, Class: contiguous},
		sembench.Span{TargetStart: 4, Length: 4, DonorID: "b", DonorStart: 0, Class: contiguous},
		sembench.Span{TargetStart: 8, Length: 2, DonorID: "a", DonorStart: 8, Class: contiguous})
	got := Clip(p, func(id string) int { return map[string]int{"a": 5}[id] })
	if len(got.Spans) != 1 || got.Spans[0].Length != 3 || !got.Found || *got.ReuseRatio != 0.3 {
		t.Errorf("Clip = %+v", got)
	}
	if len(p.Spans) != 3 || p.Spans[0].Length != 4 {
		t.Error("Clip changed its input")
	}
	if got := Clip(p, func(string) int { return 0 }); got.Found || got.ReuseRatio != nil || len(got.Spans) != 0 {
		t.Errorf("Clip to nothing = %+v", got)
	}
}
