package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"sembench"
)

// MetricsSchema and WindowSchema name the shapes of a scrape and of a window.
const (
	MetricsSchema = "sembench.metrics.v1"
	WindowSchema  = "sembench.metrics_window.v1"
)

// Metrics is one scrape of one endpoint; the caller sets Endpoint and ScrapedAtUTC.
type Metrics = sembench.MetricsSnapshot

// maxScrape bounds a scrape; a busy vLLM prints well below 1 MiB, an iteration array some megabytes.
const maxScrape = 64 << 20

// ParseMetrics reads a scrape: Prometheus text (exemplars are left out), or TensorRT-LLM's JSON array of
// iteration objects. Families that carry no reuse or latency meaning are left out. Text that is neither is
// an error with its line.
func ParseMetrics(r io.Reader) (*Metrics, error) {
	br := bufio.NewReader(io.LimitReader(r, maxScrape))
	m := &Metrics{
		Schema: MetricsSchema, Counters: map[string]float64{}, Gauges: map[string]float64{},
		Histograms: map[string]sembench.MetricsHistogram{}, Units: map[string]string{},
		DeprecatedSeen: []string{}, Warnings: []string{},
	}
	head, err := br.Peek(1)
	for err == nil && (head[0] <= ' ' || head[0] == 0xEF || head[0] == 0xBB || head[0] == 0xBF) {
		if _, err = br.Discard(1); err == nil {
			head, err = br.Peek(1)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil, errors.New("reading metrics: the scrape is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	if head[0] == '[' || head[0] == '{' {
		return m, readIterations(m, br)
	}
	clean, cut, only, err := withoutExemplars(br)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(clean))
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	if cut {
		m.Truncated = true
		m.Warnings = append(m.Warnings, "the page ends inside a line: it was cut off, and that line is left out")
		if only { // parsed for its form alone
			clear(families)
		}
	}
	collect(m, families)
	return m, nil
}

// withoutExemplars cuts OpenMetrics exemplars (" # {…} v" behind a sample), which the text format does not
// know, and drops its end mark. True when the page ended inside a line, which is then left out, unless the page is
// that line alone and so may be no metrics at all; then the second is true too.
func withoutExemplars(r io.Reader) (page []byte, cut, only bool, err error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, false, false, err
	}
	end := bytes.LastIndexByte(raw, '\n') + 1
	cut = end < len(raw) && len(bytes.TrimSpace(raw[end:])) > 0 && string(bytes.TrimSpace(raw[end:])) != "# EOF"
	if cut && end > 0 {
		raw = raw[:end]
	}
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	var out []byte
	for line := range bytes.Lines(raw) {
		if len(line) > 0 && line[0] != '#' {
			if i := exemplar(line); i >= 0 {
				line = append(line[:i:i], '\n')
			}
		} else if bytes.HasPrefix(line, []byte("# EOF")) {
			continue
		}
		out = append(out, line...)
	}
	if n := len(out); n > 0 && out[n-1] != '\n' {
		out = append(out, '\n')
	}
	return out, cut, cut && end == 0, nil
}

// exemplar is where " # {" stands outside a quoted label value, or -1.
func exemplar(line []byte) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '#' && !quoted && i > 0 && line[i-1] == ' ':
			return i - 1
		}
	}
	return -1
}

// readIterations reads TensorRT-LLM's iteration objects, one array or one object after another. The counters are
// cumulative: the last value counts.
func readIterations(m *Metrics, r io.Reader) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	var it iterations
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading metrics: byte %d: %w", d.InputOffset(), err)
		}
		switch v := v.(type) {
		case map[string]any:
			it.add(v)
		case []any:
			for _, e := range v {
				if obj, ok := e.(map[string]any); ok {
					it.add(obj)
				}
			}
		}
	}
	s := it.stats()
	if s == nil {
		m.Warnings = append(m.Warnings, "no iteration objects: the endpoint's queue is drained by reading, another reader may have taken them")
		return nil
	}
	put := func(name string, n *int) {
		if n != nil {
			m.Counters[name] = float64(*n)
		}
	}
	put("trtllm_reused_blocks", s.ReusedBlocks)
	put("trtllm_missed_blocks", s.MissedBlocks)
	if s.TokensPerBlock != nil {
		m.Gauges["trtllm_tokens_per_block"] = float64(*s.TokensPerBlock)
	}
	if s.CacheHitRate != nil {
		m.Gauges["trtllm_cache_hit_rate"] = *s.CacheHitRate
	}
	if s.CounterReset {
		m.Warnings = append(m.Warnings, "reused blocks fell between iterations: the engine restarted")
	}
	return nil
}

