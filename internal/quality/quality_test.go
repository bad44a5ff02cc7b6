package quality

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }

func TestNormalize(t *testing.T) {
	check := func(s string, want ...string) {
		t.Helper()
		if got := Normalize(s); !slices.Equal(got, want) {
			t.Errorf("Normalize(%q) = %q, want %q", s, got, want)
		}
	}
	check("")
	check("  \n… — !")
	check("The Quick, brown-fox's 3.5", "the", "quick", "brown", "fox", "s", "3", "5")
	check("ÄRGER Straße", "ärger", "straße")
	check("東京都は3月", "東", "京", "都", "は", "3", "月")
	check("データ v2", "デ", "ー", "タ", "v2")
	check("한국어abc中", "한", "국", "어", "abc", "中")
	check("a\xffb", "a", "b")
	check("snake_case", "snake", "case")
	check("x²", "x²")
}

// lcsTable is the textbook dynamic programme.
func lcsTable(a, b []string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				d[i+1][j+1] = d[i][j] + 1
			} else {
				d[i+1][j+1] = max(d[i][j+1], d[i+1][j])
			}
		}
	}
	return d[len(a)][len(b)]
}

func randomTokens(r *rand.Rand, n, words int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = string(rune('a' + r.IntN(words)))
	}
	return out
}

func TestLCSAgainstTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		// Lengths around the word size, where a strip or a carry would go wrong.
		n, m := r.IntN(70)+r.IntN(2)*64, r.IntN(70)+r.IntN(3)*64
		words := 1 + r.IntN(20)
		a, b := randomTokens(r, n, words), randomTokens(r, m, words)
		ia, ib, ids := intern(a, b)
		if got, want := lcs(ia, ib, ids), lcsTable(a, b); got != want {
			t.Fatalf("lcs of %d x %d tokens = %d, want %d", n, m, got, want)
		}
	}
	for _, n := range []int{63, 64, 65, 128, 129} {
		a := slices.Repeat([]string{"x"}, n)
		ia, ib, ids := intern(a, a)
		if got := lcs(ia, ib, ids); got != n {
			t.Errorf("lcs of %d equal tokens with themselves = %d", n, got)
		}
	}
}

