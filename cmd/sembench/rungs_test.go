package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sembench"
)

// benchResult runs bench with a fast law and gives its result.
func benchResult(t *testing.T, args ...string) sembench.Result {
	t.Helper()
	output := filepath.Join(t.TempDir(), "run")
	_, stderr, code := sembenchRun(t, context.Background(), append(append([]string{"bench", "--output", output}, fastLaw...), args...)...)
	if code > 1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var result sembench.Result
	if err := sembench.ReadDocument(runDir(output).result(), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// In the default workload the four rungs are four different numbers, there are hits and misses enough to tell them apart, and a shifted
// document shows what a fixed grid cannot see.
func TestRungsSeparate(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole protocol: not with -short")
	}
	result := benchResult(t)
	a := result.Aggregate
	rungs := map[int]string{a.ExactHitBlocks: "exact", *a.SemanticCandidateBlocks: "candidate", *a.SemanticEligibleBlocks: "eligible", *a.BackendConfirmedBlocks: "confirmed"}
	if len(rungs) != 4 {
		t.Errorf("the rungs do not separate: exact %d, candidate %d, eligible %d, confirmed %d", a.ExactHitBlocks, *a.SemanticCandidateBlocks, *a.SemanticEligibleBlocks, *a.BackendConfirmedBlocks)
	}
	p := result.Paired
	if hits, misses := *p.Hits, p.PairsUsed-*p.Hits; hits < 4 || misses < 4 {
		t.Errorf("%d hits and %d misses among %d used pairs, want 4 of each", hits, misses, p.PairsUsed)
	}
	shifted := 0
	for _, row := range result.Requests {
		if row.Transform == "instruction_variant" && *row.Planners["span"].EligibleBlocks > *row.Planners["semblend"].EligibleBlocks {
			shifted++
		}
	}
	if shifted == 0 {
		t.Error("span beats semblend on no shifted item")
	}
	if p.NegativeControlPairs < 8 {
		t.Errorf("%d negative controls, want 8", p.NegativeControlPairs)
	}
}

// On text that nobody here wrote no answer is empty.
func TestRealTextIsAnswered(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole protocol: not with -short")
	}
	source := "../../../shared/data/musique/musique_s.json"
	if _, err := os.Stat(source); err != nil {
		t.Skipf("no real text here: %v", err)
	}
	result := benchResult(t, "--from", source, "--max-items", "24")
	answers := 0
	for _, row := range result.Requests {
		if row.OutputText == nil || *row.OutputText == "" {
			t.Errorf("%s %s: the answer is empty", row.ItemID, *row.Arm)
		} else {
			answers++
		}
	}
	if answers != 72 {
		t.Errorf("%d answers, want 24 items in three arms", answers)
	}
}
