package judge

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sembench"
)

// The scene's numbers are round, so that every estimate has a closed form.
func TestBuildClosedForm(t *testing.T) {
	r := build(t, honest())
	p := r.Paired
	count(t, "pairs_total", p.PairsTotal, 17)
	count(t, "pairs_used", p.PairsUsed, 8)
	count(t, "negative_control_pairs", p.NegativeControlPairs, 8)
	count(t, "wrong_reuse_pairs", p.WrongReusePairs, 1)
	count(t, "pairs_contaminated", p.PairsContaminated, 0)
	hit, miss := 4.0, 100.0/110
	near(t, "mean", p.BlendedTTFTSpeedupMean, (4*hit+4*miss)/8)
	near(t, "median", p.BlendedTTFTSpeedupMedian, (hit+miss)/2)
	near(t, "geomean", p.BlendedTTFTSpeedupGeomean, math.Sqrt(hit*miss))
	near(t, "with wrong reuse", p.BlendedTTFTSpeedupMeanWithWrongReuse, (4*hit+4*miss+2)/9)
	near(t, "equal weight", p.EqualTransformSpeedupMean, (hit+miss)/2)
	near(t, "hit only", p.HitOnlyTTFTSpeedupMean, hit)
	near(t, "hit rate", p.HitRate, 0.5)
	near(t, "hit rate coverage", p.HitRateCoverage, 1)
	near(t, "hit rate 10 %", p.HitRate10Pct, 0.5)
	near(t, "hit rate 50 %", p.HitRate50Pct, 0.5)
	near(t, "exact baseline", p.ExactBaselineTTFTSpeedupMean, (4*100.0/80+4)/8)
	near(t, "incremental", p.SemanticIncrementalTTFTSpeedupMean, (4*80.0/25+4*100.0/110)/8)
	near(t, "miss tax", p.MissTaxMS, 10)
	count(t, "miss tax pairs", *p.MissTaxPairs, 4)
	near(t, "donor cost", p.DonorCostMS, 90)
	near(t, "break even", p.BreakEvenReuses, 90/((4*75.0-4*10)/8))
	near(t, "control mean", p.NegativeControlTTFTSpeedupMean, 1.005)
	near(t, "cold p50", p.TTFTColdP50MS, 100)
	null(t, "cold p95 of 8", p.TTFTColdP95MS)
	near(t, "order effect", p.OrderEffect, 1)
	near(t, "warm error rate", p.ArmErrorRateWarm, 0)
	near(t, "rouge", p.WarmVsColdRougeLMean, 1)
	near(t, "aa of the calibration", p.AATTFTSpeedupGeomean, 1)
	count(t, "external confirmed", p.PairsExternalConfirmed, 8)
	if p.ReuseMechanisms[MechanismExternal] != 5 || p.ReuseMechanisms[MechanismNone] != 12 || p.SemanticMechanisms[MechanismExternal] != 5 {
		t.Errorf("mechanisms = %v, semantic %v", p.ReuseMechanisms, p.SemanticMechanisms)
	}
	if !p.Valid || !p.ContaminationJudged {
		t.Errorf("valid %v, contamination judged %v", p.Valid, p.ContaminationJudged)
	}

	a := r.Aggregate
	count(t, "request_count", a.RequestCount, 17)
	near(t, "exact", a.ExactBlockHitRate, 10.0/62)
	near(t, "candidate", a.SemanticCandidateBlockRate, 30.0/62)
	near(t, "eligible lift", a.SemanticEligibleLift, 10.0/62)
	near(t, "lift over prefix", a.SemanticLiftOverPrefix, 16.0/62)
	// 704/16 = 44 blocks on 4 hits, 384/16 = 24 on the control.
	near(t, "confirmed", a.BackendConfirmedBlockRate, (4*44.0+24)/(17*62))
	near(t, "confirmed lift", a.BackendConfirmedLift, (4*44.0+24)/(17*62)-10.0/62)
	near(t, "control confirmed", a.NegativeControlBackendConfirmedRate, 0)
	near(t, "wrong reuse rate", a.WrongReuseRate, 0.32)
	near(t, "leak rate", a.LeakRate, 1)
	near(t, "entity_swap leak rate", a.WrongReuse["entity_swap"].LeakRate, 1)
	near(t, "semantic tokens", a.SemanticConfirmedTokenWeightedReuseRate, (4*640.0+320)/17000)
	near(t, "pass rate", a.QualityPassRate, 16.0/17)
	near(t, "cold confirmed", r.Cold.BackendConfirmedBlockRate, 0)

	if g := r.ByTransform["rag_reorder"]; g.Paired.PairsTotal != 4 || g.Paired.PairsUsed != 4 {
		t.Errorf("rag_reorder: %d of %d", g.Paired.PairsUsed, g.Paired.PairsTotal)
	}
	for _, c := range r.Checks {
		if c.Name == "decode_time_holds" {
			continue // the scene's answers are one event each: lies_test.go
		}
		if c.Outcome != sembench.Pass {
			t.Errorf("honest run: check %s is %s (%s)", c.Name, c.Outcome, c.Detail)
		}
	}
	if len(r.Contradictions) != 0 {
		t.Errorf("contradictions = %q", r.Contradictions)
	}
	for _, row := range r.Requests {
		if *row.Arm == sembench.ArmWarm && row.Isolation != nil && *row.Isolation != sembench.IsolationResetVerified {
			t.Errorf("%s: isolation %s", row.ItemID, *row.Isolation)
		}
		if *row.Arm == sembench.ArmWarm && *row.SemanticConfirmedTokens > 0 && !is(row.DonorAttribution, OwnDonor) {
			t.Errorf("%s: donor attribution %v", row.ItemID, show(row.DonorAttribution))
		}
	}
	for _, row := range r.Requests {
		if !is(row.Arm, sembench.ArmWarm) {
			continue
		}
		want := map[string]string{"negative_control": "control", "entity_swap": "wrong_reuse"}[row.Transform]
		if want == "" {
			want = "used"
		}
		if !is(row.PairClass, want) || row.SemanticHit == nil || *row.SemanticHit != (*row.SemanticConfirmedTokens > 0) || row.TTFTSpeedup == nil {
			t.Errorf("%s: class %v, hit %v, speedup %v", row.ItemID, show(row.PairClass), show(row.SemanticHit), show(row.TTFTSpeedup))
		}
	}
	last := r.Ladder[len(r.Ladder)-1]
	near(t, "faster", last.Rate, 0.5)
}

