package sim

import "sort"

// counters is what /metrics tells. Its methods need the engine's lock.
type counters struct {
	requests, promptTokens, outputTokens int
	queries, hits                        int     // tokens asked of and found in the local prefix cache
	externalQueries, externalHits        int     // the same of the tiers behind it, for what was not local
	offloadHits                          int     // the part of externalHits that the offload tier gave
	lastRate                             float64 // cached share of the last prompt
	bySource                             map[string]int
	finished                             map[string]int // by reason
	stored, loaded                       int            // bytes moved to the offload tier, and from it and from donors

	ttft, queue, prefill, decode, e2e, itl, computed *histogram
}

// Sources of prompt tokens, as vLLM labels them.
const (
	sourceCompute  = "local_compute"
	sourceLocal    = "local_cache_hit"
	sourceExternal = "external_kv_transfer"
)

func newCounters() counters {
	request := []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60}
	return counters{
		bySource: map[string]int{sourceCompute: 0, sourceLocal: 0, sourceExternal: 0},
		finished: map[string]int{"stop": 0, "length": 0, "abort": 0},
		ttft:     newHistogram(.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
		itl:      newHistogram(.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80),
		queue:    newHistogram(request...), prefill: newHistogram(request...), decode: newHistogram(request...), e2e: newHistogram(request...),
		computed: newHistogram(1, 10, 100, 1000, 10_000, 100_000),
	}
}

// begin counts a job that starts, as its counters channel claims it.
func (c *counters) begin(e *Engine, j *job) {
	n, claim := j.decision.prompt, j.claims.counters
	c.queries += n
	c.hits += claim.prefix
	if e.external() {
		c.externalQueries += n - claim.prefix
		c.externalHits += claim.external
	}
	c.offloadHits += min(j.decision.offload, claim.external)
	c.lastRate = float64(claim.prefix+claim.external) / float64(n)
	c.promptTokens += n
	c.bySource[sourceLocal] += claim.prefix
	c.bySource[sourceExternal] += claim.external
	c.bySource[sourceCompute] += n - claim.prefix - claim.external
	c.loaded += claim.external * e.cfg.KVBytesPerToken
}

// end counts a job that has finished.
func (c *counters) end(j *job) {
	c.requests++
	c.outputTokens += j.out.tokens
	c.finished[j.out.reason]++
	c.ttft.add(j.first.Sub(j.arrival).Seconds())
	c.queue.add(j.start.Sub(j.arrival).Seconds())
	c.prefill.add(j.first.Sub(j.start).Seconds())
	c.decode.add(j.finish.Sub(j.first).Seconds())
	c.e2e.add(j.finish.Sub(j.arrival).Seconds())
	for range len(j.out.chunks) - 1 {
		c.itl.add(j.itl.Seconds())
	}
	claim := j.claims.counters
	c.computed.add(float64(j.decision.prompt - claim.prefix - claim.external))
}

// external tells whether a connector stands behind the local cache.
func (e *Engine) external() bool { return e.donors != nil || e.cfg.OffloadBlocks > 0 }

// histogram counts values at or below each bound.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds: the last is above all
	sum    float64
	n      uint64
}

func newHistogram(bounds ...float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) add(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
	h.n++
}

// cumulative is the count at or below each bound.
func (h *histogram) cumulative() map[float64]uint64 {
	out := make(map[float64]uint64, len(h.bounds))
	total := uint64(0)
	for i, b := range h.bounds {
		total += h.counts[i]
		out[b] = total
	}
	return out
}
