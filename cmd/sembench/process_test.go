package main

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sembench"
)

// program builds the real binary once.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sembench")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// simProcess starts the embedded engine as a process of its own and gives its address.
func simProcess(t *testing.T, binary string, args ...string) string {
	t.Helper()
	c := exec.Command(binary, append([]string{"sim"}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

var fastSim = []string{"--base-ms", "4", "--prefill-us-per-token", "8", "--load-us-per-token", "1", "--lookup-ms", "0.5", "--itl-ms", "0.1"}

// bench has no way to the embedded engine but its URL, log and audit: the same bench against an engine in another process gives the same
// document, except for times, ids and addresses.
func TestNoShortcut(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole protocol twice: not with -short")
	}
	binary, dir := program(t), t.TempDir()
	inside := filepath.Join(dir, "inside")
	if _, stderr, code := sembenchRun(t, context.Background(), append([]string{"bench", "--output", inside}, fastLaw...)...); code > 1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	log, audit := filepath.Join(dir, "engine.log"), filepath.Join(dir, "audit.jsonl")
	engine := simProcess(t, binary, append([]string{"--log-file", log, "--audit-file", audit}, fastSim...)...)
	stock := simProcess(t, binary, append([]string{"--stock"}, fastSim...)...)
	outside := filepath.Join(dir, "outside")
	if _, stderr, code := sembenchRun(t, context.Background(), "bench", "--output", outside, "--base-url", engine, "--exact-arm", stock, "--engine-log", log, "--connector-audit", audit,
		"--allow-simulated", "--recipient-max-tokens", "8", "--calibration-pairs", "2", "--quiet"); code > 1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	a, b := counted(t, inside), counted(t, outside)
	if len(a) < 1000 {
		t.Fatalf("only %d values are compared", len(a))
	}
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("%d and %d values; they differ first at\n%s\n%s", len(a), len(b), at(a, i), at(b, i))
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(nothing)"
}

// timed are the keys that hold times, ids, addresses, what is estimated from times, or the settings themselves.
var timed = regexp.MustCompile(`(_ms|_ms_mean|_ns|_utc|_url|_id|_ids|_ci|_p_value|speedup\w*|order_effect|break_even_reuses|config\w*|host|version|manifest_path|attribution|endpoint|detail|stream_coalescing|latency\w*|ttft\w*|decisive|n_needed|aa_\w+|min_detectable\w*|valid|invalid_reason|outcome)$`)

// counted flattens a result to its countable values, in order.
func counted(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(runDir(dir).result())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := sembench.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if !timed.MatchString(k) {
					walk(path+"."+k, v[k])
				}
			}
		case []any:
			for _, member := range v {
				walk(path+"[]", member)
			}
		default:
			out = append(out, path+" "+string(sembench.AppendJSON(nil, v, 0)))
		}
	}
	root := tree.(map[string]any)
	for _, key := range []string{"aggregate", "aggregate_cold", "by_transform", "ladder", "paired", "requests", "contradictions"} {
		walk(key, root[key])
	}
	return out
}

// Killed with -9 at seeded instants and resumed, a run has every planned item exactly once, and no pair that mixes two engine processes.
func TestKilledAndResumed(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a run twenty times: not with -short")
	}
	binary := program(t)
	items := 5
	args := func(dir string, more ...string) []string {
		return append(append([]string{"bench", "--output", dir, "--transforms", "exact_repeat,instruction_variant"}, fastLaw...), more...)
	}
	// How long an undisturbed run takes says where to kill.
	start := time.Now()
	whole := filepath.Join(t.TempDir(), "whole")
	out, err := exec.Command(binary, args(whole)...).CombinedOutput()
	if code := exitCode(err); code > 1 && code != exitInvalid {
		t.Fatalf("%v\n%s", err, out)
	}
	lasts := time.Since(start)
	want := recipients(t, runDir(whole))
	if len(want) != items*3 {
		t.Fatalf("%d recipients in an undisturbed run, want %d: %v", len(want), items*3, want)
	}
	r := rand.New(rand.NewPCG(20, 1))
	for kill := range 20 {
		dir := filepath.Join(t.TempDir(), "run")
		// The last four are aimed at the end, where the final files are written.
		after := time.Duration(float64(lasts) * (0.1 + 0.8*r.Float64()))
		if kill >= 16 {
			after = lasts - time.Duration(r.Float64()*float64(60*time.Millisecond))
		}
		c := exec.Command(binary, args(dir)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(after, func() { c.Process.Kill() })
		c.Wait()
		timer.Stop()
		if _, err := os.Stat(runDir(dir).manifest()); err != nil {
			continue // killed before the run had a name: nothing to resume, nothing lost
		}
		checkWhole(t, dir)
		out, err := exec.Command(binary, args(dir, "--resume")...).CombinedOutput()
		if code := exitCode(err); code > 1 && code != exitInvalid {
			t.Fatalf("kill %d after %v: resuming: %v\n%s", kill, after, err, out)
		}
		if got := recipients(t, runDir(dir)); !slices.Equal(got, want) {
			t.Errorf("kill %d after %v: recipients are\n%v\nwant\n%v", kill, after, got, want)
		}
		checkBoots(t, runDir(dir))
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return -1
}

// recipients lists pair and arm of every recipient line that counts, sorted.
func recipients(t *testing.T, d runDir) []string {
	t.Helper()
	_, observations, err := readJournal(d.observations())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range observations {
		if o.Role == sembench.RoleRecipient && !o.Superseded {
			out = append(out, o.PairID+" "+o.Arm+" "+o.Status)
		}
	}
	slices.Sort(out)
	return out
}

// checkBoots looks for a pair whose arms on one endpoint were served by two engine processes.
func checkBoots(t *testing.T, d runDir) {
	t.Helper()
	_, observations, err := readJournal(d.observations())
	if err != nil {
		t.Fatal(err)
	}
	boots := map[string]string{}
	for _, o := range observations {
		if o.Role != sembench.RoleRecipient || o.Superseded || o.Arm == sembench.ArmExact {
			continue
		}
		if o.BootID == nil {
			t.Fatalf("%s %s has no boot id", o.PairID, o.Arm)
		}
		if seen, ok := boots[o.PairID]; ok && seen != *o.BootID {
			t.Errorf("pair %s mixes engine processes %s and %s", o.PairID, seen, *o.BootID)
		}
		boots[o.PairID] = *o.BootID
	}
}

// checkWhole makes sure that whatever has its final name is complete.
func checkWhole(t *testing.T, dir string) {
	t.Helper()
	d := runDir(dir)
	for path, into := range map[string]any{d.result(): &sembench.Result{}, d.verdict(): &sembench.Verdict{}, d.calibration(): &sembench.Calibration{}} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := sembench.ReadDocument(path, into); err != nil {
			t.Errorf("half-written: %v", err)
		}
	}
	if _, _, err := readJournal(d.observations()); err != nil {
		t.Errorf("the journal is damaged beyond its last line: %v", err)
	}
}
