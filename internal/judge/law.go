package judge

import (
	"math"

	"sembench"
)

// TimeLaw is the time law of prefill as a run measured it, for estimates on other prompt lengths (trace.Costs). Every number is
// null when the run cannot tell it.
type TimeLaw struct {
	// BaseMS and PrefillUSPerToken: cold TTFT = base + prefill x prompt tokens, by least squares over clean cold rows.
	BaseMS, PrefillUSPerToken *float64
	// LoadUSPerToken of semantic tokens, and LookupMS on every request: what is missing of the time that reused tokens should save.
	LoadUSPerToken, LookupMS *float64
	// HitRate of the run; ReusedShare is semantic tokens over prompt tokens of hits.
	HitRate, ReusedShare *float64
	// R2 is the share of the cold times' variance that the law explains; ColdRows what it rests on.
	R2       *float64
	ColdRows int
	Warnings []string
}

// leastSpread is how much longer the longest prompt must be than the shortest: below, base and slope cannot be told apart.
const leastSpread = 1.5

// Law fits the time law to a paired result. A result without pairs, or whose rows are in another file, is Refused.
func Law(r sembench.Result) (TimeLaw, error) {
	var out TimeLaw
	if r.Paired == nil || len(r.Requests) == 0 {
		return out, refuse("fitting the time law: the result has no pairs with rows")
	}
	out.HitRate = r.Paired.HitRate
	var n, cold []float64
	var clean []*pair
	semantic, prompts := 0, 0
	for _, p := range pairUp(append([]sembench.Row(nil), r.Requests...), nil) {
		if !p.clean() {
			continue
		}
		clean = append(clean, p)
		n, cold = append(n, float64(p.cold.PromptTokens)), append(cold, *p.cold.TTFTMS)
		if h := hit(p.warm, max(r.BlockSize, 1)); h != nil && *h && p.class == classUsed {
			semantic, prompts = semantic+*p.warm.SemanticConfirmedTokens, prompts+p.warm.PromptTokens
		}
	}
	out.ReusedShare = rate(semantic, prompts)
	out.ColdRows = len(n)
	if len(n) < leastPairs {
		out.Warnings = append(out.Warnings, "fewer than 8 clean pairs: no time law")
		return out, nil
	}
	low, high := quantile(n, 0, 1), quantile(n, 1, 1)
	if *low <= 0 || *high < leastSpread**low {
		out.Warnings = append(out.Warnings, "prompt lengths are too alike to tell the base from the time per token")
		return out, nil
	}
	base, slope, r2 := line(n, cold)
	if slope <= 0 {
		out.Warnings = append(out.Warnings, "cold TTFT does not grow with the prompt: no time law")
		return out, nil
	}
	if base < 0 {
		out.Warnings = append(out.Warnings, "the fitted base is below 0 and stands as 0: prefill is more than linear in the prompt")
		base = 0
	}
	out.BaseMS, out.PrefillUSPerToken, out.R2 = finite(base), finite(slope*1000), finite(r2)
	out.overheads(clean, slope)
	return out, nil
}

// overheads fits what is missing: slope x reused tokens - (cold - warm) = lookup + load x semantic tokens. A slope of load below
// 0 stands as 0.
func (l *TimeLaw) overheads(pairs []*pair, slope float64) {
	var semantic, missing []float64
	for _, p := range pairs {
		if p.warm.BackendConfirmedTokens == nil || p.warm.SemanticConfirmedTokens == nil {
			continue
		}
		// Both arms start with what the probe left.
		reused := float64(*p.warm.BackendConfirmedTokens - deref(p.cold.BackendConfirmedTokens))
		semantic = append(semantic, float64(*p.warm.SemanticConfirmedTokens))
		missing = append(missing, slope*reused-(*p.cold.TTFTMS-*p.warm.TTFTMS))
	}
	if len(semantic) < leastPairs {
		return
	}
	lookup, load, _ := line(semantic, missing)
	if math.IsNaN(load) { // no pair differs in semantic tokens
		lookup = *average(missing)
	}
	l.LookupMS, l.LoadUSPerToken = finite(max(0, lookup)), finite(max(0, load*1000))
}

// line fits y = a + b x by least squares and gives the share of y's variance that it explains. NaN where x does not vary.
func line(x, y []float64) (a, b, r2 float64) {
	mx, my := *average(x), *average(y)
	var sxx, sxy, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxx, sxy, syy = sxx+dx*dx, sxy+dx*dy, syy+dy*dy
	}
	if sxx == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	b = sxy / sxx
	return my - b*mx, b, sxy * sxy / (sxx * syy)
}
