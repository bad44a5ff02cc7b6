package judge

import (
	"testing"

	"sembench"
)

// Rates are sums over sums, not means of rates: 1 of 2 and 0 of 6 blocks are 1/8.
func TestOfflineIsSumOverSum(t *testing.T) {
	row := func(id string, exact, total int) sembench.Row {
		return sembench.Row{ItemID: id, Transform: "t@1", TotalBlocks: total, LocalTotalBlocks: &total, ExactHitBlocks: exact, PromptTokens: total * 16}
	}
	items := []sembench.Item{{ItemID: "a"}, {ItemID: "b"}}
	result, err := Offline(Inputs{Items: items, Offline: []sembench.Row{row("a", 1, 2), row("b", 0, 6)}})
	if err != nil {
		t.Fatal(err)
	}
	a := result.Aggregate
	if a.ExactBlockHitRate == nil || *a.ExactBlockHitRate != 1.0/8 || a.RequestCount != 2 || result.Paired != nil {
		t.Errorf("rate %v over %d rows, paired %v", a.ExactBlockHitRate, a.RequestCount, result.Paired)
	}
	if a.SemanticCandidateBlockRate != nil || a.BackendConfirmedBlockRate != nil {
		t.Error("what no planner and no engine said is not null")
	}
	if _, ok := result.ByTransform["t"]; !ok {
		t.Errorf("groups are %v, want the transform's name before @", result.ByTransform)
	}
	if _, err := Offline(Inputs{Items: items[:1], Offline: []sembench.Row{row("b", 0, 6)}}); err == nil {
		t.Error("a row of no item is accepted")
	}
}
