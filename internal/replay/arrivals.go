package replay

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"sembench"
)

// Arrival processes of an open loop.
const (
	Constant = "constant" // equal gaps
	Poisson  = "poisson"  // exponential gaps: independent users
	Gamma    = "gamma"    // gamma gaps of a chosen shape: below 1 burstier than Poisson, above 1 more even
)

// Traffic is how load is offered. The zero value is a closed loop of Config.Concurrency.
type Traffic struct {
	// Rate is requests a second of an open loop; 0 for a closed one.
	Rate float64
	// Process is constant, poisson or gamma; "" means poisson. Shape is gamma's; 0 means 0.5.
	Process string
	Shape   float64
	// Replay takes the times of metadata.arrival_ms; Speed divides them, 0 means 1.
	Replay bool
	Speed  float64
	// MaxInFlight bounds an open loop's requests under way; 0 means 4,096. A request that has to wait for it shows as lag.
	MaxInFlight int
	// MaxRequests ends the run early; 0 for all items.
	MaxRequests int
	// Duration ends the sending after so long, the items that are left not sent; 0 for all items.
	Duration time.Duration
	// Cold salts every request by itself: the pass with nothing to reuse. Otherwise the pass is isolated once.
	Cold bool
	// MinDonorGap is the least number of requests completed between a donor item and the item that it seeds; metadata.donor_gap_requests
	// counts where it is larger.
	MinDonorGap int
}

func (t Traffic) open() bool { return t.Rate > 0 || t.Replay }

// Validate tells what is wrong with a traffic description; nil when nothing is.
func (t Traffic) Validate() error {
	switch {
	case t.Rate < 0:
		return fmt.Errorf("rate is %v, want requests a second", t.Rate)
	case t.Rate > 0 && t.Replay:
		return fmt.Errorf("rate and replay exclude each other: the trace has its own times")
	case !slices.Contains([]string{"", Constant, Poisson, Gamma}, t.Process):
		return fmt.Errorf("arrival process is %q, want constant, poisson or gamma", t.Process)
	case t.Shape < 0 || t.Speed < 0:
		return fmt.Errorf("shape is %v and speed %v, want above 0", t.Shape, t.Speed)
	}
	return nil
}

// schedule gives when each item's request is due, from the start of the run, in the order of items; nil for a closed
// loop. Traces must have a time on every item, in any order.
func (t Traffic) schedule(items []sembench.Item, seed uint64) ([]time.Duration, error) {
	if !t.open() {
		return nil, nil
	}
	due := make([]time.Duration, len(items))
	if t.Replay {
		speed := t.Speed
		orDefault(&speed, 1)
		first := time.Duration(0)
		for i, item := range items {
			ms, ok := number(item.Metadata["arrival_ms"])
			if !ok {
				return nil, fmt.Errorf("replaying arrivals: item %s has no metadata.arrival_ms", item.ItemID)
			}
			due[i] = time.Duration(ms / speed * float64(time.Millisecond))
			if i == 0 || due[i] < first {
				first = due[i]
			}
		}
		for i := range due {
			due[i] -= first
		}
		return due, nil
	}
	gap := t.gaps(seed)
	at := 0.0
	for i := range due {
		due[i] = time.Duration(at * float64(time.Second))
		at += gap()
	}
	return due, nil
}

// gaps draws seconds between arrivals, with mean 1/Rate.
func (t Traffic) gaps(seed uint64) func() float64 {
	random := rng(seed, "arrivals")
	switch t.Process {
	case Constant:
		return func() float64 { return 1 / t.Rate }
	case Gamma:
		shape := t.Shape
		orDefault(&shape, 0.5)
		return distuv.Gamma{Alpha: shape, Beta: shape * t.Rate, Src: random}.Rand
	}
	return func() float64 { return random.ExpFloat64() / t.Rate }
}

// number reads a JSON number of any kind.
func number(value any) (float64, bool) {
	var f float64
	_, err := fmt.Sscan(fmt.Sprint(value), &f)
	return f, err == nil && value != nil
}
