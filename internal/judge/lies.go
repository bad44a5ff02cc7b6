package judge

import (
	"slices"

	"sembench"
	"sembench/internal/stat"
)

// Limits of checks on what reuse cannot do, each a choice.
const (
	// Decoding costs the same whatever was reused; a batch that empties may change it by half, a replayed answer changes it
	// a hundredfold. Answers that decode in less than 25 ms tell more of a busy client than of the engine.
	decodeFactor  = 2.0
	decodeMS      = 25.0
	decodeSpeedup = 1.2
	// Answers of one to three tokens coincide honestly: yes, no, a letter, a number.
	sameAnswerTokens = 4
	sameAnswerShare  = 0.5
)

// checkDonors counts recipients that reused what they should not have met: their own twin's KV, or that of no request of this run.
func checkDonors(f *facts, r *sembench.CheckResult) {
	named, odd := 0, map[string]int{}
	for _, row := range f.result.Requests {
		switch {
		case row.DonorAttribution == nil:
			continue
		case *row.DonorAttribution == OwnTwin || *row.DonorAttribution == Foreign:
			odd[*row.DonorAttribution]++
		}
		named++
	}
	if named == 0 {
		r.Detail = "no evidence names a donor"
		return
	}
	settle(r, float64(odd[OwnTwin]+odd[Foreign]), 0, "of %d recipients with a named donor %d reused their own twin and %d no request of this run",
		named, odd[OwnTwin], odd[Foreign])
}

// checkDecode compares how long a token takes after the first, in pairs whose warm arm gained.
func checkDecode(f *facts, r *sembench.CheckResult) {
	var cold, warm, whole []float64
	for _, p := range f.pairs {
		if !p.clean() || p.cold.ITLMSMean == nil || p.warm.ITLMSMean == nil || p.ratio() < decodeSpeedup {
			continue
		}
		cold, warm = append(cold, *p.cold.ITLMSMean), append(warm, *p.warm.ITLMSMean)
		whole = append(whole, max(*p.cold.ITLMSMean*float64(*p.cold.OutputTokens-1), *p.warm.ITLMSMean*float64(*p.warm.OutputTokens-1)))
	}
	switch {
	case len(cold) < leastPairs:
		r.Detail = "fewer than 8 pairs gained a fifth and tell how long a token takes"
		return
	case stat.Quantile(sorted(whole), 0.5) < decodeMS:
		r.Detail = "answers decode in less than 25 ms: too short to tell"
		return
	}
	x, y := stat.Quantile(sorted(cold), 0.5), stat.Quantile(sorted(warm), 0.5)
	settle(r, max(x, y)/max(min(x, y), 1e-3), decodeFactor, // a microsecond: one event carried all
		"%.2f ms a token cold, %.2f ms warm (medians of %d pairs)", x, y, len(cold))
}

// checkAnswers looks for one answer to different questions, in the arm that shows more of it.
func checkAnswers(f *facts, r *sembench.CheckResult) {
	items := map[string]sembench.Item{}
	for _, it := range f.in.Items {
		items[it.ItemID] = it
	}
	judged, worst, arm := 0, 0.0, ""
	for _, name := range []string{sembench.ArmCold, sembench.ArmWarm} {
		said := map[string][]sembench.Item{}
		n := 0
		for _, row := range f.result.Requests {
			if is(row.Arm, name) && row.OutputSHA256 != nil && deref(row.OutputTokens) >= sameAnswerTokens {
				said[*row.OutputSHA256] = append(said[*row.OutputSHA256], items[row.ItemID])
				n++
			}
		}
		shared := 0
		for _, asked := range said {
			for _, it := range asked {
				if slices.ContainsFunc(asked, func(other sembench.Item) bool { return another(it, other) }) {
					shared++
				}
			}
		}
		judged += n
		if n >= leastPairs && float64(shared)/float64(n) > worst {
			worst, arm = float64(shared)/float64(n), name
		}
	}
	switch {
	case judged < leastPairs:
		r.Detail = "fewer than 8 answers of four tokens and more"
	case worst == 0:
		settle(r, 0, sameAnswerShare, "no two different questions got the same answer (%d answers)", judged)
	default:
		settle(r, worst, sameAnswerShare, "%.0f %% of the %s answers were given to another question too", 100*worst, arm)
	}
}

// another tells that two items ask for different things: other prompts, and no answer in common.
func another(a, b sembench.Item) bool {
	return a.ItemID != b.ItemID && a.RecipientPrompt != b.RecipientPrompt &&
		!slices.ContainsFunc(a.Answers, func(answer string) bool { return slices.Contains(b.Answers, answer) })
}
