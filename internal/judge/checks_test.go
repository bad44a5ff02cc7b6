package judge

import (
	"maps"
	"testing"

	"sembench"
)

// failing lists the checks that do not pass.
func failing(r sembench.Result) (out []string) {
	for _, c := range r.Checks {
		if c.Outcome == sembench.Fail || c.Outcome == sembench.Inconclusive {
			out = append(out, c.Name)
		}
	}
	return out
}

func (s *scene) recipients(do func(o *sembench.Observation)) {
	for i := range s.in.Observations {
		if o := &s.in.Observations[i]; o.Role == sembench.RoleRecipient && o.Arm != sembench.ArmExact {
			do(o)
		}
	}
}

// firstHit is the first warm recipient that reused semantically.
func (s *scene) firstHit() *sembench.Observation {
	for i := range s.in.Observations {
		if o := &s.in.Observations[i]; o.Role == sembench.RoleRecipient && o.Arm == sembench.ArmWarm && *o.ExternalCachedTokens() > 0 {
			return o
		}
	}
	panic("the scene has no hit")
}

func usageDetails(o *sembench.Observation) map[string]any {
	return o.Usage["prompt_tokens_details"].(map[string]any)
}

// Every check is broken by one damage, and that damage breaks no other check. pairs_valid may follow where the damage takes
// the proof of cold from every pair.
func TestEachCheckAlone(t *testing.T) {
	canaryPrefix := func(s *scene) {
		for i := range s.in.Observations {
			if o := &s.in.Observations[i]; o.Isolation != nil && len(o.Isolation.Canary) > 0 {
				o.Isolation.Canary[2].Observed, o.Isolation.Canary[2].Outcome = new(480.0), sembench.Fail
				o.Isolation.Canary[3].Observed, o.Isolation.Canary[3].Outcome = new(480.0), sembench.Fail
			}
		}
	}
	tests := []struct {
		check, name string
		damage      func(s *scene)
		follows     bool // pairs_valid fails too
	}{
		{"isolation_canary", "no reset does anything", canaryPrefix, true},
		{"donor_store_cold", "the donor store survives", func(s *scene) {
			for i := range s.in.Observations {
				if o := &s.in.Observations[i]; o.Isolation != nil && len(o.Isolation.Canary) > 0 {
					o.Isolation.Canary[3].Observed, o.Isolation.Canary[3].Outcome = new(480.0), sembench.Fail
				}
			}
		}, true},
		{"cached_tokens_reported", "always 0", func(s *scene) {
			for i := range s.in.Observations {
				d := usageDetails(&s.in.Observations[i])
				d["cached_tokens"], d["local_cached_tokens"], d["external_cached_tokens"] = num(0), num(0), num(0)
			}
		}, false},
		{"cached_tokens_reported", "never there", func(s *scene) {
			for i := range s.in.Observations {
				delete(s.in.Observations[i].Usage, "prompt_tokens_details")
			}
		}, false},
		{"usage_channel", "external tokens of one response", func(s *scene) {
			d := usageDetails(s.firstHit())
			d["external_cached_tokens"], d["cached_tokens"] = num(320), num(320+64)
		}, false},
		{"usage_channel", "a sum that is none", func(s *scene) { usageDetails(s.firstHit())["cached_tokens"] = num(960) }, false},
		{"usage_channel", "local tokens against two counts of the engine", func(s *scene) {
			for i := range s.in.Observations {
				d := usageDetails(&s.in.Observations[i])
				if o := &s.in.Observations[i]; o.Arm == armCanary && *o.CachedTokens() == 480 && *o.ExternalCachedTokens() == 0 {
					d["local_cached_tokens"], d["cached_tokens"] = num(240), num(240)
				}
			}
		}, false},
		{"log_channel", "one materialization lost", func(s *scene) {
			e := s.in.Evidence
			e.Events["materialized"] = e.Events["materialized"][1:]
		}, false},
		{"log_channel", "the tokens of one line", func(s *scene) { s.in.Evidence.Events["materialized"][3]["tokens"] = 160 }, false},
		{"counter_channel", "external hits", func(s *scene) { s.in.Window.Total.Deltas[counterExternalHits] += 640 }, false},
		{"counter_channel", "local hits", func(s *scene) { s.in.Window.Total.Deltas[counterPrefixHits] -= 640 }, false},
		{"audit_channel", "materialized tokens of one request", func(s *scene) { *s.audit[s.firstHit().RequestID].Materialized = 320 }, false},
		{"audit_channel", "materialization of one request", func(s *scene) { s.audit[s.firstHit().RequestID].Materialized = nil }, false},
		{"hits_materialize", "announced, never written", func(s *scene) {
			s.in.Evidence.Events["materialized"] = nil
			for _, r := range s.audit {
				r.Materialized = nil
			}
		}, false},
		{"first_event_is_output", "a role chunk 50 ms early", func(s *scene) {
			for i := range s.in.Observations {
				o := &s.in.Observations[i]
				o.Stamps.FirstEvent = new(*o.Stamps.FirstOutput - 50e6)
			}
		}, false},
		{"hits_materialize", "written for another request", func(s *scene) {
			hit := s.firstHit()
			for i := range s.in.Observations {
				if o := &s.in.Observations[i]; o.ItemID == "item-07" && o.Role == "donor-0" {
					own, other := s.audit[hit.RequestID], s.audit[o.RequestID]
					own.Materialized, other.Materialized = other.Materialized, own.Materialized
					for _, event := range s.in.Evidence.Events["materialized"] {
						if event["request_id"] == "chatcmpl-"+hit.RequestID {
							event["request_id"] = "chatcmpl-" + o.RequestID
						}
					}
				}
			}
		}, false},
		{"counter_channel", "reset inside the run", func(s *scene) { s.in.Window.CounterResetDetected = true }, false},
		{"engine_time_agrees", "first tokens of cold recipients held back", func(s *scene) {
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmCold {
					o.EngineMetrics = map[string]any{"time_to_first_token_ms": *o.TTFT() - 60}
				}
			})
		}, false},
		{"pairs_valid", "the failures of one arm", func(s *scene) {
			n := 0
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmWarm {
					if n++; n%4 == 0 {
						o.Status, o.Error = sembench.StatusFailed, &sembench.RequestError{Class: sembench.ErrorEmptyOutput}
					}
				}
			})
		}, false},
		{"exact_arm_is_stock", "an exact step reuses semantically", func(s *scene) {
			for i := range s.in.Observations {
				if o := &s.in.Observations[i]; o.Arm == sembench.ArmExact && o.ItemID == "item-00" {
					d := usageDetails(o)
					d["cached_tokens"], d["external_cached_tokens"] = num(64+480), num(480)
				}
			}
		}, false},
		{"exact_arm_is_stock", "the engine under test at another address", func(s *scene) {
			for i := range s.in.Observations {
				o := &s.in.Observations[i]
				o.BootID = new("127.0.0.1:8000@17.25")
				if o.Arm == sembench.ArmExact {
					o.BootID = new("localhost:8000@17.25")
				}
			}
		}, false},
		{"audit_joins", "the audit names no warm recipient", func(s *scene) {
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmWarm {
					delete(s.audit, o.RequestID)
				}
			})
		}, false},
		{"audit_joins", "the audit is of another run", func(s *scene) {
			for id, record := range maps.Clone(s.audit) {
				delete(s.audit, id)
				s.audit["foreign-"+id] = record
			}
		}, false},
		{"log_joins", "the log is of another run, which had no hits", func(s *scene) {
			s.in.Evidence.Sources = nil
			s.in.Evidence.Events = map[string][]map[string]any{"donor_registered": {{"request_id": "chatcmpl-other", "tokens": 1000}}}
		}, false},
		{"no_engine_errors", "an error inside a response", func(s *scene) {
			o := s.firstHit()
			o.Status, o.Error = sembench.StatusFailed, &sembench.RequestError{Class: sembench.ErrorInband}
		}, false},
		{"no_engine_errors", "an error in the log", func(s *scene) { s.in.Evidence.ErrorCount = 1 }, false},
		{"controls_quiet", "controls twice as fast", func(s *scene) {
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmWarm && o.ItemID >= "item-08" && o.ItemID < "item-16" {
					retime(o, 50)
				}
			})
		}, false},
		{"controls_quiet", "a control hits", func(s *scene) {
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmWarm && o.ItemID == "item-08" {
					d := usageDetails(o)
					d["cached_tokens"], d["external_cached_tokens"] = num(480), num(480)
					s.say(o.RequestID, reused{semantic: 480})
				}
			})
		}, false},
		{"exact_reuse_is_exact", "one warm recipient reuses its cold twin", func(s *scene) {
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmWarm && o.ItemID == "item-04" {
					d := usageDetails(o)
					d["cached_tokens"], d["local_cached_tokens"] = num(960), num(960)
					s.in.Window.Total.Deltas[counterPrefixHits] += 960
					s.in.Window.Total.Deltas[counterLocalSource] += 960
				}
			})
		}, false},
		{"aa_at_one", "whichever cold recipient comes second is twice as fast", func(s *scene) {
			s.in.Calibration.TTFTAA.FirstOverSecond, s.in.Calibration.TTFTAA.FirstOverSecondCI = new(2.0), interval(1.9, 2, 2.1, 30)
		}, false},
		{"aa_at_one", "the second of two cold recipients is twice as fast", func(s *scene) {
			s.in.Calibration = &sembench.Calibration{Model: "tiny", TTFTAA: &sembench.TTFTAA{N: 30, Geomean: new(2.0), CI: interval(1.9, 2, 2.1, 30)}}
		}, false},
		{"order_effect", "the second arm of a pair is faster", func(s *scene) {
			s.recipients(func(o *sembench.Observation) {
				if *o.Order == 1 {
					retime(o, *o.TTFT()*0.6)
				}
			})
		}, false},
		{"pairs_valid", "most pairs excluded", func(s *scene) {
			n := 0
			s.recipients(func(o *sembench.Observation) {
				if o.Arm == sembench.ArmWarm {
					if n++; n > 3 {
						o.Status, o.Reason = sembench.StatusExcluded, new("donor_failed")
					}
				}
			})
		}, false},
	}
	for _, test := range tests {
		t.Run(test.check+"/"+test.name, func(t *testing.T) {
			s := honest()
			if test.check == "order_effect" { // a randomisation test of 8 pairs cannot reach p = 0.001
				s = newScene()
				s.canary(0, 0)
				for i := range 24 {
					s.item(arms{transform: "fuzzy_edit", cold: 100, warm: 100, donorMS: 90, warmIsFirst: i%2 == 0})
				}
				s.canary(0, 0)
			}
			test.damage(s)
			r := build(t, s)
			got := failing(r)
			want := map[string]bool{test.check: true}
			if test.follows {
				want["pairs_valid"] = true
			}
			for _, name := range got {
				if !want[name] {
					t.Errorf("%s fails too", name)
				}
				delete(want, name)
			}
			for name := range want {
				t.Errorf("%s does not fail: %+v", name, r.Checks)
			}
		})
	}
}

