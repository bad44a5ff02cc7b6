package judge

import (
	"strings"
	"testing"

	"sembench"
)

// What a probe left is part of the exact prefix.
func TestPrimedPrefixIsExplained(t *testing.T) {
	row := sembench.Row{PromptTokens: 1000, LocalPromptTokens: new(1000), ExactPrefixHitBlocks: new(1), StepPrimedTokens: new(64)}
	if got := beyondPrefix(row, 64, 16); *got != 0 {
		t.Errorf("64 cached, 64 primed: %d beyond", *got)
	}
	if got := beyondPrefix(row, 96, 16); *got != 32 {
		t.Errorf("96 cached, 64 primed: %d beyond", *got)
	}
}

// Only a clean exact arm is a baseline: no external tokens, no prefix of another step, no failed isolation.
func TestExactArmMustBeExact(t *testing.T) {
	for name, change := range map[string]func(row *sembench.Row){
		"external":    func(row *sembench.Row) { row.ExternalConfirmedTokens = new(64) },
		"unexplained": func(row *sembench.Row) { row.PrefixUnexplainedTokens = new(16) },
		"isolation":   func(row *sembench.Row) { row.Isolation = new(sembench.IsolationFailed) },
		"failed":      func(row *sembench.Row) { row.Status = new(sembench.StatusFailed) },
	} {
		row := sembench.Row{Status: new(sembench.StatusOK), TTFTMS: new(1.0), Isolation: new(sembench.IsolationAccepted)}
		p := pair{exact: &row}
		if p.exactRow() == nil {
			t.Fatal("a clean exact arm is refused")
		}
		if change(&row); p.exactRow() != nil {
			t.Errorf("%s: the exact arm still counts", name)
		}
	}
}

// A pair whose arms were served by two processes, each proven by its own canaries, is excluded by name.
func TestPairOfTwoProcesses(t *testing.T) {
	s := newScene()
	s.canary(0, 0)
	for range 3 {
		s.item(arms{transform: "a", cold: 100, warm: 50, donorMS: 9})
	}
	s.canary(0, 0)
	first, last := s.in.Observations[:6], s.in.Observations[len(s.in.Observations)-6:]
	other := "boot-2"
	// A second process, with canaries around the last warm recipient alone.
	for i, part := range [][]sembench.Observation{first, last} {
		for _, o := range part {
			o.BootID, o.ItemID = &other, o.ItemID+"-second"
			o.RequestID += "-second"
			o.Seq += int64(i) * 100
			if i == 0 {
				o.Seq -= 100
			}
			s.in.Observations = append(s.in.Observations, o)
		}
	}
	s.in.Audit, s.in.Evidence, s.in.Window = nil, nil, nil
	for i := range s.in.Observations {
		if o := &s.in.Observations[i]; o.ItemID == "item-02" && o.Arm == sembench.ArmWarm {
			o.BootID = &other
		}
	}
	p := build(t, s).Paired
	if p.PairsExcluded[reasonTwoProcesses] != 1 || p.PairsUsed != 2 {
		t.Errorf("excluded %v, contaminated %v, used %d", p.PairsExcluded, p.ContaminationReasons, p.PairsUsed)
	}
}

// A row keeps no reason of an older judgement.
func TestOldReasonsGo(t *testing.T) {
	r := build(t, honest())
	for i := range r.Requests {
		r.Requests[i].ContaminationReason = new("old")
	}
	for _, p := range pairUp(r.Requests, nil) {
		if p.cold.ContaminationReason != nil {
			t.Fatal("an old reason stays")
		}
	}
}

// Where audit and response differ and the log is silent, the counter decides.
func TestCounterDecides(t *testing.T) {
	s := honest()
	s.in.Evidence = nil
	*s.audit[s.firstHit().RequestID].Materialized = 320
	if got := failing(build(t, s)); len(got) != 1 || got[0] != "audit_channel" {
		t.Errorf("failing: %v, want audit_channel", got)
	}
}

// A reset that was refused between the controls of a canary pass fails the pass, whatever the controls show.
func TestRefusedResetFailsThePass(t *testing.T) {
	s := honest()
	for i := range s.in.Observations {
		if o := &s.in.Observations[i]; o.Isolation != nil && len(o.Isolation.Canary) > 0 {
			o.Isolation.Status = sembench.IsolationFailed
		}
	}
	p := build(t, s).Paired
	count(t, "contaminated", p.PairsContaminated, 17)
}

// Two ranks print the same load; it counts once.
func TestRanksOfTheLog(t *testing.T) {
	events := func(ranks ...string) (list []map[string]any) {
		for _, rank := range ranks {
			list = append(list, map[string]any{"request_id": "id", "tokens": num(320), "rank": rank})
		}
		return list
	}
	e := &sembench.Evidence{Sources: []string{"semblend_text"}, Events: map[string][]map[string]any{"materialized": events("0", "1", "0", "1")}}
	s := newSources(Inputs{Evidence: e}, newJournal([]sembench.Observation{{RequestID: "id"}}))
	count(t, "materialized", s.log["id"].materialized, 640)
}

