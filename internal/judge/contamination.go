package judge

import (
	"sembench"
)

// Contamination reasons (contract, section 7). Those of isolation end in the status, those of donors in the attribution.
const (
	reasonColdCached   = "cold_cached"
	reasonColdExternal = "cold_external"
	reasonColdFuzzy    = "cold_fuzzy"
	reasonColdAudited  = "cold_audited"
	reasonWarmPrefix   = "warm_prefix_unexplained" // its own donors do not explain it: it came from another step
	reasonNotProvable  = "cold_not_provable"       // the engine reports no reuse and no canary could be judged
)

// contamination lists why the pair cannot be believed; nothing when it can. It notes the seed's reason and the strict one
// on the way.
//
// Each kind of cold reuse is compared with what the probe left in that same field: the primed level for cached tokens, 0 for
// the others. The rule on isolation is the same for both arms: after a failed reset the warm twin hits its own cold twin.
func (p *pair) contamination() (reasons []string) {
	cold := p.cold
	check := func(reason string, tokens *int, primed int) {
		if tokens != nil && *tokens > primed {
			reasons = append(reasons, reason)
		}
		p.coldAny = p.coldAny || tokens != nil && *tokens > 0
	}
	check(reasonColdCached, cold.BackendConfirmedTokens, deref(cold.StepPrimedTokens))
	p.coldCached = len(reasons) > 0
	check(reasonColdExternal, cold.ExternalConfirmedTokens, 0)
	check(reasonColdFuzzy, cold.FuzzyConfirmedTokens, 0)
	check(reasonColdAudited, cold.AuditMaterialized, 0)
	if n := p.warm.PrefixUnexplainedTokens; n != nil && *n > 0 {
		reasons = append(reasons, reasonWarmPrefix)
	}
	silent := cold.BackendConfirmedTokens == nil && p.warm.BackendConfirmedTokens == nil &&
		cold.SemanticConfirmedTokens == nil && cold.ExternalConfirmedTokens == nil
	for _, arm := range []struct {
		name string
		row  *sembench.Row
	}{{"cold", cold}, {"warm", p.warm}} {
		status := arm.row.Isolation
		if status != nil && !verified(status) && !is(arm.row.Status, sembench.StatusExcluded) {
			if silent && *status == sembench.IsolationAccepted {
				if len(reasons) == 0 || reasons[len(reasons)-1] != reasonNotProvable {
					reasons = append(reasons, reasonNotProvable)
				}
			} else {
				reasons = append(reasons, arm.name+"_isolation_"+*status)
			}
		}
		if is(arm.row.DonorAttribution, OwnTwin) || is(arm.row.DonorAttribution, Foreign) {
			reasons = append(reasons, arm.name+"_donor_"+*arm.row.DonorAttribution)
		}
	}
	return reasons
}
