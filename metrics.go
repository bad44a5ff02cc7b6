package sembench

// Metric defines one key of a result: what the report shows on hover and docs/metrics.md lists. It is the only such source;
// the formulas are the contract's.
type Metric struct {
	// Key in the document, Title for people.
	Key, Title string
	// Formula in words or symbols; sums run over the rows or pairs that have the number.
	Formula string
	// Unit: rate (0 to 1), ratio, ms, tokens, blocks, rows, pairs, and the like.
	Unit string
	// Better is higher, lower, one (truth is 1), or empty where neither is.
	Better string
	// NullMeans says when it is null; empty where it never is.
	NullMeans string
	// Section of the document: aggregate or paired, then a group.
	Section string
}

// Metrics defines every key of Aggregate and Paired, in the order of the documents.
func Metrics() []Metric {
	var out []Metric
	for _, group := range metricGroups {
		for _, m := range group.metrics {
			m.Section = group.section
			out = append(out, m)
			if group.intervals {
				out = append(out, intervalOf(m))
			}
		}
	}
	return out
}

// MetricOf is the definition of a key; false for a key that has none.
func MetricOf(key string) (Metric, bool) {
	for _, m := range Metrics() {
		if m.Key == key {
			return m, true
		}
	}
	return Metric{}, false
}

// intervalOf defines <key>_ci.
func intervalOf(m Metric) Metric {
	return Metric{m.Key + "_ci", "interval of " + m.Title, "confidence interval of " + m.Key + ", pairs resampled as units", "ci", "",
		"its estimate is null", m.Section}
}

type metricGroup struct {
	section   string
	intervals bool // each metric is followed by its interval
	metrics   []Metric
}

const (
	noOffline  = "no row was analysed offline"
	noPlanner  = "no planner ran, or all errored"
	noCached   = "no response reports cached tokens"
	noExternal = "neither responses nor an audit split external tokens off"
	noSemantic = "no row has a semantic signal"
	noRoute    = "no row has route metadata"
	noControls = "there is no negative control"
	noUsed     = "no pair could be used"
	noHits     = "no used pair is a hit, or hits were not measured"
	noExactArm = "there is no exact arm: gain not separated from prefix caching"
	noAnswers  = "no row has reference answers and an output"
)

