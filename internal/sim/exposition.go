package sim

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// exposition writes metrics in the Prometheus text format, all with the same labels.
type exposition struct {
	out            chan<- prometheus.Metric
	labels, values []string
}

func (x exposition) number(kind prometheus.ValueType, name, help string, v float64) {
	x.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, x.labels, nil), kind, v, x.values...)
}

func (x exposition) counter(name, help string, n int) {
	x.number(prometheus.CounterValue, name, help, float64(n))
}
func (x exposition) gauge(name, help string, v float64) {
	x.number(prometheus.GaugeValue, name, help, v)
}

// split is a counter with one more label. The registry sorts what it gathers.
func (x exposition) split(name, help, label string, by map[string]int) {
	desc := prometheus.NewDesc(name, help, append(x.labels[:len(x.labels):len(x.labels)], label), nil)
	for key, n := range by {
		x.out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), append(x.values[:len(x.values):len(x.values)], key)...)
	}
}

func (x exposition) times(name, help string, h *histogram) {
	x.out <- prometheus.MustNewConstHistogram(prometheus.NewDesc(name, help, x.labels, nil), h.n, h.sum, h.cumulative(), x.values...)
}

// metrics serves what write writes, and the process's start time. write runs under the engine's lock.
func (e *Engine) metrics(labels, values []string, write func(x exposition)) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&liveCollector{e, labels, values, write})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
}

// liveCollector reads the engine's counters at every scrape.
type liveCollector struct {
	e              *Engine
	labels, values []string
	write          func(x exposition)
}

// Describe tells nothing, which makes the collector unchecked: its metrics are made anew at every scrape.
func (*liveCollector) Describe(chan<- *prometheus.Desc) {}

func (c *liveCollector) Collect(out chan<- prometheus.Metric) {
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	c.e.advance(c.e.cfg.Clock.Now())
	c.write(exposition{out, c.labels, c.values})
	exposition{out: out}.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", float64(c.e.boot.started.UnixMicro())/1e6)
}
