package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"sembench"
)

const (
	seriesStart = `vllm:prefix_cache_queries_total{engine="0"} 100
vllm:prefix_cache_hits_total{engine="0"} 40
vllm:prefix_cache_queries_total{engine="1"} 1000
vllm:prefix_cache_hits_total{engine="1"} 900
`
	seriesReset = `vllm:prefix_cache_queries_total{engine="0"} 5000
vllm:prefix_cache_hits_total{engine="0"} 1000
vllm:prefix_cache_queries_total{engine="1"} 10
vllm:prefix_cache_hits_total{engine="1"} 0
`
	seriesGone = `vllm:prefix_cache_queries_total{engine="0"} 5000
vllm:prefix_cache_hits_total{engine="0"} 1000
`
)

func warned(list []string, want string) bool { return strings.Contains(strings.Join(list, "\n"), want) }

// One series' reset or end does not hide behind another's growth.
func TestWindowSeries(t *testing.T) {
	for _, c := range []struct{ name, end, want string }{
		{"reset", seriesReset, `vllm_prefix_cache_queries{engine="1"} fell from 1000 to 10`},
		{"gone", seriesGone, `vllm_prefix_cache_queries{engine="1"} is missing at the end`},
	} {
		w := Window(scrape(t, seriesStart), scrape(t, c.end))
		if !w.CounterResetDetected || !w.PerEndpoint[0].CounterResetDetected || w.Total.PrefixCacheHitRatio != nil || !warned(w.Warnings, c.want) {
			t.Errorf("%s: reset %v ratio %v warnings %q", c.name, w.CounterResetDetected, w.Total.PrefixCacheHitRatio, w.Warnings)
		}
		if d := w.Total.Deltas["vllm_prefix_cache_queries"]; d != 3900 && d != 3910 {
			t.Errorf("%s: delta %g", c.name, d)
		}
	}
	grown := strings.NewReplacer("} 10\n", "} 1010\n", "} 0\n", "} 905\n").Replace(seriesReset)
	if w := Window(scrape(t, seriesStart), scrape(t, grown)); w.CounterResetDetected || w.Total.PrefixCacheHitRatio == nil || len(w.Warnings) != 0 {
		t.Errorf("grown: %+v", w)
	}
	if w := Window(scrape(t, seriesGone), scrape(t, strings.ReplaceAll(seriesGone, "000\n", "001\n")+"vllm:prefix_cache_hits_total{engine=\"1\"} 1\n")); w.CounterResetDetected || !warned(w.Warnings, `vllm_prefix_cache_hits{engine="1"} appeared inside the window`) {
		t.Errorf("appeared: %+v", w)
	}
}

// A snapshot of an older version has no series: the sums alone are compared.
func TestWindowOldSnapshot(t *testing.T) {
	old := func(text string) []*Metrics {
		b, err := json.Marshal(scrape(t, text)[0])
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		delete(doc, "series")
		b, _ = json.Marshal(doc)
		var m sembench.MetricsSnapshot
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return []*Metrics{&m}
	}
	for _, w := range []sembench.MetricsWindow{
		Window(old(seriesStart), scrape(t, seriesReset)), Window(scrape(t, seriesStart), old(seriesReset)), Window(old(seriesStart), old(seriesReset)),
	} {
		if w.CounterResetDetected || w.Total.PrefixCacheHitRatio == nil || len(w.Warnings) != 0 {
			t.Errorf("%+v", w)
		}
	}
}
