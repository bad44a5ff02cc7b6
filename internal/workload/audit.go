package workload

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/ordered"
	"sembench/internal/quality"
	"sembench/internal/token"
)

// AuditOptions say how to audit; the zero value uses o200k and blocks of 16.
type AuditOptions struct {
	Tokenizer token.Tokenizer
	BlockSize int
	// MaxDonorTokens is the length limit of donors; 0 means 1.25 times the recipient's band, no limit without a band.
	MaxDonorTokens int
	// SHA256 is the manifest's identity, where it is known.
	SHA256 string
}

// GuardError is an audit that did not pass.
type GuardError struct{ Audit sembench.ManifestAudit }

func (e *GuardError) Error() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(e.Audit.Violations)) {
		parts = append(parts, fmt.Sprintf("%d %s", e.Audit.Violations[kind], kind))
	}
	first := ""
	if len(e.Audit.Shown) > 0 {
		v := e.Audit.Shown[0]
		first = fmt.Sprintf(" (first: %s: %s)", v.ItemID, v.Detail)
	}
	return "guards are broken: " + strings.Join(parts, ", ") + first
}

// shownPerKind is how many violations of a kind are spelled out; all are counted.
const shownPerKind = 20

// Audit checks the guards of workloads.md section 4. The result has no violations and Passed true when all hold.
// Items that share a source are related and may share anything.
func Audit(items []sembench.Item, o AuditOptions) sembench.ManifestAudit {
	if o.Tokenizer == nil {
		o.Tokenizer, _ = token.Open("") // the embedded vocabulary always opens
	}
	if o.BlockSize == 0 {
		o.BlockSize = defaultBlockSize
	}
	a := &auditor{options: o, report: sembench.ManifestAudit{
		Tokenizer: o.Tokenizer.Name(), BlockSize: o.BlockSize, Items: len(items), Violations: map[string]int{},
		Shown: []sembench.ManifestViolation{}, ByTransform: map[string]sembench.TransformAudit{},
	}}
	if o.SHA256 != "" {
		a.report.ManifestSHA256 = &o.SHA256
	}
	a.sources = map[string][]uint64{}
	a.words = map[string]struct{}{}
	a.degeneracy = degeneracy{}
	inputs := func(yield func(sembench.Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
	at := 0
	for e := range ordered.Map(inputs, runtime.GOMAXPROCS(0), func() (struct{}, error) { return struct{}{}, nil },
		func(_ struct{}, it sembench.Item) (examined, error) { return examine(it, o), nil }) {
		a.item(items[at], e)
		at++
	}
	a.unrelated(items)
	a.duplicates(items)
	a.report.Degeneracy = a.degeneracy.rows()
	a.report.Sources, a.report.WordForms = len(a.sources), len(a.words)
	a.report.Passed = len(a.report.Violations) == 0
	return a.report
}

type auditor struct {
	options AuditOptions
	report  sembench.ManifestAudit
	// runs of a block's length that a source's items hold beyond boilerplate
	sources map[string][]uint64
	words   map[string]struct{}
	// how repetitive the recipients of each domain and band are
	degeneracy degeneracy
}

func (a *auditor) violation(kind, item, other, format string, args ...any) {
	if a.report.Violations[kind]++; a.report.Violations[kind] <= shownPerKind {
		a.report.Shown = append(a.report.Shown, sembench.ManifestViolation{
			Kind: kind, ItemID: item, OtherItemID: other, Detail: fmt.Sprintf(format, args...),
		})
	}
}

// examined is what one item tells by itself: all that costs time, so that items are examined side by side.
type examined struct {
	recipientTokens          int
	donorTokens              []int
	own                      []uint64
	donors                   [][]uint64
	totalBlocks, hit, prefix int
	distinct, gzip           float64
	words                    []string
}

func examine(it sembench.Item, o AuditOptions) examined {
	ids := o.Tokenizer.Encode(nil, it.RecipientPrompt)
	e := examined{
		recipientTokens: len(ids), totalBlocks: block.Count(len(ids), o.BlockSize),
		own:      runs(o.Tokenizer, o.BlockSize, it.RecipientPrompt, declaredOf(it.Metadata)),
		distinct: distinctShare(ids, o.BlockSize), gzip: gzipRatio(it.RecipientPrompt),
	}
	forms := map[string]struct{}{}
	wordForms(forms, it.RecipientPrompt)
	x := block.NewIndex(o.BlockSize)
	for _, d := range it.DonorPrompts {
		donor := o.Tokenizer.Encode(nil, d.Text)
		x.Add(d.DonorID, donor)
		e.donorTokens = append(e.donorTokens, len(donor))
		e.donors = append(e.donors, runs(o.Tokenizer, o.BlockSize, d.Text, declaredOf(d.Metadata)))
		wordForms(forms, d.Text)
	}
	for _, hit := range x.Hits(nil, ids) {
		if hit {
			e.hit++
		}
	}
	e.prefix = x.PrefixBlocks(ids)
	e.words = slices.Collect(maps.Keys(forms))
	return e
}

func wordForms(into map[string]struct{}, text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		into[strings.ToLower(word)] = struct{}{}
	}
}

// item checks what one item tells by itself.
func (a *auditor) item(it sembench.Item, e examined) {
	if it.NegativeControl {
		a.report.NegativeControls++
	}
	a.answers(it)
	a.lengths(it, e)
	for _, word := range e.words {
		a.words[word] = struct{}{}
	}
	if replayed(it) {
		a.attribute(it.SourceID, nil)
	} else {
		a.attribute(it.SourceID, e.own)
	}
	for i, theirs := range e.donors {
		if n := overlap(e.own, theirs); it.NegativeControl && n > 0 {
			a.violation("control_shares_run", it.ItemID, "", "donor %s shares %d runs of %d tokens", it.DonorPrompts[i].DonorID, n, a.options.BlockSize)
		}
		switch name := it.Text("donor_source_id"); {
		case name != "":
			a.attribute(name, difference(theirs, e.own)) // what is not the recipient's is the other source's
		case !it.NegativeControl:
			a.attribute(it.SourceID, theirs)
		}
	}
	if generated(it) && (e.distinct < leastDistinct || e.gzip > gzipLimit(it)) {
		a.violation("degenerate", it.ItemID, "", "%.3f of its blocks are distinct, gzip makes it %.2f times smaller (limits %.2f, %.0f)",
			e.distinct, e.gzip, leastDistinct, gzipLimit(it))
	}
	a.degeneracy.add(it, e)
	entry := a.report.ByTransform[it.TransformName()]
	entry.Items++
	entry.RecipientTokens += int64(e.recipientTokens)
	for _, n := range e.donorTokens {
		entry.DonorTokens += int64(n)
	}
	entry.TotalBlocks += int64(e.totalBlocks)
	entry.ExactHitBlocks += int64(e.hit)
	entry.ExactPrefixHitBlocks += int64(e.prefix)
	entry.ExactBlockHitRate = ratio(entry.ExactHitBlocks, entry.TotalBlocks)
	entry.ExactPrefixBlockHitRate = ratio(entry.ExactPrefixHitBlocks, entry.TotalBlocks)
	a.report.ByTransform[it.TransformName()] = entry
}

// donorLimit is how long a donor may be beside a recipient of so many tokens: other wordings of the same facts can be longer,
// but it must fit an engine that was set up for the band.
func donorLimit(target int) int { return target * 5 / 4 }

// lengths checks the recipient against its band and donors against the limit.
func (a *auditor) lengths(it sembench.Item, e examined) {
	if !generated(it) {
		return
	}
	limit := a.options.MaxDonorTokens
	if target, ok := bandTokens(it.Text("length_band")); ok {
		if !within(e.recipientTokens, target) {
			a.violation("off_band", it.ItemID, "", "recipient has %d tokens, band %s", e.recipientTokens, it.Text("length_band"))
		}
		if limit == 0 {
			limit = donorLimit(target)
		}
	}
	for i, n := range e.donorTokens {
		if limit > 0 && n > limit {
			a.violation("donor_too_long", it.ItemID, "", "donor %s has %d tokens, limit %d", it.DonorPrompts[i].DonorID, n, limit)
		}
	}
}

// attribute notes whose text holds runs.
func (a *auditor) attribute(source string, found []uint64) {
	a.sources[source] = union(a.sources[source], found)
}

// ratio is nil without a denominator.
func ratio(n, of int64) *float64 {
	if of == 0 {
		return nil
	}
	r := float64(n) / float64(of)
	return &r
}

// generated tells items of our own grammar whose lengths were fitted; those of a source or a stream keep theirs.
func generated(it sembench.Item) bool {
	return strings.HasPrefix(it.Dataset, "sembench-") && it.TransformName() != "stream"
}

// replayed tells requests of a log, which were sent as they are: what they share is the point, no violation.
func replayed(it sembench.Item) bool {
	return it.TransformName() == "stream" && !strings.HasPrefix(it.Dataset, "sembench-")
}

// stated is whether any reference answer is stated in a text.
func stated(text string, answers []string) bool {
	return slices.ContainsFunc(answers, func(answer string) bool { return quality.States(text, answer) })
}

func (a *auditor) answers(it sembench.Item) {
	switch {
	case len(it.Answers) == 0 && it.Input != "":
		a.violation("answers_absent", it.ItemID, "", "no reference answer to %q", it.Input)
	case len(it.Answers) > 0 && !stated(it.RecipientPrompt, it.Answers):
		a.violation("answer_missing", it.ItemID, "", "the recipient does not state %q", it.Answers[0])
	}
	leak := it.Text("divergent_donor_value")
	if leak == "" {
		return
	}
	if quality.States(it.RecipientPrompt, leak) {
		a.violation("leak_value_present", it.ItemID, "", "the recipient states %q", leak)
	}
	if stated(leak, it.Answers) {
		a.violation("leak_value_is_answer", it.ItemID, "", "%q is true as well", leak)
	}
}

// unrelated finds runs that sources share, and runs in more than 1 % of the sources.
func (a *auditor) unrelated(items []sembench.Item) {
	first := map[string]string{} // source → item id to name it by
	for _, it := range items {
		if _, named := first[it.SourceID]; !named {
			first[it.SourceID] = it.ItemID
		}
		if name := it.Text("donor_source_id"); name != "" && first[name] == "" {
			first[name] = it.ItemID
		}
	}
	names := slices.Sorted(maps.Keys(a.sources))
	owner := map[uint64]int32{}  // run → number of the first source that holds it
	common := map[uint64]int32{} // run → sources that hold it, where more than one does
	for i, name := range names {
		shared := map[int32]int{}
		for _, h := range a.sources[name] {
			if j, used := owner[h]; used {
				shared[j]++
				common[h] = max(common[h], 1) + 1
			} else {
				owner[h] = int32(i)
			}
		}
		for _, j := range slices.Sorted(maps.Keys(shared)) {
			a.violation("unrelated_share_run", first[name], first[names[j]], "%d runs of %d tokens are shared with source %s", shared[j], a.options.BlockSize, names[j])
		}
	}
	// 1 % of few sources is less than one: then any sharing is already reported above.
	limit, tooCommon, most := max(1, int32(len(names)/100)), 0, int32(0)
	for _, n := range common {
		if n > limit {
			tooCommon++
			most = max(most, n)
		}
	}
	if tooCommon > 0 {
		a.violation("run_too_common", "", "", "%d runs occur in more than %d of %d sources, one in %d", tooCommon, limit, len(names), most)
	}
}

// duplicates finds items that are the same, and sources in two splits.
func (a *auditor) duplicates(items []sembench.Item) {
	seen, split := map[string]string{}, map[string]string{}
	for _, it := range items {
		if replayed(it) {
			continue
		}
		sum := newSum()
		fmt.Fprintf(sum, "%q", it.RecipientPrompt)
		for _, d := range it.DonorPrompts {
			fmt.Fprintf(sum, "%q", d.Text)
		}
		if other, twice := seen[sum.hex()]; twice {
			a.violation("duplicate_item", it.ItemID, other, "same donors and recipient")
		}
		seen[sum.hex()] = it.ItemID
		name := it.Text("split")
		if other, known := split[it.SourceID]; known && other != name {
			a.violation("source_in_two_splits", it.ItemID, "", "source %s stands in %q and %q", it.SourceID, other, name)
		}
		split[it.SourceID] = name
	}
}
