package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"sembench"
)

// claim is a number as a harness without the check would report it, computed from the same trial, and what it should have been. The
// truth comes from the engine's own account of the run, or from an honest engine under the same seed.
type claim struct {
	what  string
	naive func(t *trial) float64
	truth func(t, honest *trial) float64
	// measure replaces both where the naive harness would have sent other requests.
	measure func(ctx context.Context, s setting, dir string) (float64, error)
}

// corruptedBy is how far off a naive number has to be to count as corrupted.
const corruptedBy = 0.10

func corrupted(naive, truth float64) bool {
	return math.Abs(naive-truth) >= corruptedBy*math.Abs(truth) && naive != truth
}

// same takes the truth from the same number of an honest engine.
func same(what string, naive func(t *trial) float64) claim {
	return claim{what: what, naive: naive, truth: func(_, honest *trial) float64 { return naive(honest) }}
}

// claims by fault. A fault that is missing here fails the lab's own test.
func claimOf(fault string) (claim, bool) {
	speedup := same("speedup, mean cold TTFT over mean warm TTFT", func(t *trial) float64 {
		return meanMS(t.recipients(sembench.ArmCold), untilOutput) / meanMS(t.recipients(sembench.ArmWarm), untilOutput)
	})
	byEvent := same("speedup, first event taken for the first token", func(t *trial) float64 {
		return meanMS(t.recipients(sembench.ArmCold), untilEvent) / meanMS(t.recipients(sembench.ArmWarm), untilEvent)
	})
	byByte := same("mean cold TTFT in ms, first byte taken for the first token", func(t *trial) float64 {
		return meanMS(t.recipients(sembench.ArmCold), untilByte)
	})
	latency := same("latency speedup, mean cold over mean warm", func(t *trial) float64 {
		return meanMS(t.recipients(sembench.ArmCold), untilLast) / meanMS(t.recipients(sembench.ArmWarm), untilLast)
	})
	gap := same("median time between chunks in ms, taken for the time a token takes", medianGap)
	rate := same("output tokens per second, chunks counted as tokens", chunkRate)
	usage := claim{what: "share of warm prompt tokens that cached_tokens reports as reused", naive: reportedShare, truth: func(t, _ *trial) float64 { return reallyReused(t, sembench.ArmWarm) }}
	collided := same("prefix tokens of warm recipients, whatever text they are", localTokens)
	external := claim{what: "external tokens of warm recipients by usage", naive: externalTokens, truth: externalTruth}
	coldReuse := claim{what: "share of cold prompt tokens that were reused, taken to be none", naive: func(*trial) float64 { return 0 },
		truth: func(t, _ *trial) float64 { return reallyReused(t, sembench.ArmCold) }}
	hits := claim{what: "hits, lines of the log that say so", naive: hitLines, truth: func(t, _ *trial) float64 { return reallyHit(t) }}
	fired := same("hits, lines of the log that say so", hitLines)
	logged := claim{what: "materialized tokens, summed over the log", naive: loggedTokens, truth: semanticTruth}
	audited := claim{what: "materialized tokens, summed over the audit", naive: auditedTokens(false), truth: semanticTruth}
	realized := claim{what: "realized fuzzy tokens, summed over the log", naive: realizedTokens, truth: semanticTruth}
	folded := claim{what: "materialized tokens of loads announced before, in file order", naive: auditedTokens(true), truth: semanticTruth}
	counted := claim{what: "external hit tokens, last counter less first", naive: countedTokens, truth: semanticTruth}
	failures := claim{what: "error rate of recipients by HTTP status", naive: statusErrors, truth: func(t, _ *trial) float64 { return reallyFailed(t) }}
	dropped := claim{what: "share of recipients that failed, left out of every mean unsaid",
		naive: func(*trial) float64 { return 0 }, truth: func(t, _ *trial) float64 { return reallyFailed(t) }}
	quality := claim{what: "drop of quality that is reported beside the speedup", naive: func(*trial) float64 { return 0 },
		truth: func(t, _ *trial) float64 { return number(t.result.Paired.RougeLDropVsFloor) }}
	agreement := claim{what: "share of warm answers that equal the cold one, taken for quality", naive: equalAnswers,
		truth: func(t, _ *trial) float64 { return number(t.result.Aggregate.QualityPassRate) }}
	donated := claim{what: "semantic tokens of recipients, whoever gave them", naive: semanticTokens(false),
		truth: func(t, _ *trial) float64 { return semanticTokens(true)(t) }}
	undecoded := claim{what: "share of reads that do not decode, each read taken for an event", measure: naiveReads(func(r reads) float64 { return r.undecodable })}
	firstUsage := claim{what: "cached tokens of the first usage object", measure: naiveReads(func(r reads) float64 { return r.firstCached })}
	fixedOrder := claim{what: "speedup, all cold arms first", measure: coldFirst}
	baseline := claim{what: "speedup by prefix caching alone, mean cold over mean exact", measure: exactSpeedup}
	salted := claim{what: "prefix tokens that cold recipients reused, isolated by cache_salt without asking", measure: saltUnasked}

	for _, c := range []struct {
		claim  claim
		faults []string
	}{
		{speedup, []string{"noop_reset", "reset_says_false", "reset_busy", "reset_partial_fleet", "surviving_tier", "donor_store_survives",
			"late_repopulation", "reset_fails_before_warm", "blend_pool", "response_cache",
			"first_token_held", "slow_first_control", "second_request_faster", "slow_named_cold"}},
		{usage, []string{"hit_not_materialized", "declined_counted", "cached_tokens_zero", "cached_tokens_constant", "cached_tokens_prompt",
			"router_estimate"}},
		{coldReuse, []string{"donor_store_sticks", "reset_lags", "stale_donor"}},
		{external, []string{"ranks_counted_twice"}},
		{collided, []string{"prefix_collision"}},
		{counted, []string{"advertised_only", "counters_without_reuse", "counter_reset"}},
		{hits, []string{"hit_dropped", "log_injection", "log_lost"}},
		{fired, []string{"controls_fire"}},
		{logged, []string{"materialized_elsewhere"}},
		{audited, []string{"zero_layers", "audit_lost", "audit_requests_lost", "audit_truncated", "audit_duplicated"}},
		{realized, []string{"log_elsewhere"}},
		{folded, []string{"audit_reordered"}},
		{donated, []string{"own_twin_donor", "store_survives_run"}},
		{quality, []string{"wrong_reuse", "wrong_blend", "wrong_fact", "early_stop", "drift_after", "repetition"}},
		{agreement, []string{"one_answer"}},
		{latency, []string{"answer_replayed"}},
		{byEvent, []string{"role_chunk_early"}},
		{byByte, []string{"comment_early"}},
		{gap, []string{"bursts"}},
		{rate, []string{"coalesced_chunks"}},
		{failures, []string{"inband_error", "cut", "no_end_mark", "html_200", "gzip", "empty_text"}},
		{dropped, []string{"status_429", "status_503"}},
		{undecoded, []string{"utf8_split"}},
		{firstUsage, []string{"usage_twice"}},
		{fixedOrder, []string{"drift_over_run", "warm_up"}},
		{salted, []string{"cross_tenant_donor"}},
		{baseline, []string{stockBlends}},
	} {
		if slices.Contains(c.faults, fault) {
			return c.claim, true
		}
	}
	return claim{}, false
}

