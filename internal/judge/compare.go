package judge

import (
	"fmt"
	"math"
	"slices"

	"sembench"
	"sembench/internal/stat"
)

// compareAlpha is the family-wise error rate of a comparison.
const compareAlpha = 0.05

// leastCommon is how few common pairs leave nothing to compare: below 6 no two-sided rank test reaches 5 %.
const leastCommon = 6

// Compare says how result b differs from result a: better, worse, mixed, no detectable difference, or not comparable with
// the reasons. Pairs that are clean in both are compared with themselves, so that what the items have in common cancels; p-values
// are corrected over all metrics (Holm), and a metric differs when its corrected p-value is at most 5 %.
//
// Results are not comparable when they differ in manifest, block size, model, simulated, or in a protocol setting that decides
// what was measured; when a run was not valid; or when they share fewer than 6 clean pairs. Engine version, flags and host may
// differ: that is what comparisons are for.
func Compare(a, b sembench.Result, o Options) sembench.Comparison {
	out := sembench.Comparison{Schema: sembench.ComparisonSchema, A: compared(a), B: compared(b), Alpha: compareAlpha}
	out.Differences = differences(a, b)
	for _, d := range out.Differences {
		if d.Blocks {
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s differs: %v and %v", d.Path, d.A, d.B))
		}
	}
	for i, r := range []sembench.Result{a, b} {
		name := []string{"A", "B"}[i]
		switch {
		case r.Paired == nil:
			out.Reasons = append(out.Reasons, name+" has no pairs")
		case invalid(r.Paired) != "":
			out.Reasons = append(out.Reasons, name+" is not a valid measurement: "+invalid(r.Paired))
		case r.RowsFile != nil && len(r.Requests) == 0:
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s keeps its rows in %s: read them into the result first", name, *r.RowsFile))
		}
	}
	twins := common(&out, a, b)
	if len(out.Reasons) == 0 && len(twins) < leastCommon {
		out.Reasons = append(out.Reasons, fmt.Sprintf("%d pairs are clean in both, fewer than %d", len(twins), leastCommon))
	}
	if len(out.Reasons) > 0 {
		out.Outcome = sembench.NotComparable
		return out
	}
	out.Metrics = compareMetrics(twins, newEstimator(o), max(a.BlockSize, 1))
	out.Outcome = overall(out.Metrics)
	if out.PairsOnlyA+out.PairsOnlyB > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d pairs are clean in one result only and are not compared", out.PairsOnlyA+out.PairsOnlyB))
	}
	return out
}

func compared(r sembench.Result) sembench.ComparedRun {
	out := sembench.ComparedRun{RunID: r.Run.RunID, ManifestSHA256: r.Run.ManifestSHA256, CreatedAtUTC: r.CreatedAtUTC,
		Simulated: r.Run.Simulated, EngineVersion: r.Run.EngineVersion}
	if e := r.Engine; e != nil {
		out.Model, out.Engine = e.Model, e.Kind
		if e.Version != nil {
			out.EngineVersion = e.Version
		}
	}
	return out
}

// twin is one pair in both results.
type twin struct{ a, b *pair }

// common joins the clean pairs of two results, in the order of a, and counts the others.
func common(out *sembench.Comparison, a, b sembench.Result) (twins []twin) {
	clean := func(r sembench.Result) (list []*pair) {
		for _, p := range pairUp(slices.Clone(r.Requests), nil) {
			if p.clean() {
				list = append(list, p)
			}
		}
		return list
	}
	inB := map[string]*pair{}
	for _, p := range clean(b) {
		inB[p.id] = p
	}
	for _, p := range clean(a) {
		if q := inB[p.id]; q != nil && q.class == p.class {
			twins = append(twins, twin{p, q})
			delete(inB, p.id)
		} else {
			out.PairsOnlyA++
		}
	}
	out.PairsCommon, out.PairsOnlyB = len(twins), len(inB)
	return twins
}

// contrast is one metric of a comparison: a value of each pair, and whether it is compared as a ratio.
type contrast struct {
	key, unit, better string
	ratio             bool
	controls          bool // over all clean pairs; otherwise over used ones
	value             func(*pair) *float64
}

