package report

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"sembench"
)

// small is a result by hand: two used pairs, one control; numbers chosen to be told apart.
func small(planted string) Input {
	ms := func(x float64) *float64 { return &x }
	ci := func(lo, hi float64) *sembench.CI {
		return &sembench.CI{Point: ms((lo + hi) / 2), Lo: &lo, Hi: &hi, Level: .95, N: 2}
	}
	row := func(id, transform, arm, mechanism string, ttft float64, semantic int) sembench.Row {
		return sembench.Row{ItemID: id + planted, Dataset: "d", Transform: transform + planted, PromptTokens: 640, TotalBlocks: 40, Arm: &arm, PairID: new(id + planted), TTFTMS: &ttft,
			Mechanism: new(mechanism), SemanticConfirmedTokens: &semantic, BackendConfirmedTokens: new(semantic + 32), OutputText: new("answer " + planted), Error: new(planted)}
	}
	r := &sembench.Result{
		ResultVersion: sembench.ResultVersion, Run: sembench.Run{RunID: "r1" + planted, Simulated: true, Arm: "paired"},
		Aggregate: sembench.Aggregate{RequestCount: 3, PromptTokens: 1920, TotalBlocks: 120, LocalTotalBlocks: new(120), ExactHitBlocks: 12, ExactBlockHitRate: ms(.1),
			SemanticCandidateBlocks: new(48), SemanticCandidateBlockRate: ms(.4), SemanticEligibleBlocks: new(36), SemanticEligibleBlockRate: ms(.3),
			BackendConfirmedBlocks: new(24), BackendConfirmedBlockRate: ms(.2), NegativeControlBackendConfirmedRate: ms(0)},
		Paired: &sembench.Paired{PairsTotal: 3, PairsUsed: 2, NegativeControlPairs: 1, BlendedTTFTSpeedupMean: ms(1.75), BlendedTTFTSpeedupMeanCI: ci(1.25, 2.25),
			HitRate: ms(.5), Hits: new(1), NegativeControlTTFTSpeedupMean: ms(1.01)},
		ByTransform: map[string]sembench.Group{"paraphrase" + planted: {}},
		Checks:      []sembench.CheckResult{{Name: "isolation_canary", Outcome: sembench.Fail, Detail: "the cold arm was warm " + planted}},
		Requests: []sembench.Row{row("a", "paraphrase", "cold", "none", 60, 0), row("a", "paraphrase", "warm", "external", 24, 480),
			row("b", "exact_repeat", "cold", "none", 61, 0), row("b", "exact_repeat", "warm", "exact", 61, 0)},
		Warnings: []string{planted}, Contradictions: []string{planted},
	}
	return Input{Result: r, Verdict: &sembench.Verdict{Failures: []string{"isolation_canary failed " + planted}, Gates: []sembench.GateResult{{Name: "g" + planted, Outcome: sembench.Fail}}}}
}

func TestTextSaysWhatMatters(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, small(""), 100, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SIMULATED", "12 of 120 blocks (10.0 %)", "48 of 120", "36 of 120", "24 of 120", "1.75x [1.25x, 2.25x]", "50.0 %", "gain not separated from prefix caching",
		"1.01x over 1 pair", "not judged: no noise floor", "1 negative controls", "isolation_canary", "FAIL"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}
	// Null is never 0: nothing was measured of the semantic share here.
	if !strings.Contains(out.String(), "not measured of 1920 prompt tokens") {
		t.Errorf("null is shown as something else:\n%s", out.String())
	}
	if lines := strings.Count(out.String(), "\n"); lines > 45 {
		t.Errorf("%d lines are more than a screen", lines)
	}
}

// Nothing that a prompt, a model or an engine says becomes markup or script.
func TestHostileTextIsInert(t *testing.T) {
	planted := `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u2028`${alert(3)}<!--"
	var out bytes.Buffer
	if err := HTML(&out, small(planted)); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, bad := range []string{"<script>alert", "<img src=x", "<!--\"", "</script><script>alert"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(page, "</script>"); n != 3 {
		t.Errorf("%d script elements end in the page, want 3", n)
	}
	if path := os.Getenv("SEMBENCH_REPORT_OUT"); path != "" {
		var honest bytes.Buffer
		if err := HTML(&honest, small("")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, honest.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func ExampleText() {
	r := &sembench.Result{Run: sembench.Run{RunID: "demo"}, Aggregate: sembench.Aggregate{RequestCount: 1, TotalBlocks: 8}}
	var out bytes.Buffer
	_ = Text(&out, Input{Result: r}, 100, false)
	fmt.Println(strings.Split(out.String(), "\n")[0])
	// Output: sembench  demo
}