// Every class of the contract is reached, and the classes add up to pairs_total whatever happens to the lines.
func TestPairClasses(t *testing.T) {
	recipient := func(s *scene, item int, arm string) *sembench.Observation {
		for i := range s.in.Observations {
			o := &s.in.Observations[i]
			if o.ItemID == s.in.Items[item].ItemID && o.Arm == arm && o.Role == sembench.RoleRecipient {
				return o
			}
		}
		t.Fatalf("no line of item %d, arm %s", item, arm)
		return nil
	}
	details := func(o *sembench.Observation) map[string]any { return o.Usage["prompt_tokens_details"].(map[string]any) }
	tests := []struct {
		name   string
		change func(s *scene)
		check  func(p *sembench.Paired) bool
	}{
		{"not sent", func(s *scene) { recipient(s, 0, "warm").Status = sembench.StatusNotSent },
			func(p *sembench.Paired) bool { return p.PairsUnpaired == 1 }},
		{"line missing", func(s *scene) {
			o := recipient(s, 0, "cold")
			o.Superseded = true
		}, func(p *sembench.Paired) bool { return p.PairsUnpaired == 1 }},
		{"failed", func(s *scene) {
			o := recipient(s, 0, "warm")
			o.Status, o.Error = sembench.StatusFailed, &sembench.RequestError{Class: sembench.ErrorTruncated}
		}, func(p *sembench.Paired) bool { return p.PairsErrored == 1 && *p.ArmErrorRateWarm == 1.0/17 }},
		{"cold cached", func(s *scene) {
			d := details(recipient(s, 0, "cold"))
			d["cached_tokens"], d["local_cached_tokens"] = num(16), num(16)
		}, func(p *sembench.Paired) bool {
			return p.PairsContaminated == 1 && p.PairsContaminatedCached == 1 && p.ContaminationReasons[reasonColdCached] == 1
		}},
		{"cold cached as primed", func(s *scene) {
			o := recipient(s, 0, "cold")
			d := details(o)
			d["cached_tokens"], d["local_cached_tokens"], o.Isolation.PrimedTokens = num(16), num(16), new(16)
		}, func(p *sembench.Paired) bool {
			return p.PairsContaminated == 0 && p.PairsContaminatedCached == 0 && p.PairsContaminatedStrict == 1 && p.PairsUsed == 8
		}},
		{"cold external", func(s *scene) {
			d := details(recipient(s, 0, "cold"))
			d["cached_tokens"], d["external_cached_tokens"] = num(16), num(16)
			recipient(s, 0, "cold").Isolation.PrimedTokens = new(16)
		}, func(p *sembench.Paired) bool { return p.ContaminationReasons[reasonColdExternal] == 1 }},
		{"cold audited", func(s *scene) { s.audit[recipient(s, 0, "cold").RequestID].Materialized = new(64) },
			func(p *sembench.Paired) bool { return p.ContaminationReasons[reasonColdAudited] == 1 }},
		{"warm reset failed", func(s *scene) { recipient(s, 0, "warm").Isolation.Status = sembench.IsolationFailed },
			func(p *sembench.Paired) bool { return p.ContaminationReasons["warm_isolation_failed"] == 1 }},
		{"nothing done", func(s *scene) { recipient(s, 0, "cold").Isolation.Status = sembench.IsolationNone },
			func(p *sembench.Paired) bool { return p.ContaminationReasons["cold_isolation_none"] == 1 }},
		{"isolation unknown", func(s *scene) { recipient(s, 0, "cold").Isolation = nil },
			func(p *sembench.Paired) bool {
				return p.PairsIsolationUnknown == 1 && !p.ContaminationJudged && p.PairsUsed == 8
			}},
		{"own twin", func(s *scene) {
			s.audit[recipient(s, 1, "warm").RequestID].DonorIDs = []string{"chatcmpl-" + recipient(s, 1, "cold").RequestID + "-0a1b2c3d"}
		}, func(p *sembench.Paired) bool { return p.ContaminationReasons["warm_donor_own_twin"] == 1 }},
		{"foreign donor", func(s *scene) { s.audit[recipient(s, 0, "warm").RequestID].DonorIDs = []string{"chatcmpl-yesterday"} },
			func(p *sembench.Paired) bool { return p.ContaminationReasons["warm_donor_foreign"] == 1 }},
		{"other item's donor", func(s *scene) {
			s.audit[recipient(s, 0, "warm").RequestID].DonorIDs = []string{recipient(s, 2, "warm").RequestID}
		}, func(p *sembench.Paired) bool { return p.PairsContaminated == 0 }},
		{"donor failed", func(s *scene) {
			o := recipient(s, 0, "warm")
			o.Status, o.Reason = sembench.StatusExcluded, new("donor_failed")
		}, func(p *sembench.Paired) bool { return p.PairsExcluded["donor_failed"] == 1 }},
		{"no first output", func(s *scene) { recipient(s, 0, "warm").Stamps.FirstOutput = nil },
			func(p *sembench.Paired) bool { return p.PairsExcluded[reasonNoTTFT] == 1 }},
		{"prompts differ", func(s *scene) { recipient(s, 0, "warm").Usage["prompt_tokens"] = num(scenePrompt + 1) },
			func(p *sembench.Paired) bool { return p.PairsExcluded[reasonPromptsDiffer] == 1 }},
		{"canary failed", func(s *scene) {
			for i := range s.in.Observations {
				o := &s.in.Observations[i]
				if o.Isolation != nil && len(o.Isolation.Canary) > 0 && o.Seq > 10 && o.Seq < 60 {
					o.Isolation.Canary[2].Observed, o.Isolation.Canary[2].Outcome = new(480.0), sembench.Pass // the line lies
				}
			}
		}, func(p *sembench.Paired) bool { return p.PairsContaminated == 17 && !p.Valid }},
		{"another process", func(s *scene) {
			o := recipient(s, 0, "warm")
			o.BootID = new("boot-2")
		}, func(p *sembench.Paired) bool { return p.ContaminationReasons["warm_isolation_accepted"] == 1 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := honest()
			test.change(s)
			r := build(t, s)
			if !test.check(r.Paired) {
				p := r.Paired
				t.Errorf("used %d, contaminated %d %v, excluded %v, unpaired %d, errored %d", p.PairsUsed, p.PairsContaminated,
					p.ContaminationReasons, p.PairsExcluded, p.PairsUnpaired, p.PairsErrored)
			}
			identity(t, r.Paired)
			for _, g := range r.ByTransform {
				identity(t, g.Paired)
			}
		})
	}
}

