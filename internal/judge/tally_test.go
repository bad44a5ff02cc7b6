package judge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"sembench"
)

// offlineRow draws a row as offline writes them, with every column that can be null null at times.
func offlineRow(r *rand.Rand, i int) sembench.Row {
	tokens := r.IntN(500)
	blocks := tokens / 16
	part := func() *int {
		if r.IntN(4) == 0 {
			return nil
		}
		return new(r.IntN(blocks + 1))
	}
	row := sembench.Row{
		ItemID: fmt.Sprint(i), Dataset: "d", Transform: fmt.Sprintf("t%d@%d", r.IntN(3), i), NegativeControl: r.IntN(5) == 0, PromptTokens: tokens, TotalBlocks: blocks,
		LocalTotalBlocks: &blocks, LocalPromptTokens: &tokens, ExactHitBlocks: r.IntN(blocks + 1), ExactPrefixHitBlocks: part(),
		SemanticCandidateBlocks: part(), SemanticEligibleBlocks: part(), SemanticNovelBlocks: part(), Planners: map[string]sembench.PlannerRow{},
	}
	if row.SemanticCandidateBlocks != nil {
		row.SemanticCandidateTokens = new(*row.SemanticCandidateBlocks * 16)
		row.SemblendFound, row.SemblendLatencyMS = new(r.IntN(2) == 0), new(r.ExpFloat64())
	}
	if row.SemanticEligibleBlocks != nil {
		row.SemanticEligibleTokens = new(*row.SemanticEligibleBlocks * 16)
	}
	if r.IntN(4) == 0 {
		row.ControlKind = new([]string{"entity_swap", "number_swap"}[r.IntN(2)])
	}
	if r.IntN(2) == 0 {
		row.LengthBand = new("4k")
	}
	if r.IntN(9) == 0 {
		row.Error = new("the tokenizer's server is gone")
	}
	for _, name := range []string{"semblend", "span"} {
		column := sembench.PlannerRow{CandidateBlocks: part(), EligibleBlocks: part(), NovelBlocks: part(), CopiedTokens: part(), IdenticalTokens: part(),
			ScatteredTokens: part(), ApproxTokens: part(), Found: new(r.IntN(2) == 0), LatencyMS: new(r.ExpFloat64()), IndexCapped: r.IntN(3) == 0}
		if r.IntN(6) == 0 {
			column = sembench.PlannerRow{Error: new("hangs")}
		}
		row.Planners[name] = column
	}
	return row
}

// Summing rows as they come and aggregating all of them in memory are two programs; they give the same bytes.
func TestTallyIsAggregate(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 8))
		o := Options{BlockSize: 16}
		rows := make([]sembench.Row, r.IntN(40))
		tally := NewTally(o)
		for i := range rows {
			rows[i] = offlineRow(r, i)
			tally.Add(&rows[i])
		}
		var want, got sembench.Result
		if err := single(&want, rows, o); err != nil {
			t.Fatal(err)
		}
		tally.fill(&got)
		if a, b := sembench.MarshalIndent(want), sembench.MarshalIndent(got); !bytes.Equal(a, b) {
			t.Fatalf("seed %d: %s\nwant %s", seed, firstDifference(b, a), firstDifference(a, b))
		}
		if tally.Rows() != len(rows) {
			t.Errorf("%d rows, want %d", tally.Rows(), len(rows))
		}
	}
}

// firstDifference is the line of a where it first differs from b.
func firstDifference(a, b []byte) []byte {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range x {
		if i >= len(y) || !bytes.Equal(x[i], y[i]) {
			return x[i]
		}
	}
	return nil
}