// Where two channels differ and nothing else speaks, neither is accused and both are inconclusive.
func TestUndecidedDispute(t *testing.T) {
	s := honest()
	s.in.Evidence, s.in.Window = nil, nil
	*s.audit[s.firstHit().RequestID].Materialized = 320
	r := build(t, s)
	outcomes := map[string]string{}
	for _, c := range r.Checks {
		outcomes[c.Name] = c.Outcome
	}
	if outcomes["usage_channel"] != sembench.Inconclusive || outcomes["audit_channel"] != sembench.Inconclusive {
		t.Errorf("outcomes = %v", outcomes)
	}
	if len(r.Contradictions) != 1 || r.Contradictions[0] == "" {
		t.Errorf("contradictions = %q", r.Contradictions)
	}
}

// With one source there is nothing to compare, and no check claims that there was.
func TestOneChannel(t *testing.T) {
	s := honest()
	s.in.Evidence, s.in.Window, s.in.Audit = nil, nil, nil
	for _, c := range build(t, s).Checks {
		switch c.Name {
		case "usage_channel", "log_channel", "counter_channel", "audit_channel", "hits_materialize":
			if c.Outcome != sembench.NotJudged {
				t.Errorf("%s = %s", c.Name, c.Outcome)
			}
		}
	}
}