func TestROUGELAndF1AndRecall(t *testing.T) {
	check := func(name string, got, want float64) {
		t.Helper()
		if !near(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	// Lin 2004, section 3.1: LCS("police killed the gunman", "police kill the gunman") = 3 of 4 and 4;
	// "the gunman kill police" shares 2 in order.
	check("S2", ROUGEL("police killed the gunman", "police kill the gunman"), 0.75)
	check("S3", ROUGEL("police killed the gunman", "the gunman kill police"), 0.5)
	check("empty side", ROUGEL("", "a b"), 0)
	check("both empty", ROUGEL("?!", ""), 0)
	check("case and punctuation", ROUGEL("A, b. C!", "a b c"), 1)
	check("lengths differ", ROUGEL("a b c d", "a c"), 2*2.0/6)

	check("f1", F1("the cat sat", "cat sat on mat"), 2*2.0/7)
	check("f1 multiplicity", F1("a a a", "a"), 2*1.0/4)
	check("f1 empty", F1("", ""), 0)

	check("recall", Recall("it was the year 1999 in Paris", "Paris 1999"), 1)
	check("recall multiplicity", Recall("a b", "a a b"), 2.0/3)
	check("recall empty reference", Recall("a", "..."), 0)
	check("recall empty answer", Recall("", "a"), 0)
}

func TestStatesAndLeak(t *testing.T) {
	check := func(answer, value string, want bool) {
		t.Helper()
		if got := States(answer, value); got != want {
			t.Errorf("States(%q, %q) = %v", answer, value, got)
		}
		if got := Leak(answer, value); got != want {
			t.Errorf("Leak(%q, %q) = %v", answer, value, got)
		}
	}
	check("The capital is Paris.", "paris", true)
	check("Parisian life", "Paris", true)
	check("it cost 120 euros", "12", false)
	check("it cost 112 euros", "12", false)
	check("it cost 112 or 12 euros", "12", true)
	check("12", "12", true)
	check("weighs 13.5 kg", "3.5", false)
	check("weighs 3.5kg", "3.5", true)
	check("東京都に住む", "東京", true)
	check("anything", "", false)
	check("anything", "!!", false)
	check("", "x", false)
	check("New-York", "new york", true)
}

func TestLetter(t *testing.T) {
	check := func(output, want string) {
		t.Helper()
		got, ok := Letter(output)
		if got != want || ok != (want != "") {
			t.Errorf("Letter(%q) = %q, %v, want %q", output, got, ok, want)
		}
	}
	check("B", "B")
	check(" b \n", "B")
	check("(C)", "C")
	check("D.", "D")
	check("A) because it is so", "A")
	check("**B**", "B")
	check("C\nbecause", "C")
	check("Answer: B", "B")
	check("The answer is (d).", "D")
	check("The correct answer is option B, since option C is wrong.", "B")
	check("The correct option is E", "E")
	check(`So the answer is $\boxed{B}$`, "B")
	check("I think the answer is A. No: the answer is **C**", "C")
	check("A dog", "")
	check("a", "A")
	check("The answer is a dog", "")
	check("The answer is not B", "")
	check("Because", "")
	check("Z", "")
	check("", "")
	check("42", "")
}

func TestScore(t *testing.T) {
	if got := Score("x", nil, 0.6); got != nil {
		t.Errorf("Score without references = %+v, want nil", got)
	}
	if got := Score("x", []string{"", "--"}, 0.6); got != nil {
		t.Errorf("Score with empty references = %+v, want nil", got)
	}
	got := Score("the red fox", []string{"a blue fox", "red fox"}, 0.6)
	want := Result{Pass: true, Recall: 1, F1: 0.8, RougeL: 0.8}
	if got == nil || *got != want {
		t.Errorf("Score = %+v, want %+v", got, want)
	}
	if got := Score("one two three", []string{"one two three four five"}, 0.6); !got.Pass {
		t.Errorf("recall of exactly 0.6 does not pass: %+v", got)
	}
	if got := Score("", []string{"one"}, 0.6); got == nil || *got != (Result{}) {
		t.Errorf("Score of an empty output = %+v, want zeros", got)
	}
}

func TestFirstDivergence(t *testing.T) {
	check := func(a, b string, want int) {
		t.Helper()
		got := FirstDivergence(strings.Fields(a), strings.Fields(b))
		if (got == nil) != (want < 0) || got != nil && *got != want {
			t.Errorf("FirstDivergence(%q, %q) = %v, want %d", a, b, got, want)
		}
	}
	check("a b c", "a b c", -1)
	check("", "", -1)
	check("a b c", "a x c", 1)
	check("a b", "a b c", 2)
	check("", "a", 0)
}

func TestKL(t *testing.T) {
	single := func(id int) map[int]float64 { return map[int]float64{id: -0.1} }
	// engine-evidence.md 2.10: two disjoint singletons are about 0.46 nat: p = 1/(1+1/e), KL = 2p - 1.
	p := KL([]map[int]float64{single(1)}, []map[int]float64{single(2)})
	if want := 2/(1+math.Exp(-1)) - 1; p.Positions != 1 || math.Abs(*p.Mean-want) > 1e-12 || *p.Overlap != 0 {
		t.Errorf("disjoint singletons: %+v mean %v, want %v", p, *p.Mean, want)
	}
	if p.FirstDivergence == nil || *p.FirstDivergence != 0 {
		t.Errorf("disjoint singletons diverge at %v, want 0", p.FirstDivergence)
	}

	// Full support, so nothing is truncated: KL of (3/4, 1/4) and (1/2+, 1/2-) by the definition.
	a := map[int]float64{1: math.Log(0.75), 2: math.Log(0.25)}
	b := map[int]float64{1: math.Log(0.6), 2: math.Log(0.4)}
	p = KL([]map[int]float64{a, a}, []map[int]float64{a, b})
	want := 0.75*math.Log(0.75/0.6) + 0.25*math.Log(0.25/0.4)
	if math.Abs(*p.Max-want) > 1e-12 || math.Abs(*p.Mean-want/2) > 1e-12 || *p.Overlap != 1 || p.FirstDivergence != nil {
		t.Errorf("full support: %+v", p)
	}

	// Up to and including the divergence: position 1 counts, position 2 does not.
	p = KL([]map[int]float64{a, single(1), single(5)}, []map[int]float64{a, single(2), single(9)})
	if p.Positions != 2 || *p.FirstDivergence != 1 {
		t.Errorf("up to the divergence: %+v", p)
	}
	// A side that stops diverges at its end.
	if p = KL([]map[int]float64{a, a}, []map[int]float64{a}); *p.FirstDivergence != 1 || p.Positions != 1 {
		t.Errorf("one side shorter: %+v", p)
	}
	// Unreported is not zero.
	if p = KL([]map[int]float64{{}}, []map[int]float64{a}); p.Mean != nil || p.Unreported != 1 {
		t.Errorf("empty position: %+v", p)
	}
	if p = KL(nil, []map[int]float64{a}); p.Mean != nil || p.FirstDivergence != nil {
		t.Errorf("empty side: %+v", p)
	}
	if p = KL([]map[int]float64{{1: math.NaN()}}, []map[int]float64{{1: 0}}); p.Mean != nil || p.Unreported != 1 {
		t.Errorf("NaN: %+v", p)
	}
	// Different k: cut to the smaller one, so that the same distribution agrees.
	wide := map[int]float64{1: -0.1, 2: -3, 3: -4}
	narrow := map[int]float64{1: -0.1, 2: -3}
	if p = KL([]map[int]float64{wide}, []map[int]float64{narrow}); *p.Mean != 0 || *p.Overlap != 1 || p.MaxK != 2 {
		t.Errorf("different k: %+v", p)
	}
	// The chosen ids were known to diverge at 0.
	zero := 0
	if p = KLUntil([]map[int]float64{a, a}, []map[int]float64{a, a}, &zero); p.Positions != 1 {
		t.Errorf("KLUntil: %+v", p)
	}
}

func BenchmarkROUGEL256(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		words := make([]string, 256)
		for i := range words {
			words[i] = strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(6))
		}
		return strings.Join(words, " ")
	}
	x, y := text(), text()
	b.ResetTimer()
	for range b.N {
		ROUGEL(x, y)
	}
}

func BenchmarkLCS256(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y, ids := intern(randomTokens(r, 256, 26), randomTokens(r, 256, 26))
	b.ResetTimer()
	for range b.N {
		lcs(x, y, ids)
	}
}
