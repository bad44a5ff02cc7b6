package engine

import (
	"fmt"
	"math"
	"slices"

	"sembench"
)

// Window is end minus start, paired by endpoint, per endpoint and in total. An endpoint that failed at
// either end, or was scraped at one end only, is counted and left out. Names with and without _total were
// made one when the scrape was read.
func Window(start, end []*Metrics) sembench.MetricsWindow {
	w := sembench.MetricsWindow{
		Schema: WindowSchema, Total: newWindowValues(), PerEndpoint: []sembench.EndpointWindow{},
		ScrapeErrors: []string{}, Warnings: []string{},
	}
	first, last := byEndpoint(start), byEndpoint(end)
	names := sortedKeys(first)
	for name := range last {
		if _, ok := first[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, b := first[name], last[name]
		for _, m := range []*Metrics{a, b} {
			if m != nil && m.Error != nil {
				w.ScrapeErrors = append(w.ScrapeErrors, name+": "+*m.Error)
			}
		}
		if a == nil || b == nil || a.Error != nil || b.Error != nil {
			w.EndpointsFailed++
			continue
		}
		w.EndpointsPaired++
		e, warnings := endpointWindow(name, a, b)
		w.PerEndpoint = append(w.PerEndpoint, e)
		w.Warnings = append(w.Warnings, warnings...)
		w.CounterResetDetected = w.CounterResetDetected || e.CounterResetDetected
		sumWindow(&w.Total, e.WindowValues)
	}
	if w.EndpointsFailed > 0 {
		w.Warnings = append(w.Warnings, fmt.Sprintf("%d endpoints could not be paired: the total covers %d", w.EndpointsFailed, w.EndpointsPaired))
	}
	ratios(&w.Total, w.CounterResetDetected)
	return w
}

func newWindowValues() sembench.WindowValues {
	return sembench.WindowValues{Deltas: map[string]float64{}, Histograms: map[string]sembench.MetricsHistogram{}}
}

// byEndpoint keeps the last scrape of an endpoint.
func byEndpoint(list []*Metrics) map[string]*Metrics {
	m := map[string]*Metrics{}
	for _, s := range list {
		if s != nil {
			m[s.Endpoint] = s
		}
	}
	return m
}

func endpointWindow(name string, a, b *Metrics) (sembench.EndpointWindow, []string) {
	e := sembench.EndpointWindow{Endpoint: name, WindowValues: newWindowValues()}
	var warnings []string
	warn := func(format string, args ...any) {
		warnings = append(warnings, name+": "+fmt.Sprintf(format, args...))
	}
	bornA, okA := a.Gauges["process_start_time_seconds"]
	bornB, okB := b.Gauges["process_start_time_seconds"]
	same := okA && okB && bornA == bornB
	if okA && okB && !same {
		e.CounterResetDetected = true
		warn("the process restarted inside the window")
	}
	if a.Truncated || b.Truncated {
		warn("a page was cut off: counters may be missing")
	}
	for _, key := range sortedKeys(b.Counters) {
		from, ok := a.Counters[key]
		left, known := a.Series[key]
		if !ok && (!same || a.Truncated || known && len(left) == 0) {
			warn("%s is missing at the start: no delta", key)
			continue
		}
		if !ok { // a labelled counter exists from its first increment on; the process is the same
			warn("%s appeared inside the window: taken as starting at 0", key)
		}
		d := b.Counters[key] - from
		e.Deltas[key] = d
		if a.Truncated && lacks(a.Series[key], b.Series[key]) || b.Truncated && lacks(b.Series[key], a.Series[key]) {
			delete(e.Deltas, key)
			warn("%s lacks label sets on a page that was cut off: no delta", key)
			continue
		}
		if d < 0 {
			e.CounterResetDetected = true
			warn("%s fell from %g to %g: it was reset inside the window", key, from, b.Counters[key])
		}
		if compareSeries(key, a.Series[key], b.Series[key], d < 0, warn) {
			e.CounterResetDetected = true
		}
	}
	for _, key := range sortedKeys(a.Counters) {
		if _, ok := b.Counters[key]; !ok {
			warn("%s is missing at the end: no delta", key)
		}
		if ua, ub := a.Units[key], b.Units[key]; ub != "" && ua != "" && ua != ub {
			delete(e.Deltas, key)
			warn("%s changed its unit from %s to %s: no delta", key, ua, ub)
		}
	}
	for _, key := range sortedKeys(b.Histograms) {
		h, ok := histogramDelta(a.Histograms[key], b.Histograms[key])
		if !ok {
			e.CounterResetDetected = true
			warn("%s fell: it was reset inside the window", key)
		}
		e.Histograms[key] = h
	}
	ratios(&e.WindowValues, e.CounterResetDetected)
	crossCheck(e.Deltas, warn)
	return e, warnings
}

// lacks tells whether some label set of others is not in series.
func lacks(series, others map[string]float64) bool {
	for labels := range others {
		if _, ok := series[labels]; !ok && len(series) > 0 {
			return true
		}
	}
	return false
}

// compareSeries compares a counter's label sets one by one and tells whether one fell or vanished, which the sum hides when
// another grew. A snapshot of an older version has no series. A counter of one series that fell was warned of by its sum.
func compareSeries(key string, a, b map[string]float64, fell bool, warn func(string, ...any)) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	reset := false
	for _, labels := range sortedKeys(a) {
		switch to, ok := b[labels]; {
		case !ok:
			reset = true
			warn("%s%s is missing at the end: its engine went away or restarted inside the window", key, labels)
		case to < a[labels]:
			reset = true
			if !fell || len(a) > 1 || len(b) > 1 {
				warn("%s%s fell from %g to %g: it was reset inside the window", key, labels, a[labels], to)
			}
		}
	}
	for _, labels := range sortedKeys(b) {
		if _, ok := a[labels]; !ok {
			warn("%s%s appeared inside the window: taken as starting at 0", key, labels)
		}
	}
	return reset
}