// A server that reports no cached tokens can still be measured where TTFT canaries told reuse from computing.
func TestCanariesByTime(t *testing.T) {
	s := honest()
	for i := range s.in.Observations {
		o := &s.in.Observations[i]
		delete(o.Usage, "prompt_tokens_details")
		if o.Isolation != nil && len(o.Isolation.Canary) > 0 {
			o.Isolation.Canary = []sembench.CanaryCheck{
				{Tier: tierTTFT, Control: controlPositive, Field: "ttft_ms", Expected: new(30.0), Observed: new(10.0), Outcome: sembench.Pass},
				{Tier: tierTTFT, Control: controlNegative, Field: "ttft_ms", Expected: new(30.0), Observed: new(50.0), Outcome: sembench.Pass},
			}
		}
	}
	s.in.Audit, s.in.Evidence, s.in.Window = nil, nil, nil
	r := build(t, s)
	if got := failing(r); len(got) > 0 {
		t.Errorf("failing: %v", got)
	}
	count(t, "used", r.Paired.PairsUsed, 8)
	null(t, "hit rate", r.Paired.HitRate)
	count(t, "hits only cached tokens would call so", r.Paired.HitsUnverifiedExternal, 0)
	// Without those canaries nothing proves cold.
	s.in.Observations = dropCanaries(s.in.Observations)
	p := build(t, s).Paired
	if p.ContaminationReasons[reasonNotProvable] != 17 || p.Valid {
		t.Errorf("reasons = %v, valid %v", p.ContaminationReasons, p.Valid)
	}
}
