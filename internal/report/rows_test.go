package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"sembench"
)

// Outputs are cut at 400 characters, whole texts are kept of at most 200 pairs, those that matter first.
func TestTextsAreBounded(t *testing.T) {
	r := &sembench.Result{}
	for i := range 300 {
		for _, arm := range []string{"cold", "warm"} {
			row := sembench.Row{ItemID: fmt.Sprint(i), Arm: &arm, PairID: new(fmt.Sprint(i)), OutputText: new(strings.Repeat("é", 500))}
			if i == 299 {
				row.ContaminationReason = new("cold_cached")
			}
			if i == 7 {
				row.OutputText = nil
			}
			r.Requests = append(r.Requests, row)
		}
	}
	data := dataOf(Input{Result: r})
	if len(data.Full) != 400 || data.Full[599] != strings.Repeat("é", 500) {
		t.Errorf("%d whole texts, the excluded pair's has %d characters; want 400 and 500", len(data.Full), utf8.RuneCountInString(data.Full[599]))
	}
	for i, out := range data.Outputs {
		if (out == nil) != (i/2 == 7) || out != nil && *out != strings.Repeat("é", 400)+"…" {
			t.Fatalf("output %d is not cut at 400 characters", i)
		}
	}
	if data.Left != 0 {
		t.Errorf("%d outputs left out, want 0", data.Left)
	}
}

// Texts that would swell a page are left out and counted: 10,000 outputs of 400 characters that each take six bytes.
func TestTextBudget(t *testing.T) {
	r := &sembench.Result{}
	for range 10_000 {
		r.Requests = append(r.Requests, sembench.Row{OutputText: new(strings.Repeat("<", 400))})
	}
	data := dataOf(Input{Result: r})
	// 400 characters of 6 bytes and the row's mark: 4,000,000 / 2,400 = 1,666 fit.
	if kept := len(r.Requests) - data.Left; kept != textBytes/2400 {
		t.Errorf("%d outputs kept, want %d", kept, textBytes/2400)
	}
}
