package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sembench"
)

// words makes text of n tokens that no other call with another name shares: each word is one regex token.
func words(name string, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", name, i)
	}
	return strings.Join(out, " ")
}

func plain(id, source, donor, recipient string) sembench.Item {
	return sembench.Item{
		ItemID: id, Dataset: "d", SourceID: source, Transform: "x", RecipientPrompt: recipient,
		DonorPrompts: []sembench.Donor{{DonorID: id + "-d", Text: donor, Metadata: map[string]any{}}}, Metadata: map[string]any{},
	}
}

// Each guard is broken alone; runs are tried at the length of a block and one below.
func TestAuditFindsEachViolation(t *testing.T) {
	control := func(shared int, boiler []any) []sembench.Item {
		it := plain("i", "s", words("a", 7)+" "+words("same", shared)+" "+words("b", 9), words("c", 3)+" "+words("same", shared)+" "+words("d", 30))
		it.NegativeControl = true
		if boiler != nil {
			it.Metadata["boilerplate"] = boiler
		}
		return []sembench.Item{it}
	}
	with := func(edit func(*sembench.Item)) []sembench.Item {
		it := plain("i", "s", words("a", 20), words("b", 20))
		edit(&it)
		return []sembench.Item{it}
	}
	pair := func(a, b sembench.Item) []sembench.Item { return []sembench.Item{a, b} }
	meta := func(it sembench.Item, key string, value any) sembench.Item {
		it.Metadata[key] = value
		return it
	}
	start := len(words("c", 3)) + 1
	for _, c := range []struct {
		name  string
		items []sembench.Item
		want  map[string]int
	}{
		{"nothing", with(func(*sembench.Item) {}), nil},
		{"control, 16 tokens", control(16, nil), map[string]int{"control_shares_run": 1}},
		{"control, 15 tokens", control(15, nil), nil},
		{"control, declared", control(16, []any{map[string]any{"start": start, "length": len(words("same", 16))}}), nil},
		{"control, one word declared", control(16, []any{map[string]any{"start": start, "length": 5}}), nil},
		{"control, declared elsewhere", control(16, []any{map[string]any{"start": 0, "length": 5}}), map[string]int{"control_shares_run": 1}},
		{"answer", with(func(it *sembench.Item) { it.Answers, it.Input = []string{"B3"}, "what" }), nil},
		{"no answer", with(func(it *sembench.Item) { it.Answers, it.Input = []string{"zebra"}, "what" }), map[string]int{"answer_missing": 1}},
		{"answers absent", with(func(it *sembench.Item) { it.Input = "what" }), map[string]int{"answers_absent": 1}},
		{"leak", with(func(it *sembench.Item) { it.Metadata["divergent_donor_value"] = "b4" }), map[string]int{"leak_value_present": 1}},
		{"leak is true", with(func(it *sembench.Item) {
			it.Answers, it.Metadata["divergent_donor_value"] = []string{"b4"}, "b4"
		}), map[string]int{"leak_value_present": 1, "leak_value_is_answer": 1}},
		{"unrelated", pair(plain("i", "s", words("a", 20), words("b", 20)), plain("j", "t", words("a", 20), words("c", 20))),
			map[string]int{"unrelated_share_run": 1, "run_too_common": 1}},
		{"related", pair(plain("i", "s", words("a", 20), words("b", 20)), plain("j", "s", words("a", 20), words("c", 20))), nil},
		{"duplicate", pair(plain("i", "s", words("a", 20), words("b", 20)), plain("j", "s", words("a", 20), words("b", 20))), map[string]int{"duplicate_item": 1}},
		{"splits", pair(meta(plain("i", "s", "a", "b"), "split", "dev"), meta(plain("j", "s", "a", "c"), "split", "test")), map[string]int{"source_in_two_splits": 1}},
		{"off band", with(func(it *sembench.Item) { it.Dataset, it.Metadata["length_band"] = "sembench-x", "1k" }), map[string]int{"off_band": 1}},
		{"long donor", with(func(it *sembench.Item) { it.Dataset, it.DonorPrompts[0].Text = "sembench-x", words("e", 2000) }), map[string]int{"donor_too_long": 1}},
		{"degenerate", with(func(it *sembench.Item) {
			it.Dataset, it.RecipientPrompt = "sembench-x", strings.Repeat(words("f", 16)+" ", 10)
		}), map[string]int{"degenerate": 1}},
	} {
		got := Audit(c.items, AuditOptions{Tokenizer: regex(t), MaxDonorTokens: 1000})
		if c.want == nil {
			c.want = map[string]int{}
		}
		if !maps.Equal(got.Violations, c.want) || got.Passed != (len(c.want) == 0) {
			t.Errorf("%s: %v, want %v", c.name, got.Violations, c.want)
		}
		if len(got.Shown) < len(c.want) {
			t.Errorf("%s: violations are not shown", c.name)
		}
	}
}

