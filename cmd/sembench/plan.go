package main

import (
	"fmt"
	"io"

	"sembench/internal/replay"
	"sembench/internal/scenario"
)

// Seconds a token, for the estimate of --dry-run: a middling model on one GPU. The run itself measures.
const (
	guessPrefill = 100e-6
	guessOutput  = 20e-3
)

// planned tells what a run is going to send. With --dry-run it prints that and returns done; above --max-total-tokens it refuses unless --yes.
func (p *protocol) planned(w io.Writer) (done bool, err error) {
	count, err := tokenCounter(p.s)
	if err != nil {
		return false, err
	}
	cfg, err := replayConfig(p.s, "plan")
	if err != nil {
		return false, err
	}
	plan := replay.Estimate(cfg, p.items, count)
	tokens := plan.PromptTokens + plan.OutputTokens
	if p.s.DryRun {
		printPlan(w, p.s, plan)
		return true, nil
	}
	if limit := p.s.MaxTotalTokens; limit > 0 && tokens > limit && !p.s.Yes {
		return false, usage(fmt.Errorf("the run would send and receive up to %d tokens, more than --max-total-tokens %d", tokens, limit), "fewer items with --max-items, or send anyway with --yes")
	}
	return false, nil
}

func printPlan(w io.Writer, s *scenario.Scenario, plan replay.Plan) {
	fmt.Fprintf(w, "%d pairs, %d requests: %d recipients, %d donors, %d canaries, %d warm-ups, %d gap fillers\n",
		plan.Pairs, plan.Requests(), plan.Recipients, plan.Donors, plan.Canaries, plan.Warmups, plan.Fillers)
	fmt.Fprintf(w, "%d prompt tokens, at most %d output tokens, without chat templates\n", plan.PromptTokens, plan.OutputTokens)
	fmt.Fprintf(w, "about %.0f s one after the other on a middling GPU, %.0f s of it waiting for donors to settle\n", plan.Seconds(guessPrefill, guessOutput), plan.SettleSeconds)
	if s.CalibrationPairs > 0 && s.NoiseFloorFile == "" {
		fmt.Fprintf(w, "the calibration comes on top: %d pairs of each kind and length band\n", s.CalibrationPairs)
	}
	fmt.Fprintln(w, "nothing was sent")
}
