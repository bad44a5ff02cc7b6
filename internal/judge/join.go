package judge

import (
	"strconv"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/quality"
)

// Joined is the rows of a run and what was found while they were joined.
type Joined struct {
	// Rows, one a recipient line, in journal order; offline columns are the item's.
	Rows []sembench.Row
	// Planned names every pair of the plan, in the order of items and repeats.
	Planned []string
	// Audit counts how the audit's records met the rows; null without an audit.
	Audit *sembench.AuditReport

	transforms map[string]string // of each planned pair
	journal    *journal
	passes     []canaryPass
	sources    *sources
}

// Join makes one row of every recipient line: offline rungs, what each source says the engine reused, isolation as the
// canaries prove it, whose KV it was, times and quality. Inputs that do not belong together are Refused. A pair and arm with
// two recipient lines is Refused too: one of them should have been superseded.
func Join(in Inputs) (Joined, error) {
	if err := in.check(); err != nil {
		return Joined{}, err
	}
	j := newJournal(in.Observations)
	if len(j.dup) > 0 {
		return Joined{}, refuse("pair and arm %q has two recipient lines, none superseded", j.dup[0])
	}
	items := map[string]sembench.Item{}
	for _, it := range in.Items {
		items[it.ItemID] = it
	}
	offline := map[string]sembench.Row{}
	for _, row := range in.Offline {
		offline[row.ItemID] = row
	}
	out := Joined{journal: j, passes: j.canaries(), sources: newSources(in, j)}
	out.Planned, out.transforms = planned(in, j, items)
	if in.Audit != nil {
		zero := func() *int { return new(0) }
		out.Audit = &sembench.AuditReport{RowsTotal: zero(), RowsMatchedExact: zero(), RowsMatchedNormal: zero(), RowsUnmatched: zero(),
			RowsAmbiguous: zero(), RowsWithoutRequestID: zero(), RowsReusedRequestID: zero()}
	}
	for _, s := range j.sortedSteps() {
		out.Rows = append(out.Rows, out.row(in, s, items[s.recipient.ItemID], offline))
	}
	return out, nil
}

// planned lists the pairs of the plan with their transforms: every item in every repetition, and what the journal has
// beyond them.
func planned(in Inputs, j *journal, items map[string]sembench.Item) (pairs []string, transforms map[string]string) {
	transforms = map[string]string{}
	add := func(id string, it sembench.Item) {
		if _, known := transforms[id]; !known {
			transforms[id] = it.TransformName()
			pairs = append(pairs, id)
		}
	}
	for repeat := range max(1, in.Repeats) {
		for _, it := range in.Items {
			add(it.ItemID+"#"+strconv.Itoa(repeat), it)
		}
	}
	for _, s := range j.sortedSteps() {
		add(s.recipient.PairID, items[s.recipient.ItemID])
	}
	return pairs, transforms
}

// extraGap is the key under which replay notes how many completed requests a donor's gap was short of.
const extraGap = "gap_unhonoured"

