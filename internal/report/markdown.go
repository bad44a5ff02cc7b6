package report

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the summary for a pull request: verdict, headline, ladder, what is excluded, gates. Foreign texts cannot
// become markup, links or mentions.
func Markdown(w io.Writer, in Input) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	r, s := in.Result, standingOf(in)
	mark := map[string]string{"pass": "✅", "fail": "❌", "open": "⚠️", "none": "➖"}[s.Class]
	simulated := ""
	if r.Run.Simulated {
		simulated = " (SIMULATED)"
	}
	line("### %s sembench: %s%s", mark, s.Word, simulated)
	line("\n%s\n", plain(s.Means))
	for _, f := range s.Failures {
		line("- ❌ %s", plain(f))
	}
	for _, c := range s.Cautions {
		line("- %s", plain(c))
	}
	if p := r.Paired; p != nil {
		line("\n| TTFT, cold over warm | | interval | pairs |\n|---|---:|---|---:|")
		for _, l := range scaleOf(r).Lines {
			if l.Value == nil {
				line("| %s | %s | | |", plain(l.Words), unmeasured)
				continue
			}
			mark := "**" // numbers of a measurement that does not hold are struck out
			if s.Unsound {
				mark = "~~"
			}
			line("| %s | %s%s%s | %s | %s |", plain(l.Words), mark, ratio(l.Value), mark, interval(l.CI), first(l.N))
		}
		line("\nHit rate %s. Drop of answers on hits below the noise floor: %s. In no headline: %s.", percent(p.HitRate), decimal(p.RougeLDropVsFloor), plain(excluded(p)))
	}
	line("\n| rung | share | of | source |\n|---|---:|---:|---|")
	for _, rung := range r.Ladder {
		line("| %s | %s | %s %s | %s |", plain(rung.Name), percent(rung.Rate), decimal(rung.Denominator), plain(rung.Unit), plain(rung.Source))
	}
	if v := in.Verdict; v != nil && len(v.Gates) > 0 {
		line("\n<details><summary>%s</summary>\n\n| gate | outcome | observed | limit | |\n|---|---|---:|---:|---|", gateCounts(v))
		for _, g := range v.Gates {
			line("| %s | %s | %s | %s | %s |", plain(g.Name), plain(g.Outcome), value(g.Observed), value(g.Threshold), plain(g.Detail))
		}
		line("\n</details>")
	}
	line("\nRun %s, manifest `%.12s`, made by sembench %s.", plain(r.Run.RunID), hexOnly(r.Run.ManifestSHA256), plain(r.Run.SembenchVersion))
	_, err := io.WriteString(w, b.String())
	return err
}

// value is a number of a gate; a gate on a flag has none.
func value(x *float64) string {
	if x == nil {
		return ""
	}
	return decimal(x)
}

// markup are the characters that Markdown or HTML would act on; entities keep them as they look.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "@", "&#64;", "#", "&#35;", "~", "&#126;", `\`, "&#92;", "!", "&#33;", "$", "&#36;", "://", "&#58;//")

// plain is text that stays text in Markdown, on one line.
func plain(s string) string { return markup.Replace(oneLine(s)) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// hexOnly drops everything that is no hexadecimal digit.
func hexOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789abcdef", r) {
			return r
		}
		return -1
	}, s)
}

// first is the first word.
func first(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}
