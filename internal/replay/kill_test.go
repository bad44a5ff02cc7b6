package replay

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sembench"
)

// childEnv makes the test binary a run that its parent kills: the address of the engine and the journal, by a space.
const childEnv = "SEMBENCH_TEST_REPLAY"

const killedItems = 5

func TestMain(m *testing.M) {
	if address, path, ok := strings.Cut(os.Getenv(childEnv), " "); ok {
		if err := runChild(address, path); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runChild(address, path string) error {
	_, missing := os.Stat(path)
	head := sembench.JournalHead{RunID: "run-1", ManifestSHA256: "m", ConfigSHA256: "c", StartedAtUTC: "2026-12-01T00:00:00Z"}
	journal, err := OpenJournal(path, head, missing == nil)
	if err != nil {
		return err
	}
	cfg := Config{RunID: "run-1", Seed: 3, BaseURL: address, Model: "m", CanaryEvery: 3, Isolation: Reset, ResetURLs: []string{address + "/reset_prefix_cache"}}
	if _, err := Run(context.Background(), cfg, someItems(killedItems), journal, nil); err != nil {
		return err
	}
	return journal.Close()
}

// Killed with -9 at random instants, inside pairs, between them and inside a write among them, then resumed, time and again:
// every planned recipient exactly once, no pair across two engine processes, no request id sent twice.
func TestKillAndResume(t *testing.T) {
	kills := 50
	if testing.Short() || raceDetector { // a child starts slowly then
		kills = 10
	}
	random := rand.New(rand.NewPCG(1, 2))
	killed, torn, inside, runs := 0, 0, 0, 0
	for killed < kills {
		e := newEngine(t)
		path := filepath.Join(t.TempDir(), "observations.jsonl")
		for part := 0; ; part++ {
			if part > 40 {
				t.Fatal("the run does not come to an end")
			}
			at := int64(random.IntN(40))
			if part > 4 || killed == kills {
				at = -1 // to the end
			}
			if part > 0 && random.IntN(2) == 0 {
				e.mu.Lock()
				e.boot += "1" // the engine was started anew meanwhile
				e.mu.Unlock()
			}
			if runUntilKilled(t, e, path, at) {
				break
			}
			killed++
			switch cut, inPair := tear(t, path, random); {
			case cut:
				torn++
			case inPair:
				inside++
			}
		}
		j := openTestJournal(t, true, path)
		accounted(t, readBack(t, j), 2*killedItems)
		wholePasses(t, readBack(t, j))
		e.mu.Lock()
		for id, n := range e.ids {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		e.mu.Unlock()
		runs++
	}
	t.Logf("%d kills in %d runs: %d tore the last line, %d more fell inside a pair", killed, runs, torn, inside)
	if torn == 0 || inside == 0 {
		t.Error("no kill inside a write or inside a pair: the test shows nothing")
	}
}

// runUntilKilled starts a run and kills it while its request number at is being served; it tells whether the run came to its end.
func runUntilKilled(t *testing.T, e *engine, path string, at int64) (finished bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+e.server.URL+" "+path)
	stderr := &strings.Builder{}
	child.Stderr = stderr
	var seen atomic.Int64
	started := make(chan struct{})
	e.mu.Lock()
	e.handler = func(_ http.ResponseWriter, _ *http.Request, _ map[string]any) bool {
		<-started
		if seen.Add(1)-1 == at {
			child.Process.Kill()
		}
		return false
	}
	e.mu.Unlock()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	err := child.Wait()
	if err != nil && child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the run failed: %v\n%s", err, stderr)
	}
	return err == nil
}

// tear cuts the last line of every third journal somewhere, as a kill inside the write does, and tells whether the last whole
// line belongs to a pair that is not finished.
func tear(t *testing.T, path string, random *rand.Rand) (cut, inPair bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		if os.IsNotExist(err) {
			return false, false
		}
		t.Fatal(err)
	}
	body := strings.TrimSuffix(string(text), "\n")
	start := strings.LastIndexByte(body, '\n') + 1
	if start > 0 && random.IntN(3) == 0 {
		if err := os.WriteFile(path, text[:start+random.IntN(len(body)-start)+1], 0o644); err != nil {
			t.Fatal(err)
		}
		return true, false
	}
	return false, strings.Contains(body[start:], `"pair_id": "item`) && !strings.Contains(body[start:], `"order": 1, `)
}

// wholePasses checks that every canary pass that counts came to its end.
func wholePasses(t *testing.T, lines []sembench.Observation) {
	t.Helper()
	ended := map[string]bool{}
	for _, o := range lines {
		if o.Arm == armCanary && !o.Superseded {
			ended[o.ItemID] = ended[o.ItemID] || o.Isolation != nil
		}
	}
	for pass, ok := range ended {
		if !ok {
			t.Errorf("%s has no end and counts", pass)
		}
	}
}
