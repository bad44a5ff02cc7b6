package judge

import (
	"fmt"

	"sembench"
)

// auditMissingShare is how many recipients an audit may leave out: it is written by another process, whose last lines may be late.
const auditMissingShare = 0.1

// checkAuditJoins tells whether the audit that was given is one of this run. Arms are judged apart: an audit without any warm recipient is none
// of what was measured, even if all cold ones are in it.
func checkAuditJoins(f *facts, r *sembench.CheckResult) {
	if f.in.Audit == nil {
		r.Detail = "no audit was given"
		return
	}
	if a, ok := f.in.Audit.(interface{ Report() sembench.AuditReport }); ok {
		if report := a.Report(); report.Events == 0 && report.OtherSchemaVersions > 0 {
			r.Detail = "the audit is of a schema that names no requests: it is no evidence about any"
			return
		}
	}
	finished, missing := map[string]int{}, map[string]int{}
	for _, o := range f.lines() {
		if o.Role != sembench.RoleRecipient || o.Status != sembench.StatusOK {
			continue
		}
		if record, joined := f.joined.sources.audit(o); joined != nil {
			finished[o.Arm]++
			if record == nil || record.RequestIDReused { // what stands for two requests is joined to neither
				missing[o.Arm]++
			}
		}
	}
	worst := ""
	share := func(arm string) float64 { return float64(missing[arm]) / float64(finished[arm]) }
	for _, arm := range sortedKeys(finished) {
		if worst == "" || share(arm) > share(worst) {
			worst = arm
		}
	}
	if worst == "" {
		r.Detail = "no recipient finished"
		return
	}
	settle(r, share(worst), auditMissingShare, "the audit does not name %d of %d %s recipients, or names them twice", missing[worst], finished[worst], worst)
}

// checkStock tells whether the exact arm ran on an engine that has a prefix cache alone.
func checkStock(f *facts, r *sembench.CheckResult) {
	steps, impure := 0, 0
	for _, p := range f.pairs {
		if p.exact != nil && is(p.exact.Status, sembench.StatusOK) {
			steps++
			if p.impure() {
				impure++
			}
		}
	}
	if steps == 0 {
		r.Detail = "no exact arm was measured"
		return
	}
	settle(r, float64(impure), 0, "%d of %d steps reused more than a prefix, or ran in the warm arm's process", impure, steps)
}

// checkLogJoins tells whether the log that was given can be one of this run. Pre-flight and calibration stand in an honest log too and are
// not this run's, so that foreign requests alone accuse nobody.
func checkLogJoins(f *facts, r *sembench.CheckResult) {
	own, foreign := f.joined.sources.logOwn, f.joined.sources.logForeign
	switch {
	case f.in.Evidence == nil:
		r.Detail = "no log was given"
	case own+foreign == 0:
		r.Detail = "the log names no request"
	case own == 0:
		r.Outcome, r.Observed, r.Limit = sembench.Fail, new(0.0), new(1.0)
		r.Detail = fmt.Sprintf("the log names no request of this run, and %d times one that is none of it", foreign)
	default:
		r.Outcome, r.Observed, r.Limit = sembench.Pass, finite(float64(own)), new(1.0)
		r.Detail = fmt.Sprintf("%d events name a request of this run", own)
	}
}
