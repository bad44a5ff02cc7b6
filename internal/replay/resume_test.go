package replay

import (
	"os"
	"strings"
	"testing"

	"sembench"
)

// A run that was killed after its last recipient and before its closing canaries is repaired: by those canaries where the engine process is
// still up, else by measuring again what that process can no longer prove.
func TestResumeBeforeTheClosingCanaries(t *testing.T) {
	for name, restarted := range map[string]bool{"same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			cfg := e.config()
			cfg.CanaryEvery = -1 // first and last
			j := openTestJournal(t, false, "")
			if _, err := Run(t.Context(), cfg, someItems(4), j, nil); err != nil {
				t.Fatal(err)
			}
			j.Close()
			cutAfterLastRecipient(t, j.path)
			if restarted {
				e.boot = "300.5"
			}
			j = openTestJournal(t, true, j.path)
			summary, err := Run(t.Context(), cfg, someItems(4), j, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 8}[restarted]; summary.OK != want || summary.Before != 8-want {
				t.Errorf("%d measured now and %d before, want %d and %d", summary.OK, summary.Before, want, 8-want)
			}
			lines := readBack(t, j)
			accounted(t, lines, 8)
			for i, o := range lines {
				if o.Role == sembench.RoleRecipient && !o.Superseded && !closed(lines[i:], o) {
					t.Errorf("no canary of its process %s follows %s %s", text(o.BootID), o.PairID, o.Arm)
				}
			}
		})
	}
}

// closed tells that the last line of a canary pass of o's engine process is among lines.
func closed(lines []sembench.Observation, o sembench.Observation) bool {
	for _, c := range lines {
		if c.Arm == armCanary && c.Isolation != nil && !c.Superseded && text(c.BootID) == text(o.BootID) {
			return true
		}
	}
	return false
}

func cutAfterLastRecipient(t *testing.T, path string) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(body), `"role": "recipient"`)
	end := at + strings.IndexByte(string(body[at:]), '\n') + 1
	if at < 0 || end == len(body) {
		t.Fatal("nothing follows the last recipient")
	}
	if err := os.WriteFile(path, body[:end], 0o644); err != nil {
		t.Fatal(err)
	}
}
