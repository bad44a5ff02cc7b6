package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sembench"
)

// Limits of what a page holds, so that a run of 10,000 rows stays under 10 MB.
const (
	cutText   = 400       // characters of an output shown at first
	fullPairs = 200       // pairs whose whole text is in the page
	fullText  = 20_000    // characters of one such text
	textBytes = 4_000_000 // of all texts, as escaped in the page: beyond it outputs are left out and said to be
)

// pageData is what the page's script draws: plain values, embedded as JSON.
type pageData struct {
	Charts []Chart `json:"charts"`
	// Strings holds every repeated text once; rows name it by its place.
	Strings []string `json:"strings"`
	// Rows are arrays in the order of Columns; columns of texts hold places in Strings.
	Columns []string `json:"columns"`
	Texts   int      `json:"texts"` // how many of the columns are texts
	Rows    [][]any  `json:"rows"`
	// Outputs are cut; Full holds whole texts by row, of the pairs that matter most. Null: left out for size, or not kept.
	Outputs []*string      `json:"outputs"`
	Full    map[int]string `json:"full"`
	Left    int            `json:"left"` // outputs left out for size
}

// rowColumns name the values of a row in the page. The first texts are places in Strings.
var rowColumns = []string{"item", "transform", "arm", "control", "mechanism", "excluded", "pair", "isolation", "audit", "attribution", "donors", "finish", "error", "band", "class",
	"tokens", "ttft", "cached", "external", "semantic", "primed", "blocks", "exact", "eligible", "f1", "pass", "leak", "wrong", "speedup", "agreement"}

func dataOf(in Input) pageData {
	r := in.Result
	data := pageData{Charts: Charts(in), Columns: rowColumns, Texts: slices.Index(rowColumns, "tokens"), Rows: [][]any{}, Outputs: []*string{}, Full: map[int]string{}}
	places := map[string]int{}
	place := func(s string) any {
		at, ok := places[s]
		if !ok {
			at = len(data.Strings)
			places[s] = at
			data.Strings = append(data.Strings, s)
		}
		return at
	}
	budget := textBytes
	for _, row := range r.Requests {
		kind := text(row.AuditMaterializationKind)
		if kind == "" && row.AuditJoined != nil {
			kind = map[bool]string{true: "joined, nothing materialized", false: "not joined"}[*row.AuditJoined]
		}
		data.Rows = append(data.Rows, []any{
			place(row.ItemID), place(row.Transform), place(text(row.Arm)), place(controlOf(row)), place(text(row.Mechanism)), place(excludedWhy(row)), place(text(row.PairID)),
			place(text(row.Isolation)), place(kind), place(text(row.DonorAttribution)), place(strings.Join(row.DonorStatus, ", ")), place(text(row.FinishReason)), place(cut(text(row.Error), cutText)), place(text(row.LengthBand)), place(text(row.PairClass)),
			row.PromptTokens, number(row.TTFTMS), integer(row.BackendConfirmedTokens), integer(row.ExternalConfirmedTokens), integer(row.SemanticConfirmedTokens), integer(row.StepPrimedTokens),
			row.TotalBlocks, row.ExactHitBlocks, integer(row.SemanticEligibleBlocks), number(row.QualityF1), flag(row.QualityPass), flag(row.Leak), integer(row.WrongReuseTokens), number(row.TTFTSpeedup), number(row.WarmVsColdRougeL)})
		if row.OutputText == nil {
			data.Outputs = append(data.Outputs, nil)
			continue
		}
		short := cut(*row.OutputText, cutText)
		if budget -= escapedSize(short); budget < 0 {
			data.Outputs = append(data.Outputs, nil)
			data.Left++
			continue
		}
		data.Outputs = append(data.Outputs, &short)
	}
	data.addFull(r, budget)
	return data
}

// addFull keeps the whole text of long outputs: of pairs that are excluded, controls for wrong reuse or hits first.
func (data *pageData) addFull(r *sembench.Result, budget int) {
	chosen := map[string]bool{}
	for _, wanted := range []func(sembench.Row) bool{
		func(row sembench.Row) bool { return excludedWhy(row) != "" || row.ControlKind != nil },
		func(row sembench.Row) bool {
			return row.SemanticConfirmedTokens != nil && *row.SemanticConfirmedTokens > 0
		},
		func(sembench.Row) bool { return true },
	} {
		for _, row := range r.Requests {
			if len(chosen) < fullPairs && row.PairID != nil && row.OutputText != nil && utf8.RuneCountInString(*row.OutputText) > cutText && wanted(row) {
				chosen[*row.PairID] = true
			}
		}
	}
	for i, row := range r.Requests {
		if !chosen[text(row.PairID)] || row.OutputText == nil || utf8.RuneCountInString(*row.OutputText) <= cutText {
			continue
		}
		whole := cut(*row.OutputText, fullText)
		if budget -= escapedSize(whole); budget < 0 {
			return
		}
		data.Full[i] = whole
	}
}

// escapedSize is about how many bytes a text takes in a script element: markup and control characters become \u00xx.
func escapedSize(s string) int {
	n := len(s)
	for i := range len(s) {
		if c := s[i]; c < 0x20 || strings.IndexByte(`<>&'"\`, c) >= 0 {
			n += 5
		}
	}
	return n
}

func controlOf(row sembench.Row) string {
	if row.NegativeControl {
		return "negative"
	}
	return text(row.ControlKind)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// number, integer and flag keep null as null.
func number(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func integer(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

func flag(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

// cut shortens text to at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}
