package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/sim"
)

func TestParseShard(t *testing.T) {
	for _, bad := range []string{"3/3", "1", "/", "1/", "/3", "-1/3", "0/0", "a/b", "1/3/5", " 1/3", "1/99999999999"} {
		if s, err := parseShard(bad); err == nil {
			t.Errorf("%q is read as %v", bad, s)
		}
	}
	// Every place is in exactly one shard, and the sizes say so.
	for n := 1; n < 6; n++ {
		for total := range 14 {
			places := 0
			for k := range n {
				s := shard{k, n}
				own := 0
				for place := range total {
					if s.has(place) {
						own++
					}
				}
				if own != s.size(total) {
					t.Errorf("shard %d/%d of %d has %d places and says %d", k, n, total, own, s.size(total))
				}
				places += own
			}
			if places != total {
				t.Errorf("%d shards of %d hold %d", n, total, places)
			}
		}
	}
}

// must runs sembench and wants one of the exit codes 0 and 1.
func must(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	out, stderr, code := sembenchRun(t, context.Background(), args...)
	if code > exitGate {
		t.Fatalf("%v: exit code %d: %s%s", args, code, out, stderr)
	}
	return out
}

// numbers are the untimed values of a document.
func numbers(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(runDir(dir).result(), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return counted(t, dir)
}

// Three shards counted apart and merged, in any order, are the document of one run, times left out.
func TestOfflineShards(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "build", "--max-items", "20", "--output", at("m.jsonl"), "--quiet")
	ask := []string{"run-offline", at("m.jsonl"), "--planner", "semblend,span", "--quiet", "--output"}
	must(t, append(ask, at("whole.json"))...)
	for _, k := range []string{"0", "1", "2"} {
		must(t, append(slices.Clone(ask), at("part"+k+".json"), "--shard", k+"/3")...)
	}
	must(t, "merge-results", at("part2.json"), at("part0.json"), at("part1.json"), "--output", at("merged.json"))
	whole, merged := numbers(t, at("whole.json")), numbers(t, at("merged.json"))
	if len(whole) < 500 || !slices.Equal(whole, merged) {
		t.Errorf("%d and %d values; they differ", len(whole), len(merged))
	}
	var a, b sembench.Result
	for path, to := range map[string]*sembench.Result{at("whole.json"): &a, at("merged.json"): &b} {
		if err := sembench.ReadDocument(path, to); err != nil {
			t.Fatal(err)
		}
	}
	if a.ConfigSHA256 != b.ConfigSHA256 || a.Run.ManifestSHA256 != b.Run.ManifestSHA256 || b.Run.Shard != nil {
		t.Errorf("the merged run is %+v with configuration %s, the whole one %+v with %s", b.Run, b.ConfigSHA256, a.Run, a.ConfigSHA256)
	}
	must(t, "run-offline", at("m.jsonl"), "--planner", "span", "--quiet", "--output", at("other.json"), "--shard", "2/3")
	for _, refused := range []struct{ want, args string }{
		{"shard 1/3 is missing", "part0.json part2.json"},
		{"there twice", "part0.json part1.json part1.json"},
		{"some results name their shard", "part0.json part1.json whole.json"},
		{"different planner", "part0.json part1.json other.json"},
	} {
		args := []string{"merge-results"}
		for _, name := range strings.Fields(refused.args) {
			args = append(args, at(name))
		}
		if _, stderr, code := sembenchRun(t, context.Background(), args...); code != exitUsage || !strings.Contains(stderr, refused.want) {
			t.Errorf("%s: exit code %d: %s", refused.args, code, stderr)
		}
	}
	for _, refused := range [][]string{{"--shard", "3/3"}, {"--shard", "0/3", "--pool", "stream"}} {
		if _, stderr, code := sembenchRun(t, context.Background(), append([]string{"run-offline", at("m.jsonl")}, refused...)...); code != exitUsage {
			t.Errorf("%v: exit code %d: %s", refused, code, stderr)
		}
	}
}

