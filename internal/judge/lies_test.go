package judge

import (
	"fmt"
	"testing"

	"sembench"
)

// lies is a run of ten clean pairs that gain, every answer its own.
func lies() facts {
	f := facts{result: &sembench.Result{}}
	for i := range 10 {
		id := fmt.Sprintf("item-%d", i)
		f.in.Items = append(f.in.Items, sembench.Item{ItemID: id, RecipientPrompt: "what is " + id, Answers: []string{id}})
		row := func(arm string, ttft float64) sembench.Row {
			return sembench.Row{ItemID: id, Arm: &arm, TTFTMS: &ttft, ITLMSMean: new(5.0), OutputTokens: new(8),
				OutputSHA256: new("sha of " + id), DonorAttribution: new(OwnDonor)}
		}
		f.result.Requests = append(f.result.Requests, row(sembench.ArmCold, 100), row(sembench.ArmWarm, 40))
	}
	for i := 0; i < len(f.result.Requests); i += 2 {
		f.pairs = append(f.pairs, &pair{class: classUsed, cold: &f.result.Requests[i], warm: &f.result.Requests[i+1]})
	}
	return f
}

func TestChecksOfWhatReuseCannotDo(t *testing.T) {
	each := func(arm string, change func(i int, row *sembench.Row)) func(*facts) {
		return func(f *facts) {
			for i := range f.result.Requests {
				if row := &f.result.Requests[i]; is(row.Arm, arm) {
					change(i/2, row)
				}
			}
		}
	}
	warm := func(change func(i int, row *sembench.Row)) func(*facts) { return each(sembench.ArmWarm, change) }
	for _, c := range []struct {
		name   string
		run    func(*facts, *sembench.CheckResult)
		change func(*facts)
		want   string
	}{
		{"own donors", checkDonors, func(*facts) {}, sembench.Pass},
		{"one own twin", checkDonors, warm(func(i int, row *sembench.Row) {
			if i == 3 {
				row.DonorAttribution = new(OwnTwin)
			}
		}), sembench.Fail},
		{"one foreign, in the cold arm", checkDonors, each(sembench.ArmCold, func(i int, row *sembench.Row) {
			if i == 9 {
				row.DonorAttribution = new(Foreign)
			}
		}), sembench.Fail},
		{"another item's donor is no twin", checkDonors, warm(func(_ int, row *sembench.Row) { row.DonorAttribution = new(OtherItem) }), sembench.Pass},
		{"no donor named", checkDonors, func(f *facts) {
			for i := range f.result.Requests {
				f.result.Requests[i].DonorAttribution = nil
			}
		}, sembench.NotJudged},
		{"the same decoding", checkDecode, func(*facts) {}, sembench.Pass},
		{"all at once", checkDecode, warm(func(_ int, row *sembench.Row) { row.ITLMSMean = new(0.0) }), sembench.Fail},
		{"slower by more than a factor of two", checkDecode, warm(func(_ int, row *sembench.Row) { row.ITLMSMean = new(10.1) }), sembench.Fail},
		{"just a factor of two", checkDecode, warm(func(_ int, row *sembench.Row) { row.ITLMSMean = new(2.5) }), sembench.Pass},
		{"too short to tell", checkDecode, func(f *facts) {
			for i := range f.result.Requests {
				f.result.Requests[i].ITLMSMean = new(3.5 * float64(i%2)) // seven tokens after the first: 24.5 ms
			}
		}, sembench.NotJudged},
		{"nothing gained", checkDecode, warm(func(_ int, row *sembench.Row) { row.TTFTMS, row.ITLMSMean = new(99.0), new(0.0) }), sembench.NotJudged},
		{"an answer each", checkAnswers, func(*facts) {}, sembench.Pass},
		{"one answer in the cold arm", checkAnswers, each(sembench.ArmCold, func(_ int, row *sembench.Row) { row.OutputSHA256 = new("h") }), sembench.Fail},
		{"one answer to half of them", checkAnswers, warm(func(i int, row *sembench.Row) {
			if i < 5 {
				row.OutputSHA256 = new("h")
			}
		}), sembench.Pass},
		{"one answer to six of ten", checkAnswers, warm(func(i int, row *sembench.Row) {
			if i < 6 {
				row.OutputSHA256 = new("h")
			}
		}), sembench.Fail},
		{"one answer that is right everywhere", checkAnswers, func(f *facts) {
			for i := range f.in.Items {
				f.in.Items[i].Answers = []string{"yes", fmt.Sprint(i)}
			}
			each(sembench.ArmWarm, func(_ int, row *sembench.Row) { row.OutputSHA256 = new("h") })(f)
		}, sembench.Pass},
		{"short answers", checkAnswers, func(f *facts) {
			for i := range f.result.Requests {
				f.result.Requests[i].OutputTokens, f.result.Requests[i].OutputSHA256 = new(3), new("h")
			}
		}, sembench.NotJudged},
	} {
		f := lies()
		c.change(&f)
		r := sembench.CheckResult{Outcome: sembench.NotJudged}
		if c.run(&f, &r); r.Outcome != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, r.Outcome, r.Detail, c.want)
		}
	}
}
