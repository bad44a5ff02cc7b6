package judge

import (
	"fmt"
	"math"
	"slices"

	"sembench"
	"sembench/internal/stat"
)

// Limits of checks, each a choice.
const (
	// A first event 5 ms before the first output is nothing that a network explains on one connection.
	firstEventGapMS    = 5.0
	firstEventGapShare = 0.10
	// An engine may lose one load in twenty to eviction or preemption between announcing and writing it.
	unmaterializedShare = 0.05
	// Negative controls share nothing but boilerplate: 2 % of blocks is what the gate of bench allows, 10 % of time likewise.
	controlConfirmedRate = 0.02
	controlDeviation     = 0.10
	// An order effect counts when chance gives it once in ten thousand honest runs, and when it is worth 2 %.
	orderPValue = 0.0001
	orderSize   = 0.02
	// More than half of the pairs lost is not a measurement any more (contract, section 7).
	lostShare = 0.5
	// Error rates 0.2 apart leave one arm the easier requests.
	errorRateGap = 0.2
)

// facts is what checks look at.
type facts struct {
	in                 Inputs
	joined             Joined
	result             *sembench.Result
	pairs              []*pair
	channels           *comparison
	contradictions     []string
	contradictionCount int
}

// Check is one named check of the measurement itself, not of how good the engine is.
type Check struct {
	// Name is what --accept-check takes; Sees what it looks at; Limit what it may at most see; Doc the fault that it is for.
	Name, Sees, Limit, Doc string
	run                    func(*facts, *sembench.CheckResult)
}

