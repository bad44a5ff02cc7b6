package sim

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/zeebo/xxh3"
)

// evidenceFaults: logs, audits and counters are damaged on their way.
func evidenceFaults() []Fault {
	const share = "share of lines"
	return []Fault{
		{
			Name: "audit_lost", Value: share, Default: 0.5, Does: "Audit lines are lost.", Check: "audit_channel", Naive: "confirmed tokens too low, misses where there were hits",
			install: damaged(channelAudit, func([]byte) [][]byte { return nil }),
		},
		{
			Name: "audit_truncated", Value: share, Default: 0.5, Does: "Audit lines are cut in the middle.", Check: "audit_channel", Naive: "confirmed tokens too low, or the whole file refused",
			install: damaged(channelAudit, func(line []byte) [][]byte { return [][]byte{line[:len(line)/2]} }),
		},
		{
			Name: "audit_duplicated", Value: share, Default: 1, Does: "Audit lines are written twice.", Check: "audit_channel", Naive: "materialized tokens doubled",
			install: damaged(channelAudit, func(line []byte) [][]byte { return [][]byte{line, line} }),
		},
		{
			Name: "audit_requests_lost", Value: "one request in so many", Default: 4, Does: "All audit lines of some requests are lost, as when one worker's file was not collected.",
			Check: "audit_joins", Naive: "confirmed tokens too low; what the audit does not name counts as a miss",
			install: requestsLost,
		},
		{
			Name: "log_elsewhere", Does: "The log is another replica's: none of its requests is this run's, and it served each twice.",
			Check: "log_joins", Naive: "hits and loads of the log are another replica's",
			install: func(*Engine, float64) hooks {
				return hooks{line: func(channel string, line []byte) [][]byte {
					if channel != channelLog {
						return [][]byte{line}
					}
					return [][]byte{bytes.ReplaceAll(line, []byte("sembench-"), []byte("replica2-")), bytes.ReplaceAll(line, []byte("sembench-"), []byte("replica3-"))}
				}}
			},
		},
		{
			Name: "audit_reordered", Does: "Every second audit line overtakes the one before it.",
			Naive:   "loads that stand before their announcement count as superseded",
			install: reordered,
		},
		{
			Name: "log_lost", Value: share, Default: 0.5, Does: "Lines of the text log are lost.", Check: "log_channel", Naive: "hits and loads of the log too low",
			install: damaged(channelLog, func([]byte) [][]byte { return nil }),
		},
		{
			Name: "log_injection", Does: "The log quotes each prompt, and the prompts quote log lines of semantic hits, loads and errors.",
			Naive:   "a quoted prompt counts as hit, load and engine error",
			install: injected,
		},
		{
			Name: "counter_reset", Value: "requests between resets", Default: 20, Does: "The counters start again at 0, as after a restart that nobody saw.",
			Check: "counter_channel", Naive: "counter differences negative or far too small",
			install: func(_ *Engine, every float64) hooks {
				return hooks{before: func(c *call) {
					if n := max(1, int(every)); c.j.index > 0 && c.j.index%n == 0 {
						c.act()
						c.e.count = newCounters()
					}
				}}
			},
		},
	}
}

// damaged changes a share of a channel's lines, by seed and order.
func damaged(channel string, change func(line []byte) [][]byte) func(*Engine, float64) hooks {
	return func(e *Engine, share float64) hooks {
		n := 0
		return hooks{line: func(of string, line []byte) [][]byte {
			if of != channel {
				return [][]byte{line}
			}
			n++
			if e.cfg.random("line "+channel, n).Float64() >= share {
				return [][]byte{line}
			}
			return change(line)
		}}
	}
}

// requestsLost leaves out whole requests, by a hash of their id.
func requestsLost(_ *Engine, every float64) hooks {
	return hooks{line: func(channel string, line []byte) [][]byte {
		var record struct {
			RequestID string `json:"request_id"`
		}
		if channel == channelAudit && json.Unmarshal(line, &record) == nil && record.RequestID != "" && xxh3.HashString(record.RequestID)%uint64(max(1, every)) == 0 {
			return nil
		}
		return [][]byte{line}
	}}
}

func reordered(*Engine, float64) hooks {
	var held []byte
	return hooks{line: func(channel string, line []byte) [][]byte {
		switch {
		case channel != channelAudit:
			return [][]byte{line}
		case held == nil:
			held = line
			return nil
		}
		out := [][]byte{line, held}
		held = nil
		return out
	}}
}

func injected(*Engine, float64) hooks {
	return hooks{before: func(c *call) {
		c.act()
		id := c.j.id
		c.e.log.write(fmt.Appendf(nil, "(APIServer pid=1) INFO %s [logger.py:43] Received request %s: prompt: 'Explain: SemBlend semantic lookup hit request_id=%s donor_id=x similarity=0.99 kind=k reusable_tokens=4096 reason=ok\\nSemBlend materialized request_id=%s donor_id=x tokens=4096\\nERROR Traceback (most recent call last):', params: SamplingParams(n=1, temperature=0.0), lora_request: None.",
			c.e.cfg.Clock.Now().UTC().Format("01-02 15:04:05"), id, id, id))
	}}
}
