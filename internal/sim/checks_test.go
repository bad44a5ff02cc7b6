package sim_test

import (
	"slices"
	"testing"

	"sembench/internal/judge"
	"sembench/internal/sim"
)

// The check that must catch a fault exists: it is one of the judge's checks, or one of its gates.
func TestFaultsNameChecksThatExist(t *testing.T) {
	var known []string
	for _, c := range judge.Checks() {
		known = append(known, c.Name)
	}
	for _, g := range judge.GateTable() {
		known = append(known, g.Flag)
	}
	for _, f := range sim.Faults() {
		if f.Check != "" && !slices.Contains(known, f.Check) {
			t.Errorf("%s names the check %q, which does not exist", f.Name, f.Check)
		}
	}
}
