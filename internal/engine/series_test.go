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

// A series that is no number takes its whole counter out, at either end: the rest of the sum is not the counter.
func TestSeriesNotANumber(t *testing.T) {
	const born = "process_start_time_seconds 5\n"
	for _, bad := range []string{"NaN", "+Inf", "-Inf"} {
		page := born + seriesGone + "vllm:prefix_cache_queries_total{engine=\"1\"} " + bad + "\nvllm:prefix_cache_hits_total{engine=\"1\"} 950\n"
		m := scrape(t, page)
		if v, ok := m[0].Counters["vllm_prefix_cache_queries"]; ok || !warned(m[0].Warnings, `vllm_prefix_cache_queries{engine="1"} is not a number`) {
			t.Errorf("%s: %g, %q", bad, v, m[0].Warnings)
		}
		if m[0].Counters["vllm_prefix_cache_hits"] != 1950 {
			t.Errorf("%s: %v", bad, m[0].Counters)
		}
		for _, w := range []sembench.MetricsWindow{
			Window(scrape(t, born+seriesStart), m), Window(m, scrape(t, born+strings.ReplaceAll(seriesStart, "00\n", "0000\n"))),
		} {
			if _, ok := w.Total.Deltas["vllm_prefix_cache_queries"]; ok || w.Total.PrefixCacheHitRatio != nil || !warned(w.Warnings, "vllm_prefix_cache_queries is missing at the") {
				t.Errorf("%s: %+v", bad, w)
			}
		}
	}
}

// One series written twice, in whatever order of labels, counts once.
func TestSeriesTwice(t *testing.T) {
	for _, second := range []string{`engine="0",model="m"`, `model="m",engine="0"`} {
		m := scrape(t, "vllm:prompt_tokens_total{engine=\"0\",model=\"m\"} 5\nvllm:prompt_tokens_total{engine=\"1\",model=\"m\"} 7\nvllm:prompt_tokens_total{"+second+"} 6\n")[0]
		if m.Counters["vllm_prompt_tokens"] != 12 || m.Series["vllm_prompt_tokens"][`{engine="0",model="m"}`] != 5 ||
			!warned(m.Warnings, `vllm_prompt_tokens{engine="0",model="m"} stands twice on the page, with 5 and 6`) {
			t.Errorf("%s: %v %v %q", second, m.Counters, m.Series, m.Warnings)
		}
	}
	const h = "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 4\nvllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 9\nvllm:time_to_first_token_seconds_sum 2.5\nvllm:time_to_first_token_seconds_count 9\n"
	m := scrape(t, "# TYPE vllm:time_to_first_token_seconds histogram\n"+h+h)[0]
	if got := m.Histograms["vllm_time_to_first_token_seconds"]; got.Count != 9 || got.Sum != 2.5 || got.Buckets[0] != [2]float64{0.1, 4} || !warned(m.Warnings, "vllm_time_to_first_token_seconds stands twice on the page") {
		t.Errorf("%+v %q", got, m.Warnings)
	}
}

// A page that ends inside a line was cut off: its last value may lack digits.
func TestCutPage(t *testing.T) {
	const whole = "vllm:prefix_cache_queries_total{engine=\"0\"} 1600\n"
	for _, last := range []string{"vllm:prefix_cache_hits_total{engine=\"0\"} 70", "vllm:prefix_cac", "vllm:prefix_cache_hits_total{eng", "# TYPE vllm:prefix_cache_hits_total coun"} {
		m := scrape(t, whole+last)[0]
		if _, ok := m.Counters["vllm_prefix_cache_hits"]; ok || m.Counters["vllm_prefix_cache_queries"] != 1600 || !warned(m.Warnings, "the page ends inside a line") {
			t.Errorf("%q: %v %q", last, m.Counters, m.Warnings)
		}
	}
	for _, page := range []string{whole, whole + "# EOF", whole + "# EOF\n", strings.ReplaceAll(whole, "\n", "\r\n")} {
		if m := scrape(t, page)[0]; m.Truncated || len(m.Warnings) != 0 || m.Counters["vllm_prefix_cache_queries"] != 1600 {
			t.Errorf("%q: %v %q", page, m.Counters, m.Warnings)
		}
	}
	if m := scrape(t, "vllm:prefix_cache_queries_total 16")[0]; len(m.Counters) != 0 || !m.Truncated {
		t.Errorf("a single line: %v %q", m.Counters, m.Warnings)
	}
	if _, err := ParseMetrics(strings.NewReader("<html>no metrics</html>")); err == nil {
		t.Error("a page of another kind passed")
	}
	// What a cut page lacks did not begin or end inside the window.
	const born = "process_start_time_seconds 5\n"
	cut := strings.TrimSuffix(born+seriesStart, "00\n")
	late := born + strings.ReplaceAll(seriesStart, "00\n", "0000\n")
	for _, w := range []sembench.MetricsWindow{
		Window(scrape(t, cut), scrape(t, late)), Window(scrape(t, born+seriesStart), scrape(t, strings.TrimSuffix(late, "0000\n"))),
		Window(scrape(t, born+"vllm:prefix_cache_queries_total 1\nvllm:prefix_cache_hits_total 1"), scrape(t, born+"vllm:prefix_cache_queries_total 9\nvllm:prefix_cache_hits_total 9\n")),
	} {
		_, hits := w.Total.Deltas["vllm_prefix_cache_hits"]
		_, queries := w.Total.Deltas["vllm_prefix_cache_queries"]
		if hits || !queries || w.CounterResetDetected || w.Total.PrefixCacheHitRatio != nil || !warned(w.Warnings, "cut off") {
			t.Errorf("%+v", w)
		}
	}
}
