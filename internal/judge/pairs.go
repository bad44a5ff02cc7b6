package judge

import (
	"slices"
	"strings"

	"sembench"
)

// class is what became of a planned pair: exactly one, the first matching in this order (contract, section 7).
type class string

const (
	classUnpaired     class = "unpaired"
	classErrored      class = "errored"
	classContaminated class = "contaminated"
	classExcluded     class = "excluded"
	classControl      class = "control"
	classWrongReuse   class = "wrong_reuse"
	classUsed         class = "used"
)

// Reasons of the harness's own exclusions.
const (
	reasonNoTTFT        = "ttft_missing"
	reasonPromptsDiffer = "prompt_tokens_differ" // twins must carry the same prompt
	reasonTwoProcesses  = "engine_restarted"     // a pair never mixes two engine processes
	reasonUnnamed       = "unnamed"
)

// pair is the arms of one planned pair. Null: that arm has no recipient line.
type pair struct {
	id                          string
	cold, warm, exact, sham, aa *sembench.Row
	class                       class
	reasons                     []string // why it is contaminated or excluded
	coldCached, coldAny         bool     // the seed's reason alone, and any cold reuse above 0
	isolationUnknown            bool     // an arm carries no isolation field
	notStock                    bool     // some exact step of the run shows that its engine is no stock engine
}

// pairUp groups rows by pair, those planned and those that only rows name, and classifies each. Pairs come by id: resampling draws them by
// place, and no number may depend on the order of a manifest or of shards.
func pairUp(rows []sembench.Row, planned []string) []*pair {
	byID := map[string]*pair{}
	pairs := make([]*pair, 0, len(planned))
	for _, id := range planned {
		p := &pair{id: id}
		byID[id], pairs = p, append(pairs, p)
	}
	for i := range rows {
		row := &rows[i]
		if row.PairID == nil || row.Arm == nil {
			continue
		}
		p := byID[*row.PairID]
		if p == nil {
			p = &pair{id: *row.PairID}
			byID[p.id], pairs = p, append(pairs, p)
		}
		switch *row.Arm {
		case sembench.ArmCold:
			p.cold = row
		case sembench.ArmWarm:
			p.warm = row
		case sembench.ArmExact:
			p.exact = row
		case sembench.ArmSham:
			p.sham = row
		case sembench.ArmAA:
			p.aa = row
		}
	}
	slices.SortFunc(pairs, func(a, b *pair) int { return strings.Compare(a.id, b.id) })
	for _, p := range pairs {
		p.classify()
	}
	return pairs
}

func (p *pair) classify() {
	for _, row := range []*sembench.Row{p.cold, p.warm} {
		if row != nil {
			row.ContaminationReason = nil // an older judgement's
		}
	}
	sent := func(row *sembench.Row) bool { return row != nil && !is(row.Status, sembench.StatusNotSent) }
	if !sent(p.cold) || !sent(p.warm) {
		p.class = classUnpaired
		return
	}
	p.isolationUnknown = p.cold.Isolation == nil || p.warm.Isolation == nil
	contamination := p.contamination()
	exclusion := p.exclusion()
	switch {
	case failed(p.cold) || failed(p.warm):
		p.class = classErrored
	case len(contamination) > 0:
		p.class, p.reasons = classContaminated, contamination
		p.cold.ContaminationReason = new(strings.Join(contamination, " "))
		p.warm.ContaminationReason = p.cold.ContaminationReason
	case exclusion != "":
		p.class, p.reasons = classExcluded, []string{exclusion}
	case p.cold.NegativeControl:
		p.class = classControl
	case p.cold.ControlKind != nil:
		p.class = classWrongReuse
	default:
		p.class = classUsed
	}
}

// annotate writes onto the pair's rows what a reader of rows needs to know of the pair.
func (p *pair) annotate(blockSize int) {
	for _, row := range []*sembench.Row{p.cold, p.warm} {
		if row != nil {
			row.PairClass, row.SemanticHit, row.TTFTSpeedup, row.WarmVsColdRougeL = new(string(p.class)), nil, nil, nil
		}
	}
	if p.clean() {
		p.warm.SemanticHit, p.warm.TTFTSpeedup, p.warm.WarmVsColdRougeL = hit(p.warm, blockSize), finite(p.ratio()), p.rouge()
	}
}

