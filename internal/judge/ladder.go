package judge

import (
	"sembench"
)

// ladder is the way from what exact matching covers to what got faster, over clean warm rows. A lower rung never counts as a
// higher one; a rung that no source speaks of is null with coverage 0.
func ladder(rows []sembench.Row, pairs []*pair, blockSize int) []sembench.Rung {
	var out []sembench.Rung
	blocks := func(name string, of func(sembench.Row) *int, per func(sembench.Row) *int, source string) {
		out = append(out, rung(name, "blocks", source, rows, of, per))
	}
	tokens := func(name string, of func(sembench.Row) *int, source string) {
		out = append(out, rung(name, "tokens", source, rows, of, promptTokens))
	}
	blocks("exact", exactBlocks, localBlocks, "token ids")
	blocks("candidate", func(r sembench.Row) *int { return r.SemanticCandidateBlocks }, localBlocks, "plan")
	blocks("eligible", func(r sembench.Row) *int { return r.SemanticEligibleBlocks }, localBlocks, "plan")
	blocks("confirmed", func(r sembench.Row) *int { return r.BackendConfirmedBlocks }, totalBlocks, "engine response")
	tokens("advertised", audited(func(r sembench.Row) *int { return r.AuditAdvertisedTokens }), "connector audit")
	tokens("allocated", audited(func(r sembench.Row) *int { return r.AuditLoadAllocated }), "connector audit")
	tokens("materialized", func(r sembench.Row) *int { return r.SemanticConfirmedTokens }, "connector audit, engine log or declared connector")
	faster, judged, used := 0, 0, 0
	for _, p := range pairs {
		if p.class != classUsed {
			continue
		}
		used++
		if h := hit(p.warm, blockSize); h != nil {
			judged++
			if *h && p.ratio() > 1 {
				faster++
			}
		}
	}
	last := sembench.Rung{Name: "faster", Unit: "pairs", Source: "client stamps", Coverage: rate(judged, used)}
	if judged > 0 {
		last.Numerator, last.Denominator, last.Rate = new(float64(faster)), new(float64(judged)), rate(faster, judged)
	}
	return append(out, last)
}

// audited reads a column of the audit: on a joined row an event that never came is 0, elsewhere it is unmeasured.
func audited(of func(sembench.Row) *int) func(sembench.Row) *int {
	return func(row sembench.Row) *int {
		if row.AuditJoined == nil || !*row.AuditJoined {
			return nil
		}
		return new(deref(of(row)))
	}
}

func rung(name, unit, source string, rows []sembench.Row, of, per func(sembench.Row) *int) sembench.Rung {
	out := sembench.Rung{Name: name, Unit: unit, Source: source}
	a, b, known := 0, 0, 0
	for _, row := range rows {
		if n, d := of(row), per(row); n != nil && d != nil {
			a, b, known = a+*n, b+*d, known+1
		}
	}
	out.Coverage = rate(known, len(rows))
	if known > 0 {
		out.Numerator, out.Denominator, out.Rate = new(float64(a)), new(float64(b)), rate(a, b)
	}
	return out
}
