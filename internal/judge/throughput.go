package judge

import (
	"strings"

	"sembench"
)

// Load is what a load run knows beside its observations: how it was offered, and what the client itself did.
type Load struct {
	// Concurrency of a closed loop; null in an open one.
	Concurrency *int
	// WallSeconds from the first request to the end of the last; SettleSeconds the sum of waits after donors, of all workers;
	// IdleSeconds without a request under way.
	WallSeconds, SettleSeconds, IdleSeconds float64
	// ClientCPU is processor seconds a second; null where the system does not tell.
	ClientCPU     *float64
	ClientLimited bool
	// SLO that goodput is asked for, like "ttft_ms<200"; empty for none.
	SLO string
}

// settleBasis says how waits are taken out of the wall time of a closed loop: workers wait side by side.
const settleBasis = "sum of waits after donors / concurrency"

// Throughput sums a load run: requests and errors, rates with and without settle, percentiles of times by role, goodput. Open-loop
// times of recipients count from the scheduled moment, so that a late client hides no queue (coordinated omission). Canaries, probes
// and warm-up are no load. An SLO that cannot be read is Refused.
func Throughput(observations []sembench.Observation, load Load) (*sembench.Throughput, error) {
	goal, err := ParseSLO(load.SLO)
	if err != nil {
		return nil, err
	}
	out := &sembench.Throughput{Concurrency: load.Concurrency, WallSeconds: load.WallSeconds, IdleSeconds: &load.IdleSeconds,
		ClientCPU: load.ClientCPU, ClientLimited: &load.ClientLimited}
	var donors, recipients, latency, gaps, lags []float64
	finished, tokens, counted, good := 0, 0, true, 0
	sent := 0
	for _, o := range newJournal(observations).lines {
		isDonor, isRecipient := strings.HasPrefix(o.Role, "donor-"), o.Role == sembench.RoleRecipient
		if o.Arm == armCanary || !isDonor && !isRecipient {
			continue
		}
		if isRecipient {
			out.Items++
		}
		if o.Status != sembench.StatusOK && o.Status != sembench.StatusFailed {
			continue
		}
		out.Requests++
		if isRecipient {
			sent++
		}
		if lag := milliseconds(o.Stamps.Scheduled, o.Stamps.WriteStart); lag != nil {
			lags = append(lags, *lag)
		}
		if o.Status == sembench.StatusFailed {
			out.Errors++
			continue
		}
		finished++
		if n := o.OutputTokens(); n != nil {
			tokens += *n
		} else {
			counted = false
		}
		times := measure(o)
		if isDonor {
			donors = addTo(donors, times.ttft)
			continue
		}
		recipients, latency = addTo(recipients, times.ttft), addTo(latency, times.latency)
		gaps = append(gaps, times.gaps...)
		if goal.met(times) {
			good++
		}
	}
	out.DonorTTFTMS, out.RecipientTTFTMS, out.RecipientLatencyMS = percentiles(donors), percentiles(recipients), percentiles(latency)
	out.ITLMS, out.ScheduleLagMS = percentiles(gaps), percentiles(lags)
	if load.WallSeconds > 0 {
		out.RequestsPerSecond = finite(float64(finished) / load.WallSeconds)
		if counted && finished > 0 {
			out.OutputTokensPerSecond = finite(float64(tokens) / load.WallSeconds)
		}
		if load.Concurrency != nil && *load.Concurrency > 0 {
			settle := load.SettleSeconds / float64(*load.Concurrency)
			out.SettleSecondsEst, out.SettleExcludedBasis = &settle, new(settleBasis)
			if busy := load.WallSeconds - settle; busy > 0 {
				out.RequestsPerSecondExcludingSettle = finite(float64(finished) / busy)
			}
		}
	}
	if load.SLO != "" {
		out.Goodput = &sembench.Goodput{SLO: load.SLO, Rate: rate(good, sent)} // a failed request meets no level
	}
	return out, nil
}

// requestTimes are one request's times in milliseconds as its user sees them.
type requestTimes struct {
	ttft, latency, itl *float64
	gaps               []float64
}

func measure(o sembench.Observation) (t requestTimes) {
	from := o.Stamps.WriteStart
	if o.Stamps.Scheduled != nil {
		from = o.Stamps.Scheduled
	}
	t.ttft, t.latency = milliseconds(from, o.Stamps.FirstOutput), milliseconds(from, o.Stamps.LastOutput)
	for i := 1; i < len(o.Chunks); i++ {
		gap := float64(o.Chunks[i][0]-o.Chunks[i-1][0]) / 1e6
		if n := o.Chunks[i][2]; n > 1 { // several tokens in one event came a share of its gap apart
			gap /= float64(n)
		}
		t.gaps = append(t.gaps, gap)
	}
	if len(t.gaps) > 0 {
		t.itl = average(t.gaps)
	}
	return t
}

func addTo(list []float64, v *float64) []float64 {
	if v == nil {
		return list
	}
	return append(list, *v)
}

func percentiles(x []float64) sembench.Percentiles {
	return sembench.Percentiles{P50: quantile(x, 0.5, 1), P90: quantile(x, 0.9, 1), P99: quantile(x, 0.99, 1), Mean: average(x)}
}
