package engine

import (
	"encoding/json"
	"reflect"
	"testing"

	"sembench"
)

// bare drops what encoding/json and the project's codec spell differently: null for an empty list or map.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e = bare(e); e == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// The project's codec writes what encoding/json would, and reads it back.
func TestEvidenceRoundTrip(t *testing.T) {
	for _, s := range loadSamples(t) {
		ev := summarize(t, "auto", s.data)
		raw := sembench.Marshal(ev)
		var ours, std any
		if err := json.Unmarshal(raw, &ours); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if err := json.Unmarshal([]byte(inJSON(t, ev)), &std); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(bare(ours), bare(std)) {
			t.Errorf("%s:\n%s\nwant\n%s", s.name, raw, inJSON(t, ev))
		}
		var back sembench.Evidence
		if err := sembench.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if again := sembench.Marshal(&back); string(again) != string(raw) {
			t.Errorf("%s: read back it became %s, was %s", s.name, again, raw)
		}
	}
	w := Window(scrape(t, "vllm:prompt_tokens_total 5\n"), scrape(t, "vllm:prompt_tokens_total 9\n"))
	raw := sembench.Marshal(&w)
	var back sembench.MetricsWindow
	if err := sembench.Unmarshal(raw, &back); err != nil || back.PerEndpoint[0].Deltas["vllm_prompt_tokens"] != 4 {
		t.Errorf("%s: %+v %v", raw, back, err)
	}
}
