package judge

import (
	"strconv"
	"strings"
)

// SLO is a service level: every condition must hold. The zero value holds always.
type SLO struct{ conditions []condition }

type condition struct {
	of    func(requestTimes) *float64
	limit float64
}

// ParseSLO reads conditions like "ttft_ms<200,itl_ms<50": names ttft_ms, itl_ms (a request's mean gap between output events) and
// latency_ms, each below a number of milliseconds. Empty text gives the zero SLO; anything else is Refused.
func ParseSLO(text string) (SLO, error) {
	var out SLO
	if strings.TrimSpace(text) == "" {
		return out, nil
	}
	for _, part := range strings.Split(text, ",") {
		name, number, ok := strings.Cut(part, "<")
		limit, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !ok || err != nil || !(limit > 0) {
			return out, refuse("slo %q: want conditions like ttft_ms<200,itl_ms<50", part)
		}
		c := condition{limit: limit}
		switch strings.TrimSpace(name) {
		case "ttft_ms":
			c.of = func(t requestTimes) *float64 { return t.ttft }
		case "itl_ms":
			c.of = func(t requestTimes) *float64 { return t.itl }
		case "latency_ms":
			c.of = func(t requestTimes) *float64 { return t.latency }
		default:
			return out, refuse("slo %q: %q is unknown, want ttft_ms, itl_ms or latency_ms", text, strings.TrimSpace(name))
		}
		out.conditions = append(out.conditions, c)
	}
	return out, nil
}

// met tells whether every condition holds. A time that was not measured does not meet its limit, but for the gap between
// outputs of a response that had one only.
func (s SLO) met(t requestTimes) bool {
	for _, c := range s.conditions {
		v := c.of(t)
		if v == nil && t.itl == nil && t.ttft != nil && t.latency != nil {
			continue
		}
		if v == nil || *v >= c.limit {
			return false
		}
	}
	return true
}
