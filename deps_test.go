package sembench_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// allowed lists, for each package of the module, which others it may import besides the root, and why. An arrow that is not
// here is a change of design: change design and this table in one commit.
var allowed = map[string]map[string]string{
	"":                  {}, // the records: standard library only
	"internal/ordered":  {},
	"internal/block":    {},
	"internal/token":    {},
	"internal/stat":     {},
	"internal/quality":  {},
	"internal/scenario": {},
	"internal/wire":     {},
	"internal/engine":   {},
	"internal/report":   {},
	"internal/schema":   {},
	"internal/plan": {
		"internal/block": "block hashes for the exact chunks of semblend and the counting of blocks",
	},
	"internal/offline": {
		"internal/token": "prompts become ids", "internal/block": "the exact rung", "internal/plan": "candidate and eligible rungs",
		"internal/ordered": "rows in input order on several processors",
	},
	"internal/workload": {
		"internal/token": "length bands", "internal/block": "how degenerate a corpus is", "internal/plan": "donors of a request log",
		"internal/ordered": "items in input order on several processors", "internal/quality": "an answer is present by the rule that scores it",
	},
	"internal/trace": {
		"internal/token": "logs with text", "internal/block": "blocks of logs with text", "internal/plan": "span reuse of logs with text",
		"internal/ordered": "tokenizing in input order", "internal/workload": "the readers of prompt logs",
	},
	"internal/sim": {
		"internal/token": "it decides from ids", "internal/plan": "its donor store finds spans",
	},
	"internal/replay": {
		"internal/wire": "one request", "internal/engine": "counters and boot ids", "internal/token": "nonces and probes of fixed length", "internal/stat": "the instrument's own spread",
		"internal/sim": "the instrument measures itself against the embedded engine",
	},
	"internal/judge": {
		"internal/stat": "estimates", "internal/quality": "answers", "internal/engine": "ids and audits resolved",
		"internal/block": "blocks of confirmed tokens",
	},
	"internal/lab": {
		"internal/workload": "", "internal/offline": "", "internal/engine": "", "internal/sim": "", "internal/replay": "", "internal/judge": "", "internal/token": "",
		"internal/wire": "the virtual network", "internal/ordered": "runs side by side", "internal/plan": "planner options",
	},
}

// Only the command opens files for people, prints and exits; it may import every worker.
func TestImports(t *testing.T) {
	std := func(path string) bool {
		return !strings.Contains(strings.Split(path, "/")[0], ".") && !strings.HasPrefix(path, "sembench")
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			// A nested module has rules of its own.
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		if folder == "." {
			folder = ""
		}
		// Sub-packages share their parent's arrows.
		home := folder
		for home != "" && allowed[home] == nil && strings.Count(home, "/") > 1 {
			home = filepath.ToSlash(filepath.Dir(home))
		}
		if strings.HasPrefix(folder, "cmd/") || strings.HasPrefix(folder, "bench/") {
			return nil
		}
		arrows, known := allowed[home]
		if !known {
			t.Errorf("package %s is not in the table", folder)
			return nil
		}
		seen[home] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			inside, ours := strings.CutPrefix(imported, "sembench/")
			_, fine := arrows[inside]
			switch {
			case folder == "" && !std(imported):
				t.Errorf("%s imports %s: records use the standard library alone", path, imported)
			case ours && !fine && !strings.HasPrefix(inside, home+"/") && inside != home:
				t.Errorf("%s imports %s: no such arrow in the design", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !seen[""] {
		t.Error("no package was looked at")
	}
}