func identity(t *testing.T, p *sembench.Paired) {
	t.Helper()
	sum := p.PairsUsed + p.NegativeControlPairs + p.WrongReusePairs + p.PairsContaminated + p.PairsErrored + p.PairsUnpaired
	for _, n := range p.PairsExcluded {
		sum += n
	}
	if sum != p.PairsTotal {
		t.Errorf("classes add up to %d, pairs_total is %d", sum, p.PairsTotal)
	}
}

// Random damage never breaks the identity, never panics, and a lost pair never raises pairs_used.
func TestIdentityUnderDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s := honest()
		for range 1 + random.IntN(12) {
			o := &s.in.Observations[random.IntN(len(s.in.Observations))]
			switch random.IntN(7) {
			case 0:
				o.Status = []string{sembench.StatusFailed, sembench.StatusExcluded, sembench.StatusNotSent}[random.IntN(3)]
			case 1:
				o.Usage = nil
			case 2:
				o.Stamps = sembench.Stamps{}
			case 3:
				o.Isolation = nil
			case 4:
				o.OutputText = nil
			case 5:
				o.BootID = nil
			case 6:
				o.Superseded = true
			}
		}
		r := build(t, s)
		identity(t, r.Paired)
		if r.Paired.PairsUsed > 8 {
			t.Errorf("pairs_used = %d", r.Paired.PairsUsed)
		}
	}
}