// collect sums the label sets of the families that matter.
func collect(m *Metrics, families map[string]*dto.MetricFamily) {
	for _, name := range sortedKeys(families) {
		base := strings.TrimSuffix(name, "_total")
		if _, twin := families[name+"_total"]; twin {
			continue // one counter under two names
		}
		base = strings.Replace(base, ":", "_", 1)
		for _, f := range knownFamilies[base] {
			if f.deprecated {
				// The reader of a window wants the old spelling as the endpoint writes it, without _total.
				old := strings.TrimSuffix(name, "_total")
				if !slices.Contains(m.DeprecatedSeen, old) {
					m.DeprecatedSeen = append(m.DeprecatedSeen, old)
				}
			}
			f.take(m, families[name])
		}
	}
	for _, old := range sortedKeys(successors) {
		next := successors[old]
		v, ok := m.Counters[old]
		if !ok {
			if series, bad := m.Series[old]; bad { // not a number, and so is what it stands in for
				delete(m.Series, old)
				if _, present := m.Series[next]; !present {
					m.Series[next] = series
				}
			}
			continue
		}
		delete(m.Counters, old)
		unit := m.Units[old]
		delete(m.Units, old)
		series := m.Series[old]
		delete(m.Series, old)
		if _, present := m.Counters[next]; !present {
			m.Counters[next] = v
			m.Series[next] = series
			m.Units[next] = unit
			if unit == "blocks" {
				m.Warnings = append(m.Warnings, next+" counts blocks in this version, not tokens")
			}
		}
	}
	slices.Sort(m.DeprecatedSeen)
}

// addSeries makes room for a counter's label sets.
func addSeries(m *Metrics, name string) {
	if m.Series == nil {
		m.Series = map[string]map[string]float64{}
	}
	if m.Series[name] == nil {
		m.Series[name] = map[string]float64{}
	}
}

// take adds one family under the canonical name. NaN and infinities are no measurements: a counter with one such
// series is left out whole, an empty map of series remains of it.
func (f family) take(m *Metrics, mf *dto.MetricFamily) {
	if series, ok := m.Series[f.name]; ok && len(series) == 0 {
		return // left out by another spelling
	}
	bad, seen := false, map[string]float64{}
	for _, metric := range mf.GetMetric() {
		if f.label != "" && labelOf(metric, f.label) != f.value {
			continue
		}
		if h := metric.GetHistogram(); h != nil {
			if f.gauge {
				continue
			}
			if addHistogram(m, f.name, h) {
				m.Warnings = append(m.Warnings, f.name+labelSet(metric)+" stands twice on the page: counted once")
			}
			continue
		}
		v, labels := valueOf(metric), labelSet(metric)
		if first, twice := seen[labels]; twice {
			m.Warnings = append(m.Warnings, fmt.Sprintf("%s%s stands twice on the page, with %g and %g: the first counts", f.name, labels, first, v))
			continue
		}
		seen[labels] = v
		if math.IsNaN(v) || math.IsInf(v, 0) {
			note := f.name + labels + " is not a number"
			if !f.gauge {
				note += ": the counter is left out"
			}
			if !bad {
				m.Warnings = append(m.Warnings, note)
			}
			bad = true
			continue
		}
		if f.gauge {
			m.Gauges[f.name] = math.Max(m.Gauges[f.name], v)
			continue
		}
		m.Counters[f.name] += v
		addSeries(m, f.name)
		m.Series[f.name][labels] += v
	}
	if bad && !f.gauge {
		delete(m.Counters, f.name)
		addSeries(m, f.name)
		clear(m.Series[f.name])
	}
	if _, ok := m.Counters[f.name]; ok && f.tokens {
		m.Units[f.name] = "tokens"
		if strings.Contains(mf.GetHelp(), "block") {
			m.Units[f.name] = "blocks"
		}
	}
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Untyped != nil:
		return m.GetUntyped().GetValue()
	}
	return math.NaN()
}

// labelSet writes a series' labels sorted by name, the way an exposition does; empty without labels.
func labelSet(m *dto.Metric) string {
	if len(m.GetLabel()) == 0 {
		return ""
	}
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+"="+strconv.Quote(l.GetValue()))
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// addHistogram sums label sets; bounds are the same for all label sets of a family. True when a
// bound stands twice in one label set; the first counts.
func addHistogram(m *Metrics, name string, h *dto.Histogram) bool {
	twice, bounds := false, map[float64]bool{}
	sum := m.Histograms[name]
	sum.Count += float64(h.GetSampleCount())
	if s := h.GetSampleSum(); !math.IsNaN(s) && !math.IsInf(s, 0) {
		sum.Sum += s
	}
	for _, b := range h.GetBucket() {
		le := b.GetUpperBound()
		if math.IsInf(le, 0) || math.IsNaN(le) {
			continue
		}
		if bounds[le] {
			twice = true
			continue
		}
		bounds[le] = true
		i, ok := slices.BinarySearchFunc(sum.Buckets, le, func(b [2]float64, le float64) int {
			switch {
			case b[0] < le:
				return -1
			case b[0] > le:
				return 1
			}
			return 0
		})
		if !ok {
			sum.Buckets = slices.Insert(sum.Buckets, i, [2]float64{le, 0})
		}
		sum.Buckets[i][1] += float64(b.GetCumulativeCount())
	}
	m.Histograms[name] = sum
	return twice
}
