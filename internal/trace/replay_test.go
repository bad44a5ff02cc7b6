package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/token"
	"sembench/internal/workload"
)

// By hand: the second request shares two of three blocks with the first, the third one block with the second (the later
// holder), the fourth nothing.
func TestTracesBecomeStreams(t *testing.T) {
	const log = `{"timestamp": 1000, "input_length": 1500, "output_length": 7, "hash_ids": [1, 2, 3]}
{"timestamp": 1400, "input_length": 1100, "output_length": 0, "hash_ids": [1, 2, 9]}
{"timestamp": 1500, "input_length": 600, "output_length": 1, "hash_ids": [1, 4]}
{"timestamp": 1600, "input_length": 10, "output_length": 1, "hash_ids": [8]}
`
	items, report, err := FromSource(strings.NewReader(log), "t.jsonl", "", workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tk, err := token.Open("o200k")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var tokens [][]uint32
	for _, it := range items {
		ids := tk.Encode(nil, it.RecipientPrompt)
		tokens = append(tokens, ids)
		got = append(got, fmt.Sprint(it.Text("traffic_class"), " ", len(ids), " ", it.Metadata["arrival_ms"], " ", it.Metadata["donor_gap_requests"], " ", it.Metadata["expected_supplied_tokens"], " ", it.Metadata["max_tokens"]))
	}
	want := "fresh 1500 0 <nil> <nil> 7|document 1100 400 0 1024 <nil>|document 600 500 0 512 1|fresh 10 600 <nil> <nil> 1"
	if strings.Join(got, "|") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "|"), want)
	}
	common := func(a, b []uint32) (n int) {
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	if n := common(tokens[0], tokens[1]); n < 1024 || n > 1026 {
		t.Errorf("the first two share %d tokens, want 1024", n)
	}
	if items[2].Text("donor_item_id") != items[1].ItemID || !report.Audit.Passed {
		t.Errorf("donor %v, audit %v", items[2].Metadata, report.Audit.Violations)
	}
	if report.Recipe.Format != "mooncake" || report.Recipe.SourceSHA256 != sembench.SHA256([]byte(log)) {
		t.Errorf("recipe %+v", report.Recipe)
	}
	if err := workload.VerifyFrozen(report.Recipe, strings.NewReader(log), FromSource); err != nil {
		t.Error(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte(log))
	w.Close()
	again, _, err := FromSource(bytes.NewReader(z.Bytes()), "t.jsonl.gz", "", workload.Options{})
	if err != nil || len(again) != 4 || again[1].RecipientPrompt != items[1].RecipientPrompt {
		t.Errorf("compressed: %d items, %v", len(again), err)
	}
}

func TestFromSourceOfEverything(t *testing.T) {
	for text, want := range map[string]string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,30,4\n2023-11-16 18:17:04.5,20,9\n": "stream@fresh stream@fresh",
		`{"prompt": "a b c"}`: "stream@fresh",
		`{"timestamp": 1, "input_length": 0, "output_length": 1, "hash_ids": []}` + "\n" + `{"timestamp": 2, "input_length": 5, "output_length": 1, "hash_ids": [1]}`: "stream@fresh",
	} {
		items, _, err := FromSource(strings.NewReader(text), "f", "", workload.Options{})
		var names []string
		for _, it := range items {
			names = append(names, it.Transform)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%q: %v, %v", text, names, err)
		}
	}
	for text, want := range map[string]string{
		`{"timestamp": 1, "input_length": "x", "hash_ids": [1]}`:      "reading f: line 1: input_length is \"x\", want a whole number from 0",
		`{"timestamp": 1, "input_length": 99999999, "hash_ids": [1]}`: "reading f: request 1: a prompt of 99999999 tokens, at most 4194304 are made",
		`{"timestamp": 1, "input_length": 0, "hash_ids": []}`:         "building manifest: no request of f is left",
		`{"what": 1}`: "reading f: the format is not recognised from keys what: name it (" + strings.Join(workload.Formats(), ", ") + ")",
	} {
		if _, _, err := FromSource(strings.NewReader(text), "f", "", workload.Options{}); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// The first hundred requests of the real trace are as long as it says, within the tokens that blank space costs.
func TestMooncakeReplay(t *testing.T) {
	f, err := os.Open(mooncake)
	if err != nil {
		t.Skip("the Mooncake trace is not beside the project")
	}
	defer f.Close()
	items, report, err := FromSource(f, mooncake, "", workload.Options{MaxItems: 40})
	if err != nil || len(items) != 40 || *report.SourceRecords != 12031 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if got := report.Audit.ByTransform["stream"].RecipientTokens; got < 200000 {
		t.Errorf("%d tokens in 40 requests", got)
	}
}