// histogramDelta is end minus start; false when a count fell.
func histogramDelta(a, b sembench.MetricsHistogram) (sembench.MetricsHistogram, bool) {
	d := sembench.MetricsHistogram{Count: b.Count - a.Count, Sum: b.Sum - a.Sum}
	ok := d.Count >= 0
	for _, bucket := range b.Buckets {
		from := 0.0
		if i := slices.IndexFunc(a.Buckets, func(x [2]float64) bool { return x[0] == bucket[0] }); i >= 0 {
			from = a.Buckets[i][1]
		}
		d.Buckets = append(d.Buckets, [2]float64{bucket[0], bucket[1] - from})
		ok = ok && bucket[1] >= from
	}
	return d, ok
}

// sumWindow adds an endpoint to the total. Bucket bounds differ only between versions; then the union of
// bounds would not be cumulative, so the total keeps counts and sums alone.
func sumWindow(total *sembench.WindowValues, v sembench.WindowValues) {
	for key, d := range v.Deltas {
		total.Deltas[key] += d
	}
	for key, h := range v.Histograms {
		t, seen := total.Histograms[key]
		bounds := len(t.Buckets) == len(h.Buckets)
		for i := range min(len(t.Buckets), len(h.Buckets)) {
			bounds = bounds && t.Buckets[i][0] == h.Buckets[i][0]
		}
		t.Count += h.Count
		t.Sum += h.Sum
		switch {
		case !seen:
			t.Buckets = slices.Clone(h.Buckets)
		case !bounds:
			t.Buckets = nil
		default:
			t.Buckets = slices.Clone(t.Buckets)
			for i := range t.Buckets {
				t.Buckets[i][1] += h.Buckets[i][1]
			}
		}
		total.Histograms[key] = t
	}
}

