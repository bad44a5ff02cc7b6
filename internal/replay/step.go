package replay

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"sembench"
)

// reasonDonorFailed excludes the recipient of a step whose donors did not all arrive.
const reasonDonorFailed = "donor_failed"

// supply is one donor of a step.
type supply struct {
	id string
	prompt
}

// donorsOf gives what an arm sends ahead of the recipient.
func (r *runner) donorsOf(item sembench.Item, arm string) []supply {
	var list []supply
	switch {
	case arm == sembench.ArmCold || arm == sembench.ArmAA:
	case arm == sembench.ArmExact && r.phase == phaseCalibration:
		// The exact-prefix twin: the recipient itself was there before, and only a prefix cache is asked for.
		list = append(list, supply{"self", recipient(item)})
	case arm == sembench.ArmSham:
		for _, d := range r.seedPrompts(item) {
			random := rng(r.cfg.Seed, r.cfg.RunID, "sham", item.ItemID, d.id)
			list = append(list, supply{"sham-" + d.id, plain(randomWords(random, max(1, len(d.text)/8)))})
		}
	default:
		list = r.seedPrompts(item)
	}
	return list
}

// seedPrompts are an item's own donors and the recipients of the items that seed it. A step starts cold, so what an earlier
// item would have left behind is sent again.
func (r *runner) seedPrompts(item sembench.Item) (list []supply) {
	for _, d := range item.DonorPrompts {
		list = append(list, supply{d.DonorID, donor(item, d)})
	}
	ids, _ := seeds(item, 0)
	for _, id := range ids {
		if earlier, ok := r.items[id]; ok {
			list = append(list, supply{"item:" + id, recipient(earlier)})
		}
	}
	return list
}

// fillers is how many other requests go between donors and recipient.
func (r *runner) fillers(item sembench.Item, arm string) int {
	if arm == sembench.ArmCold || arm == sembench.ArmAA || r.phase == phaseCalibration || len(r.seedPrompts(item)) == 0 {
		return 0
	}
	_, gap := seeds(item, r.cfg.MinDonorGap)
	return gap
}

// fillGap sends unrelated requests and tells how many of them the gap is short of.
func (r *runner) fillGap(ctx context.Context, p place, n int, s salt) (short int) {
	for i := range n {
		p.role = "gap-" + strconv.Itoa(i)
		random := rng(r.cfg.Seed, r.cfg.RunID, p.arm, p.pair, p.role)
		o := r.send(ctx, p, plain(randomWords(random, r.cfg.canaryWords())), s, r.cfg.DonorMaxTokens)
		r.log(o)
		if !prefilled(o) {
			short++
		}
	}
	return short
}

// step runs one arm of one pair: isolate, probe, donors, settle, recipient. It tells whether the reset looked odd.
func (r *runner) step(ctx context.Context, plan pairPlan, order, attempt int) (odd bool) {
	arm := plan.arms[order]
	base := r.cfg.base(arm)
	p := place{base: base, arm: arm, item: plan.item.ItemID, pair: plan.id, position: plan.position, order: &order, attempt: attempt}
	what := recipient(plan.item)
	known := r.probing(ctx, base, what, plan.item) // measured ahead of the step, which it would disturb
	isolation, s, odd := r.isolate(ctx, base, arm, plan.id, strconv.Itoa(attempt))
	isolation.PrimedTokens = known.tokens
	r.probe(ctx, p, known, what, plan.item, s)

	statuses, ok := r.donors(ctx, p, r.donorsOf(plan.item, arm), s)
	var o sembench.Observation
	if ok {
		short := r.fillGap(ctx, p, r.fillers(plan.item, arm), s)
		if len(statuses) > 0 {
			r.settle(ctx, base, statuses)
		}
		p.role = sembench.RoleRecipient
		o = r.send(ctx, p, what, s, r.limit(plan.item))
		r.refusal(o)
		if short > 0 {
			o.Extra = sembench.Extra{gapKey: short}
		}
	} else {
		p.role = sembench.RoleRecipient
		o = r.observation(p, sembench.StatusExcluded, reasonDonorFailed)
	}
	o.Isolation, o.Donors = &isolation, statuses
	r.log(o)
	r.count(o)
	return odd
}

// limit is an item's output limit, the same in all arms.
func (r *runner) limit(item sembench.Item) int {
	if n := item.Int("max_tokens"); n != nil && *n > 0 {
		return *n
	}
	return r.cfg.MaxTokens
}

// longSettle is from when on a wait may have cost the connection: servers close idle ones after 5 s, we after 4.
const longSettle = 2 * time.Second

