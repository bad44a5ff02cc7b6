package judge

import (
	"fmt"
	"slices"

	"sembench"
	"sembench/internal/quality"
	"sembench/internal/stat"
)

// pairing is what a paired block is computed from.
type pairing struct {
	pairs     []*pair
	est       estimator
	blockSize int
	floor     *floor             // the noise floor that quality is judged against; null without a calibration
	aa        *sembench.TTFTAA   // the calibration's A/A, where the run has no aa arm
	transform func(*pair) string // the group of a pair
}

// summarize gives the paired block of the contract, section 7.
func (g pairing) summarize() *sembench.Paired {
	out := &sembench.Paired{
		HitDefinition: fmt.Sprintf("semantic_confirmed_tokens >= %d (a block of %d, and 64)", hitTokens(g.blockSize), g.blockSize),
		PairsExcluded: map[string]int{}, ContaminationReasons: map[string]int{},
		ReuseMechanisms: map[string]int{}, SemanticMechanisms: map[string]int{},
	}
	g.count(out)
	used := g.of(classUsed)
	g.headline(out, used)
	g.hits(out, used)
	g.controls(out)
	g.arms(out, used)
	g.costs(out, used)
	g.agreement(out, used)
	g.engine(out, used)
	g.mechanisms(out)
	out.OrderEffect, out.OrderEffectPValue, out.OrderEffectPairs = orderEffect(g.pairs, g.transform, g.est.o.Seed)
	return out
}

func (g pairing) of(want class) (out []*pair) {
	for _, p := range g.pairs {
		if p.class == want {
			out = append(out, p)
		}
	}
	return out
}

// count fills what became of every planned pair, and whether the run is valid.
func (g pairing) count(out *sembench.Paired) {
	out.PairsTotal = len(g.pairs)
	sent, errors := map[string]int{}, map[string]int{}
	judged := 0
	for _, p := range g.pairs {
		for name, row := range map[string]*sembench.Row{"cold": p.cold, "warm": p.warm} {
			if row != nil && !is(row.Status, sembench.StatusNotSent) && !is(row.Status, sembench.StatusExcluded) {
				sent[name]++
				if failed(row) {
					errors[name]++
				}
			}
		}
		if p.class != classUnpaired && p.class != classErrored {
			judged++
			if p.isolationUnknown {
				out.PairsIsolationUnknown++
			}
			if p.coldCached {
				out.PairsContaminatedCached++
			}
			if p.coldAny {
				out.PairsContaminatedStrict++
			}
		}
		switch p.class {
		case classUnpaired:
			out.PairsUnpaired++
		case classErrored:
			out.PairsErrored++
		case classContaminated:
			out.PairsContaminated++
			for _, reason := range p.reasons {
				out.ContaminationReasons[reason]++
			}
		case classExcluded:
			out.PairsExcluded[p.reasons[0]]++
		case classControl:
			out.NegativeControlPairs++
		case classWrongReuse:
			out.WrongReusePairs++
		case classUsed:
			out.PairsUsed++
		}
	}
	out.ArmErrorRateCold, out.ArmErrorRateWarm = rate(errors["cold"], sent["cold"]), rate(errors["warm"], sent["warm"])
	out.ContaminationJudged = judged > 0 && out.PairsIsolationUnknown == 0
	if reason := invalid(out); reason != "" {
		out.InvalidReason = &reason
	}
	out.Valid = out.InvalidReason == nil
}

// invalid tells by which rule a paired block is no measurement; "" when it is one. It goes by the counts, since documents of
// other producers have no such verdict.
func invalid(p *sembench.Paired) string {
	lost := p.PairsUnpaired + p.PairsErrored + p.PairsContaminated
	for _, n := range p.PairsExcluded {
		lost += n
	}
	switch {
	case p.InvalidReason != nil:
		return *p.InvalidReason
	case p.PairsUsed == 0:
		return "no pair could be used"
	case 2*lost > p.PairsTotal:
		return fmt.Sprintf("%d of %d pairs were lost (unpaired, errored, contaminated or excluded), more than half", lost, p.PairsTotal)
	}
	return ""
}

