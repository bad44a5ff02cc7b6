package judge

import (
	"bytes"
	"strings"
	"testing"

	"sembench"
)

// parts splits a paired result into what a cold and a warm run apart would have left.
func parts(t *testing.T, r sembench.Result) (cold, warm sembench.Result) {
	t.Helper()
	cold, warm = r, r
	cold.Run.Arm, warm.Run.Arm = sembench.ArmCold, sembench.ArmWarm
	cold.Requests, warm.Requests = nil, nil
	for _, row := range r.Requests {
		switch *row.Arm {
		case sembench.ArmCold:
			cold.Requests = append(cold.Requests, row)
		case sembench.ArmWarm:
			warm.Requests = append(warm.Requests, row)
		}
	}
	return cold, warm
}

func TestMergeArms(t *testing.T) {
	whole := build(t, honest())
	cold, warm := parts(t, whole)
	merged, err := MergeArms(cold, warm, MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := whole.Paired, merged.Paired
	count(t, "pairs_total", b.PairsTotal, a.PairsTotal)
	count(t, "pairs_used", b.PairsUsed, a.PairsUsed)
	near(t, "mean", b.BlendedTTFTSpeedupMean, *a.BlendedTTFTSpeedupMean)
	near(t, "hit rate", b.HitRate, *a.HitRate)
	near(t, "confirmed", merged.Aggregate.BackendConfirmedBlockRate, *whole.Aggregate.BackendConfirmedBlockRate)
	null(t, "incremental", b.SemanticIncrementalTTFTSpeedupMean)
	null(t, "order effect", b.OrderEffect)
	if merged.Run.Arm != "paired" || merged.Run.RunID != "r1+r1" {
		t.Errorf("run = %+v", merged.Run)
	}
}

// Arms on two processes need no canary; on one unnamed process they stay unproven.
func TestMergeFreshProcesses(t *testing.T) {
	s := honest()
	s.in.Observations = dropCanaries(s.in.Observations)
	cold, warm := parts(t, build(t, s))
	merged, err := MergeArms(cold, warm, MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count(t, "contaminated without canaries", merged.Paired.PairsContaminated, 17)
	a, b := *cold.Engine, *warm.Engine
	a.BootID, b.BootID = new("boot-1"), new("boot-2")
	cold.Engine, warm.Engine = &a, &b
	if merged, err = MergeArms(cold, warm, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	count(t, "contaminated on fresh processes", merged.Paired.PairsContaminated, 0)
	if !is(merged.Requests[0].Isolation, sembench.IsolationFreshProcess) {
		t.Errorf("isolation = %v", show(merged.Requests[0].Isolation))
	}
}

func dropCanaries(lines []sembench.Observation) (out []sembench.Observation) {
	for _, o := range lines {
		if o.Arm != armCanary {
			out = append(out, o)
		}
	}
	return out
}

func TestMergeRefusals(t *testing.T) {
	tests := []struct {
		name, want string
		change     func(cold, warm *sembench.Result)
	}{
		{"swapped", `got "warm" and "cold": are they swapped?`, func(cold, warm *sembench.Result) { *cold, *warm = *warm, *cold }},
		{"swapped labels", `has a row of arm "warm"`, func(cold, warm *sembench.Result) { cold.Requests, warm.Requests = warm.Requests, cold.Requests }},
		{"cold with donors", "was sent after 1 donors: are the labels swapped?", func(cold, warm *sembench.Result) {
			cold.Requests, warm.Requests = warm.Requests, cold.Requests
			for i := range cold.Requests {
				cold.Requests[i].Arm = nil
			}
		}},
		{"manifest", "differ in manifest", func(cold, _ *sembench.Result) { cold.Run.ManifestSHA256 = "x" }},
		{"duplicate", "occurs twice in the cold result", func(cold, _ *sembench.Result) { cold.Requests = append(cold.Requests, cold.Requests[0]) }},
		{"unpaired", "1 rows have no twin", func(cold, _ *sembench.Result) { cold.Requests = cold.Requests[1:] }},
		{"transform", "differs in transform", func(cold, _ *sembench.Result) { cold.Requests[0].Transform = "x" }},
		{"dataset", "differs in dataset", func(cold, _ *sembench.Result) { cold.Requests[0].Dataset = "x" }},
		{"control", "differs in negative_control", func(cold, _ *sembench.Result) { cold.Requests[0].NegativeControl = true }},
		{"donors", "differs in donor_count", func(cold, _ *sembench.Result) { cold.Requests[0].DonorCount = 9 }},
		{"blocks", "differs in total_blocks", func(cold, _ *sembench.Result) { cold.Requests[0].TotalBlocks = 9 }},
		{"simulated", "differ in simulated", func(cold, _ *sembench.Result) { cold.Run.Simulated = true }},
		{"model", "differ in model", func(cold, _ *sembench.Result) { cold.Engine = &sembench.EngineInfo{Model: "x"} }},
	}
	for _, test := range tests {
		cold, warm := parts(t, build(t, honest()))
		test.change(&cold, &warm)
		if _, err := MergeArms(cold, warm, MergeOptions{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want %q", test.name, err, test.want)
		}
	}
	// Allowing unpaired rows waives those and nothing else.
	cold, warm := parts(t, build(t, honest()))
	cold.Requests = cold.Requests[1:]
	merged, err := MergeArms(cold, warm, MergeOptions{AllowUnpaired: true})
	if err != nil {
		t.Fatal(err)
	}
	count(t, "unpaired", merged.Paired.PairsUnpaired, 1)
	count(t, "total", merged.Paired.PairsTotal, 17)
	cold.Run.ManifestSHA256 = "x"
	if _, err := MergeArms(cold, warm, MergeOptions{AllowUnpaired: true}); err == nil {
		t.Error("another manifest is accepted with unpaired rows allowed")
	}
}

// Splitting a run into shards and merging them gives the run's own numbers.
func TestMergeShards(t *testing.T) {
	whole := build(t, honest())
	var shards []sembench.Result
	for k := range 3 {
		part := whole
		part.Run.Shard, part.Requests = new(string(rune('1'+k))+"/3"), nil
		n := 0
		for _, row := range whole.Requests {
			if int(row.ItemID[len(row.ItemID)-1]-'0')%3 == k {
				part.Requests = append(part.Requests, row)
				if *row.Arm == sembench.ArmCold {
					n++
				}
			}
		}
		paired := *whole.Paired
		paired.PairsTotal, part.Paired = n, &paired
		shards = append(shards, part)
	}
	merged, err := MergeShards(shards, MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := whole.Paired, merged.Paired
	count(t, "pairs_total", b.PairsTotal, a.PairsTotal)
	near(t, "mean", b.BlendedTTFTSpeedupMean, *a.BlendedTTFTSpeedupMean)
	near(t, "incremental", b.SemanticIncrementalTTFTSpeedupMean, *a.SemanticIncrementalTTFTSpeedupMean)
	near(t, "order effect p", b.OrderEffectPValue, *a.OrderEffectPValue)
	if !bytes.Equal(sembench.Marshal(a), sembench.Marshal(b)) {
		t.Error("the merged paired block differs from the whole run's")
	}
	shards[0], shards[1] = shards[1], shards[0]
	swapped, err := MergeShards(shards, MergeOptions{})
	if err != nil || !bytes.Equal(sembench.Marshal(swapped.Paired), sembench.Marshal(b)) {
		t.Errorf("the order of shards shows: %v", err)
	}
	shards[2].Paired.PairsTotal += 2 // a shard that was killed before its last two pairs
	if merged, err = MergeShards(shards, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	count(t, "unpaired", merged.Paired.PairsUnpaired, 2)
	identity(t, merged.Paired)
	if _, err = MergeShards([]sembench.Result{shards[0], shards[0]}, MergeOptions{}); err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Errorf("the same shard twice: %v", err)
	}
}

// Rows carry everything that pairing needs: a result that went through its file gives the same numbers.
func TestRowsSurviveTheFile(t *testing.T) {
	whole := build(t, honest())
	var read sembench.Result
	if err := sembench.Unmarshal(sembench.MarshalIndent(whole), &read); err != nil {
		t.Fatal(err)
	}
	again := read
	planned, transforms := []string{}, map[string]string{}
	for _, row := range read.Requests {
		if _, known := transforms[*row.PairID]; !known {
			planned, transforms[*row.PairID] = append(planned, *row.PairID), TransformName(row.Transform)
		}
	}
	if _, err := fill(&again, read.Requests, planned, transforms, Options{BlockSize: read.BlockSize}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sembench.MarshalIndent(again.Paired), sembench.MarshalIndent(whole.Paired)) {
		t.Error("the paired block differs after a round trip")
	}
}