// ratios fills hits over queries from the counters of whichever engine exports them; null when queries are
// absent or not positive, or a counter was reset.
func ratios(v *sembench.WindowValues, reset bool) {
	if reset {
		return
	}
	over := func(hits, queries string) *float64 {
		h, okH := v.Deltas[hits]
		q, okQ := v.Deltas[queries]
		if !okH || !okQ || q <= 0 || h > q {
			return nil
		}
		return ptr(h / q)
	}
	share := func(hits, rest string) *float64 {
		h, okH := v.Deltas[hits]
		r, okR := v.Deltas[rest]
		if !okH || !okR || h+r <= 0 {
			return nil
		}
		return ptr(h / (h + r))
	}
	v.PrefixCacheHitRatio = over("vllm_prefix_cache_hits", "vllm_prefix_cache_queries")
	if v.PrefixCacheHitRatio == nil {
		v.PrefixCacheHitRatio = share("sglang_realtime_tokens_prefill_cache", "sglang_realtime_tokens_prefill_compute")
	}
	if v.PrefixCacheHitRatio == nil {
		v.PrefixCacheHitRatio = over("sglang_cached_tokens", "sglang_prompt_tokens")
	}
	if v.PrefixCacheHitRatio == nil {
		v.PrefixCacheHitRatio = share("trtllm_reused_blocks", "trtllm_missed_blocks")
	}
	v.ExternalPrefixCacheHitRatio = over("vllm_external_prefix_cache_hits", "vllm_external_prefix_cache_queries")
	if v.ExternalPrefixCacheHitRatio == nil {
		v.ExternalPrefixCacheHitRatio = over("lmcache_num_hit_tokens", "lmcache_num_requested_tokens")
	}
	if v.ExternalPrefixCacheHitRatio == nil {
		v.ExternalPrefixCacheHitRatio = over("lmcache_mp_lookup_hit_tokens", "lmcache_mp_lookup_requested_tokens")
	}
}

// crossTolerance is how far two counters that must agree may differ: a scrape is not one instant, a
// request in flight counts in one and not yet in the other.
const crossTolerance = 0.01

// crossCheck compares counters that say the same; disagreement is a warning, never averaged away.
func crossCheck(d map[string]float64, warn func(string, ...any)) {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if _, ok := d[k]; !ok {
				return false
			}
		}
		return true
	}
	differ := func(a, b float64) bool { return math.Abs(a-b) > crossTolerance*math.Max(math.Abs(a), math.Abs(b)) }
	const total = "vllm_prompt_tokens"
	if has(total, total+"_local_compute", total+"_local_cache_hit", total+"_external_kv_transfer") {
		sum := d[total+"_local_compute"] + d[total+"_local_cache_hit"] + d[total+"_external_kv_transfer"]
		if differ(sum, d[total]) {
			warn("prompt tokens by source sum to %g, prompt_tokens says %g", sum, d[total])
		}
	}
	const queries, hits, external = "vllm_prefix_cache_queries", "vllm_prefix_cache_hits", "vllm_external_prefix_cache_queries"
	if has(queries, hits, external) && d[external] > 0 && differ(d[queries]-d[hits], d[external]) {
		warn("external queries are %g, queries minus hits %g: deferrals or retries counted twice, or prompt_logprobs requests", d[external], d[queries]-d[hits])
	}
	if has(queries, hits) && d[hits] > d[queries] {
		warn("prefix cache hits %g exceed queries %g", d[hits], d[queries])
	}
	if d["vllm_num_preemptions"] > 0 {
		warn("%g preemptions inside the window: recomputed prefixes count as hits", d["vllm_num_preemptions"])
	}
	const a, b = "trtllm_prompt_cache_hit_tokens", "trtllm_prompt_cached_tokens"
	if has(a, b) && differ(d[a], d[b]) {
		warn("token hits by tier %g, by request %g", d[a], d[b])
	}
	const c, e = "sglang_cached_tokens", "sglang_realtime_tokens_prefill_cache"
	if has(c, e) && differ(d[c], d[e]) {
		warn("cached tokens by request %g, by prefill %g", d[c], d[e])
	}
	const f, g = "lmcache_num_hit_tokens", "lmcache_num_lookup_hits"
	if has(f, g) && d[f] == 0 && d[g] > 0 {
		warn("lookups hit %g tokens and none were loaded", d[g])
	}
}