func ratios(pairs []*pair) []float64 {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = p.ratio()
	}
	return out
}

// headline fills the blended speedups: every used pair, hit or miss.
func (g pairing) headline(out *sembench.Paired, used []*pair) {
	x, k := ratios(used), kinds{hits: make([]bool, len(used))}
	for i, p := range used {
		h := hit(p.warm, g.blockSize)
		if h == nil {
			k.hits = nil
			break
		}
		k.hits[i] = *h
	}
	mean, median, geomean := g.est.three(x, k)
	out.BlendedTTFTSpeedupMean, out.BlendedTTFTSpeedupMeanCI, out.BlendedTTFTSpeedupCI = point(mean), mean, mean
	out.BlendedTTFTSpeedupMedian, out.BlendedTTFTSpeedupMedianCI = point(median), median
	out.BlendedTTFTSpeedupGeomean, out.BlendedTTFTSpeedupGeomeanCI = point(geomean), geomean
	shift := g.est.hodgesLehmann(x, k)
	out.BlendedTTFTSpeedupHodgesLehmann, out.BlendedTTFTSpeedupHodgesLehmannCI = point(shift), shift
	out.BlendedTTFTSpeedupMeanWithWrongReuse = average(append(slices.Clone(x), ratios(g.of(classWrongReuse))...))
	out.MinDetectableSpeedup = finite(stat.MinDetectable(len(x), stat.StdDev(logs(x)), g.est.o.Level, 0.8))

	byTransform := map[string][]float64{}
	for i, p := range used {
		name := g.transform(p)
		byTransform[name] = append(byTransform[name], x[i])
	}
	var means []float64
	for _, name := range sortedKeys(byTransform) {
		means = append(means, *average(byTransform[name]))
	}
	out.EqualTransformSpeedupMean = average(means)

	cold, warm := make([]float64, len(used)), make([]float64, len(used))
	for i, p := range used {
		cold[i], warm[i] = *p.cold.TTFTMS, *p.warm.TTFTMS
	}
	// A 95th percentile of fewer than 20 values is their maximum.
	out.TTFTColdP50MS, out.TTFTColdP95MS = quantile(cold, 0.5, 1), quantile(cold, 0.95, 20)
	out.TTFTWarmP50MS, out.TTFTWarmP95MS = quantile(warm, 0.5, 1), quantile(warm, 0.95, 20)
}

// hits fills how many used pairs hit, and what those gave.
func (g pairing) hits(out *sembench.Paired, used []*pair) {
	var hitting []float64
	hits, signal, tenth, half := 0, 0, 0, 0
	for _, p := range used {
		if p.warm.ExternalConfirmedTokens != nil {
			out.PairsExternalConfirmed++
		} else {
			out.PairsExternalUnconfirmed++
		}
		h := hit(p.warm, g.blockSize)
		if h == nil {
			cached := p.warm.BackendConfirmedTokens
			if cached != nil && *cached-deref(p.warm.StepPrimedTokens) >= hitTokens(g.blockSize) {
				out.HitsUnverifiedExternal++
			}
			continue
		}
		signal++
		if *h {
			hits++
			hitting = append(hitting, p.ratio())
		}
		tokens := float64(*p.warm.SemanticConfirmedTokens)
		if prompt := float64(p.warm.PromptTokens); prompt > 0 {
			if tokens >= 0.1*prompt {
				tenth++
			}
			if tokens >= 0.5*prompt {
				half++
			}
		}
	}
	out.HitRate, out.HitRate10Pct, out.HitRate50Pct = rate(hits, signal), rate(tenth, signal), rate(half, signal)
	out.HitRateCoverage = rate(signal, len(used))
	if signal == 0 {
		return
	}
	out.Hits = &hits
	mean, median, _ := g.est.three(hitting, kinds{hits: slices.Repeat([]bool{true}, len(hitting))})
	out.HitOnlyTTFTSpeedupMean, out.HitOnlyTTFTSpeedupMeanCI, out.HitOnlyTTFTSpeedupCI = point(mean), mean, mean
	out.HitOnlyTTFTSpeedupMedian, out.HitOnlyTTFTSpeedupMedianCI = point(median), median
}

