package judge

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md and docs/gates.md")

// The pages under docs are what the tables say: go test ./internal/judge -update writes them.
func TestGeneratedDocs(t *testing.T) {
	for name, want := range map[string][]byte{"metrics.md": MetricsDoc(), "gates.md": GatesDoc()} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the tables say: run go test ./internal/judge -update", name)
		}
	}
}
