package judge

import (
	"strings"
	"testing"

	"sembench"
)

// A law that is known is recovered: base 10 ms, 50 us a token, loads 10 us a token, lookups 2 ms.
func TestLawRecovered(t *testing.T) {
	r := sembench.Result{BlockSize: 16, Paired: &sembench.Paired{HitRate: new(0.5)}}
	for i := range 12 {
		n := 1000 + 500*i
		prefix, semantic := 64, 0
		if i%2 == 0 {
			semantic = n / 2
		}
		cold := 10 + 0.05*float64(n)
		warm := cold - 0.05*float64(prefix+semantic) + 0.01*float64(semantic) + 2
		for arm, ms := range map[string]float64{sembench.ArmCold: cold, sembench.ArmWarm: warm} {
			row := sembench.Row{ItemID: "i", PairID: new(string(rune('a' + i))), Arm: &arm, Status: new(sembench.StatusOK), TTFTMS: &ms, PromptTokens: n,
				Isolation: new(sembench.IsolationFreshProcess), BackendConfirmedTokens: new(0), SemanticConfirmedTokens: new(0)}
			if arm == sembench.ArmWarm {
				row.BackendConfirmedTokens, row.SemanticConfirmedTokens = new(prefix+semantic), &semantic
			}
			r.Requests = append(r.Requests, row)
		}
	}
	law, err := Law(r)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "base", law.BaseMS, 10)
	near(t, "prefill", law.PrefillUSPerToken, 50)
	near(t, "load", law.LoadUSPerToken, 10)
	near(t, "lookup", law.LookupMS, 2)
	near(t, "reused share", law.ReusedShare, 0.5)
	near(t, "r2", law.R2, 1)
	count(t, "cold rows", law.ColdRows, 12)

	for i := range r.Requests {
		r.Requests[i].PromptTokens = 1000 + i
	}
	law, err = Law(r)
	if err != nil || law.PrefillUSPerToken != nil || len(law.Warnings) != 1 || !strings.Contains(law.Warnings[0], "too alike") {
		t.Errorf("one length: %+v, %v", law, err)
	}
	if _, err = Law(sembench.Result{}); err == nil {
		t.Error("a result without pairs has a law")
	}
}

// Holm over the groups of a result, by hand: signed-rank p of 6 equal signs is 2/64; two groups double it.
func TestGroupsAreCorrected(t *testing.T) {
	s := newScene()
	s.canary(0, 0)
	for i := range 6 {
		s.item(arms{transform: "a", cold: 100 + float64(i), warm: 50, donorMS: 9})
		s.item(arms{transform: "b", cold: 100 + float64(i), warm: 50, donorMS: 9})
	}
	s.canary(0, 0)
	r := build(t, s)
	for _, name := range []string{"a", "b"} {
		near(t, "p of "+name, r.ByTransform[name].PValue, 2.0/64)
		near(t, "corrected p of "+name, r.ByTransform[name].PAdjusted, 4.0/64)
	}
	near(t, "p of the only length", r.ByLength["1k"].PAdjusted, *r.ByLength["1k"].PValue)
	count(t, "pairs of that length", r.ByLength["1k"].Paired.PairsUsed, 12)
}