// Checks is the table of all checks, in the order in which results list them.
func Checks() []Check {
	return []Check{
		{"isolation_canary", "negative canaries of the prefix cache and of TTFT", "0 that show reuse",
			"a reset or salt that the engine confirmed and did not carry out", checkIsolation},
		{"donor_store_cold", "negative canaries of external, fuzzy and semantic tiers, where the prefix cache itself was cold", "0 that show reuse",
			"a donor store that survives the reset of the prefix cache", checkDonorStore},
		{"exact_reuse_is_exact", "prefix reuse of warm and exact recipients against what their own donors share with them", "0 recipients beyond it",
			"a warm arm that reuses its own cold twin, or blocks that are not the same text", checkPrefix},
		{"exact_arm_is_stock", "steps of the exact arm that reused more than a prefix cache gives, or that the warm arm's process served", "0",
			"an exact arm on the engine under test: the semantic layer measured as prefix caching", checkStock},
		{"cached_tokens_reported", "cached_tokens of all responses beside log, audit and counters", "some response reports reuse that others saw",
			"a server that reports no cached tokens, or always 0", checkReported},
		{"usage_channel", "external and local tokens of responses against audit, log and counters", "0 requests on which it stands alone",
			"responses whose token split is wrong", channelCheck(channelUsage)},
		{"log_channel", "materialized tokens of the engine's log against audit and responses", "0 requests on which it stands alone",
			"a log that is of another run, cut, or wrong", channelCheck(channelLog)},
		{"counter_channel", "cache hit counters over the run against the sum over requests", "a block and 1 % apart",
			"counters of another process, or traffic that is not this run's", channelCheck(channelCounter)},
		{"audit_channel", "materialized tokens of the connector audit against log and responses", "0 requests on which it stands alone",
			"an audit that is of another run, cut, or wrong", channelCheck(channelAudit)},
		{"audit_joins", "finished recipients of the audited engine that the audit does not name, or names as two requests, worst arm", "0.1 of them",
			"an audit of another run, or one that was cut: what it does not name it cannot deny", checkAuditJoins},
		{"log_joins", "requests that the engine's log names", "one of this run, where it names any",
			"a log of another run", checkLogJoins},
		{"hits_materialize", "loads that were announced and not written, or written and not announced, by audit and log together, over all loads; fuzzy tokens of responses that no realization covers", "0.05",
			"hits that are logged and never loaded", checkMaterialize},
		{"first_event_is_output", "median time from the first event of a response to its first output", "the larger of 5 ms and 10 % of TTFT",
			"a role-only chunk sent early: TTFT here counts from output, other clients' may not", checkFirstEvent},
		{"engine_time_agrees", "client TTFT less the server's own TTFT, median of cold against median of warm recipients", "the larger of 5 ms and 10 % of cold TTFT, and four standard errors",
			"time that one arm spends outside the engine: held first tokens, a proxy that buffers", checkEngineTime},
		{"no_engine_errors", "in-band errors, server errors (5xx) and errors in the engine's log", "0",
			"an engine that failed during the run, also inside a response with status 200", checkErrors},
		{"donors_are_own", "the donors that log and audit name for recipients", "0 of the item's own twin or of no request of this run",
			"a warm arm that copies from its cold twin, a store that survived from an earlier run", checkDonors},
		{"decode_time_holds", "median time a token after the first, cold over warm, of pairs whose warm arm was a fifth faster", "a factor of 2 either way, of answers that decode in 25 ms and more",
			"answers that are replayed from a cache of responses: reuse of KV saves prefill and no decoding", checkDecode},
		{"answers_differ", "answers of four tokens and more that items of other prompts and other answers got too, worse arm", "half of the recipients",
			"an engine that says the same whatever it is asked: cold and warm agree, and no drop of quality shows", checkAnswers},
		{"controls_quiet", "reuse and speedup on negative controls", "no semantic hit, confirmed rate 0.02, deviation 0.10 at twice the interval's width",
			"a cache that acts on unrelated content, or cold arms that were not cold", checkControls},
		{"order_effect", "pairs whose cold arm ran first against the others (randomisation test)", "p >= 0.0001 or within 2 % of 1",
			"state that leaks from the first arm of a pair into the second", checkOrder},
		{"aa_at_one", "the same arm twice (A/A), as cold over aa and as first over second, geometric means", "an interval that at twice its width is not wholly outside 1 by 10 %",
			"a second request that is fast because it is the second: response caches, state that no reset reaches", checkAA},
		{"pairs_valid", "share of planned pairs that were lost, and how far the arms' error rates lie apart", "half, at least one pair used, and 0.2",
			"a run of which too little is left, or from which one arm's failures dropped out (survivorship)", checkValid},
	}
}

// check runs the table.
func (f *facts) check() []sembench.CheckResult {
	var out []sembench.CheckResult
	for _, c := range Checks() {
		r := sembench.CheckResult{Name: c.Name, Outcome: sembench.NotJudged}
		c.run(f, &r)
		out = append(out, r)
	}
	return out
}

// settle sets the outcome from what was observed and the limit; above it fails.
func settle(r *sembench.CheckResult, observed, limit float64, format string, args ...any) {
	r.Observed, r.Limit, r.Outcome = finite(observed), finite(limit), sembench.Pass
	if observed > limit {
		r.Outcome = sembench.Fail
	}
	r.Detail = fmt.Sprintf(format, args...)
}

// negatives counts a pass's negative controls of some tiers, and those that show reuse.
func negatives(p canaryPass, tier func(string) bool) (judged, showing int, first string) {
	for _, c := range p.checks {
		if c.Control != controlNegative || !tier(c.Tier) {
			continue
		}
		switch canaryOutcome(c) {
		case sembench.Pass:
			judged++
		case sembench.Fail:
			judged++
			if showing++; first == "" {
				first = fmt.Sprintf("%s: %s of tier %s shows %v where %v was primed", p.name, c.Field, c.Tier, show(c.Observed), show(c.Expected))
			}
		}
	}
	return judged, showing, first
}

func engineTier(tier string) bool { return tier == tierPrefix || tier == tierTTFT }

func checkIsolation(f *facts, r *sembench.CheckResult) {
	f.canaryCheck(r, engineTier, func(canaryPass) bool { return true })
}

