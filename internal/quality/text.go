package quality

// ROUGEL returns the ROUGE-L F1 of two texts: the harmonic mean of LCS/len(a) and LCS/len(b) over normalized tokens,
// which is 2 LCS/(len(a)+len(b)); symmetric, in [0,1] (Lin 2004, beta = 1).
// A side without tokens: 0, also when both are.
func ROUGEL(a, b string) float64 { return rougeL(Normalize(a), Normalize(b)) }

func rougeL(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	ia, ib, ids := intern(a, b)
	return 2 * float64(lcs(ia, ib, ids)) / float64(len(a)+len(b))
}

// F1 returns the token F1 of two texts as SQuAD scores answers: 2 shared/(len(a)+len(b)), shared counted with multiplicity;
// symmetric, in [0,1]. Unlike SQuAD's script it keeps articles: the contract's normalization applies.
// A side without tokens: 0.
func F1(a, b string) float64 {
	ta, tb := Normalize(a), Normalize(b)
	if len(ta) == 0 || len(tb) == 0 {
		return 0
	}
	return 2 * float64(shared(ta, tb)) / float64(len(ta)+len(tb))
}

// Recall returns the share of ref's tokens, counted with multiplicity, that occur in answer; in [0,1].
// A reference without tokens: 0.
func Recall(answer, ref string) float64 {
	tr := Normalize(ref)
	if len(tr) == 0 {
		return 0
	}
	return float64(shared(Normalize(answer), tr)) / float64(len(tr))
}

// shared returns the size of the multiset intersection.
func shared(a, b []string) int {
	count := make(map[string]int, len(a))
	for _, t := range a {
		count[t]++
	}
	n := 0
	for _, t := range b {
		if count[t] > 0 {
			count[t]--
			n++
		}
	}
	return n
}
