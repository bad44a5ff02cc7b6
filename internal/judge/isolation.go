package judge

import (
	"strings"

	"sembench"
)

// armCanary is the arm name of canary lines.
const armCanary = "canary"

// Outcomes of a canary pass.
const (
	canaryPassed   = "passed"
	canaryFailed   = "failed"
	canaryUnjudged = "unjudged" // every tier's positive control stayed silent, or the pass did not finish
)

// Tiers and controls of canary checks (protocol.md, section 3).
const (
	tierPrefix      = "prefix"
	tierTTFT        = "ttft"
	controlPositive = "positive"
	controlNegative = "negative"
)

// canaryPass is one canary pass: the seqs that it spans, its engine process and what it showed.
type canaryPass struct {
	name        string
	first, last int64
	boot        *string
	checks      []sembench.CanaryCheck
	refused     bool // the engine refused the reset between the controls
	outcome     string
}

// canaries lists the passes of a journal in order.
func (j *journal) canaries() []canaryPass {
	var passes []canaryPass
	at := map[string]int{}
	for _, o := range j.lines {
		// The measurement of a prefix is no pass, also in older journals that gave it the arm of the canaries.
		if !strings.HasPrefix(o.Role, "canary-") {
			continue
		}
		i, ok := at[o.ItemID]
		if !ok {
			i = len(passes)
			at[o.ItemID] = i
			passes = append(passes, canaryPass{name: o.ItemID, first: o.Seq, boot: o.BootID})
		}
		p := &passes[i]
		p.last = o.Seq
		if o.Isolation != nil {
			p.checks = append(p.checks, o.Isolation.Canary...)
			p.refused = p.refused || o.Isolation.Status == sembench.IsolationFailed
		}
	}
	for i := range passes {
		if p := &passes[i]; p.refused {
			p.outcome = canaryFailed
		} else {
			p.outcome = outcomeOf(p.checks)
		}
	}
	return passes
}

// outcomeOf judges a pass: failed when any negative control showed reuse, passed when at least one exercised one did not.
func outcomeOf(checks []sembench.CanaryCheck) string {
	outcome := canaryUnjudged
	for _, c := range checks {
		switch canaryOutcome(c) {
		case sembench.Fail:
			return canaryFailed
		case sembench.Pass:
			if c.Control == controlNegative {
				outcome = canaryPassed
			}
		}
	}
	return outcome
}

// canaryOutcome is a check's own outcome, except that a negative control which shows more tokens than the primed level
// fails whatever the line claims. A silent positive control accuses nobody: its tier is not exercised.
func canaryOutcome(c sembench.CanaryCheck) string {
	if c.Control == controlPositive {
		if c.Outcome == sembench.Fail {
			return "not_exercised"
		}
		return c.Outcome
	}
	if c.Tier != tierTTFT && c.Observed != nil && c.Expected != nil && *c.Observed > *c.Expected {
		return sembench.Fail
	}
	return c.Outcome
}

// isolation is the status of one step: its own answer, raised to a verified status when the canary passes next to it in the
// same engine process both passed, lowered to failed when one of them failed. Null: the line carries no isolation.
func (j *journal) isolation(s *step, passes []canaryPass) *string {
	own := s.recipient.Isolation
	if own == nil {
		return nil
	}
	status := own.Status
	if own.Method == sembench.IsolationFreshProcess && status != sembench.IsolationFailed {
		if j.alone(s) {
			return new(sembench.IsolationFreshProcess)
		}
		return new(sembench.IsolationAccepted)
	}
	if status != sembench.IsolationAccepted && status != sembench.IsolationResetVerified && status != sembench.IsolationSaltVerified {
		return &status // failed and none stay; unknown words are no proof
	}
	before, after := neighbours(s, passes)
	switch {
	case before == canaryFailed || after == canaryFailed:
		status = sembench.IsolationFailed
	case before != canaryPassed || after != canaryPassed:
		// The line's own claim of a verified status is no proof either.
		status = sembench.IsolationAccepted
	case own.Method == sembench.IsolationReset:
		status = sembench.IsolationResetVerified
	case own.Method == sembench.IsolationSalt:
		status = sembench.IsolationSaltVerified
	}
	return &status
}

// alone tells that a step's process served no other arm and no other step of the same item. A process that gives no sign of
// its identity serves all steps that give none.
func (j *journal) alone(s *step) bool {
	o := s.recipient
	return len(j.armsOf[process(o)]) == 1 && j.served[[2]string{process(o), o.ItemID}] == 1
}

// process names the engine process that served a line; "" for all that give no sign of it.
func process(o sembench.Observation) string {
	if o.BootID == nil {
		return ""
	}
	return *o.BootID
}

// neighbours gives the outcome of the nearest pass before and after a step in the same engine process; "" when there is
// none. A pass that could not be judged shields no step from a failure behind it: a failed pass speaks for every step since
// the last one that passed. A process that gives no sign of its identity is taken to be one process.
func neighbours(s *step, passes []canaryPass) (before, after string) {
	judged := ""
	for _, p := range passes {
		switch {
		case !equal(p.boot, s.recipient.BootID):
		case p.last < s.seqs[0]:
			before = p.outcome
		case p.first > s.seqs[1]:
			if after == "" {
				after = p.outcome
			}
			if judged == "" && p.outcome != canaryUnjudged {
				judged = p.outcome
			}
		}
	}
	if judged == canaryFailed {
		after = canaryFailed
	}
	return before, after
}

// verified tells whether a status counts as proof that the step started cold.
func verified(status *string) bool {
	if status == nil {
		return false
	}
	switch *status {
	case sembench.IsolationResetVerified, sembench.IsolationSaltVerified, sembench.IsolationFreshProcess:
		return true
	}
	return false
}
