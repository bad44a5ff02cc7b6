package engine

import (
	"strings"
	"testing"
)

// A count that cannot be read is damage, not 0 tokens.
func TestAuditUnreadableTokens(t *testing.T) {
	load := func(seq, tokens string) string {
		return `{"schema_version":2,"connector_id":"w","request_id":"cmpl-abc-0","request_seq":0,"event_seq":` + seq +
			`,"event":"runtime_materialized","tokens":` + tokens + `,"materialization_kind":"semantic_span"}` + "\n"
	}
	for _, bad := range []string{"512.7", `"512"`, "true", "null", "-1", "9223372036854775808", "1e30", "[]"} {
		a := readAudit(t, load("0", bad))
		rep := a.Report()
		if r, _ := a.Resolve("cmpl-abc-0"); r == nil || r.Materialized != nil || rep.MalformedLines != 1 || rep.Lines != 1 || len(rep.Warnings) != 1 {
			t.Errorf("tokens %s: %s, report %+v", bad, inJSON(t, r), rep)
		}
		ev := summarize(t, "vllm", []byte(load("0", bad)))
		if ev.MaterializedTokens != nil || ev.Input.DamagedLines != 1 || ev.MaterializedSemanticKVReuse || !strings.Contains(strings.Join(ev.Warnings, "\n"), "unreadable") {
			t.Errorf("tokens %s: %s", bad, inJSON(t, ev))
		}
		a = readAudit(t, load("0", "512.0")+load("1", bad))
		if r, _ := a.Resolve("cmpl-abc-0"); r.Materialized == nil || *r.Materialized != 512 || a.Report().MalformedLines != 1 {
			t.Errorf("512.0 beside tokens %s: %s", bad, inJSON(t, r))
		}
	}
	advert := auditHead + `"event":"semantic_span_load_advertised","event_seq":0,"token_count":"7","tokens":null}` + "\n"
	if rep := readAudit(t, advert).Report(); rep.MalformedLines != 1 {
		t.Errorf("advert: %+v", rep)
	}
	if rep := readAudit(t, load("0", "512.0")).Report(); rep.MalformedLines != 0 || len(rep.Warnings) != 0 {
		t.Errorf("512.0: %+v", rep)
	}
}
