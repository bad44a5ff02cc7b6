package offline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/plan"
	"sembench/internal/token"
)

// letters is a tokenizer whose ids are plain to see: one token a byte.
type letters struct{}

func (letters) Name() string { return "letters" }
func (letters) Encode(dst []uint32, text string) []uint32 {
	for _, b := range []byte(text) {
		dst = append(dst, uint32(b))
	}
	return dst
}
func (letters) Pieces(text string) []string { return strings.Split(text, "") }

func seq(items ...sembench.Item) iter.Seq2[sembench.Item, error] {
	return func(yield func(sembench.Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

func item(id, recipient string, donors ...string) sembench.Item {
	it := sembench.Item{ItemID: id, Dataset: "d", SourceID: id, Transform: "t", RecipientPrompt: recipient}
	for i, d := range donors {
		it.DonorPrompts = append(it.DonorPrompts, sembench.Donor{DonorID: fmt.Sprintf("d%d", i), Text: d})
	}
	return it
}

func collect(t *testing.T, rows iter.Seq2[sembench.Row, error]) []sembench.Row {
	t.Helper()
	var out []sembench.Row
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// naive counts exact hits as contract section 2 words them: a recipient block equal to any full block of any donor.
func naive(recipient string, donors []string, size int) (any, prefix int) {
	blocks := func(s string) []string {
		var out []string
		for ; len(s) >= size; s = s[size:] {
			out = append(out, s[:size])
		}
		return out
	}
	mine := blocks(recipient)
	for i, b := range mine {
		hit := false
		for _, d := range donors {
			hit = hit || slices.Contains(blocks(d), b)
			if n := (i + 1) * size; len(d) >= n && d[:n] == recipient[:n] {
				prefix = max(prefix, i+1)
			}
		}
		if hit {
			any++
		}
	}
	return any, prefix
}

// Exact counts equal an independent implementation at size-1, size, size+1 and on random inputs.
func TestExactCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return string(b)
	}
	for _, size := range []int{1, 2, 4, 16} {
		var items []sembench.Item
		lengths := []int{max(size-1, 1), size, size + 1, 3 * size, 40}
		for i := range 60 {
			donors := make([]string, r.IntN(3))
			for j := range donors {
				donors[j] = word(lengths[r.IntN(len(lengths))])
			}
			text := word(lengths[i%len(lengths)])
			if len(donors) > 0 && i%2 == 0 {
				text = donors[0] + text
			}
			items = append(items, item(fmt.Sprint(i), text, donors...))
		}
		o := Options{Tokenizer: letters{}, BlockSize: size, Planners: []string{"span"}, Workers: 3}
		for i, row := range collect(t, Rows(context.Background(), seq(items...), o)) {
			var donors []string
			for _, d := range items[i].DonorPrompts {
				donors = append(donors, d.Text)
			}
			any, prefix := naive(items[i].RecipientPrompt, donors, size)
			if row.ExactHitBlocks != any || *row.ExactPrefixHitBlocks != prefix || row.TotalBlocks != len(items[i].RecipientPrompt)/size {
				t.Errorf("size %d, item %d: %d of %d exact, prefix %d; want %d of %d, prefix %d", size, i, row.ExactHitBlocks, row.TotalBlocks,
					*row.ExactPrefixHitBlocks, any, len(items[i].RecipientPrompt)/size, prefix)
			}
		}
	}
}

// A document shifted by five tokens: no exact block, nearly all for span; novel blocks are what exact lacks.
func TestRungsSeparate(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	doc := make([]byte, 400)
	for i := range doc {
		doc[i] = byte('!' + r.IntN(90))
	}
	o := Options{Tokenizer: letters{}, BlockSize: 16, Planners: []string{"semblend", "span"}}
	row := collect(t, Rows(context.Background(), seq(item("a", "12345"+string(doc), string(doc))), o))[0]
	span := row.Planners["span"]
	if row.ExactHitBlocks != 0 || *span.EligibleBlocks < row.TotalBlocks-2 || *span.NovelBlocks != *span.EligibleBlocks {
		t.Errorf("exact %d, semblend %d, span %d of %d, novel %d", row.ExactHitBlocks, *row.SemanticEligibleBlocks, *span.EligibleBlocks, row.TotalBlocks, *span.NovelBlocks)
	}
	if *row.SemanticEligibleTokens != *row.SemanticEligibleBlocks*16 || row.ExactHitTokens != 0 {
		t.Error("tokens of rungs are not blocks x block size")
	}
}

// A planner that fails leaves null, not zero, in its columns; the exact rung stands.
func TestFailedPlannerIsNull(t *testing.T) {
	o := Options{Tokenizer: letters{}, BlockSize: 4, Planners: []string{"exec:/bin/false"}}
	row := collect(t, Rows(context.Background(), seq(item("a", "aaaabbbb", "aaaa")), o))[0]
	column := row.Planners["exec:/bin/false"]
	if column.Error == nil || column.CandidateBlocks != nil || column.EligibleBlocks != nil {
		t.Errorf("column is %+v", column)
	}
	if row.ExactHitBlocks != 1 || row.SemanticCandidateBlocks != nil {
		t.Errorf("exact %d, seed keys %v", row.ExactHitBlocks, row.SemanticCandidateBlocks)
	}
}

// In a stream every earlier request of the same tenant is a donor, and of no other.
func TestStreamPool(t *testing.T) {
	text := strings.Repeat("abcdefgh", 8)
	first, second, other := item("1", text), item("2", text), item("3", text)
	other.Metadata = map[string]any{"tenant": "b"}
	o := Options{Tokenizer: letters{}, BlockSize: 8, Planners: []string{"span"}, Stream: true}
	rows := collect(t, Rows(context.Background(), seq(first, second, other), o))
	got := []int{rows[0].ExactHitBlocks, rows[1].ExactHitBlocks, rows[2].ExactHitBlocks}
	if !slices.Equal(got, []int{0, 8, 0}) {
		t.Errorf("exact blocks %v, want [0 8 0]", got)
	}
	if n := *rows[1].Planners["span"].EligibleBlocks; n != 8 {
		t.Errorf("span found %d eligible blocks in the stream, want 8", n)
	}
	// Capacity 1 block: what is left of the first request is its head.
	o.CapacityBlocks = 1
	distinct := "01234567ABCDEFGHijklmnop"
	rows = collect(t, Rows(context.Background(), seq(item("1", distinct), item("2", distinct)), o))
	if rows[1].ExactHitBlocks != 1 || *rows[1].Planners["span"].EligibleBlocks > 1 {
		t.Errorf("with room for one block %d hit, %d eligible", rows[1].ExactHitBlocks, *rows[1].Planners["span"].EligibleBlocks)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Tokenizer: letters{}, BlockSize: 0, Planners: []string{"span"}}, "counting blocks: --block-size is 0: want 1 or more"},
		{Options{BlockSize: 1, Planners: []string{"span"}}, "counting blocks: no tokenizer"},
		{Options{Tokenizer: letters{}, BlockSize: 1}, "counting blocks: no planner: want --planner semblend, span or exec:COMMAND"},
	} {
		for _, err := range Rows(context.Background(), seq(), c.o) {
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		}
	}
	broken := errors.New("line 3 is torn")
	items := func(yield func(sembench.Item, error) bool) { yield(sembench.Item{}, broken) }
	for _, err := range Rows(context.Background(), items, Options{Tokenizer: letters{}, BlockSize: 1, Planners: []string{"span"}}) {
		if !errors.Is(err, broken) {
			t.Errorf("the reader's error became %v", err)
		}
	}
}

func ExampleRows() {
	tk, _ := token.Open("regex")
	it := item("a", "the donor said this and then more", "the donor said this")
	for row := range Rows(context.Background(), seq(it), Options{Tokenizer: tk, BlockSize: 2, Planners: []string{"span"}, Plan: plan.Options{MinSpan: 2}}) {
		fmt.Println(row.ExactHitBlocks, "of", row.TotalBlocks)
	}
	// Output: 2 of 3
}
