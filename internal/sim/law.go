package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	jitterLognormal = "lognormal"
	jitterHeavytail = "heavytail"
	jitterDrift     = "drift"
)

func knownJitter(model string) bool {
	return model == jitterLognormal || model == jitterHeavytail || model == jitterDrift
}

// charge is what the law takes for one request, before it is queued; jitter is already in every part.
type charge struct {
	base, lookup, prefill, load time.Duration
}

// busy is the time that holds a prefill slot.
func (c charge) busy() time.Duration    { return c.lookup + c.prefill + c.load }
func (c charge) service() time.Duration { return c.base + c.busy() }

// law charges d, for the request that arrived as number index.
func (c *Config) law(d *decision, index int) charge {
	f := c.jitter(index)
	scale := func(t time.Duration) time.Duration { return time.Duration(math.Round(float64(t) * f)) }
	out := charge{
		base:    scale(millis(c.BaseMS)),
		prefill: scale(micros(c.PrefillUSPerToken * float64(d.computed()))),
		load:    scale(micros(c.LoadUSPerToken*float64(d.semantic) + c.OffloadUSPerToken*float64(d.offload))),
	}
	if d.lookedUp {
		out.lookup = scale(millis(c.LookupMS))
	}
	return out
}

// jitter is the factor on the service time of request index. Its mean is 1: a harness that averages many
// requests must come out at the law itself. Lognormal has relative standard deviation Jitter. Heavytail is
// lognormal, but one request in fifty takes 1 + 10 x Jitter to 1 + 50 x Jitter times as long. Drift is lognormal
// on a level that swings by Jitter over 200 requests.
func (c *Config) jitter(index int) float64 {
	if c.Jitter == 0 {
		return 1
	}
	r := c.random("jitter", index)
	variance := math.Log1p(c.Jitter * c.Jitter)
	f := math.Exp(math.Sqrt(variance)*r.NormFloat64() - variance/2)
	switch c.JitterModel {
	case jitterHeavytail:
		// Mean of the tail: 0.02 x 30 x Jitter above 1, taken off again.
		if r.Float64() < 0.02 {
			f *= 1 + c.Jitter*(10+40*r.Float64())
		}
		f /= 1 + 0.02*30*c.Jitter
	case jitterDrift:
		f *= 1 + c.Jitter*math.Sin(2*math.Pi*float64(index)/200)
	}
	return f
}

// random is the stream of request index for one purpose: choices of different purposes stay independent, and
// none depends on what ran before.
func (c *Config) random(purpose string, index int) *rand.Rand {
	h := uint64(0xcbf29ce484222325) // FNV-1a
	for i := range len(purpose) {
		h = (h ^ uint64(purpose[i])) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(c.Seed^h, uint64(index)))
}