// checkDonorStore passes over canary passes whose prefix cache was warm already: there nothing was reset, which is
// isolation_canary's to say.
func checkDonorStore(f *facts, r *sembench.CheckResult) {
	f.canaryCheck(r, func(tier string) bool { return !engineTier(tier) }, func(p canaryPass) bool {
		_, showing, _ := negatives(p, engineTier)
		return showing == 0
	})
}

func (f *facts) canaryCheck(r *sembench.CheckResult, tier func(string) bool, counts func(canaryPass) bool) {
	judged, showing, passes, first := 0, 0, 0, ""
	for _, p := range f.joined.passes {
		if !counts(p) {
			continue
		}
		j, s, text := negatives(p, tier)
		if j > 0 {
			passes++
		}
		judged, showing = judged+j, showing+s
		if first == "" {
			first = text
		}
	}
	switch {
	case judged == 0:
		r.Detail = "no canary of these tiers could be judged"
	case showing > 0:
		settle(r, float64(showing), 0, "%d of %d controls show reuse; %s", showing, judged, first)
	default:
		settle(r, 0, 0, "%d controls in %d passes sit at the primed level", judged, passes)
	}
}

func checkPrefix(f *facts, r *sembench.CheckResult) {
	judged, over, first := 0, 0, ""
	for _, row := range f.result.Requests {
		if row.PrefixUnexplainedTokens == nil {
			continue
		}
		judged++
		if *row.PrefixUnexplainedTokens > 0 {
			if over++; first == "" {
				first = fmt.Sprintf("; item %s, arm %s: %d tokens too many", row.ItemID, *row.Arm, *row.PrefixUnexplainedTokens)
			}
		}
	}
	if judged == 0 {
		r.Detail = "no response splits local from external tokens"
		return
	}
	settle(r, float64(over), 0, "%d of %d recipients reuse more prefix than their donors share with them%s", over, judged, first)
}

func checkReported(f *facts, r *sembench.CheckResult) {
	finished, reporting, reuse := 0, 0, 0
	for _, o := range f.lines() {
		if o.Status != sembench.StatusOK {
			continue
		}
		finished++
		if n := o.CachedTokens(); n != nil {
			reporting++
			if *n > 0 {
				reuse++
			}
		}
	}
	switch {
	case finished == 0:
		r.Detail = "no request finished"
	case reporting == 0 && f.provenByTime():
		r.Detail = "no response reports cached tokens; TTFT canaries stand in for them"
	case reporting == 0:
		r.Outcome, r.Observed = sembench.Fail, new(0.0)
		r.Detail = "no response reports cached tokens: start the server with its flag for it (vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report)"
	case f.channels.silentUsage:
		r.Outcome, r.Observed = sembench.Fail, new(0.0)
		r.Detail = "every response reports 0 cached tokens although log, audit or counters saw reuse"
	case reuse == 0:
		r.Detail = "every response reports 0 cached tokens, and no other source says otherwise"
	default:
		r.Outcome, r.Observed = sembench.Pass, rate(reporting, finished)
		r.Detail = fmt.Sprintf("%d of %d responses report cached tokens, %d of them above 0", reporting, finished, reuse)
	}
}

// provenByTime tells that TTFT canaries were exercised and passed.
func (f *facts) provenByTime() bool {
	for _, p := range f.joined.passes {
		judged, showing, _ := negatives(p, func(tier string) bool { return tier == tierTTFT })
		if judged > 0 && showing == 0 && p.outcome == canaryPassed {
			return true
		}
	}
	return false
}

