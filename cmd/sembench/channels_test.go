package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sembench"
)

// copyRun copies a run directory.
func copyRun(t *testing.T, from string) runDir {
	t.Helper()
	to := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return runDir(to)
}

// rewrite changes a file of a run, and fails when nothing changed.
func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(text))
	if changed == string(text) {
		t.Fatalf("%s was not changed", path)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// failedChecks lists the checks of a run that failed.
func failedChecks(t *testing.T, d runDir) []string {
	t.Helper()
	var result sembench.Result
	if err := sembench.ReadDocument(d.result(), &result); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range result.Checks {
		if c.Outcome == sembench.Fail {
			names = append(names, c.Name)
		}
	}
	return names
}

// fastLaw keeps whole runs short where times decide nothing.
var fastLaw = []string{"--base-ms", "4", "--prefill-us-per-token", "8", "--load-us-per-token", "1", "--lookup-ms", "0.5", "--itl-ms", "0.1",
	"--recipient-max-tokens", "8", "--calibration-pairs", "2", "--quiet"}

// One run, each channel corrupted alone: the check of that channel fails, and no other channel's.
func TestCorruptedChannels(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole protocol: not with -short")
	}
	output := filepath.Join(t.TempDir(), "run")
	if _, stderr, code := sembenchRun(t, context.Background(), append([]string{"bench", "--output", output}, fastLaw...)...); code > 1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if failed := failedChecks(t, runDir(output)); len(failed) > 0 {
		t.Fatalf("an honest run fails %v", failed)
	}
	number := regexp.MustCompile(`\d+`)
	// tenfold makes the numbers behind a key ten times as large, wherever pattern (which ends in them) matches.
	tenfold := func(pattern string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(s string) string {
			return re.ReplaceAllStringFunc(s, func(m string) string {
				at := number.FindAllStringIndex(m, -1)
				last := at[len(at)-1]
				return m[:last[1]] + "0" + m[last[1]:]
			})
		}
	}
	for _, c := range []struct {
		check   string
		file    func(runDir) string
		corrupt func(string) string
	}{
		{"usage_channel", runDir.observations, func(s string) string {
			// Only recipients of the warm arm report ten times what they reused.
			lines := strings.Split(s, "\n")
			for i, line := range lines {
				if strings.Contains(line, `"arm": "warm"`) && strings.Contains(line, `"role": "recipient"`) {
					lines[i] = tenfold(`"(external_)?cached_tokens": [1-9]\d*`)(line)
				}
			}
			return strings.Join(lines, "\n")
		}},
		{"log_channel", runDir.engineLog, tenfold(`SemBlend materialized request_id=chatcmpl-sembench-warm\S* donor_id=\S+ tokens=\d+`)},
		{"counter_channel", func(d runDir) string { return d.counters("after") }, tenfold(`(?m)^vllm:external_prefix_cache_hits_total\{[^}]*\} [1-9]\d*`)},
		{"audit_channel", runDir.audit, func(s string) string {
			lines := strings.Split(s, "\n")
			for i, line := range lines {
				if strings.Contains(line, `"runtime_materialized"`) && strings.Contains(line, "sembench-warm") {
					lines[i] = tenfold(`"tokens": ?\d+`)(line)
				}
			}
			return strings.Join(lines, "\n")
		}},
		{"audit_joins", runDir.audit, func(s string) string {
			// The audit of a run that sent nothing warm.
			lines := strings.Split(s, "\n")
			return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "sembench-warm") }), "\n")
		}},
		{"log_joins", runDir.engineLog, func(s string) string { return strings.ReplaceAll(s, "chatcmpl-sembench-", "chatcmpl-another-") }},
	} {
		t.Run(c.check, func(t *testing.T) {
			d := copyRun(t, output)
			rewrite(t, c.file(d), c.corrupt)
			_, stderr, code := sembenchRun(t, context.Background(), "judge", string(d), "--allow-simulated")
			if code == 0 {
				t.Errorf("the corrupted run passes")
			}
			if code == exitUsage {
				t.Fatal(stderr)
			}
			channels, want := 0, 0
			if strings.HasSuffix(c.check, "_channel") {
				want = 1
			}
			found := false
			for _, name := range failedChecks(t, d) {
				if strings.HasSuffix(name, "_channel") {
					channels++
				}
				found = found || name == c.check
			}
			if !found || channels > 1 || channels < want {
				t.Errorf("failed checks are %v, want %s and no other channel", failedChecks(t, d), c.check)
			}
		})
	}
}
