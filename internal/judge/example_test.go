package judge_test

import (
	"fmt"

	"sembench"
	"sembench/internal/judge"
)

// One item measured with and without its donors, each step on an engine process of its own.
func Example() {
	line := func(seq int64, arm string, ttftMS int64) sembench.Observation {
		process := "the engine started for the " + arm + " arm"
		start, output := seq*1e9, seq*1e9+ttftMS*1e6
		return sembench.Observation{Seq: seq, ItemID: "i", PairID: "i#0", Arm: arm, Role: sembench.RoleRecipient, Status: sembench.StatusOK,
			BootID:    &process,
			Stamps:    sembench.Stamps{WriteStart: &start, FirstOutput: &output},
			Isolation: &sembench.Isolation{Method: sembench.IsolationFreshProcess, Status: sembench.IsolationAccepted}}
	}
	result, err := judge.Build(judge.Inputs{
		Run:          sembench.Run{Arm: "paired"},
		Items:        []sembench.Item{{ItemID: "i", Transform: "rag_reorder"}},
		Observations: []sembench.Observation{line(1, sembench.ArmCold, 120), line(2, sembench.ArmWarm, 40)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("speedup", *result.Paired.BlendedTTFTSpeedupMean, "of", result.Paired.PairsUsed, "pair; hit rate", result.Paired.HitRate)

	verdict, err := judge.Gate(result, judge.GateOptions{
		Asks:         []judge.Ask{{Flag: "min-blended-ttft-speedup", Threshold: 2}},
		AcceptChecks: []string{"cached_tokens_reported"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(verdict.Passed, verdict.ExitCode)
	fmt.Println(verdict.Failures[0])
	// Output:
	// speedup 3 of 1 pair; hit rate <nil>
	// false 1
	// min-blended-ttft-speedup: inconclusive, observed 3, threshold 2 (no interval could be computed)
}