func channelCheck(channel string) func(*facts, *sembench.CheckResult) {
	return func(f *facts, r *sembench.CheckResult) {
		c := f.channels
		accused, disputed := c.accused[channel], c.disputed[channel]
		switch {
		case channel == channelUsage && c.silentUsage:
			r.Detail = "the responses report nothing to compare: see cached_tokens_reported"
		case channel == channelCounter && c.resetCounters:
			settle(r, 1, 0, "the counters were reset inside the run: another process, or a restart that nobody saw")
		case accused > 0:
			settle(r, float64(accused), 0, "stands alone against other channels that agree (%d times)", accused)
		case disputed > 0:
			r.Outcome, r.Observed, r.Limit = sembench.Inconclusive, finite(float64(disputed)), new(0.0)
			r.Detail = fmt.Sprintf("differs from one other channel (%d times), and no third decides", disputed)
		case c.compared[channel] == 0:
			r.Detail = "no second channel to compare it with"
		default:
			settle(r, 0, 0, "agrees with the others (%d comparisons)", c.compared[channel])
		}
	}
}

func checkMaterialize(f *facts, r *sembench.CheckResult) {
	c := f.channels
	if c.claims == 0 {
		r.Detail = "no load was announced"
		return
	}
	settle(r, float64(c.unmaterialized)/float64(c.claims), unmaterializedShare,
		"%d of %d loads were announced and never written, or written and never announced", c.unmaterialized, c.claims)
}

func checkFirstEvent(f *facts, r *sembench.CheckResult) {
	var gaps, ttfts []float64
	for _, o := range f.joined.journal.lines {
		gap, ttft := milliseconds(o.Stamps.FirstEvent, o.Stamps.FirstOutput), o.TTFT()
		if o.Role == sembench.RoleRecipient && o.Status == sembench.StatusOK && gap != nil && ttft != nil {
			gaps, ttfts = append(gaps, *gap), append(ttfts, *ttft)
		}
	}
	if len(gaps) == 0 {
		r.Detail = "no recipient has both stamps"
		return
	}
	gap, ttft := stat.Quantile(sorted(gaps), 0.5), stat.Quantile(sorted(ttfts), 0.5)
	settle(r, gap, max(firstEventGapMS, firstEventGapShare*ttft),
		"the first event comes %.1f ms before the first output (median of %d); clients that count from it read TTFT too low", gap, len(gaps))
}

// checkEngineTime compares what client and server time differently. A constant difference is the network; one that differs
// between the arms is in every speedup.
func checkEngineTime(f *facts, r *sembench.CheckResult) {
	between := map[string][]float64{}
	var cold []float64
	for _, p := range f.pairs {
		if !p.clean() {
			continue
		}
		for _, row := range []*sembench.Row{p.cold, p.warm} {
			if row.EngineTTFTMS != nil {
				between[*row.Arm] = append(between[*row.Arm], *row.TTFTMS-*row.EngineTTFTMS)
			}
		}
		cold = append(cold, *p.cold.TTFTMS)
	}
	a, b := between[sembench.ArmCold], between[sembench.ArmWarm]
	if min(len(a), len(b)) < leastPairs {
		r.Detail = "fewer than 8 recipients of an arm carry the server's own TTFT"
		return
	}
	x, y := stat.Quantile(sorted(a), 0.5), stat.Quantile(sorted(b), 0.5)
	// A busy client is late by many milliseconds, at random: four standard errors of the difference are no lie.
	noise := 4 * math.Hypot(medianError(a, x), medianError(b, y))
	settle(r, math.Abs(x-y), noise+max(firstEventGapMS, firstEventGapShare*stat.Quantile(sorted(cold), 0.5)),
		"client TTFT exceeds the server's by %.1f ms cold and %.1f ms warm (medians of %d and %d)", x, y, len(a), len(b))
}

// medianError is the standard error of a median, from the median absolute deviation: 1.4826 of it is a normal standard deviation, and a
// median's error is 1.2533 times a mean's.
func medianError(x []float64, median float64) float64 {
	away := make([]float64, len(x))
	for i, v := range x {
		away[i] = math.Abs(v - median)
	}
	return 1.4826 * 1.2533 * stat.Quantile(sorted(away), 0.5) / math.Sqrt(float64(len(x)))
}

