package report

import (
	"strings"

	"sembench"
)

// CanaryPass is one pass of isolation canaries on the timeline.
type CanaryPass struct {
	// Before is how many recipients ran before it.
	Before int
	// Outcome is fail when any of its controls failed, else pass when any passed, else not_exercised.
	Outcome string
}

// CanaryPasses finds the canary passes of a journal, in the order of the run. Superseded lines count for nothing.
func CanaryPasses(journal []sembench.Observation) []CanaryPass {
	var out []CanaryPass
	recipients := 0
	for _, o := range journal {
		switch {
		case o.Superseded:
		case strings.HasPrefix(o.ItemID, "canary-"):
			if o.Isolation == nil || len(o.Isolation.Canary) == 0 {
				continue
			}
			pass := CanaryPass{Before: recipients, Outcome: "not_exercised"}
			for _, check := range o.Isolation.Canary {
				if check.Outcome == sembench.Fail || check.Outcome == sembench.Pass && pass.Outcome != sembench.Fail {
					pass.Outcome = check.Outcome
				}
			}
			out = append(out, pass)
		case o.Role == "recipient":
			recipients++
		}
	}
	return out
}
