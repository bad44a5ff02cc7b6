package judge

import (
	"strings"
	"testing"

	"sembench"
)

// A made-up pass of 4 recipients and 2 donors whose numbers can be added by hand.
func TestThroughputClosedForm(t *testing.T) {
	ms := func(n int64) *int64 { return new(n * 1e6) }
	line := func(seq int64, role string, scheduled, start, first, last *int64, status string) sembench.Observation {
		o := sembench.Observation{Seq: seq, ItemID: "i", PairID: role, Arm: sembench.ArmWarm, Role: role, Status: status,
			Stamps: sembench.Stamps{Scheduled: scheduled, WriteStart: start, FirstOutput: first, LastOutput: last},
			Usage:  map[string]any{"completion_tokens": num(5)}}
		if first != nil {
			o.Chunks = []sembench.Chunk{{*first, 1, 1}, {*last, 1, 4}}
		}
		return o
	}
	journal := []sembench.Observation{
		line(1, "donor-0", nil, ms(0), ms(100), ms(140), sembench.StatusOK),
		line(2, "donor-1", nil, ms(0), ms(300), ms(340), sembench.StatusOK),
		line(3, sembench.RoleRecipient, ms(0), ms(10), ms(60), ms(100), sembench.StatusOK), // 60 ms from schedule, lag 10
		line(4, sembench.RoleRecipient, ms(0), ms(0), ms(40), ms(80), sembench.StatusOK),
		line(5, sembench.RoleRecipient, ms(0), ms(0), nil, nil, sembench.StatusFailed),
		line(6, sembench.RoleRecipient, nil, nil, nil, nil, sembench.StatusNotSent),
		line(7, "probe", nil, ms(0), ms(1), ms(2), sembench.StatusOK),
	}
	for i := range journal {
		journal[i].PairID = "" // a load journal has no pairs to join
	}
	out, err := Throughput(journal, Load{Concurrency: new(2), WallSeconds: 2, SettleSeconds: 2, SLO: "ttft_ms<50"})
	if err != nil {
		t.Fatal(err)
	}
	count(t, "items", out.Items, 4)
	count(t, "requests", out.Requests, 5)
	count(t, "errors", out.Errors, 1)
	near(t, "requests per second", out.RequestsPerSecond, 2)
	near(t, "without settle", out.RequestsPerSecondExcludingSettle, 4)
	near(t, "output tokens per second", out.OutputTokensPerSecond, 10)
	near(t, "donor TTFT", out.DonorTTFTMS.P50, 200)
	near(t, "recipient TTFT from the schedule", out.RecipientTTFTMS.Mean, 50)
	near(t, "latency", out.RecipientLatencyMS.P50, 90)
	near(t, "gap of an event of 4 tokens", out.ITLMS.P50, 10)
	near(t, "lag", out.ScheduleLagMS.P50, 0)
	near(t, "goodput counts failures", out.Goodput.Rate, 1.0/3)
	journal[3].Usage = nil
	if out, _ = Throughput(journal, Load{WallSeconds: 2}); out.OutputTokensPerSecond != nil || out.RequestsPerSecondExcludingSettle != nil || out.Goodput != nil {
		t.Errorf("unmeasured numbers are there: %+v", out)
	}
}

func TestSLO(t *testing.T) {
	for text, want := range map[string]string{
		"ttft_ms":       "want conditions like",
		"ttft_ms<x":     "want conditions like",
		"ttft_ms<-1":    "want conditions like",
		"ttft_ms<NaN":   "want conditions like",
		"luck<1":        `"luck" is unknown`,
		"ttft_ms<1,,":   "want conditions like",
		"ttft_ms<1;x<2": "want conditions like",
	} {
		if _, err := ParseSLO(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	goal, err := ParseSLO("ttft_ms<100, itl_ms<10")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t    requestTimes
		want bool
	}{
		{requestTimes{ttft: new(99.0), latency: new(200.0), itl: new(9.0)}, true},
		{requestTimes{ttft: new(100.0), latency: new(200.0), itl: new(9.0)}, false},
		{requestTimes{ttft: new(99.0), latency: new(200.0), itl: new(11.0)}, false},
		{requestTimes{ttft: new(99.0), latency: new(99.0)}, true}, // one event has no gap
		{requestTimes{}, false},
	} {
		if got := goal.met(c.t); got != c.want {
			t.Errorf("%+v: %v", c.t, got)
		}
	}
}

func FuzzParseSLO(f *testing.F) {
	f.Add("ttft_ms<200,itl_ms<50")
	f.Add("<,<")
	f.Fuzz(func(t *testing.T, text string) {
		if goal, err := ParseSLO(text); err == nil {
			goal.met(requestTimes{})
		}
	})
}