func checkErrors(f *facts, r *sembench.CheckResult) {
	inband, server := 0, 0
	for _, o := range f.joined.journal.lines {
		switch {
		case o.Error == nil:
		case o.Error.Class == sembench.ErrorInband:
			inband++
		case o.Error.Status != nil && *o.Error.Status >= 500:
			server++
		}
	}
	logged := 0
	if f.in.Evidence != nil {
		logged = f.in.Evidence.ErrorCount
	}
	settle(r, float64(inband+server+logged), 0, "%d in-band errors, %d server errors, %d errors in the engine's log", inband, server, logged)
}

func checkControls(f *facts, r *sembench.CheckResult) {
	var controls []*pair
	hits := 0
	for _, p := range f.pairs {
		if p.class == classControl {
			controls = append(controls, p)
			if h := hit(p.warm, f.in.blockSize()); h != nil && *h {
				hits++
			}
		}
	}
	if len(controls) == 0 {
		r.Detail = "no negative control was measured"
		return
	}
	confirmed := f.result.Aggregate.NegativeControlBackendConfirmedRate
	speedup := f.result.Paired.NegativeControlTTFTSpeedupGeomeanCI
	deviates := outside(speedup)
	switch {
	case hits > 0:
		settle(r, float64(hits), 0, "%d of %d negative controls hit", hits, len(controls))
	case confirmed != nil && *confirmed > controlConfirmedRate:
		settle(r, *confirmed, controlConfirmedRate, "confirmed block rate of %d negative controls", len(controls))
	case deviates:
		r.Outcome, r.Observed, r.Limit = sembench.Fail, speedup.Point, new(1+controlDeviation)
		r.Detail = fmt.Sprintf("the geometric mean speedup of %d negative controls lies outside 1 by more than 10 %%", len(controls))
	default:
		r.Outcome, r.Observed, r.Limit = sembench.Pass, point(speedup), new(1+controlDeviation)
		r.Detail = fmt.Sprintf("%d negative controls, no hit", len(controls))
	}
}

func checkOrder(f *facts, r *sembench.CheckResult) {
	p := f.result.Paired
	if p == nil || p.OrderEffect == nil || p.OrderEffectPValue == nil {
		r.Detail = "no transform has pairs in both orders"
		return
	}
	effect, pValue := *p.OrderEffect, *p.OrderEffectPValue
	r.Observed, r.Limit, r.Outcome = &effect, new(1+orderSize), sembench.Pass
	if pValue < orderPValue && (effect > 1+orderSize || effect < 1/(1+orderSize)) {
		r.Outcome = sembench.Fail
	}
	r.Detail = fmt.Sprintf("cold first over warm first %.3f, p = %.5f, %d pairs", effect, pValue, p.OrderEffectPairs)
}

func checkAA(f *facts, r *sembench.CheckResult) {
	if f.result.Paired == nil || f.result.Paired.AATTFTSpeedupGeomean == nil {
		r.Detail = "no arm was measured twice"
		return
	}
	p := f.result.Paired
	r.Observed, r.Limit, r.Outcome = p.AATTFTSpeedupGeomean, new(1+controlDeviation), sembench.Pass
	r.Detail = fmt.Sprintf("A/A geometric mean %s; first over second %s", number3(p.AATTFTSpeedupGeomean), number3(p.AAFirstOverSecond))
	switch {
	case outside(p.AATTFTSpeedupGeomeanCI):
		r.Outcome = sembench.Fail
	case outside(p.AAFirstOverSecondCI):
		r.Outcome, r.Observed = sembench.Fail, p.AAFirstOverSecond
	}
}