// More rows than a document holds: they stand beside the shards' documents and beside the merged one.
func TestOfflineShardsWithRowFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var text strings.Builder
	total := 3*inlineRows + 100
	for i := range total {
		text.WriteString(`{"item_id": "i` + strings.Repeat("x", i%3) + string(rune('a'+i%26)) + sembench.SHA256([]byte{byte(i), byte(i >> 8)})[:12] +
			`", "dataset": "d", "source_id": "s", "transform": "t", "recipient_prompt": "one two three four"}` + "\n")
	}
	if err := os.WriteFile(at("m.jsonl"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	ask := []string{"run-offline", at("m.jsonl"), "--tokenizer", "regex", "--block-size", "2", "--planner", "span", "--quiet", "--output"}
	must(t, append(ask, at("whole.json"))...)
	merge := []string{"merge-results", "--output", at("merged.json")}
	for _, k := range []string{"0", "1", "2"} {
		must(t, append(slices.Clone(ask), at("part"+k+".json"), "--shard", k+"/3")...)
		merge = append(merge, at("part"+k+".json"))
	}
	must(t, merge...)
	if !slices.Equal(numbers(t, at("whole.json")), numbers(t, at("merged.json"))) {
		t.Error("the documents differ")
	}
	whole, err := readRows(at("whole.rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := readRows(at("merged.rows.jsonl"))
	if err != nil || len(whole) != total || len(merged) != total {
		t.Fatalf("%d and %d rows of %d, %v", len(whole), len(merged), total, err)
	}
	for i := range whole {
		if whole[i].ItemID != merged[i].ItemID || whole[i].TotalBlocks != merged[i].TotalBlocks {
			t.Fatalf("row %d is of %s, then of %s", i, whole[i].ItemID, merged[i].ItemID)
		}
	}
}

// Three live shards merged count what one run counts: the same pairs, blocks and confirmed tokens.
func TestLiveShards(t *testing.T) {
	if testing.Short() {
		t.Skip("replays over real time")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "build", "--transforms", "exact_repeat,repeat_shifted,negative_control", "--lengths", "1k", "--max-items", "9", "--output", at("m.jsonl"), "--quiet")
	config := sim.Default()
	config.BaseMS, config.PrefillUSPerToken, config.LoadUSPerToken, config.LookupMS, config.ITLMS = 4, 8, 1, 0.5, 0.1
	engine, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine.Handler())
	defer server.Close()
	run := func(name string, more ...string) {
		args := append([]string{"run-live", "--base-url", server.URL, "--manifest", at("m.jsonl"), "--output", at(name), "--recipient-max-tokens", "4", "--allow-simulated", "--quiet"}, more...)
		if out, stderr, code := sembenchRun(t, context.Background(), args...); code > exitInvalid || code == exitUsage || code == exitEndpoint {
			t.Fatalf("%s: exit code %d: %s%s", name, code, out, stderr)
		}
	}
	run("whole")
	merge := []string{"merge-results", "--output", at("merged.json")}
	for _, k := range []string{"0", "1", "2"} {
		run("part"+k, "--shard", k+"/3")
		merge = append(merge, runDir(at("part"+k)).result())
	}
	// Judged again from its files, a shard stays one.
	if out, stderr, code := sembenchRun(t, context.Background(), "judge", at("part1"), "--allow-simulated"); code == exitUsage {
		t.Fatalf("%s%s", out, stderr)
	}
	must(t, merge...)
	var whole, merged sembench.Result
	for path, to := range map[string]*sembench.Result{runDir(at("whole")).result(): &whole, at("merged.json"): &merged} {
		if err := sembench.ReadDocument(path, to); err != nil {
			t.Fatal(err)
		}
	}
	a, b := whole.Paired, merged.Paired
	if a.PairsTotal != 9 || b.PairsTotal != 9 || a.PairsContaminated != 0 || b.PairsContaminated != 0 || a.PairsUsed != b.PairsUsed || a.NegativeControlPairs != b.NegativeControlPairs {
		t.Errorf("whole: %d pairs, %d used, %d contaminated; merged: %d, %d, %d", a.PairsTotal, a.PairsUsed, a.PairsContaminated, b.PairsTotal, b.PairsUsed, b.PairsContaminated)
	}
	if x, y := string(sembench.Marshal(whole.Aggregate.BackendConfirmedTokens)), string(sembench.Marshal(merged.Aggregate.BackendConfirmedTokens)); x != y || x == "null" || x == "0" {
		t.Errorf("confirmed tokens: whole %s, merged %s", x, y)
	}
	if x, y := string(sembench.Marshal(whole.Aggregate.SemanticEligibleBlocks)), string(sembench.Marshal(merged.Aggregate.SemanticEligibleBlocks)); x != y {
		t.Errorf("eligible blocks: whole %s, merged %s", x, y)
	}
	if whole.Run.ManifestSHA256 != merged.Run.ManifestSHA256 || whole.ConfigSHA256 != merged.ConfigSHA256 {
		t.Errorf("identities differ: %s %s, %s %s", whole.Run.ManifestSHA256, merged.Run.ManifestSHA256, whole.ConfigSHA256, merged.ConfigSHA256)
	}
}
