package workload

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"sembench"
	"sembench/internal/workload/dataset"
)

// Reasons why an item of a source is left out.
const (
	reasonNoQuestion   = "no_question"
	reasonNoRequest    = "no_request_in_a_log"
	reasonNoAnswers    = "answers_absent"
	reasonAnswer       = "answer_missing"
	reasonShares       = "shares_a_run_with_another_record"
	reasonDuplicate    = "duplicate_record"
	reasonNoOther      = "no_unrelated_record"
	reasonTooLong      = "longer_than_every_band"
	reasonOutsideBands = "outside_the_bands_asked_for"
)

// firstEight are the transforms that any document can undergo.
var firstEight = []string{
	"exact_repeat", "instruction_variant", "same_evidence_new_task", "leading_evidence_new_task",
	"rag_reorder", "multi_donor_composite", "fuzzy_edit", "negative_control",
}

// FromSource makes a manifest of a file of your own: each record undergoes each transform. format is one of
// dataset.Formats, "" recognises it. Records that break a guard are left out by reason, so that what remains is clean:
// no answer in the text, or a run of a block's length shared with another record. Logs and chats become a stream workload
// of their requests instead, which may share what they like. Under Options.Strict they are an
// error instead. A record that cannot be read is an error (*sembench.Problems) and nothing is made.
func FromSource(r io.Reader, name, format string, o Options) ([]sembench.Item, sembench.BuildReport, error) {
	o.Profile = "from"
	o, err := o.filled()
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	if len(o.Transforms) == 0 {
		o.Transforms = firstEight
	}
	chosen, err := selected(o.Transforms)
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	s := &source{options: o, report: sembench.BuildReport{
		Recipe: o.recipe(), Excluded: map[string]int{}, ExcludedIDs: map[string][]string{}, Found: map[string]int{},
	}}
	if err := s.read(r, name, format); err != nil {
		return nil, s.report, err
	}
	if len(s.log) > 0 {
		return s.finishStream(name)
	}
	kept := s.clean()
	if o.Strict && len(s.report.Found) > 0 {
		return nil, s.report, fmt.Errorf("building manifest: %s breaks guards: %s: build without strict to leave them out", name, counts(s.report.Found))
	}
	items := s.items(kept, chosen)
	if len(items) == 0 {
		return nil, s.report, fmt.Errorf("building manifest: no item of %s is left: %s", name, counts(s.report.Excluded))
	}
	return o.finish(items, s.report)
}

// finishStream makes the manifest of a log.
func (s *source) finishStream(name string) ([]sembench.Item, sembench.BuildReport, error) {
	for _, doc := range s.documents {
		s.exclude(reasonNoRequest, doc.source)
	}
	items, err := s.stream(name)
	if err != nil {
		return nil, s.report, err
	}
	if len(items) == 0 {
		return nil, s.report, fmt.Errorf("building manifest: no request of %s is left: %s", name, counts(s.report.Excluded))
	}
	return s.options.finish(items, s.report)
}

func counts(of map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d %s", of[key], key))
	}
	return strings.Join(parts, ", ")
}

type source struct {
	options   Options
	report    sembench.BuildReport
	documents []document
	// runs of each document's chunks and question
	runs [][]uint64
	// log has the requests of a source that holds conversations or prompts
	log []logged
}

func (s *source) exclude(reason, id string) {
	s.report.Excluded[reason]++
	if len(s.report.ExcludedIDs[reason]) < shownPerKind {
		s.report.ExcludedIDs[reason] = append(s.report.ExcludedIDs[reason], id)
	}
}

// read turns records into documents.
func (s *source) read(r io.Reader, name, format string) error {
	o := s.options
	digest := sembench.NewDigest(r)
	var bad sembench.Problems
	records := 0
	for record, err := range dataset.Read(digest, name, format) {
		if err != nil {
			bad.Add(err)
			continue
		}
		records++
		if record.Prompt != "" || len(record.Messages) > 0 {
			s.log = append(s.log, requestsOf(record)...)
			continue
		}
		doc := s.document(record, name)
		switch {
		case o.Split != "" && splitOf(doc.source) != o.Split:
		case len(doc.questions) == 0 || len(doc.chunks) == 0:
			s.exclude(reasonNoQuestion, doc.source)
		default:
			s.documents = append(s.documents, doc)
		}
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, digest); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	s.report.SourceRecords = &records
	s.report.Recipe.Source, s.report.Recipe.Format, s.report.Recipe.SourceSHA256 = path.Base(name), format, digest.Sum()
	s.report.Recipe.License = o.license()
	return nil
}

func (o Options) license() string {
	if o.License == "" {
		return "unknown"
	}
	return o.License
}

// datasetOf is what items of a source are called after: its file name up to the first dot.
func (o Options) datasetOf(name string) string {
	if o.Dataset != "" {
		return o.Dataset
	}
	base, _, _ := strings.Cut(path.Base(name), ".")
	return base
}