// settle waits for the donors' KV to be stored, outside any latency. After a long wait it opens a connection again, so
// that the recipient finds one as its cold twin did: a large prompt on a fresh connection takes some round trips more.
func (r *runner) settle(ctx context.Context, base string, donors []sembench.DonorStatus) {
	begun := r.client.Clock().Now()
	r.awaitDonors(ctx, donors)
	if time.Duration(r.client.Clock().Now()-begun) >= longSettle {
		_ = r.client.Warm(ctx, warmPath(base), 1) // the recipient itself will tell if nobody is there
	}
}

func (r *runner) awaitDonors(ctx context.Context, donors []sembench.DonorStatus) {
	_ = r.cfg.Sleep(ctx, r.cfg.PostDonorDelay)
	if r.cfg.AwaitDonors == nil {
		return
	}
	var ids []string
	for _, d := range donors {
		ids = append(ids, d.RequestID)
	}
	// A wait that fails is no failed step: what is missing in the evidence will show there.
	_ = r.cfg.AwaitDonors(ctx, ids)
}

// donors sends a step's donors one after the other. The first that fails ends it: the recipient would be measured
// without it.
func (r *runner) donors(ctx context.Context, p place, list []supply, s salt) ([]sembench.DonorStatus, bool) {
	statuses := make([]sembench.DonorStatus, 0, len(list))
	ok := true
	for i, d := range list {
		p.role, p.retry = "donor-"+strconv.Itoa(i), false
		status := sembench.DonorStatus{ID: d.id, Status: sembench.StatusNotSent, RequestID: r.id(p)}
		for ok && status.Attempts < 2 {
			status.RequestID = r.id(p)
			status.Attempts++
			o := r.send(ctx, p, d.prompt, s, r.cfg.DonorMaxTokens)
			r.log(o)
			if prefilled(o) {
				status.Status, status.LatencyMS = sembench.StatusOK, serviceTime(o)
				break
			}
			status.Status = sembench.StatusFailed
			r.refusal(o)
			wait, again := retryDonor(o)
			if !again || r.cfg.Sleep(ctx, wait) != nil {
				break
			}
			p.retry = true
		}
		ok = ok && status.Status == sembench.StatusOK
		statuses = append(statuses, status)
	}
	return statuses, ok
}

// serviceTime is a request's whole time in milliseconds; nil when it has no end.
func serviceTime(o sembench.Observation) *float64 {
	if o.Stamps.WriteStart == nil || o.Stamps.Done == nil {
		return nil
	}
	return new(float64(*o.Stamps.Done-*o.Stamps.WriteStart) / 1e6)
}

// maxRetryAfter bounds how long a server may make us wait.
const maxRetryAfter = 30 * time.Second

// retryDonor tells whether a failed donor may be sent once more, and after what wait: a busy server's Retry-After, 200 ms
// for a passing fault, never for a request that the server will refuse again or that was called off.
func retryDonor(o sembench.Observation) (time.Duration, bool) {
	if o.Error == nil {
		return 0, false
	}
	const passing = 200 * time.Millisecond
	switch o.Error.Class {
	case sembench.ErrorCanceled, sembench.ErrorTLS, sembench.ErrorUndecodable:
		return 0, false
	case sembench.ErrorHTTPStatus:
		status := 0
		if o.HTTPStatus != nil {
			status = *o.HTTPStatus
		}
		if status != 408 && status != 429 && status < 500 {
			return 0, false
		}
		if seconds, err := strconv.ParseFloat(strings.TrimSpace(o.Headers["retry-after"]), 64); err == nil && seconds >= 0 && seconds <= maxRetryAfter.Seconds() {
			return time.Duration(seconds * float64(time.Second)), true
		}
	}
	return passing, true
}

// maxRefused is how many requests in a row may find nobody listening before the run is given up.
const maxRefused = 6

// count adds a recipient to the summary.
func (r *runner) count(o sembench.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch o.Status {
	case sembench.StatusOK:
		r.summary.OK++
	case sembench.StatusFailed:
		r.summary.Failed++
	case sembench.StatusExcluded:
		r.summary.Excluded[*o.Reason]++
	case sembench.StatusNotSent:
		r.summary.NotSent++
	}
	if o.Status == sembench.StatusOK {
		r.refused = 0
	}
}

// refusal counts requests that found nobody listening since the last good recipient.
func (r *runner) refusal(o sembench.Observation) {
	if o.Error == nil || o.Error.Class != sembench.ErrorConnect {
		return
	}
	r.mu.Lock()
	r.refused++
	r.mu.Unlock()
}

func isDonor(role string) bool { return strings.HasPrefix(role, "donor-") }

func place64(s string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, s)
	return h.Sum64()
}
