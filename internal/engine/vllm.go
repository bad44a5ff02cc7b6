package engine

import (
	"bytes"

	"sembench"
)

// maxSamples bounds the statistics lines kept: one per 10 s for eleven hours.
const maxSamples = 4096

// vllmStats gathers vLLM's periodic statistics lines and transfer metrics.
type vllmStats struct {
	lines    int
	spec     int
	engines  map[string]struct{}
	samples  []sembench.StatSample
	dropped  int
	last     *sembench.StatSample
	preempt  *int
	refused  int // cache resets that the engine did not do
	transfer *sembench.TransferStats
}

// vllmMessage reads vLLM's own messages: V1 "Engine 000: Avg prompt throughput: …" (first builds without
// the engine, data parallel "N Engines Aggregated: "), V0 "Prefix cache hit rate: GPU: …", "KV Transfer
// metrics: …", and the serve arguments, which tell whether a connector is at work.
func (c *collector) vllmMessage(r *record) bool {
	msg := r.msg
	switch {
	case bytes.HasPrefix(msg, []byte("Engine ")):
		rest := msg[len("Engine "):]
		n := 0
		for n < len(rest) && n < 6 && digit(rest[n]) {
			n++
		}
		if n == 0 || !bytes.HasPrefix(rest[n:], []byte(": Avg prompt throughput")) {
			return false
		}
		return c.statLine(r, string(rest[:n]), rest[n+2:])
	case bytes.HasPrefix(msg, []byte("Avg prompt throughput: ")):
		return c.statLine(r, "", msg)
	case digit(msg[0]):
		n, rest, ok := parseCount(msg)
		stats, is := bytes.CutPrefix(rest, []byte(" Engines Aggregated: "))
		if !ok || !is || n == 0 {
			return false
		}
		return c.statLine(r, "aggregate", stats)
	case bytes.HasPrefix(msg, []byte("Prefix cache hit rate: GPU: ")):
		return c.statLine(r, "", msg)
	case bytes.HasPrefix(msg, []byte("SpecDecoding metrics: ")):
		c.stats.spec++
		return true
	case bytes.HasPrefix(msg, []byte("Failed to reset prefix cache")):
		c.stats.refused++
		return true
	case bytes.HasPrefix(msg, []byte("KV Transfer metrics: ")):
		return c.transferLine(msg)
	case bytes.HasPrefix(msg, []byte("non-default args: ")):
		c.semblend.hidden = c.semblend.hidden || bytes.Contains(msg, []byte("kv_connector"))
		return true
	}
	return false
}

// statLine parses "key: value" pairs by name; which parts appear, and where, differs by version. The V0
// line nests: "Prefix cache hit rate: GPU: x%, CPU: y%".
func (c *collector) statLine(r *record, engine string, msg []byte) bool {
	s := sembench.StatSample{Engine: engine, Process: r.process}
	read := false
	for len(msg) > 0 {
		part := msg
		if i := bytes.Index(msg, []byte(", ")); i >= 0 {
			part, msg = msg[:i], msg[i+2:]
		} else {
			msg = nil
		}
		i := bytes.LastIndex(part, []byte(": "))
		if i < 0 {
			continue
		}
		read = c.statPart(&s, string(part[:i]), part[i+2:]) || read
	}
	if !read {
		return c.torn()
	}
	c.saw("vllm_stats")
	st := &c.stats
	st.lines++
	if st.engines == nil {
		st.engines = map[string]struct{}{}
	}
	if engine != "" && len(st.engines) < maxRanks {
		st.engines[engine] = struct{}{}
	}
	if len(st.samples) < maxSamples {
		st.samples = append(st.samples, s)
	} else {
		st.dropped++
	}
	st.last = &s
	return true
}

// statPart stores one pair and says whether it was a cache or load figure that could be read.
func (c *collector) statPart(s *sembench.StatSample, key string, value []byte) bool {
	if pct, isPct := bytes.CutSuffix(value, []byte("%")); isPct {
		f, rest, ok := parseFloat(pct)
		if !ok || len(rest) > 0 || f > 100 {
			return false
		}
		f = f / 100
		switch key {
		case "Prefix cache hit rate", "Prefix cache hit rate: GPU":
			s.PrefixCacheHitRate = &f
		case "External prefix cache hit rate":
			s.ExternalPrefixCacheHitRate = &f
		case "CPU":
			s.CPUPrefixCacheHitRate = &f
		case "GPU KV cache usage":
			s.KVCacheUsage = &f
		default:
			return false
		}
		return true
	}
	n, _, ok := parseCount(value)
	if !ok {
		return false
	}
	switch key {
	case "Running":
		s.Running = &n
	case "Waiting":
		s.Waiting = &n
	case "Preemptions":
		if c.stats.preempt == nil || *c.stats.preempt < n {
			c.stats.preempt = &n
		}
	default:
		return false
	}
	return true
}

// transferLine sums "Num successful transfers=N, … Avg MB per transfer=x".
func (c *collector) transferLine(msg []byte) bool {
	c.saw("vllm_transfer")
	if c.stats.transfer == nil {
		c.stats.transfer = &sembench.TransferStats{}
	}
	t := c.stats.transfer
	t.Lines++
	n, ok := valueAfter(msg, "Num successful transfers=")
	if !ok {
		return true
	}
	add(&t.SuccessfulTransfers, int(n))
	if mb, ok := valueAfter(msg, "Avg MB per transfer="); ok {
		if t.Megabytes == nil {
			t.Megabytes = new(float64)
		}
		*t.Megabytes += mb * n
	}
	return true
}

// valueAfter is the number right behind a label that may hold blanks; false when absent or absurd.
func valueAfter(b []byte, label string) (float64, bool) {
	i := bytes.Index(b, []byte(label))
	if i < 0 {
		return 0, false
	}
	f, _, ok := parseFloat(b[i+len(label):])
	return f, ok && f < maxCount
}