func (s *source) document(record dataset.Record, name string) document {
	o := s.options
	id := record.ID
	if id == "" {
		id = fmt.Sprintf("record-%05d", record.Number)
	}
	doc := document{dataset: o.datasetOf(name), source: id, domain: record.Domain, language: record.Language, license: o.license()}
	for _, p := range record.Passages {
		doc.chunks = append(doc.chunks, chunk{p.Title, p.Text})
	}
	for _, q := range record.Questions {
		if q.Text != "" {
			doc.questions = append(doc.questions, question{text: q.Text, answers: q.Answers, letter: q.Letter})
		}
	}
	return doc
}

// splitOf deals sources to dev (2 of 10), test (7) and live (1) by a hash of their id, so that growing a source moves none.
func splitOf(source string) string {
	switch n := drawsFor(0, "split", source).IntN(10); {
	case n < 2:
		return "dev"
	case n < 9:
		return "test"
	}
	return "live"
}

// clean finds what breaks a guard, counts it, and gives the documents that may stay. Of documents that share runs as
// many as possible are kept: again and again the one that shares with most others goes.
func (s *source) clean() (kept []int) {
	o := s.options
	ids, bodies := map[string]bool{}, map[string]bool{}
	for i, doc := range s.documents {
		text := evidence(doc.chunks, numbered)
		s.runs = append(s.runs, runs(o.Tokenizer, o.BlockSize, text+"\n\n"+doc.questions[0].text, nil))
		reason := ""
		switch answers := doc.questions[0].answers; {
		case ids[doc.source] || bodies[text+doc.questions[0].text]:
			reason = reasonDuplicate
		case len(answers) == 0:
			reason = reasonNoAnswers
		case doc.questions[0].letter == "" && !stated(text, answers):
			reason = reasonAnswer
		}
		ids[doc.source], bodies[text+doc.questions[0].text] = true, true
		if reason != "" {
			s.report.Found[reason]++
			s.exclude(reason, doc.source)
			continue
		}
		kept = append(kept, i)
	}
	return s.independent(kept)
}

// independent drops documents until no two share a run.
func (s *source) independent(kept []int) []int {
	neighbours := map[int]map[int]bool{}
	first := map[uint64][]int{}
	for _, i := range kept {
		for _, h := range s.runs[i] {
			for _, j := range first[h] {
				link(neighbours, i, j)
			}
			first[h] = append(first[h], i)
		}
	}
	for _, list := range neighbours {
		s.report.Found["unrelated_share_run"] += len(list)
	}
	if n := s.report.Found["unrelated_share_run"]; n > 0 {
		s.report.Found["unrelated_share_run"] = n / 2 // each pair was counted from both sides
	}
	for {
		worst := -1
		for _, i := range kept {
			if n := len(neighbours[i]); n > 0 && (worst < 0 || n > len(neighbours[worst])) {
				worst = i
			}
		}
		if worst < 0 {
			return kept
		}
		for j := range neighbours[worst] {
			delete(neighbours[j], worst)
		}
		delete(neighbours, worst)
		kept = slices.DeleteFunc(kept, func(i int) bool { return i == worst })
		s.exclude(reasonShares, s.documents[worst].source)
	}
}

func link(neighbours map[int]map[int]bool, i, j int) {
	for _, pair := range [][2]int{{i, j}, {j, i}} {
		if neighbours[pair[0]] == nil {
			neighbours[pair[0]] = map[int]bool{}
		}
		neighbours[pair[0]][pair[1]] = true
	}
}

var errNoOther = errors.New(reasonNoOther)

// items makes every transform of every kept document, in source order.
func (s *source) items(kept []int, chosen []transform) (items []sembench.Item) {
	o := s.options
	for at, i := range kept {
		doc := s.documents[i]
		for _, t := range chosen {
			k := &kit{doc: doc, tokenizer: o.Tokenizer, blockSize: o.BlockSize, param: t.param, random: drawsFor(o.Seed, "from", doc.source, t.name)}
			k.unrelated = func(int) (document, error) { return s.other(kept, at, k.random) }
			draft, err := t.make(k)
			if err != nil {
				s.exclude(err.Error(), doc.source+" "+t.name)
				continue
			}
			it := draft.item(doc, t.name)
			tokens := len(o.Tokenizer.Encode(nil, it.RecipientPrompt))
			band := nearestBand(tokens)
			switch {
			case band == "":
				s.exclude(reasonTooLong, it.ItemID)
				continue
			case len(o.Bands) > 0 && !slices.Contains(o.Bands, band):
				s.exclude(reasonOutsideBands, it.ItemID)
				continue
			}
			it.Metadata["length_band"] = band
			if o.Split != "" {
				it.Metadata["split"] = o.Split
			}
			items = append(items, it)
		}
	}
	return items
}

// other is another kept document, of another domain where the source has domains. Kept documents share no run.
func (s *source) other(kept []int, at int, r draws) (document, error) {
	var same []int
	for _, step := range r.Perm(len(kept)) {
		other := s.documents[kept[step]]
		if step == at {
			continue
		}
		if other.domain == "" || other.domain != s.documents[kept[at]].domain {
			return other, nil
		}
		same = append(same, kept[step])
	}
	if len(same) == 0 {
		return document{}, errNoOther
	}
	return s.documents[same[0]], nil
}