// outside tells that an interval lies wholly beyond 1 by more than the deviation that controls may show, at twice its width on the log
// scale: what 95 % promise to miss once in twenty runs, four standard errors miss once in ten thousand.
func outside(c *sembench.CI) bool {
	if c == nil || c.Point == nil || c.Lo == nil || c.Hi == nil || *c.Lo <= 0 || *c.Point <= 0 {
		return false
	}
	lo, hi := *c.Lo**c.Lo / *c.Point, *c.Hi**c.Hi / *c.Point
	return lo > 1+controlDeviation || hi < 1/(1+controlDeviation)
}

func checkValid(f *facts, r *sembench.CheckResult) {
	p := f.result.Paired
	if p == nil || p.PairsTotal == 0 {
		r.Detail = "no pairs were planned"
		return
	}
	kept := p.PairsUsed + p.NegativeControlPairs + p.WrongReusePairs
	settle(r, float64(p.PairsTotal-kept)/float64(p.PairsTotal), lostShare, "%d of %d pairs used, %d controls", p.PairsUsed, p.PairsTotal,
		p.NegativeControlPairs+p.WrongReusePairs)
	cold, warm := p.ArmErrorRateCold, p.ArmErrorRateWarm
	switch {
	case invalid(p) != "":
		r.Outcome, r.Detail = sembench.Fail, invalid(p)
	case cold != nil && warm != nil && math.Abs(*cold-*warm) > errorRateGap:
		settle(r, math.Abs(*cold-*warm), errorRateGap, "error rates of the arms: cold %.2f, warm %.2f", *cold, *warm)
	}
}

// warnings are what a reader of the result must know and no check decides.
func (f *facts) warnings() (out []string) {
	if more := f.contradictionCount - len(f.contradictions); more > 0 {
		out = append(out, fmt.Sprintf("%d contradictions between sources are not listed", more))
	}
	if p := f.result.Paired; p != nil {
		if p.ExactBaselinePairs == nil {
			out = append(out, "gain not separated from prefix caching: no exact arm was measured")
		}
		if p.HitRateCoverage != nil && *p.HitRateCoverage < 1 {
			out = append(out, fmt.Sprintf("hit_rate covers %.0f %% of the pairs used", 100**p.HitRateCoverage))
		}
	}
	if a := f.joined.Audit; a != nil && *a.RowsMatchedExact+*a.RowsMatchedNormal < *a.RowsTotal {
		out = append(out, fmt.Sprintf("connector audit: %d of %d rows matched, %d ambiguous", *a.RowsMatchedExact+*a.RowsMatchedNormal, *a.RowsTotal, *a.RowsAmbiguous))
	}
	if n := f.in.EngineBlockSize; n != nil && *n != f.in.blockSize() {
		out = append(out, fmt.Sprintf("the engine caches in blocks of %d tokens, counts here are in blocks of %d", *n, f.in.blockSize()))
	}
	if f.in.Repeats > 1 {
		out = append(out, "repetitions of an item count as pairs of their own: intervals are too narrow where items differ more than repetitions")
	}
	unproven, exact := 0, 0
	for _, p := range f.pairs {
		if row := p.exactRow(); row != nil {
			if exact++; !verified(row.Isolation) {
				unproven++
			}
		}
	}
	if slices.ContainsFunc(f.pairs, (*pair).impure) {
		out = append(out, "exact arm: its engine is no stock engine, the arm is no baseline and left out: see exact_arm_is_stock")
	}
	if unproven > 0 {
		out = append(out, fmt.Sprintf("exact arm: %d of %d steps have no canary that proves them cold", unproven, exact))
	}
	if a := f.result.Aggregate.LocalCountAgreement; a != nil && *a < 1 {
		out = append(out, fmt.Sprintf("engine and local block counts agree on %.0f %% of rows; lifts cover those only", 100**a))
	}
	if slices.ContainsFunc(f.joined.journal.lines, func(o sembench.Observation) bool { return o.BootID == nil && o.Status == sembench.StatusOK }) {
		out = append(out, "the engine gives no sign of its process: a restart inside the run would not be seen")
	}
	return out
}
