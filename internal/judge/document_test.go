package judge

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sembench"
)

// stated is the kept run's result as a tree that a test may damage.
func stated(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../testdata/run/result.json")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := sembench.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return tree.(map[string]any)
}

// A key that a gate reads and that the document lacks is missing, not 0.
func TestAbsentKeysFailClosed(t *testing.T) {
	for _, c := range []struct{ section, key, gate string }{
		{"paired", "pairs_contaminated", "require-contamination-check"},
		{"paired", "contamination_judged", "require-contamination-check"},
		{"paired", "pairs_used", "min-pairs-used"},
		{"run", "simulated", gateNotSimulated},
	} {
		document := stated(t)
		delete(document[c.section].(map[string]any), c.key)
		d, err := ReadResult(sembench.Marshal(document))
		if err != nil {
			t.Fatalf("%s: %v", c.key, err)
		}
		v, err := Gate(d.Result, GateOptions{Absent: d.Absent, Asks: []Ask{{"require-contamination-check", 0}, {"min-pairs-used", 0}}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(v.Failures, func(s string) bool { return strings.HasPrefix(s, c.gate+":") }) {
			t.Errorf("%s.%s is absent and %s holds: %v", c.section, c.key, c.gate, v.Failures)
		}
	}
	d, err := ReadResult(sembench.Marshal(stated(t)))
	if err != nil || len(d.Absent) > 0 {
		t.Fatalf("the whole document: absent %v, %v", d.Absent, err)
	}
}

// Documents of an older producer say neither simulated nor checks; a number that they do state still counts.
func TestOlderDocuments(t *testing.T) {
	text := `{"result_version": "sembench.result.v1", "run": {"run_id": "r"}, "aggregate": {}, "paired": {"pairs_total": 9, "pairs_used": 9, "blended_ttft_speedup_mean": 2.5}}`
	d, err := ReadResult([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Gate(d.Result, GateOptions{Absent: d.Absent, Asks: []Ask{{"min-blended-ttft-speedup", 2}}})
	if err != nil || !v.Passed {
		t.Errorf("passed %v, %v: %v", v.Passed, err, v.Failures)
	}
	v, err = Gate(d.Result, GateOptions{Absent: d.Absent, Asks: []Ask{{"require-contamination-check", 0}}})
	if err != nil || v.Passed {
		t.Errorf("contamination that nobody judged passes: %v", err)
	}
}

func TestMalformedDocuments(t *testing.T) {
	for want, damage := range map[string]func(map[string]any){
		"result_version is":   func(d map[string]any) { d["result_version"] = "sembench.result.v9" },
		"run is missing":      func(d map[string]any) { delete(d, "run") },
		"checks is missing":   func(d map[string]any) { delete(d, "checks") },
		"its parts sum up to": func(d map[string]any) { d["paired"].(map[string]any)["pairs_used"] = json.Number("4000") },
		"want 0 or more":      func(d map[string]any) { d["paired"].(map[string]any)["pairs_errored"] = json.Number("-1") },
		"parts that are there sum up": func(d map[string]any) {
			p := d["paired"].(map[string]any)
			p["pairs_used"] = json.Number("4000")
			delete(p, "pairs_errored")
		},
		"the document is": nil,
	} {
		document := stated(t)
		text := []byte("[]")
		if damage != nil {
			damage(document)
			text = sembench.Marshal(document)
		}
		if _, err := ReadResult(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// An evidence document without a count of errors proves no run without errors.
func TestEvidenceWithoutErrorCount(t *testing.T) {
	e, absent, err := ReadEvidence([]byte(`{"schema": "sembench.engine_events.v1"}`))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := bare()
	v, err := Gate(r, GateOptions{Absent: absent, Evidence: []sembench.Evidence{e}, Asks: []Ask{{flagNoErrors, 0}}})
	if err != nil || v.Passed {
		t.Errorf("passed %v, %v", v.Passed, err)
	}
}

func FuzzReadResult(f *testing.F) {
	f.Add([]byte(`{"result_version": "sembench.result.v2", "run": {}, "aggregate": {}, "paired": {"pairs_total": 1}, "checks": []}`))
	f.Add([]byte(`{"result_version": "sembench.result.v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := ReadResult(text); err == nil {
			if _, err := Gate(d.Result, GateOptions{Absent: d.Absent, Bench: true}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