// controls fills the negative controls' speedup, truth 1.
func (g pairing) controls(out *sembench.Paired) {
	x := ratios(g.of(classControl))
	mean, median, geomean := g.est.three(x, kinds{uniform: true})
	out.NegativeControlTTFTSpeedupMean, out.NegativeControlTTFTSpeedupMeanCI = point(mean), mean
	out.NegativeControlTTFTSpeedupMedian, out.NegativeControlTTFTSpeedupMedianCI = point(median), median
	out.NegativeControlTTFTSpeedupGeomean, out.NegativeControlTTFTSpeedupGeomeanCI = point(geomean), geomean
}

// arms fills what additional arms tell: prefix caching alone, what semantic reuse adds to it, sham traffic, and A/A.
func (g pairing) arms(out *sembench.Paired, used []*pair) {
	var baseline, incremental, sham, aa, aaOrdered []float64
	for _, p := range used {
		if row := p.exactRow(); row != nil {
			baseline = append(baseline, *p.cold.TTFTMS / *row.TTFTMS)
			incremental = append(incremental, *row.TTFTMS / *p.warm.TTFTMS)
		}
		if row := other(p.sham); row != nil {
			sham = append(sham, *p.cold.TTFTMS / *row.TTFTMS)
		}
	}
	for _, p := range g.pairs {
		if row := other(p.aa); row != nil && p.clean() {
			aa = append(aa, *p.cold.TTFTMS / *row.TTFTMS)
			aaOrdered = addTo(aaOrdered, firstOverSecond(p.cold.Order, row.Order, *p.cold.TTFTMS / *row.TTFTMS))
		}
	}
	if len(baseline) > 0 {
		out.ExactBaselinePairs = new(len(baseline))
	}
	mean, median, geomean := g.est.three(baseline, kinds{})
	out.ExactBaselineTTFTSpeedupMean, out.ExactBaselineTTFTSpeedupMeanCI = point(mean), mean
	out.ExactBaselineTTFTSpeedupMedian, out.ExactBaselineTTFTSpeedupMedianCI = point(median), median
	out.ExactBaselineTTFTSpeedupGeomean, out.ExactBaselineTTFTSpeedupGeomeanCI = point(geomean), geomean
	mean, median, geomean = g.est.three(incremental, kinds{})
	out.SemanticIncrementalTTFTSpeedupMean, out.SemanticIncrementalTTFTSpeedupMeanCI = point(mean), mean
	out.SemanticIncrementalTTFTSpeedupMedian, out.SemanticIncrementalMedianCI = point(median), median
	out.SemanticIncrementalTTFTSpeedupGeomean, out.SemanticIncrementalGeomeanCI = point(geomean), geomean
	_, _, geomean = g.est.three(sham, kinds{uniform: true})
	out.ShamTTFTSpeedupGeomean, out.ShamTTFTSpeedupGeomeanCI = point(geomean), geomean
	if len(aa) == 0 && g.aa != nil {
		out.AATTFTSpeedupMean, out.AATTFTSpeedupGeomean, out.AATTFTSpeedupGeomeanCI = g.aa.Mean, g.aa.Geomean, g.aa.CI
		out.AAFirstOverSecond, out.AAFirstOverSecondCI = g.aa.FirstOverSecond, g.aa.FirstOverSecondCI
		return
	}
	_, _, first := g.est.three(aaOrdered, kinds{uniform: true})
	out.AAFirstOverSecond, out.AAFirstOverSecondCI = point(first), first
	mean, _, geomean = g.est.three(aa, kinds{uniform: true})
	out.AATTFTSpeedupMean, out.AATTFTSpeedupGeomean, out.AATTFTSpeedupGeomeanCI = point(mean), point(geomean), geomean
}

