package sembench

import "testing"

// Vectors of formats.md, section 3.
func TestRequestIDVectors(t *testing.T) {
	for _, c := range []struct {
		run, arm, item, role string
		position             int
		want                 string
	}{
		{"r1", "warm", "i1", "recipient", 12, "sembench-warm-000012-recipient-2c4b9e7257a6b973"},
		{"r1", "A4 (span)", "i1", "donor-0", 0, "sembench-a4--span-000000-donor-0-7ad5d0b5a12b7016"},
	} {
		if got := RequestID(c.run, c.arm, c.item, c.role, c.position); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := readable("((("); got != "x" {
		t.Errorf("an arm without a usable character reads %q, want x", got)
	}
}
