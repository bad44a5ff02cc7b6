package engine

import (
	"strings"
	"testing"
)

// What must never be read as reuse (issue 3, "shown by"), a case a claim.
func TestNeverEvidence(t *testing.T) {
	const at = "INFO 12-01 10:00:0"
	hit := func(id string) string {
		return at + "1 [c.py:9] SemBlend semantic lookup hit request_id=" + id + " donor_id=cmpl-d-0 similarity=0.88 kind=k reusable_tokens=480 reason=ok\n"
	}
	load := func(id string) string {
		return at + "2 [c.py:9] SemBlend materialized request_id=" + id + " donor_id=cmpl-d-0 tokens=480\n"
	}
	rank := func(n, line string) string { return "(Worker_TP" + n + " pid=1) " + line }
	for name, c := range map[string]struct {
		engine, log string
		reuse       bool
		tokens      int
	}{
		"hit and load of one request":            {"vllm", hit("cmpl-a-0") + load("cmpl-a-0"), true, 480},
		"a hit of one and a load of another":     {"vllm", hit("cmpl-a-0") + load("cmpl-b-0"), false, 480},
		"a hit alone":                            {"vllm", hit("cmpl-a-0"), false, 0},
		"two ranks of one load":                  {"vllm", hit("cmpl-a-0") + rank("0", load("cmpl-a-0")) + rank("1", load("cmpl-a-0")), true, 480},
		"both quoted in a prompt":                {"vllm", at + "0 [logger.py:4] Received request cmpl-q-0: prompt: '" + strings.ReplaceAll(hit("cmpl-q-0")+load("cmpl-q-0"), "\n", " ") + "'\n", false, 0},
		"LMCache beside a semantic hit":          {"vllm", hit("cmpl-a-0") + "[2026-12-01 10:00:00,123] LMCache INFO: Reqid: cmpl-a-0, Total tokens 512, LMCache hit tokens: 480, need to load: 480 (a.py:1:m)\n", false, 0},
		"LMCache alone":                          {"lmcache", "[2026-12-01 10:00:00,123] LMCache INFO: Retrieved 480 out of 480 required tokens (from 512 total tokens). (a.py:1:m)\n", false, 480},
		"LMCache alone, engine to be recognised": {"auto", "[2026-12-01 10:00:00,123] LMCache INFO: Retrieved 480 out of 480 required tokens (from 512 total tokens). (a.py:1:m)\n", false, 480},
	} {
		ev, err := Summarize(c.engine, strings.NewReader(c.log), Options{})
		if err != nil {
			t.Fatal(err)
		}
		tokens := -1
		if ev.MaterializedTokens != nil {
			tokens = *ev.MaterializedTokens
		}
		if ev.MaterializedSemanticKVReuse != c.reuse || tokens != c.tokens {
			t.Errorf("%s: reuse %v with %d tokens, want %v with %d", name, ev.MaterializedSemanticKVReuse, tokens, c.reuse, c.tokens)
		}
		if strings.HasPrefix(name, "LMCache") && ev.MaterializationClass != nil && *ev.MaterializationClass == "semantic" {
			t.Errorf("%s: is called semantic", name)
		}
	}
}
