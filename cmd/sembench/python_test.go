package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/judge"
)

// testdata/interop is hand-made in the shape of the public Python sembench's documents: three pairs with ratios 2, 4 and 1 and one control.
const interop = "testdata/interop/"

func readOther(t *testing.T, name string) sembench.Result {
	t.Helper()
	result, _, err := readResult(interop + name)
	if err != nil {
		t.Fatal(err)
	}
	return result.Result
}

func TestPythonResult(t *testing.T) {
	r := readOther(t, "python-paired.json")
	p := r.Paired
	if r.BlockSize != 16 || p.PairsTotal != 4 || p.PairsUsed != 3 || p.NegativeControlPairs != 1 || *p.BlendedTTFTSpeedupMedian != 2 {
		t.Errorf("block size %d, %d pairs", r.BlockSize, p.PairsTotal)
	}
	if p.ContaminationJudged || p.PairsIsolationUnknown != 4 {
		t.Errorf("contamination judged: %t, isolation unknown in %d pairs of 4", p.ContaminationJudged, p.PairsIsolationUnknown)
	}
	if len(p.SemanticMechanisms) != 1 || p.SemanticMechanisms["external"] != 2 {
		t.Errorf("semantic mechanisms %v", p.SemanticMechanisms)
	}
	if got := r.ByTransform["repeat_shifted"].Aggregate.RequestCount; got != 6 {
		t.Errorf("%d rows of repeat_shifted, want 6", got)
	}
	warm := r.Requests[1]
	if *warm.AuditMaterialized != 200 || warm.FuzzyConfirmedTokens != nil || warm.OutputTopLogprobs[0]["1"] != -0.1 {
		t.Errorf("materialized %v, fuzzy %v, logprobs %v", warm.AuditMaterialized, warm.FuzzyConfirmedTokens, warm.OutputTopLogprobs)
	}
	if r.Aggregate.NegativeControlSemanticPlacementRate != nil {
		t.Error("no row has a route: the placement rate is not measured")
	}
}

// Gates judge another producer's result by what it measured; what it did not fails.
func TestPythonResultIsGated(t *testing.T) {
	for _, c := range []struct {
		name, want string
		code       int
		args       []string
	}{
		{"python-paired.json", "", 0, []string{"--min-blended-ttft-speedup", "1.9", "--gate-statistic", "median", "--gate-on", "point"}},
		{"python-paired.json", "min-blended-ttft-speedup: fail", 1, []string{"--min-blended-ttft-speedup", "2.1", "--gate-statistic", "median", "--gate-on", "point"}},
		{"python-paired.json", "min-blended-ttft-speedup: inconclusive", 1, []string{"--min-blended-ttft-speedup", "1.5"}},
		{"python-paired.json", "require-contamination-check: missing", 1, []string{"--require-contamination-check"}},
		{"python-paired.json", "semantic-placement-rate: missing", 1, []string{"--max-negative-control-semantic-placement-rate", "0.5"}},
		{"seed-only.json", "require-contamination-check: missing", 1, []string{"--require-contamination-check"}},
		{"seed-only.json", "min-blended-ttft-speedup: missing", 1, []string{"--min-blended-ttft-speedup", "1.5"}},
		{"seed-only.json", "max-negative-control-confirmed-rate: missing", 1, []string{"--max-negative-control-confirmed-rate", "0.1"}},
	} {
		_, stderr, code := sembenchRun(t, context.Background(), append([]string{"assert-result-gates", interop + c.name, "--output", filepath.Join(t.TempDir(), "v.json")}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s %v: exit code %d, want %d: %s", c.name, c.args, code, c.code, stderr)
		}
	}
}

// Arms that the Python tool measured apart are paired here. Means: (2 + 4 + 1) / 3, median 2.
func TestPythonArmsAreMerged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "merged.json")
	must(t, "merge-results", "--cold", interop+"python-cold.json", "--warm", interop+"python-warm.json", "--output", path)
	var r sembench.Result
	if err := sembench.ReadDocument(path, &r); err != nil {
		t.Fatal(err)
	}
	if p := r.Paired; p.PairsUsed != 3 || *p.BlendedTTFTSpeedupMedian != 2 || *p.BlendedTTFTSpeedupMean < 2.333 || *p.BlendedTTFTSpeedupMean > 2.334 || p.PairsIsolationUnknown != 4 || p.ContaminationJudged {
		t.Errorf("%d pairs, median %v, mean %v, isolation unknown in %d", p.PairsUsed, *p.BlendedTTFTSpeedupMedian, *p.BlendedTTFTSpeedupMean, p.PairsIsolationUnknown)
	}
}

// A manifest that Python wrote is read and written back byte for byte.
func TestPythonManifest(t *testing.T) {
	text, err := os.ReadFile(interop + "python-manifest.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	items, _, err := sembench.LoadManifest(bytes.NewReader(text), "python-manifest.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := sembench.WriteManifest(&out, slices.Values(items)); err != nil || !bytes.Equal(out.Bytes(), text) {
		t.Errorf("written back differently (%v):\n%s\n%s", err, out.Bytes(), text)
	}
}

// Whatever stands in a document without a producer, reading it gives a result or an error.
func FuzzFromPython(f *testing.F) {
	for _, name := range []string{"python-paired.json", "seed-only.json"} {
		text, err := os.ReadFile(interop + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"requests": [1, {"output_top_logprobs": [[[1]], {}]}], "by_transform": {"a": null}, "paired": {"semantic_mechanisms": [3]}, "aggregate": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := sembench.ParseJSON(text); err != nil && !bytes.Equal(fromPython(text), text) {
			t.Error("what is no document was changed")
		}
		_, _ = judge.ReadResult(fromPython(text))
	})
}