func contrasts(blockSize int) []contrast {
	return []contrast{
		{"ttft_speedup", "ratio", "higher", true, false, func(p *pair) *float64 { return finite(p.ratio()) }},
		{"ttft_warm_ms", "ms", "lower", true, false, func(p *pair) *float64 { return p.warm.TTFTMS }},
		{"ttft_cold_ms", "ms", "lower", true, true, func(p *pair) *float64 { return p.cold.TTFTMS }},
		{"latency_warm_ms", "ms", "lower", true, false, func(p *pair) *float64 { return p.warm.LatencyMS }},
		{"semantic_reuse_rate", "rate", "higher", false, false, func(p *pair) *float64 {
			if p.warm.SemanticConfirmedTokens == nil {
				return nil
			}
			return rate(*p.warm.SemanticConfirmedTokens, p.warm.PromptTokens)
		}},
		{"hit", "rate", "higher", false, false, func(p *pair) *float64 {
			if h := hit(p.warm, blockSize); h != nil {
				return new(map[bool]float64{true: 1}[*h])
			}
			return nil
		}},
		{"warm_vs_cold_output_rouge_l", "score", "higher", false, false, (*pair).rouge},
		{"quality_score", "score", "higher", false, true, func(p *pair) *float64 { return p.warm.QualityScore }},
	}
}

// compareMetrics compares every metric over the pairs that have it in both results.
func compareMetrics(twins []twin, est estimator, blockSize int) []sembench.MetricComparison {
	var out []sembench.MetricComparison
	var ps []float64
	for _, c := range contrasts(blockSize) {
		m := c.compare(twins, est)
		out = append(out, m)
		p := math.NaN()
		if m.PValue != nil {
			p = *m.PValue
		}
		ps = append(ps, p)
	}
	for i, p := range stat.Holm(ps) {
		m := &out[i]
		m.PAdjusted = finite(p)
		m.Outcome = sembench.NoDifference
		switch neutral := map[string]float64{"ratio": 1}[m.Kind]; {
		case m.N == 0:
			m.Outcome = sembench.NotComparable
		case m.PAdjusted == nil || *m.PAdjusted > compareAlpha || m.Change == nil || m.Change.Point == nil || *m.Change.Point == neutral:
		case (*m.Change.Point > neutral) == (m.Better == "higher"):
			m.Outcome = sembench.Better
		default:
			m.Outcome = sembench.Worse
		}
	}
	return out
}

// compare makes one metric's estimate and test: the geometric mean of b/a with the signed-rank test on logs, or the mean of
// b - a with the sign-flip test.
func (c contrast) compare(twins []twin, est estimator) sembench.MetricComparison {
	m := sembench.MetricComparison{Key: c.key, Unit: c.unit, Better: c.better, Kind: "difference", Test: "sign flip"}
	var before, after, change []float64
	for _, t := range twins {
		a, b := c.value(t.a), c.value(t.b)
		if !c.controls && t.a.class != classUsed || a == nil || b == nil || c.ratio && (*a <= 0 || *b <= 0) {
			continue
		}
		before, after = append(before, *a), append(after, *b)
		if c.ratio {
			change = append(change, *b / *a)
		} else {
			change = append(change, *b-*a)
		}
	}
	m.N = len(change)
	if m.N == 0 {
		return m
	}
	var p float64
	if c.ratio {
		m.Kind, m.Test = "ratio", "Wilcoxon signed rank of logs"
		m.A, m.B = point(ci(stat.GeoMean(before, est.o), "pair")), point(ci(stat.GeoMean(after, est.o), "pair"))
		m.Change = ci(stat.GeoMean(change, est.o), "pair")
		_, p = stat.WilcoxonSignedRank(logs(change))
	} else {
		m.A, m.B = average(before), average(after)
		m.Change = ci(stat.Mean(change, est.o), "pair")
		_, p = stat.SignFlip(change, est.o)
	}
	m.PValue = finite(p)
	return m
}

func overall(metrics []sembench.MetricComparison) string {
	has := func(outcome string) bool {
		return slices.ContainsFunc(metrics, func(m sembench.MetricComparison) bool { return m.Outcome == outcome })
	}
	switch better, worse := has(sembench.Better), has(sembench.Worse); {
	case better && worse:
		return sembench.Mixed
	case better:
		return sembench.Better
	case worse:
		return sembench.Worse
	}
	return sembench.NoDifference
}
