package sim

import (
	"fmt"
	"time"
)

// lmcache speaks like vLLM with the LMCache connector (engine-evidence.md, section 5.8): an exact second tier that takes
// every block when it is stored and survives a reset of the local cache. It never claims semantic reuse.
type lmcache struct{ vllm }

func (l *lmcache) writesThrough() bool { return true }

func (l *lmcache) booted() { l.statsAt = l.e.boot.started }

// started writes the lookup and, where the tier had more than the local cache, the load.
func (l *lmcache) started(j *job) {
	c, d, size := j.claims.log, &j.decision, l.e.cfg.BlockSize
	held := l.e.offload.prefix(j.hashes) * size
	hit := max(held, c.prefix+c.external)
	if c.external == 0 {
		hit = min(held, c.prefix)
	}
	need := max(0, hit-c.prefix)
	l.line("vllm_v1_adapter.py:1516:lmcache.integration.vllm.vllm_v1_adapter",
		"Reqid: %s, Total tokens %d, Inference Engine computed tokens: %d, LMCache hit tokens: %d, need to load: %d", j.id, d.prompt, c.prefix, hit, need)
	if need > 0 {
		l.line("cache_engine.py:509:lmcache.v1.cache_engine", "[req_id=%s] Retrieved %d out of %d required tokens (from %d total tokens). %s",
			j.id, need, need, d.prompt, l.cost(need, j.charge.load))
	}
}

func (l *lmcache) offloaded(j *job, tokens int) {
	if tokens > 0 {
		l.line("cache_engine.py:352:lmcache.v1.cache_engine", "[req_id=%s] Stored %d out of total %d tokens. %s", j.id, tokens, j.decision.prompt, l.cost(tokens, time.Millisecond))
	}
}

// cost is the size and speed of a transfer.
func (l *lmcache) cost(tokens int, took time.Duration) string {
	gb := float64(tokens) * float64(l.e.cfg.KVBytesPerToken) / 1e9
	ms := max(float64(took)/float64(time.Millisecond), 0.001)
	return fmt.Sprintf("size: %.4f gb, cost %.4f ms, throughput: %.4f GB/s;", gb, ms, gb/ms*1000)
}

func (l *lmcache) line(place, format string, args ...any) {
	line := fmt.Appendf(nil, "(EngineCore_DP0 pid=11) [%s] LMCache INFO: ", l.e.cfg.Clock.Now().UTC().Format("2006-01-02 15:04:05,000"))
	line = fmt.Appendf(line, format, args...)
	l.e.log.write(fmt.Appendf(line, " (%s)", place))
}