// Swapping the TTFTs of the arms inverts what is symmetric in them: median and geometric mean of the ratios, and their
// intervals' bounds.
func TestSwappedTimesInvert(t *testing.T) {
	a := build(t, honest()).Paired
	s := newScene()
	s.canary(0, 0)
	for i := range 4 {
		s.item(arms{transform: "rag_reorder@2", cold: 25, warm: 100, donorMS: 90, warmIsFirst: i%2 == 0})
	}
	for i := range 4 {
		s.item(arms{transform: "fuzzy_edit", cold: 110, warm: 100, donorMS: 90, warmIsFirst: i%2 == 0})
	}
	s.canary(0, 0)
	b := build(t, s).Paired
	near(t, "geomean", b.BlendedTTFTSpeedupGeomean, 1 / *a.BlendedTTFTSpeedupGeomean)
	near(t, "geomean lo", b.BlendedTTFTSpeedupGeomeanCI.Lo, 1 / *a.BlendedTTFTSpeedupGeomeanCI.Hi)
	near(t, "geomean hi", b.BlendedTTFTSpeedupGeomeanCI.Hi, 1 / *a.BlendedTTFTSpeedupGeomeanCI.Lo)
	near(t, "hodges-lehmann", b.BlendedTTFTSpeedupHodgesLehmann, 1 / *a.BlendedTTFTSpeedupHodgesLehmann)
}

