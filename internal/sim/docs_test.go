package sim

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// faultTable is the table of docs/sim.md.
func faultTable() string {
	var b strings.Builder
	family := ""
	for _, f := range Faults() {
		if f.Family != family {
			family = f.Family
			fmt.Fprintf(&b, "\n### %s\n\n| fault | what it does | caught by | naively |\n|---|---|---|---|\n", strings.ToUpper(family[:1])+family[1:])
		}
		name, check := "`"+f.Name+"`", "–"
		if f.Value != "" {
			name += fmt.Sprintf(" (%s; %g)", f.Value, f.Default)
		}
		if f.Check != "" {
			check = "`" + f.Check + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, f.Does, check, f.Naive)
	}
	return b.String()
}

// docs/sim.md lists the faults that exist. With SEMBENCH_UPDATE_DOCS=1 the test writes the table.
func TestDocsListTheFaults(t *testing.T) {
	const path, begin, end = "../../docs/sim.md", "of sim.Faults() -->\n", "<!-- end of faults -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of faults", path)
	}
	if table == faultTable() {
		return
	}
	if os.Getenv("SEMBENCH_UPDATE_DOCS") == "" {
		t.Fatalf("%s does not list the faults as they are: run this test with SEMBENCH_UPDATE_DOCS=1", path)
	}
	if err := os.WriteFile(path, []byte(head+begin+faultTable()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
