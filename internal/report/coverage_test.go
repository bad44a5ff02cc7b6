package report

import (
	"strings"
	"testing"

	"sembench"
)

// A hit rate over a part of the pairs says which part, and what might have been hits.
func TestHitRateCoverageIsShown(t *testing.T) {
	r := sembench.Result{Paired: &sembench.Paired{PairsTotal: 26, PairsUsed: 26, HitRate: new(0.0), Hits: new(0), HitRateCoverage: new(10.0 / 26), HitsUnverifiedExternal: 10}}
	var out strings.Builder
	if err := Text(&out, Input{Result: &r}, 120, false); err != nil {
		t.Fatal(err)
	}
	if want := "0.0 % (0 hits; 10 unverified, coverage 38.5 %)"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in:\n%s", want, out.String())
	}
}
