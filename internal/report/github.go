package report

import (
	"fmt"
	"io"
	"strings"

	"sembench"
)

// GitHub writes workflow commands: an error for every gate that fails the verdict, warnings for what was waived, not judged or
// contradictory, and one notice with the headline. Texts cannot start commands of their own.
func GitHub(w io.Writer, in Input) error {
	var b strings.Builder
	say := func(level, title, message string) {
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, commandProperty.Replace(title), commandData.Replace(message))
	}
	s := standingOf(in)
	if v := in.Verdict; v != nil {
		for _, g := range v.Gates {
			switch {
			case g.Outcome == sembench.Pass:
			case v.Passed || g.Outcome == sembench.NotJudged:
				say("warning", "sembench: "+g.Name, gateWords(g))
			default:
				say("error", "sembench: "+g.Name, gateWords(g))
			}
		}
		if !v.Passed {
			say("error", "sembench: "+s.Word, s.Means)
		}
	}
	for _, text := range in.Result.Contradictions {
		say("warning", "sembench: contradiction", text)
	}
	for _, text := range in.Result.Warnings {
		say("warning", "sembench", text)
	}
	headline := s.Word + ": " + s.Means
	if p := in.Result.Paired; p != nil {
		headline = fmt.Sprintf("%s: TTFT speedup %s %s over %s, hit rate %s. %s", s.Word, ratio(p.BlendedTTFTSpeedupMean), interval(p.BlendedTTFTSpeedupMeanCI), plural(p.PairsUsed, "pair"), percent(p.HitRate), s.Means)
	}
	if in.Result.Run.Simulated {
		headline = "SIMULATED. " + headline
	}
	say("notice", "sembench "+in.Result.Run.RunID, headline)
	_, err := io.WriteString(w, b.String())
	return err
}

// commandData and commandProperty escape as the runner's own toolkit does.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
