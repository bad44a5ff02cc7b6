package quality

// Result of one output against its references, each measure the best over references.
type Result struct {
	// Pass: Recall reached the threshold.
	Pass bool
	// Recall is quality_score: the share of reference tokens in the output, in [0,1].
	Recall float64
	// F1 is the token F1 in [0,1].
	F1 float64
	// RougeL is the LCS F1 in [0,1].
	RougeL float64
}

// Score returns the output's quality against refs, and whether its recall is at least threshold (contract: 0.60).
// References without letters or numbers are no references. None left: nil, unmeasured.
func Score(output string, refs []string, threshold float64) *Result {
	var best *Result
	for _, ref := range refs {
		if len(Normalize(ref)) == 0 {
			continue
		}
		if best == nil {
			best = &Result{}
		}
		best.Recall = max(best.Recall, Recall(output, ref))
		best.F1 = max(best.F1, F1(output, ref))
		best.RougeL = max(best.RougeL, ROUGEL(output, ref))
	}
	if best != nil {
		best.Pass = best.Recall >= threshold
	}
	return best
}