func (out Joined) row(in Inputs, s *step, it sembench.Item, offline map[string]sembench.Row) sembench.Row {
	o := s.recipient
	row, ok := offline[it.ItemID]
	if !ok {
		row = bareRow(it)
	}
	size := in.blockSize()
	row.Arm, row.Order, row.Attempt, row.PairID = &o.Arm, o.Order, &o.Attempt, &o.PairID
	row.Status, row.Reason, row.BootID = &o.Status, o.Reason, o.BootID
	row.EngineRequestID, row.EngineResponseID = o.EngineRequestID, o.EngineResponseID
	row.OutputText, row.OutputSHA256 = o.OutputText, o.OutputSHA256
	row.OutputTokenIDs, row.OutputTopLogprobs = o.OutputTokenIDs, o.OutputTopLogprobs
	row.DonorCount, row.EngineBlockSize = len(it.DonorPrompts), in.EngineBlockSize
	row.DonorIDs, row.DonorStatus = nil, nil
	for _, d := range o.Donors {
		row.DonorIDs, row.DonorStatus = append(row.DonorIDs, d.ID), append(row.DonorStatus, d.Status)
	}
	if o.Isolation != nil {
		row.StepPrimedTokens, row.IsolationMethod = o.Isolation.PrimedTokens, &o.Isolation.Method
	}
	row.Isolation = out.journal.isolation(s, out.passes)
	if row.Isolation != nil && is(row.IsolationMethod, sembench.IsolationReset) {
		row.FlushContaminated = new(*row.Isolation == sembench.IsolationFailed)
	}
	if n, ok := number(o.Extra[extraGap]); ok {
		row.GapUnhonoured = new(n > 0)
	}
	if o.Error != nil {
		row.Error, row.ErrorClass = &o.Error.Message, &o.Error.Class
	}
	if n := o.PromptTokens(); n != nil {
		row.PromptTokens, row.TotalBlocks, row.PromptTokensSource = *n, *n/size, new("engine")
	}
	if o.Status != sembench.StatusOK {
		return row // a request that did not finish measures nothing
	}
	times(&row, o)
	out.evidence(&row, o, size)
	row.WrongReuseTokens = wrongReuse(row, size)
	row.PrefixUnexplainedTokens = prefixUnexplained(row, it, localCached(o), size)
	score(&row, it, in.threshold())
	route(&row, o)
	return row
}

// bareRow is an item's row without offline analysis; every rung is unmeasured.
func bareRow(it sembench.Item) sembench.Row {
	row := sembench.Row{ItemID: it.ItemID, Dataset: it.Dataset, Transform: it.Transform, NegativeControl: it.NegativeControl}
	if band := it.Text("length_band"); band != "" {
		row.LengthBand = &band
	}
	if kind := it.Control(); kind != "" {
		row.ControlKind = &kind
	}
	return row
}

// evidence fills what the engine says it reused.
func (out Joined) evidence(row *sembench.Row, o sembench.Observation, size int) {
	r := out.sources.of(o)
	row.BackendConfirmedTokens = r.cached
	if r.cached != nil {
		row.BackendConfirmedBlocks = new(*r.cached / size)
	}
	row.ExternalConfirmedTokens, row.ExternalConfirmedTokensSource = r.external, r.externalSource
	row.FuzzyConfirmedTokens = r.fuzzy
	if r.fuzzy != nil {
		row.FuzzyConfirmedTokensSource = new(sourceUsage)
	}
	row.SemanticConfirmedTokens = r.semantic
	row.Mechanism = r.mechanism(row.StepPrimedTokens, size)
	row.DonorAttribution = out.sources.attribution(out.journal, o, r)
	row.AuditJoined = r.auditJoined
	if r.audit != nil && *r.auditJoined {
		auditColumns(row, r.audit)
	}
	out.countAudit(o, r)
}

func (out Joined) countAudit(o sembench.Observation, r reuse) {
	if out.Audit == nil || r.auditJoined == nil {
		return
	}
	*out.Audit.RowsTotal++
	if o.RequestID == "" {
		*out.Audit.RowsWithoutRequestID++
		return
	}
	if r.audit != nil && r.audit.RequestIDReused {
		*out.Audit.RowsReusedRequestID++
	}
	switch _, match := out.sources.in.Audit.Resolve(o.RequestID); match {
	case engine.MatchExact:
		*out.Audit.RowsMatchedExact++
	case engine.MatchNormalized:
		*out.Audit.RowsMatchedNormal++
	case engine.MatchAmbiguous:
		*out.Audit.RowsAmbiguous++
	default:
		*out.Audit.RowsUnmatched++
	}
}

