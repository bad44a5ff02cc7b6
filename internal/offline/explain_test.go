package offline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/plan"
)

func strips(t *testing.T, id string, o Options, items ...sembench.Item) Explanation {
	t.Helper()
	x, err := Explain(context.Background(), seq(items...), id, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// One of each: a shared prefix, an exact block elsewhere, a shifted run, new text.
func TestExplain(t *testing.T) {
	o := Options{Tokenizer: letters{}, BlockSize: 4, Planners: []string{"span", "exec:/bin/false"}, Plan: plan.Options{MinSpan: 4}}
	it := item("a", "headWXYZ..ijklmnop..!?", "head", "01WXYWXYZ", "efgh.ijklmnop")
	it.DonorPrompts[1].Text = "0123WXYZ"
	x := strips(t, "a", o, item("other", "x", "y"), it)
	if x.ItemID != "a" || x.PromptTokens != 22 || x.Blocks != 5 || x.Donors != 3 || !slices.Equal(x.Texts, []string{"head", "WXYZ", "..ij", "klmn", "op.."}) {
		t.Errorf("explanation is %+v", x)
	}
	want := []Run{
		{Fate: Prefix, First: 0, Last: 0, Donor: "d0", Places: 1},
		{Fate: Exact, First: 1, Last: 1, Donor: "d1", DonorStart: 4, Places: 1},
		{Fate: Recompute, First: 2, Last: 4},
	}
	if got := x.Strips[0]; got.Name != "exact" || !slices.Equal(got.Runs, want) {
		t.Errorf("exact: %+v\nwant %+v", got.Runs, want)
	}
	// Recipient token 12 (k) is token 7 of d2: shift -5.
	want = append(want[:2:2], Run{Fate: Recompute, First: 2, Last: 2}, Run{Fate: SpanCopy, First: 3, Last: 3, Donor: "d2", DonorStart: 7, Shift: -5, Places: 1},
		Run{Fate: Recompute, First: 4, Last: 4})
	if got := x.Strips[1]; got.Name != "span" || !slices.Equal(got.Runs, want) {
		t.Errorf("span: %+v\nwant %+v", got.Runs, want)
	}
	if got := x.Strips[2]; got.Error == "" || len(got.Runs) != 0 {
		t.Errorf("a planner that failed explains %+v", got)
	}
	_, err := Explain(context.Background(), seq(it), "b", o)
	if fmt.Sprint(err) != `explaining item "b": it is none of the 1 items` {
		t.Errorf("unknown item: %v", err)
	}
}

// Strips cover every block once, and their sums are the row's counts, in item and stream pools alike.
func TestStripsAddUpToRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var items []sembench.Item
	text := ""
	for i := range 30 {
		fresh := make([]byte, 60)
		for j := range fresh {
			fresh[j] = "abcdefgh"[r.IntN(8)]
		}
		old := text
		text = string(fresh[:20]) + text[:min(len(text), 50)] + string(fresh[20:])
		items = append(items, item(fmt.Sprint(i), text, old+"x", "y"+text[30:]))
	}
	for _, stream := range []bool{false, true} {
		o := Options{Tokenizer: letters{}, BlockSize: 4, Planners: []string{"span", "semblend"}, Stream: stream, CapacityBlocks: 60}
		for i, row := range collect(t, Rows(context.Background(), seq(items...), o)) {
			x := strips(t, items[i].ItemID, o, items...)
			for _, strip := range x.Strips {
				sums, next := map[Fate]int{}, 0
				for _, run := range strip.Runs {
					if run.First != next {
						t.Fatalf("item %d, %s: a run begins at block %d, want %d", i, strip.Name, run.First, next)
					}
					next = run.Last + 1
					sums[run.Fate] += run.Blocks()
					if run.Fate == SpanCopy || run.Fate == Exact || run.Fate == Prefix {
						checkSource(t, items, run, x.Texts)
					}
				}
				if next != row.TotalBlocks || sums[Prefix] != *row.ExactPrefixHitBlocks || sums[Prefix]+sums[Exact] != row.ExactHitBlocks {
					t.Errorf("stream %v, item %d, %s: %v, row has %d exact, %d prefix of %d", stream, i, strip.Name, sums, row.ExactHitBlocks, *row.ExactPrefixHitBlocks, row.TotalBlocks)
				}
				if strip.Name != "exact" && sums[SpanCopy] != *row.Planners[strip.Name].NovelBlocks {
					t.Errorf("stream %v, item %d, %s: %d span blocks, row has %d novel", stream, i, strip.Name, sums[SpanCopy], *row.Planners[strip.Name].NovelBlocks)
				}
			}
		}
	}
}

// checkSource finds a run's text at the donor position that it names.
func checkSource(t *testing.T, items []sembench.Item, run Run, texts []string) {
	t.Helper()
	want := strings.Join(texts[run.First:run.Last+1], "")
	id, _, _ := strings.Cut(run.Donor, "@")
	for _, it := range items {
		donors := []string{it.RecipientPrompt}
		if id != it.ItemID {
			donors = nil
			for _, d := range it.DonorPrompts {
				if d.DonorID == id {
					donors = append(donors, d.Text)
				}
			}
		}
		for _, d := range donors {
			if len(d) >= run.DonorStart+len(want) && d[run.DonorStart:run.DonorStart+len(want)] == want {
				return
			}
		}
	}
	t.Errorf("blocks %d-%d are said to stand in %s at %d; they do not", run.First, run.Last, run.Donor, run.DonorStart)
}