// Of several donors the worst decides, in whatever order the evidence names them.
func TestWorstDonorDecides(t *testing.T) {
	lines := []sembench.Observation{
		{Seq: 1, RequestID: "own", ItemID: "i", PairID: "i#0", Arm: "warm", Role: "donor-0"},
		{Seq: 2, RequestID: "twin", ItemID: "i", PairID: "i#0", Arm: "cold", Role: sembench.RoleRecipient},
		{Seq: 3, RequestID: "it", ItemID: "i", PairID: "i#0", Arm: "warm", Role: sembench.RoleRecipient},
	}
	j := newJournal(lines)
	for _, donors := range [][]string{{"twin", "own"}, {"own", "twin"}} {
		got := newSources(Inputs{}, j).attribution(j, lines[2], reuse{audit: &sembench.AuditRecord{DonorIDs: donors}})
		if !is(got, OwnTwin) {
			t.Errorf("%v: %v", donors, show(got))
		}
	}
}

// One donor whose latency is unknown makes the item's service time unknown, not shorter.
func TestUnknownDonorLatency(t *testing.T) {
	s := newScene()
	o := s.line("i", sembench.ArmWarm, sembench.RoleRecipient, "i#0", 100, reused{})
	o.Donors = []sembench.DonorStatus{{LatencyMS: new(5.0)}, {}}
	var row sembench.Row
	times(&row, *o)
	null(t, "donor latency", row.DonorLatencyMS)
	null(t, "latency", row.LatencyMS)
	o.Donors = o.Donors[:1]
	times(&row, *o)
	near(t, "latency", row.LatencyMS, 105)
}

// Bench asks for no engine errors also where nobody can read the engine's log: there it is not judged. Typed, it is missing.
func TestBenchWithoutEvidence(t *testing.T) {
	r, _ := bare()
	v, err := Gate(r, GateOptions{Bench: true, AllowMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(v, flagNoErrors); got.Outcome != sembench.NotJudged || !strings.Contains(got.Detail, "no evidence") {
		t.Errorf("chosen by bench: %+v", got)
	}
	v, _ = Gate(r, GateOptions{Bench: true, Asks: []Ask{{Flag: flagNoErrors}}})
	if got := find(v, flagNoErrors); got.Outcome != sembench.Missing || v.Passed {
		t.Errorf("typed: %+v", got)
	}
}

// An engine that caches in other blocks is named; its rows carry its own size.
func TestEngineBlockSize(t *testing.T) {
	s := honest()
	s.in.EngineBlockSize = new(256)
	r := build(t, s)
	if !strings.Contains(strings.Join(r.Warnings, "; "), "in blocks of 256 tokens, counts here are in blocks of 16") || *r.Requests[0].EngineBlockSize != 256 {
		t.Errorf("warnings = %q", r.Warnings)
	}
}

// A group does not borrow the run's A/A.
func TestGroupsHaveNoAA(t *testing.T) {
	r := build(t, honest())
	null(t, "A/A of a transform", r.ByTransform["fuzzy_edit"].Paired.AATTFTSpeedupGeomean)
}

// A metric differs only after correction for all of them.
func TestComparisonIsCorrected(t *testing.T) {
	a, b := run(t, 1), run(t, 1)
	// Warm times of the first six pairs fall by 1 %: p of the signed ranks is 2/64, corrected over eight metrics it is not.
	n := 0
	for i := range b.Requests {
		if row := &b.Requests[i]; *row.Arm == sembench.ArmWarm && n < 6 {
			n++
			row.TTFTMS = new(*row.TTFTMS * 0.99)
			row.LatencyMS = new(*row.LatencyMS * 0.99)
		}
	}
	c := Compare(a, b, Options{})
	m := metric(c, "ttft_warm_ms")
	if m.PValue == nil || *m.PValue > 0.05 || *m.PAdjusted <= 0.05 || m.Outcome != sembench.NoDifference || c.Outcome != sembench.NoDifference {
		t.Errorf("p %v, corrected %v, outcome %s, overall %s", show(m.PValue), show(m.PAdjusted), m.Outcome, c.Outcome)
	}
	// An item that is a control in one result only is no common pair.
	for i := range b.Requests {
		if b.Requests[i].ItemID == "item-00" {
			b.Requests[i].NegativeControl = true
		}
	}
	c = Compare(a, b, Options{})
	count(t, "common", c.PairsCommon, 23)
	count(t, "only in A", c.PairsOnlyA, 1)
	count(t, "only in B", c.PairsOnlyB, 1)
}

// The law takes what both arms were primed with out of the reuse, and says so where its base would be negative.
func TestLawDetails(t *testing.T) {
	r := sembench.Result{BlockSize: 16, Paired: &sembench.Paired{}}
	for i := range 10 {
		n := 1000 + 500*i
		cold, warm := -10+0.05*float64(n), -10+0.05*float64(n)-0.05*256
		for arm, ms := range map[string]float64{sembench.ArmCold: cold, sembench.ArmWarm: warm} {
			row := sembench.Row{ItemID: "i", PairID: new(string(rune('a' + i))), Arm: &arm, Status: new(sembench.StatusOK), TTFTMS: &ms, PromptTokens: n,
				Isolation: new(sembench.IsolationFreshProcess), BackendConfirmedTokens: new(64), StepPrimedTokens: new(64), SemanticConfirmedTokens: new(0)}
			if arm == sembench.ArmWarm {
				row.BackendConfirmedTokens = new(64 + 256)
			}
			r.Requests = append(r.Requests, row)
		}
	}
	law, err := Law(r)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "base", law.BaseMS, 0)
	near(t, "prefill", law.PrefillUSPerToken, 50)
	if law.LookupMS == nil || *law.LookupMS > 1e-9 || law.LoadUSPerToken != nil || len(law.Warnings) != 1 {
		t.Errorf("lookup %v, load %v, warnings %q", show(law.LookupMS), show(law.LoadUSPerToken), law.Warnings)
	}
}