var metricGroups = []metricGroup{
	{"aggregate: size", false, []Metric{
		{"request_count", "rows", "clean warm (or single-arm) recipient rows", "rows", "", "", ""},
		{"prompt_tokens", "prompt tokens", "Σ prompt tokens; the engine's count where it gave one", "tokens", "", "", ""},
		{"total_blocks", "full blocks", "Σ floor(prompt_tokens / block_size)", "blocks", "", "", ""},
		{"local_total_blocks", "full blocks, local count", "Σ floor(local prompt tokens / block_size); denominator of the offline rates", "blocks", "", noOffline, ""},
		{"local_count_agreement", "block counts that agree", "rows whose engine and local block counts are equal / rows with both; lifts cover those rows", "rate", "higher", noOffline, ""},
	}},
	{"aggregate: exact baseline", false, []Metric{
		{"exact_hit_blocks", "exact hit blocks", "full recipient blocks whose hash equals that of any full donor block, at any position", "blocks", "", "", ""},
		{"exact_block_hit_rate", "exact block hit rate", "exact_hit_blocks / local_total_blocks", "rate", "", noOffline, ""},
		{"exact_prefix_hit_blocks", "exact prefix hit blocks", "leading blocks that match one donor from its first block on", "blocks", "", noOffline, ""},
		{"exact_prefix_block_hit_rate", "exact prefix block hit rate", "exact_prefix_hit_blocks / local_total_blocks", "rate", "", noOffline, ""},
		{"exact_token_weighted_reuse_rate", "exact reuse, token-weighted", "Σ exact_hit_blocks x block_size / Σ local prompt tokens", "rate", "", noOffline, ""},
	}},
	{"aggregate: candidate and eligible (an offline proxy: no engine loaded anything)", false, []Metric{
		{"semantic_candidate_blocks", "candidate blocks", "full blocks of which every token is marked copy_from_donor by semblend", "blocks", "", noPlanner, ""},
		{"semantic_candidate_block_rate", "candidate block rate", "semantic_candidate_blocks / local_total_blocks", "rate", "", noPlanner, ""},
		{"semantic_eligible_blocks", "eligible blocks", "candidate blocks whose tokens come from one donor at contiguous ascending positions", "blocks", "", noPlanner, ""},
		{"semantic_eligible_block_rate", "eligible block rate", "semantic_eligible_blocks / local_total_blocks", "rate", "", noPlanner, ""},
		{"semantic_novel_blocks", "novel blocks", "eligible blocks that are no exact hits", "blocks", "", noPlanner, ""},
		{"semantic_novel_block_rate", "novel block rate", "semantic_novel_blocks / local_total_blocks: what a semantic cache could add", "rate", "", noPlanner, ""},
		{"semantic_eligible_lift", "eligible lift", "semantic_eligible_block_rate - exact_block_hit_rate; may compare different block sets", "rate difference", "", noPlanner, ""},
		{"semantic_eligible_lift_over_prefix", "eligible lift over prefix", "semantic_eligible_block_rate - exact_prefix_block_hit_rate", "rate difference", "", noPlanner, ""},
		{"semantic_candidate_token_weighted_reuse_rate", "candidate reuse, token-weighted", "Σ semantic_candidate_tokens / Σ local prompt tokens", "rate", "", noPlanner, ""},
		{"semantic_eligible_token_weighted_reuse_rate", "eligible reuse, token-weighted", "Σ semantic_eligible_tokens / Σ local prompt tokens", "rate", "", noPlanner, ""},
		{"mean_semblend_latency_ms", "planner latency", "mean of semblend's own time", "ms", "lower", noPlanner, ""},
		{"semblend_hit_rate_by_request", "planner hit rate", "rows for which semblend found a plan / rows where it ran", "rate", "", noPlanner, ""},
		{"planners", "planners", "the same columns for every planner that ran", "object", "", "", ""},
	}},
	{"aggregate: confirmed by the engine", false, []Metric{
		{"backend_confirmed_tokens", "confirmed tokens", "Σ cached_tokens of responses: local prefix cache and external transfer together", "tokens", "", noCached, ""},
		{"backend_confirmed_blocks", "confirmed blocks", "Σ floor(cached_tokens / block_size)", "blocks", "", noCached, ""},
		{"backend_confirmed_block_rate", "confirmed block rate", "backend_confirmed_blocks / total_blocks; backend-confirmed reuse, not semantic-only reuse", "rate", "", noCached, ""},
		{"backend_confirmed_lift", "confirmed lift", "confirmed block rate - exact block hit rate, over rows whose engine and local block counts agree", "rate difference", "higher", "no row has both numbers and equal counts", ""},
		{"backend_confirmed_coverage", "confirmed coverage", "rows that report cached tokens / rows", "rate", "higher", "there are no rows", ""},
		{"external_confirmed_tokens", "external tokens", "Σ tokens over an external connector; exact reuse unless proven semantic", "tokens", "", noExternal, ""},
		{"external_confirmed_token_weighted_reuse_rate", "external reuse, token-weighted", "Σ external_confirmed_tokens / Σ prompt tokens of those rows", "rate", "", noExternal, ""},
		{"external_confirmed_coverage", "external coverage", "rows with external_confirmed_tokens / rows", "rate", "higher", "there are no rows", ""},
		{"fuzzy_confirmed_tokens", "fuzzily admitted tokens", "Σ mass that the engine reports as fuzzily admitted", "tokens", "", "no response reports it", ""},
		{"semantic_confirmed_tokens", "semantic tokens", "Σ the part of external and fuzzy tokens that is proven semantic, over the rows where that is known", "tokens", "", noSemantic, ""},
		{"semantic_confirmed_prompt_tokens", "prompt tokens with a semantic signal", "Σ prompt tokens of the rows with semantic_confirmed_tokens", "tokens", "", noSemantic, ""},
		{"semantic_confirmed_coverage", "semantic coverage", "rows with semantic_confirmed_tokens / rows; read beside the number: what is unknown is in neither side of its rate", "rate", "higher", "there are no rows", ""},
		{"semantic_confirmed_token_weighted_reuse_rate", "semantic reuse, token-weighted", "semantic_confirmed_tokens / semantic_confirmed_prompt_tokens", "rate", "", noSemantic, ""},
	}},
	{"aggregate: times and answers", false, []Metric{
		{"mean_ttft_ms", "mean TTFT", "mean first output - write start; informational, the paired block is the source of truth", "ms", "lower", "no row has it", ""},
		{"mean_quality_f1", "F1", "mean token F1 against the best reference", "score", "higher", noAnswers, ""},
		{"quality_f1_ci", "interval of F1", "confidence interval of mean_quality_f1, rows resampled", "ci", "", noAnswers, ""},
		{"mean_quality_rouge_l", "ROUGE-L", "mean LCS F1 against the best reference", "score", "higher", noAnswers, ""},
		{"quality_rouge_l_ci", "interval of ROUGE-L", "confidence interval of mean_quality_rouge_l, rows resampled", "ci", "", noAnswers, ""},
		{"quality_pass_rate", "answers that pass", "rows with answer recall >= threshold (or the right letter) / rows scored", "rate", "higher", noAnswers, ""},
	}},
	{"aggregate: negative controls", false, []Metric{
		{"negative_control_count", "negative controls", "rows with negative_control: unrelated donor and recipient", "rows", "", "", ""},
		{"negative_control_blocks", "control blocks", "Σ full blocks of negative controls", "blocks", "", "", ""},
		{"negative_control_semantic_eligible_blocks", "control eligible blocks", "Σ eligible blocks of negative controls", "blocks", "lower", noControls + " or " + noPlanner, ""},
		{"negative_control_semantic_eligible_rate", "control eligible rate", "those / local full blocks of negative controls; near 0 before any lift is interpreted", "rate", "lower", noControls + " or " + noPlanner, ""},
		{"negative_control_backend_confirmed_blocks", "control confirmed blocks", "Σ floor((cached - primed) / block_size) of negative controls", "blocks", "lower", noControls + " or " + noCached, ""},
		{"negative_control_backend_confirmed_rate", "control confirmed rate", "those / full blocks of negative controls", "rate", "lower", noControls + " or " + noCached, ""},
		{"negative_control_semantic_placements", "control placements", "negative controls with outcome semantic_placement", "rows", "lower", noRoute, ""},
		{"negative_control_semantic_placement_rate", "control placement rate", "those / negative controls", "rate", "lower", noRoute, ""},
	}},
	{"aggregate: wrong reuse", false, []Metric{
		{"wrong_reuse", "wrong reuse by kind", "the next three by control kind", "object", "", "", ""},
		{"wrong_reuse_tokens", "wrong-reuse tokens", "Σ semantic tokens on wrong-reuse controls; where unmeasured, max(0, cached - exact common prefix)", "tokens", "lower", "no such control has either number", ""},
		{"wrong_reuse_rate", "wrong-reuse rate", "wrong_reuse_tokens / Σ prompt tokens of those rows", "rate", "lower", "no such control has either number", ""},
		{"leak_rate", "leak rate", "answers on wrong-reuse controls that state the donor's value / answers scored", "rate", "lower", "no such control has an output and a donor's value", ""},
	}},
	{"aggregate: placement (a route is no reuse)", false, []Metric{
		{"semantic_placements", "semantic placements", "rows with outcome semantic_placement", "rows", "", noRoute, ""},
		{"semantic_placement_rate_by_request", "semantic placement rate", "semantic_placements / all rows", "rate", "", noRoute, ""},
		{"route_outcomes", "route outcomes", "rows by outcome", "object", "", "", ""},
	}},
	{"paired: headline", true, []Metric{
		{"blended_ttft_speedup_mean", "blended speedup, mean", "mean of cold/warm TTFT over used pairs, hits and misses; noise biases a mean of ratios upwards", "ratio", "higher", noUsed, ""},
		{"blended_ttft_speedup_median", "blended speedup, median", "median of cold/warm TTFT over used pairs", "ratio", "higher", noUsed, ""},
		{"blended_ttft_speedup_geomean", "blended speedup, geometric mean", "exp(mean of ln(cold/warm)) over used pairs", "ratio", "higher", noUsed, ""},
		{"blended_ttft_speedup_hodges_lehmann", "blended speedup, Hodges-Lehmann", "exp(median of the Walsh averages of ln(cold/warm)) over used pairs", "ratio", "higher", noUsed, ""},
	}},
	{"paired: headline", false, []Metric{
		{"blended_ttft_speedup_ci", "interval of the headline", "blended_ttft_speedup_mean_ci under its public name", "ci", "", noUsed, ""},
		{"blended_ttft_speedup_mean_with_wrong_reuse", "blended speedup with wrong-reuse controls", "mean of cold/warm over used and wrong-reuse pairs", "ratio", "", noUsed, ""},
		{"blended_ttft_speedup_mean_equal_weight_per_transform", "blended speedup, equal weight per transform", "mean over transforms of the mean of cold/warm", "ratio", "higher", noUsed, ""},
		{"min_detectable_speedup", "smallest speedup that n could show", "speedup that this many pairs of this scatter show with 80 % power", "ratio", "lower", "fewer than two pairs", ""},
	}},
	{"paired: hits (read beside hit_rate only)", true, []Metric{
		{"hit_only_ttft_speedup_mean", "speedup of hits, mean", "mean of cold/warm over used pairs with a hit", "ratio", "higher", noHits, ""},
		{"hit_only_ttft_speedup_median", "speedup of hits, median", "median of cold/warm over used pairs with a hit", "ratio", "higher", noHits, ""},
	}},
	{"paired: hits (read beside hit_rate only)", false, []Metric{
		{"hit_only_ttft_speedup_ci", "interval of the speedup of hits", "hit_only_ttft_speedup_mean_ci under its public name", "ci", "", noHits, ""},
		{"hits", "hits", "used pairs with semantic_confirmed_tokens >= max(64, block_size)", "pairs", "higher", noSemantic, ""},
		{"hit_rate", "hit rate", "hits / used pairs with a semantic signal", "rate", "higher", noSemantic, ""},
		{"hit_rate_coverage", "hit rate coverage", "used pairs with a semantic signal / pairs_used", "rate", "higher", noUsed, ""},
		{"hit_rate_10pct", "hits of 10 % of the prompt", "used pairs whose semantic tokens are >= 10 % of the prompt / used pairs with a signal", "rate", "higher", noSemantic, ""},
		{"hit_rate_50pct", "hits of 50 % of the prompt", "the same at 50 %", "rate", "higher", noSemantic, ""},
		{"pairs_external_confirmed", "pairs with an external split", "used pairs whose external tokens were measured", "pairs", "", "", ""},
		{"pairs_external_unconfirmed", "pairs without an external split", "used pairs whose external tokens were not", "pairs", "lower", "", ""},
		{"hits_unverified_external", "unverified hits", "used pairs that only cached_tokens would call hits; never counted as hits", "pairs", "lower", "", ""},
		{"hit_definition", "hit definition", "what counts as a hit, in words", "text", "", "", ""},
		{"reuse_mechanisms", "mechanisms", "clean warm rows by mechanism: scatter, head, external, exact_external, exact, none", "object", "", "", ""},
		{"semantic_mechanisms", "mechanisms of hits", "clean warm rows with a hit, by mechanism", "object", "", "", ""},
	}},
	{"paired: what prefix caching gives, and what semantic reuse adds", true, []Metric{
		{"exact_baseline_ttft_speedup_mean", "prefix caching alone, mean", "mean of cold/exact-arm TTFT over used pairs", "ratio", "", noExactArm, ""},
		{"exact_baseline_ttft_speedup_median", "prefix caching alone, median", "median of the same", "ratio", "", noExactArm, ""},
		{"exact_baseline_ttft_speedup_geomean", "prefix caching alone, geometric mean", "geometric mean of the same", "ratio", "", noExactArm, ""},
		{"semantic_incremental_ttft_speedup_mean", "semantic increment, mean", "mean of exact-arm/warm TTFT over used pairs", "ratio", "higher", noExactArm, ""},
		{"semantic_incremental_ttft_speedup_median", "semantic increment, median", "median of the same", "ratio", "higher", noExactArm, ""},
		{"semantic_incremental_ttft_speedup_geomean", "semantic increment, geometric mean", "geometric mean of the same", "ratio", "higher", noExactArm, ""},
	}},
	{"paired: what prefix caching gives, and what semantic reuse adds", false, []Metric{
		{"exact_baseline_pairs", "pairs with an exact arm", "used pairs whose exact arm finished", "pairs", "", noExactArm, ""},
	}},
	{"paired: times", false, []Metric{
		{"ttft_cold_p50_ms", "cold TTFT, median", "median over used pairs (type 7)", "ms", "lower", noUsed, ""},
		{"ttft_cold_p95_ms", "cold TTFT, p95", "95th percentile over used pairs (type 7)", "ms", "lower", "fewer than 20 pairs", ""},
		{"ttft_warm_p50_ms", "warm TTFT, median", "median over used pairs (type 7)", "ms", "lower", noUsed, ""},
		{"ttft_warm_p95_ms", "warm TTFT, p95", "95th percentile over used pairs (type 7)", "ms", "lower", "fewer than 20 pairs", ""},
		{"engine_ttft_pairs", "pairs with engine times", "used pairs in which both responses carry the server's own TTFT", "pairs", "", "", ""},
		{"engine_ttft_speedup_median", "engine-side speedup, median", "median of cold/warm of the server's own TTFT; kept out of the headline", "ratio", "", "no response carries it", ""},
		{"engine_ttft_speedup_median_ci", "interval of the engine-side speedup", "confidence interval of engine_ttft_speedup_median", "ci", "", "no response carries it", ""},
		{"queue_time_cold_p50_ms", "cold queue time, median", "median of the server's queue time over used pairs", "ms", "lower", "no response carries it", ""},
		{"queue_time_warm_p50_ms", "warm queue time, median", "median of the server's queue time over used pairs", "ms", "lower", "no response carries it", ""},
	}},
	{"paired: controls and noise", true, []Metric{
		{"negative_control_ttft_speedup_mean", "control speedup, mean", "mean of cold/warm over negative controls", "ratio", "one", noControls, ""},
		{"negative_control_ttft_speedup_median", "control speedup, median", "median of the same", "ratio", "one", noControls, ""},
		{"negative_control_ttft_speedup_geomean", "control speedup, geometric mean", "geometric mean of the same", "ratio", "one", noControls, ""},
		{"sham_ttft_speedup_geomean", "sham speedup", "geometric mean of cold/sham over used pairs: some traffic just ran", "ratio", "one", "there is no sham arm", ""},
		{"aa_ttft_speedup_geomean", "A/A speedup", "geometric mean of cold/aa: the same arm twice; from the calibration where the run has no aa arm", "ratio", "one", "neither has an A/A", ""},
		{"aa_first_over_second_geomean", "A/A, first over second", "geometric mean of the TTFT of the A/A arm that ran first over the other's", "ratio", "one", "neither has an A/A with recorded orders", ""},
	}},
	{"paired: controls and noise", false, []Metric{
		{"aa_ttft_speedup_mean", "A/A speedup, mean", "mean of the same: how far noise alone lifts a mean of ratios", "ratio", "one", "neither has an A/A", ""},
		{"order_effect", "order effect", "geometric mean of cold/warm of pairs whose cold arm ran first over the others', within transforms", "ratio", "one", "no transform has pairs in both orders", ""},
		{"order_effect_p_value", "order effect, p", "two-sided randomisation test of order_effect", "probability", "", "no transform has pairs in both orders", ""},
		{"order_effect_pairs", "order effect, pairs", "used pairs and negative controls in transforms with both orders", "pairs", "", "", ""},
	}},
	{"paired: cost", false, []Metric{
		{"miss_tax_ms", "miss tax", "mean of warm - exact-arm TTFT over used pairs without a hit", "ms", "lower", "no exact arm, or no measured miss", ""},
		{"miss_tax_pairs", "miss tax, pairs", "pairs that miss_tax_ms rests on", "pairs", "", "no exact arm, or no measured miss", ""},
		{"donor_cost_ms", "donor cost", "mean over used pairs of the summed latency of donors", "ms", "lower", "donor latencies were not measured", ""},
		{"break_even_reuses", "break-even reuses", "donor_cost_ms / mean(cold - warm TTFT)", "reuses", "lower", "nothing was saved, or donor latencies were not measured", ""},
	}},
	{"paired: what became of every planned pair", false, []Metric{
		{"pairs_total", "planned pairs", "used + negative controls + wrong reuse + contaminated + errored + unpaired + excluded", "pairs", "", "", ""},
		{"pairs_used", "pairs used", "clean pairs that are no controls", "pairs", "higher", "", ""},
		{"negative_control_pairs", "negative control pairs", "clean pairs of negative controls", "pairs", "", "", ""},
		{"wrong_reuse_pairs", "wrong-reuse pairs", "clean pairs of wrong-reuse controls", "pairs", "", "", ""},
		{"pairs_contaminated", "contaminated pairs", "cold reuse of any kind above the primed level, isolation of an arm not verified, or a donor that is its own twin or foreign", "pairs", "lower", "", ""},
		{"pairs_contaminated_cached", "contaminated by the seed's rule", "pairs whose cold arm reports cached tokens above the primed level", "pairs", "lower", "", ""},
		{"pairs_contaminated_strict", "any cold reuse", "pairs whose cold arm reports any reuse above 0", "pairs", "lower", "", ""},
		{"pairs_isolation_unknown", "isolation unknown", "pairs without an isolation field", "pairs", "lower", "", ""},
		{"pairs_errored", "errored pairs", "pairs in which a recipient failed", "pairs", "lower", "", ""},
		{"pairs_unpaired", "unpaired pairs", "planned pairs of which an arm was never sent", "pairs", "lower", "", ""},
		{"pairs_excluded", "excluded pairs", "pairs left out for another reason, by reason", "object", "lower", "", ""},
		{"contamination_reasons", "contamination reasons", "contaminated pairs by reason; a pair may have several", "object", "", "", ""},
		{"contamination_judged", "contamination judged", "every pair carries isolation, and there is at least one", "true or false", "", "", ""},
		{"arm_error_rate_cold", "cold error rate", "failed cold recipients / sent; leaving failures out is survivorship", "rate", "lower", "none was sent", ""},
		{"arm_error_rate_warm", "warm error rate", "failed warm recipients / sent", "rate", "lower", "none was sent", ""},
		{"valid", "valid", "at least one pair used, and at most half of them lost", "true or false", "", "", ""},
		{"invalid_reason", "why invalid", "the rule that was broken", "text", "", "the measurement is valid", ""},
	}},
	{"paired: answers", false, []Metric{
		{"warm_vs_cold_output_rouge_l_mean", "warm against cold answers", "mean ROUGE-L of warm and cold outputs over used pairs; judged against a noise floor only", "score", "higher", "no pair kept both outputs", ""},
		{"warm_vs_cold_output_rouge_l_mean_ci", "interval of warm against cold", "confidence interval of the same", "ci", "", "no pair kept both outputs", ""},
		{"warm_vs_cold_output_rouge_l_hit_only_mean", "the same on hits", "mean ROUGE-L over used pairs with a hit", "score", "higher", noHits, ""},
		{"warm_vs_cold_output_rouge_l_hit_only_mean_ci", "interval of the same on hits", "confidence interval of the same", "ci", "", noHits, ""},
		{"warm_vs_cold_output_rouge_l_hit_only_n", "hits with both outputs", "used pairs with a hit that kept both outputs", "pairs", "", "", ""},
		{"warm_vs_cold_output_rouge_l_p05", "warm against cold, p05", "5th percentile over used pairs", "score", "higher", "no pair kept both outputs", ""},
		{"warm_vs_cold_output_rouge_l_n", "pairs with both outputs", "used pairs that kept both outputs", "pairs", "", "", ""},
		{"warm_vs_cold_kl_mean", "KL of warm from cold", "mean over used pairs of the mean KL(cold || warm) of top-k distributions up to and including the first divergence; read beside the overlap", "nats", "lower", "no pair has top logprobs of both answers", ""},
		{"warm_vs_cold_topk_overlap_mean", "overlap of top tokens", "mean over used pairs of the share of top-k tokens that both name", "rate", "higher", "no pair has top logprobs of both answers", ""},
		{"warm_vs_cold_kl_n", "pairs with KL", "used pairs with top logprobs of both answers", "pairs", "", "", ""},
		{"first_divergence_p50", "first divergence, median", "median index of the first differing token over used pairs that diverge", "tokens", "higher", "no pair diverges, or token ids were not kept", ""},
		{"diverged_pairs", "diverged pairs", "used pairs whose token ids differ somewhere", "pairs", "lower", "token ids were not kept", ""},
		{"warm_vs_cold_rouge_l_drop", "drop below the noise floor", "mean of the floor, weighted by the hits' length bands, - mean ROUGE-L of hits", "score difference", "lower", "no calibration, no hit, or fewer than 30 floor values in a band", ""},
		{"warm_vs_cold_rouge_l_drop_ci", "interval of the drop", "both sides resampled, the floor by item", "ci", "", "the drop is null", ""},
		{"noise_floor", "noise floor", "cold_cold or exact_prefix: the floor that the drop was taken from", "text", "", "no calibration", ""},
	}},
}