// clean tells that the pair's rows enter aggregates.
func (p *pair) clean() bool {
	return p.class == classControl || p.class == classWrongReuse || p.class == classUsed
}

func (p *pair) exclusion() string {
	for _, row := range []*sembench.Row{p.cold, p.warm} {
		if is(row.Status, sembench.StatusExcluded) {
			if row.Reason != nil && *row.Reason != "" {
				return *row.Reason
			}
			return reasonUnnamed
		}
	}
	switch {
	case !positive(p.cold.TTFTMS) || !positive(p.warm.TTFTMS):
		return reasonNoTTFT
	case is(p.cold.PromptTokensSource, "engine") && is(p.warm.PromptTokensSource, "engine") && p.cold.PromptTokens != p.warm.PromptTokens:
		return reasonPromptsDiffer
	case p.cold.BootID != nil && p.warm.BootID != nil && *p.cold.BootID != *p.warm.BootID && !is(p.cold.Isolation, sembench.IsolationFreshProcess):
		return reasonTwoProcesses
	}
	return ""
}

// ratio is cold over warm TTFT; only for pairs whose exclusion was ruled out.
func (p *pair) ratio() float64 { return *p.cold.TTFTMS / *p.warm.TTFTMS }

// exactRow gives the exact arm's row when it shows prefix caching alone: one that reused anything else is no baseline.
func (p *pair) exactRow() *sembench.Row {
	row := other(p.exact)
	if row == nil || p.notStock || p.impure() {
		return nil
	}
	return row
}

// impure tells that the exact step cannot show prefix caching alone: it reused something else, or the warm arm's process served it.
func (p *pair) impure() bool {
	row := p.exact
	if row == nil || !is(row.Status, sembench.StatusOK) {
		return false
	}
	return deref(row.ExternalConfirmedTokens) > 0 || deref(row.FuzzyConfirmedTokens) > 0 || deref(row.SemanticConfirmedTokens) > 0 ||
		p.warm != nil && sameStart(row.BootID, p.warm.BootID)
}

// sameStart tells that two boot ids name one engine process: an address may differ, the start time after it does not.
func sameStart(a, b *string) bool {
	if a == nil || b == nil {
		return false
	}
	return (*a)[strings.LastIndexByte(*a, '@')+1:] == (*b)[strings.LastIndexByte(*b, '@')+1:]
}

// discredit leaves the whole exact arm out where one of its steps shows that its engine is no stock engine: the steps that happened to reuse
// nothing else would be a choice among them.
func discredit(pairs []*pair) {
	found := slices.ContainsFunc(pairs, (*pair).impure)
	for _, p := range pairs {
		p.notStock = found
	}
}

// other gives an additional arm's row when it may stand beside a clean pair: finished, timed, and not known to have started
// dirty. Its isolation may be unproven where canaries run on another engine.
func other(row *sembench.Row) *sembench.Row {
	if row == nil || failed(row) || !is(row.Status, sembench.StatusOK) || !positive(row.TTFTMS) {
		return nil
	}
	if is(row.Isolation, sembench.IsolationFailed) || is(row.Isolation, sembench.IsolationNone) || deref(row.PrefixUnexplainedTokens) > 0 {
		return nil
	}
	return row
}

// failed tells that a recipient was sent and did not finish. A row of another producer has no status: its error decides.
func failed(row *sembench.Row) bool {
	return is(row.Status, sembench.StatusFailed) || row.Status == nil && row.Error != nil
}

func is(p *string, value string) bool { return p != nil && *p == value }

func positive(p *float64) bool { return p != nil && *p > 0 }

// hit tells whether a row reused semantically; null without any semantic signal.
func hit(row *sembench.Row, blockSize int) *bool {
	if row.SemanticConfirmedTokens == nil {
		return nil
	}
	return new(*row.SemanticConfirmedTokens >= hitTokens(blockSize))
}