// The order of observations, items and offline rows in the inputs changes nothing.
func TestInputOrderChangesNothing(t *testing.T) {
	want := sembench.MarshalIndent(build(t, honest()))
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		s := honest()
		random.Shuffle(len(s.in.Observations), func(i, j int) {
			s.in.Observations[i], s.in.Observations[j] = s.in.Observations[j], s.in.Observations[i]
		})
		random.Shuffle(len(s.in.Items), func(i, j int) { s.in.Items[i], s.in.Items[j] = s.in.Items[j], s.in.Items[i] })
		random.Shuffle(len(s.in.Offline), func(i, j int) { s.in.Offline[i], s.in.Offline[j] = s.in.Offline[j], s.in.Offline[i] })
		if got := sembench.MarshalIndent(build(t, s)); !bytes.Equal(got, want) {
			t.Fatal("shuffled inputs give another result")
		}
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name, want string
		change     func(in *Inputs)
	}{
		{"manifest", "belong to manifest other", func(in *Inputs) { in.Head.ManifestSHA256 = "other" }},
		{"config", "belong to configuration other", func(in *Inputs) { in.Head.ConfigSHA256 = "other" }},
		{"run", `belong to run "r2"`, func(in *Inputs) { in.Head.RunID = "r2" }},
		{"item", "which the manifest does not have", func(in *Inputs) { in.Items = in.Items[1:]; in.Offline = in.Offline[1:] }},
		{"offline", "is of no item", func(in *Inputs) { in.Offline[0].ItemID = "x" }},
		{"twice", "has two recipient lines", func(in *Inputs) {
			for _, o := range in.Observations {
				if o.Role == sembench.RoleRecipient {
					o.Seq += 1000
					in.Observations = append(in.Observations, o)
					return
				}
			}
		}},
		{"swapped", "are the arms swapped?", func(in *Inputs) {
			for i := range in.Observations {
				o := &in.Observations[i]
				swap := map[string]string{"cold": "warm", "warm": "cold"}
				if s, ok := swap[o.Arm]; ok {
					o.Arm = s
				}
			}
		}},
		{"calibration model", "made with model big, this run with tiny", func(in *Inputs) { in.Calibration = &sembench.Calibration{Model: "big"} }},
		{"calibration concurrency", "made with concurrency 4, this run with 0", func(in *Inputs) {
			in.Calibration = &sembench.Calibration{Model: "tiny", Protocol: sembench.Protocol{Concurrency: 4}}
		}},
		{"calibration flags", "engine flags a, this run with unknown", func(in *Inputs) {
			in.Calibration = &sembench.Calibration{Model: "tiny", Protocol: sembench.Protocol{EngineFlagsSHA256: new("a")}}
		}},
		{"simulated calibration", "made with simulated true", func(in *Inputs) { in.Calibration = &sembench.Calibration{Model: "tiny", Simulated: true} }},
	}
	for _, test := range tests {
		s := honest()
		test.change(&s.in)
		_, err := Build(s.in)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want %q", test.name, err, test.want)
		}
		if _, ok := err.(*Refused); err != nil && !ok {
			t.Errorf("%s: %T is not Refused", test.name, err)
		}
	}
}

// A planned item that the journal never reached counts as unpaired.
func TestJournalCutShort(t *testing.T) {
	s := honest()
	last := s.in.Items[16].ItemID
	s.in.Observations = slices.DeleteFunc(s.in.Observations, func(o sembench.Observation) bool { return o.ItemID == last })
	p := build(t, s).Paired
	count(t, "pairs_total", p.PairsTotal, 17)
	count(t, "pairs_unpaired", p.PairsUnpaired, 1)
	identity(t, p)
}

// With responses alone nothing tells semantic reuse from exact reuse over a connector: hits are unmeasured, not 0.
func TestNoSemanticSignal(t *testing.T) {
	s := honest()
	s.in.Audit, s.in.Evidence, s.in.Window = nil, nil, nil
	p := build(t, s).Paired
	null(t, "hit rate", p.HitRate)
	null(t, "hits", p.Hits)
	near(t, "coverage", p.HitRateCoverage, 0)
	count(t, "pairs with an external split", p.PairsExternalConfirmed, 8)
	count(t, "hits that only cached tokens would call so", p.HitsUnverifiedExternal, 4)
	if p.ReuseMechanisms[MechanismExactExternal] != 5 {
		t.Errorf("mechanisms = %v", p.ReuseMechanisms)
	}
}