// Rates by hand: a donor of 40 tokens, a recipient of 50: 2 blocks are the donor's, the first at its start.
func TestAuditCountsExactReuse(t *testing.T) {
	it := plain("i", "s", words("a", 40), words("a", 16)+" "+words("b", 16)+" "+strings.Join(strings.Fields(words("a", 40))[16:32], " ")+" x y")
	got := Audit([]sembench.Item{it}, AuditOptions{Tokenizer: regex(t)}).ByTransform["x"]
	if got.TotalBlocks != 3 || got.ExactHitBlocks != 2 || got.ExactPrefixHitBlocks != 1 || got.RecipientTokens != 50 || got.DonorTokens != 40 {
		t.Errorf("%+v", got)
	}
	if *got.ExactBlockHitRate != 2.0/3 || *got.ExactPrefixBlockHitRate != 1.0/3 {
		t.Errorf("rates %v, %v", *got.ExactBlockHitRate, *got.ExactPrefixBlockHitRate)
	}
	short := Audit([]sembench.Item{plain("i", "s", "a", "b")}, AuditOptions{Tokenizer: regex(t)}).ByTransform["x"]
	if short.ExactBlockHitRate != nil {
		t.Error("a rate without a block is not null")
	}
}

func TestAuditShowsTwentyAndCountsAll(t *testing.T) {
	var items []sembench.Item
	for i := range 30 {
		it := plain(fmt.Sprint(i), fmt.Sprint(i), words(fmt.Sprint("d", i, "x"), 3), words(fmt.Sprint("r", i, "x"), 3))
		it.Input = "what"
		items = append(items, it)
	}
	got := Audit(items, AuditOptions{Tokenizer: regex(t)})
	if got.Violations["answers_absent"] != 30 || len(got.Shown) != 20 {
		t.Errorf("%d counted, %d shown", got.Violations["answers_absent"], len(got.Shown))
	}
	if message := (&GuardError{got}).Error(); !strings.HasPrefix(message, "guards are broken: 30 answers_absent (first: 0: ") {
		t.Error(message)
	}
}

// Go's gzip at level 6 may differ from zlib's by a few bytes; random letters do not compress, one letter does.
func TestDegeneracyNumbers(t *testing.T) {
	same := strings.Repeat("abcdefgh ", 1000)
	if r := gzipRatio(same); r < 50 {
		t.Errorf("a repeated word compresses %.1f to 1", r)
	}
	if r := gzipRatio(drawsFor(1, "x").hex(10000)); r < 1.5 || r > 2.0 { // 4 bits of 8, less the format's own
		t.Errorf("hex digits compress %.2f to 1", r)
	}
	if s := distinctShare(regex(t).Encode(nil, strings.Repeat(words("a", 16)+" ", 4)), 16); s != 0.25 {
		t.Errorf("one block four times: share %v, want 0.25", s)
	}
	if s := distinctShare([]uint32{1}, 16); s != 1 {
		t.Errorf("no block: share %v, want 1", s)
	}
}

func TestOverlapAndUnion(t *testing.T) {
	if n := overlap([]uint64{1, 3, 5, 7}, []uint64{2, 3, 7, 9}); n != 2 {
		t.Errorf("overlap %d, want 2", n)
	}
	if u := union([]uint64{1, 5}, nil, []uint64{1, 2}); !slices.Equal(u, []uint64{1, 2, 5}) {
		t.Errorf("union %v", u)
	}
}