// costs fills what the layer costs: on misses, and for sending donors.
func (g pairing) costs(out *sembench.Paired, used []*pair) {
	var tax, donors, saved []float64
	for _, p := range used {
		saved = append(saved, *p.cold.TTFTMS-*p.warm.TTFTMS)
		if p.warm.DonorLatencyMS != nil {
			donors = append(donors, *p.warm.DonorLatencyMS)
		}
		if row, h := p.exactRow(), hit(p.warm, g.blockSize); row != nil && h != nil && !*h {
			tax = append(tax, *p.warm.TTFTMS-*row.TTFTMS)
		}
	}
	if out.MissTaxMS = average(tax); out.MissTaxMS != nil {
		out.MissTaxPairs = new(len(tax))
	}
	out.DonorCostMS = average(donors)
	if s := average(saved); out.DonorCostMS != nil && s != nil && *s > 0 {
		out.BreakEvenReuses = finite(*out.DonorCostMS / *s)
	}
}

// agreement fills how near warm answers are to cold ones, and how far below the noise floor those of hits fall.
func (g pairing) agreement(out *sembench.Paired, used []*pair) {
	var all, hits []float64
	var bands []string
	for _, p := range used {
		r := p.rouge()
		if r == nil {
			continue
		}
		all = append(all, *r)
		if h := hit(p.warm, g.blockSize); h != nil && *h {
			hits, bands = append(hits, *r), append(bands, band(p.warm))
		}
	}
	out.WarmVsColdRougeLN, out.WarmVsColdRougeLHitN = len(all), len(hits)
	mean, _, _ := g.est.three(all, kinds{})
	out.WarmVsColdRougeLMean, out.WarmVsColdRougeLMeanCI = point(mean), mean
	out.WarmVsColdRougeLP05 = quantile(all, 0.05, 1)
	mean, _, _ = g.est.three(hits, kinds{})
	out.WarmVsColdRougeLHitMean, out.WarmVsColdRougeLHitCI = point(mean), mean
	g.distributions(out, used)
	if g.floor != nil {
		out.NoiseFloor = &g.floor.name
		drop := g.floor.drop(hits, bands, g.est.o)
		out.RougeLDropVsFloor, out.RougeLDropVsFloorCI = point(drop), drop
	}
}

// rouge is ROUGE-L between the warm and the cold output; null when a text was not kept, unless both hashes agree.
func (p *pair) rouge() *float64 {
	a, b := p.warm, p.cold
	switch {
	case a.OutputText != nil && b.OutputText != nil:
		return new(quality.ROUGEL(*a.OutputText, *b.OutputText))
	case a.OutputSHA256 != nil && equal(a.OutputSHA256, b.OutputSHA256):
		return new(1.0)
	}
	return nil
}

// band is a row's length band; rows without one share "all".
func band(row *sembench.Row) string {
	if row.LengthBand == nil || *row.LengthBand == "" {
		return bandAll
	}
	return *row.LengthBand
}

// engine fills the server's own times, kept out of the headline.
func (g pairing) engine(out *sembench.Paired, used []*pair) {
	var x, cold, warm []float64
	for _, p := range used {
		if positive(p.cold.EngineTTFTMS) && positive(p.warm.EngineTTFTMS) {
			x = append(x, *p.cold.EngineTTFTMS / *p.warm.EngineTTFTMS)
		}
		if p.cold.QueueTimeMS != nil && p.warm.QueueTimeMS != nil {
			cold, warm = append(cold, *p.cold.QueueTimeMS), append(warm, *p.warm.QueueTimeMS)
		}
	}
	out.EngineTTFTPairs = len(x)
	_, median, _ := g.est.three(x, kinds{})
	out.EngineTTFTSpeedupMedian, out.EngineTTFTSpeedupCI = point(median), median
	out.QueueTimeColdP50MS, out.QueueTimeWarmP50MS = quantile(cold, 0.5, 1), quantile(warm, 0.5, 1)
}

// mechanisms counts how clean warm rows were reused.
func (g pairing) mechanisms(out *sembench.Paired) {
	for _, p := range g.pairs {
		if !p.clean() || p.warm.Mechanism == nil {
			continue
		}
		name := *p.warm.Mechanism
		out.ReuseMechanisms[name]++
		if h := hit(p.warm, g.blockSize); h != nil && *h {
			out.SemanticMechanisms[name]++
		}
	}
}

func sorted(x []float64) []float64 {
	out := slices.Clone(x)
	slices.Sort(out)
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