func auditColumns(row *sembench.Row, a *sembench.AuditRecord) {
	row.AuditObservedBoundary, row.AuditAdvertisedTokens = a.ObservedBoundary, a.AdvertisedTokens
	row.AuditAdvertisedTargetStart, row.AuditBoundaryAtSpanStart = a.AdvertisedTargetStart, a.BoundaryAtSpanStart
	row.AuditLoadAllocated, row.AuditMaterialized = a.LoadAllocated, a.Materialized
	if len(a.MaterializationKinds) > 0 {
		row.AuditMaterializationKind = &a.MaterializationKinds[0]
	}
	if len(a.DonorIDs) > 0 {
		row.AuditDonorID = &a.DonorIDs[0]
	}
	row.AuditDeclinedReasons = a.DeclinedReasons
	row.AuditSemanticLookupHit = &a.SemanticLookupHit
	row.AuditLookupHitBoundary, row.AuditLookupReusableTokens = a.LookupHitBoundary, a.LookupReusableTokens
	row.AuditBoundaryMissReason, row.AuditBoundaryMissedAt = a.BoundaryMissReason, a.BoundaryMissedAt
	row.AuditSpanDeclineEvent, row.AuditSpanDeclineReason, row.AuditSpanDeclinedAt = a.SpanDeclineEvent, a.SpanDeclineReason, a.SpanDeclinedAt
	row.AuditSupersededMaterializedTokens, row.AuditPrefixBlocksEvicted = a.SupersededTokens, a.PrefixBlocksEvicted
}

// wrongReuse is the reuse on a wrong-reuse control beyond its exact common prefix, in tokens: semantic tokens where
// measured, else cached tokens above that prefix. Null for other rows and where neither is known.
func wrongReuse(row sembench.Row, size int) *int {
	switch {
	case row.ControlKind == nil:
		return nil
	case row.SemanticConfirmedTokens != nil:
		return new(*row.SemanticConfirmedTokens)
	case row.BackendConfirmedTokens == nil:
		return nil
	}
	return beyondPrefix(row, *row.BackendConfirmedTokens, size)
}

// beyondPrefix is how many whole blocks of reused tokens lie beyond the exact prefix that recipient and donors share; null
// without offline analysis.
//
// The local prefix is in whole blocks of the bare prompt; the engine's prompt has its chat template around it, so the prefix
// may be longer by the template and by less than a block. That much, and what the probe left, is not held against the engine.
func beyondPrefix(row sembench.Row, tokens, size int) *int {
	if row.ExactPrefixHitBlocks == nil {
		return nil
	}
	template := 0
	if row.LocalPromptTokens != nil {
		template = max(0, row.PromptTokens-*row.LocalPromptTokens)
	}
	fine := max(*row.ExactPrefixHitBlocks*size+template, deref(row.StepPrimedTokens))
	return new(max(0, tokens-fine) / size * size)
}

// prefixUnexplained is the local prefix reuse of a step with donors that those donors cannot explain. Null for other arms, for
// items whose donors are other items, and where the response does not split local from external tokens.
func prefixUnexplained(row sembench.Row, it sembench.Item, local *int, size int) *int {
	fromStream := it.Metadata["donor_item_id"] != nil || it.Metadata["donor_item_ids"] != nil
	if !is(row.Arm, sembench.ArmWarm) && !is(row.Arm, sembench.ArmExact) || fromStream || local == nil || row.LocalPromptTokens == nil {
		return nil
	}
	return beyondPrefix(row, *local, size)
}

// score fills a row's quality. A multiple-choice item is scored by its letter; without references there is no score.
func score(row *sembench.Row, it sembench.Item, threshold float64) {
	if row.OutputText == nil {
		return
	}
	text := *row.OutputText
	if want := it.Text("expected_answer_letter"); want != "" {
		got, ok := quality.Letter(text)
		right := ok && got == want
		row.QualityPass, row.QualityScore = &right, new(map[bool]float64{true: 1}[right])
	} else if q := quality.Score(text, it.Answers, threshold); q != nil {
		row.QualityPass, row.QualityScore, row.QualityF1, row.QualityRougeL = &q.Pass, &q.Recall, &q.F1, &q.RougeL
	}
	if value := it.Text("divergent_donor_value"); value != "" && row.ControlKind != nil {
		row.Leak = new(quality.Leak(text, value))
	}
}
