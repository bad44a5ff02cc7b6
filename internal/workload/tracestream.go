package workload

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"sembench"
)

// TraceRequest is one request of a trace without text: its length, and ids of its blocks where the trace has them.
type TraceRequest struct {
	ArrivalMS       *float64
	InputTokens     int64
	OutputTokens    *int64
	IDs             []uint64
	Tenant, Session string
}

// traceWords are short common words, one token each (with the blank before) in every current vocabulary.
var traceWords = strings.Fields(`about after again air all along also always an and another any are around as ask at away back be because been before best
better big both boy but by call came can case city close cold come could country cut day did different do does done door down each early earth end enough
even ever every eye face fact far farm fast father feel few find fire first five follow food for form found four free friend from front full game gave get
girl give go gold good great green ground group grow had half hand hard has have he head hear heart help her here high him his hold home horse hot hour house
how idea if important in into is it just keep kind king knew know land large last late learn leave left less let letter life light like line list little live long
look love low made main make man many map mark may mean men might mind money moon more morning most mother move much music must my name near need never new
next night no north not note nothing now number of off often old on once one only open or order other our out over own page paper part pass people picture place plan
plant play point power problem pull put question quick rain ran read real red rest right river road rock room round rule run said same saw say school sea second see
seem self sentence set seven several shall she ship short should show side simple since sing six size sleep slow small snow so some song soon sound south space stand
star start state stay step still stop story street strong study such sun sure table take talk teach tell ten test than that the their them then there these they thing think
this those thought three through time to together told too took top town travel tree true try turn two under until up us use very voice walk want war warm was watch water
way we week well went were west what wheel when where which while white who whole why will wind with wood word work world would write year yes yet you young your`)

// traceBlock is text of n tokens that depends on the id alone.
func traceBlock(id uint64, n int64) string {
	r := drawsFor(id, "trace block")
	var b strings.Builder
	for range n {
		b.WriteByte(' ')
		b.WriteString(pick(r, traceWords))
	}
	return b.String()
}

// maxTracePrompt bounds one prompt, in tokens: beyond it a length is damage, not data.
const maxTracePrompt = 4 << 20

// FromTrace makes a stream workload that has the shape of a trace: lengths, arrivals, tenants, and prompts that share text
// where the trace's requests share block ids. The text is made of common words, blockSize of them for each id; requests
// without ids share nothing. donor_item_id names the latest earlier request with the longest common run of leading ids.
// sum gives the SHA-256 of what was read, once all was. Options.MaxItems takes the first requests.
func FromTrace(requests iter.Seq2[TraceRequest, error], name, format string, blockSize int, sum func() string, o Options) ([]sembench.Item, sembench.BuildReport, error) {
	o.Profile = "from"
	o, err := o.filled()
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	if len(o.Transforms) > 0 {
		return nil, sembench.BuildReport{}, fmt.Errorf("building manifest: a trace has traffic classes of its own: leave transforms out")
	}
	s := &traceStream{options: o, size: int64(blockSize), holder: map[uint64]int{}, name: name}
	records := 0
	for r, err := range requests {
		if err != nil {
			return nil, sembench.BuildReport{}, fmt.Errorf("reading %s: %w", name, err)
		}
		if records++; o.MaxItems > 0 && records > o.MaxItems {
			continue // read on: the recipe names the whole file
		}
		if err := s.add(r); err != nil {
			return nil, sembench.BuildReport{}, fmt.Errorf("reading %s: request %d: %w", name, records, err)
		}
	}
	report := sembench.BuildReport{Recipe: o.recipe(), SourceRecords: &records, Excluded: s.excluded}
	report.Recipe.Source, report.Recipe.Format, report.Recipe.SourceSHA256, report.Recipe.License = path.Base(name), format, sum(), o.license()
	if len(s.items) == 0 {
		return nil, report, fmt.Errorf("building manifest: no request of %s is left", name)
	}
	return o.finish(s.items, report)
}

type traceStream struct {
	options  Options
	size     int64
	name     string
	items    []sembench.Item
	holder   map[uint64]int // id → latest item that holds it
	excluded map[string]int
	started  float64
}

func (s *traceStream) add(r TraceRequest) error {
	switch {
	case r.InputTokens > maxTracePrompt:
		return fmt.Errorf("a prompt of %d tokens, at most %d are made", r.InputTokens, maxTracePrompt)
	case r.InputTokens <= 0:
		if s.excluded == nil {
			s.excluded = map[string]int{}
		}
		s.excluded["empty_prompt"]++
		return nil
	}
	at := len(s.items)
	it := sembench.Item{
		Dataset: s.options.datasetOf(s.name), SourceID: fmt.Sprintf("request-%06d", at), RecipientPrompt: s.text(r, at), Answers: []string{},
		DonorPrompts: []sembench.Donor{}, BenchmarkVersion: sembench.ManifestVersion,
		Metadata: map[string]any{"stream_position": at, "license": s.options.license(), "traffic_class": classFresh},
	}
	if r.ArrivalMS != nil {
		if at == 0 {
			s.started = *r.ArrivalMS
		}
		it.Metadata["arrival_ms"] = int(*r.ArrivalMS - s.started)
	}
	if r.OutputTokens != nil && *r.OutputTokens > 0 {
		it.Metadata["max_tokens"] = int(*r.OutputTokens)
	}
	for key, value := range map[string]string{"tenant": r.Tenant, "session_id": r.Session, "length_band": nearestBand(int(r.InputTokens))} {
		if value != "" {
			it.Metadata[key] = value
		}
	}
	if donor, shared := s.donor(r.IDs); shared > 0 {
		it.Metadata["donor_item_id"], it.Metadata["donor_gap_requests"] = s.items[donor].ItemID, at-donor-1
		it.Metadata["expected_supplied_tokens"], it.Metadata["traffic_class"] = int(min(int64(shared)*s.size, r.InputTokens)), classDocument
	}
	it.Transform = "stream@" + it.Text("traffic_class")
	it.ItemID = sembench.DefaultItemID(it.Dataset, it.SourceID, it.Transform)
	for _, id := range r.IDs {
		s.holder[id] = at
	}
	s.items = append(s.items, it)
	return nil
}

// donor is the latest item that holds the last of the leading ids that earlier requests held, and how many those are.
func (s *traceStream) donor(ids []uint64) (item, shared int) {
	for _, id := range ids {
		holder, held := s.holder[id]
		if !held {
			break
		}
		item = holder
		shared++
	}
	return item, shared
}

// text is the prompt: a block of words for each id, the last as long as is left; all new words where there are no ids.
func (s *traceStream) text(r TraceRequest, at int) string {
	var b strings.Builder
	left := r.InputTokens
	for _, id := range r.IDs {
		n := min(left, s.size)
		b.WriteString(traceBlock(id, n))
		left -= n
	}
	if left > 0 {
		// A seed of the request's own, apart from those of ids, which are used as they are.
		r := drawsFor(s.options.Seed, "trace rest", s.name, at)
		for range left {
			b.WriteByte(' ')
			b.WriteString(pick(r, traceWords))
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}