// both gives the naive number of a trial and what it should have been.
func (c claim) both(ctx context.Context, t, honest *trial, dir string) (naive, truth float64, err error) {
	if c.measure == nil {
		return c.naive(t), c.truth(t, honest), nil
	}
	if naive, err = c.measure(ctx, t.setting, dir); err != nil {
		return 0, 0, fmt.Errorf("measuring as a naive harness does: %w", err)
	}
	truth, err = c.measure(ctx, honest.setting, dir)
	return naive, truth, err
}

func number(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

func untilOutput(o sembench.Observation) *int64 { return o.Stamps.FirstOutput }
func untilEvent(o sembench.Observation) *int64  { return o.Stamps.FirstEvent }
func untilByte(o sembench.Observation) *int64   { return o.Stamps.FirstByte }
func untilLast(o sembench.Observation) *int64   { return o.Stamps.LastOutput }

// meanMS is the mean time from the start of the request to a stamp.
func meanMS(list []sembench.Observation, stamp func(sembench.Observation) *int64) float64 {
	sum, n := 0.0, 0.0
	for _, o := range list {
		if at := stamp(o); at != nil && o.Stamps.WriteStart != nil {
			sum, n = sum+float64(*at-*o.Stamps.WriteStart)/1e6, n+1
		}
	}
	return sum / n
}

func medianGap(t *trial) float64 {
	var gaps []float64
	for _, o := range t.recipients("") {
		for i := 1; i < len(o.Chunks); i++ {
			gaps = append(gaps, float64(o.Chunks[i][0]-o.Chunks[i-1][0])/1e6)
		}
	}
	if len(gaps) == 0 {
		return math.NaN()
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

func chunkRate(t *trial) float64 {
	chunks, seconds := 0.0, 0.0
	for _, o := range t.recipients("") {
		if n := len(o.Chunks); n > 1 {
			chunks, seconds = chunks+float64(n-1), seconds+float64(o.Chunks[n-1][0]-o.Chunks[0][0])/1e9
		}
	}
	return chunks / seconds
}

func reportedShare(t *trial) float64 {
	cached, prompt := 0.0, 0.0
	for _, o := range t.recipients(sembench.ArmWarm) {
		if n := o.CachedTokens(); n != nil {
			cached += float64(*n)
		}
		if n := o.PromptTokens(); n != nil {
			prompt += float64(*n)
		}
	}
	return cached / prompt
}

func localTokens(t *trial) float64 {
	sum := 0.0
	for _, o := range t.recipients(sembench.ArmWarm) {
		if cached, external := o.CachedTokens(), o.ExternalCachedTokens(); cached != nil && external != nil {
			sum += float64(*cached - *external)
		}
	}
	return sum
}

func externalTokens(t *trial) float64 {
	sum := 0.0
	for _, o := range t.recipients(sembench.ArmWarm) {
		if external := o.ExternalCachedTokens(); external != nil {
			sum += float64(*external)
		}
	}
	return sum
}

func externalTruth(t, _ *trial) float64 {
	sum := 0.0
	for _, o := range t.recipients(sembench.ArmWarm) {
		sum += float64(t.truth[o.RequestID].ExternalTokens + t.truth[o.RequestID].SemanticTokens)
	}
	return sum
}

func reallyReused(t *trial, arm string) float64 {
	reused, prompt := 0.0, 0.0
	for _, o := range t.recipients(arm) {
		truth := t.truth[o.RequestID]
		reused += float64(truth.PrefixTokens + truth.ExternalTokens + truth.SemanticTokens)
		prompt += float64(truth.PromptTokens)
	}
	return reused / prompt
}

func hitLines(t *trial) float64 { return float64(bytes.Count(t.log, []byte("semantic lookup hit"))) }

func reallyHit(t *trial) float64 {
	n := 0.0
	for _, truth := range t.truth {
		if truth.SemanticTokens > 0 {
			n++
		}
	}
	return n
}

var materializingLine = regexp.MustCompile(`SemBlend materializ(?:ing|ed) .*tokens=(\d+)`)

func loggedTokens(t *trial) float64 {
	sum := 0.0
	for _, match := range materializingLine.FindAllSubmatch(t.log, -1) {
		n, _ := strconv.ParseFloat(string(match[1]), 64) // the expression gives digits alone
		sum += n
	}
	return sum
}

var realizedLine = regexp.MustCompile(`Realized (\d+) fuzzy tokens`)

func realizedTokens(t *trial) float64 {
	sum := 0.0
	for _, match := range realizedLine.FindAllSubmatch(t.log, -1) {
		n, _ := strconv.ParseFloat(string(match[1]), 64) // the expression gives digits alone
		sum += n
	}
	return sum
}

func semanticTruth(t, _ *trial) float64 {
	sum := 0.0
	for _, truth := range t.truth {
		sum += float64(truth.SemanticTokens)
	}
	return sum
}

// auditedTokens sums materializations line by line; with announced only those whose announcement stands before them in the file. Lines
// that do not parse are skipped, as a loader does that wants to go on.
func auditedTokens(announced bool) func(*trial) float64 {
	return func(t *trial) float64 {
		known, sum := map[string]bool{}, 0.0
		for line := range bytes.Lines(t.audit) {
			var record struct {
				Event     string  `json:"event"`
				RequestID string  `json:"request_id"`
				Tokens    float64 `json:"tokens"`
			}
			if json.Unmarshal(line, &record) != nil {
				continue
			}
			switch record.Event {
			case "load_allocated":
				known[record.RequestID] = true
			case "runtime_materialized":
				if !announced || known[record.RequestID] {
					sum += record.Tokens
				}
			}
		}
		return sum
	}
}

const externalHits = "vllm_external_prefix_cache_hits"

func countedTokens(t *trial) float64 {
	if t.before == nil || t.after == nil {
		return math.NaN()
	}
	return t.after.Counters[externalHits] - t.before.Counters[externalHits]
}

func statusErrors(t *trial) float64 {
	failed, all := 0.0, 0.0
	for _, o := range t.inputs.Observations {
		if o.Role == sembench.RoleRecipient && o.Stamps.WriteStart != nil {
			all++
			if o.HTTPStatus != nil && *o.HTTPStatus != 200 {
				failed++
			}
		}
	}
	return failed / all
}

func reallyFailed(t *trial) float64 {
	failed, all := 0.0, 0.0
	for _, o := range t.inputs.Observations {
		if o.Role == sembench.RoleRecipient && o.Stamps.WriteStart != nil {
			all++
			if o.Status == sembench.StatusFailed {
				failed++
			}
		}
	}
	return failed / all
}

func equalAnswers(t *trial) float64 {
	cold := map[string]string{}
	for _, o := range t.recipients(sembench.ArmCold) {
		if o.OutputSHA256 != nil {
			cold[o.PairID] = *o.OutputSHA256
		}
	}
	equal, all := 0.0, 0.0
	for _, o := range t.recipients(sembench.ArmWarm) {
		if o.OutputSHA256 != nil {
			all++
			if cold[o.PairID] == *o.OutputSHA256 {
				equal++
			}
		}
	}
	return equal / all
}

// semanticTokens sums what recipients really took from donors; own counts only donors of the very step.
func semanticTokens(own bool) func(*trial) float64 {
	return func(t *trial) float64 {
		sum := 0.0
		for _, o := range t.recipients("") {
			truth := t.truth[o.RequestID]
			if own && !slices.ContainsFunc(o.Donors, func(d sembench.DonorStatus) bool { return d.RequestID == ownID(truth.DonorRequestID) }) {
				continue
			}
			sum += float64(truth.SemanticTokens)
		}
		return sum
	}
}
