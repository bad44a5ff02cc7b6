package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sembench"
	"sembench/internal/token"
)

// A transform turns a document into donors and a recipient that share a known part of it (workloads.md, section 2).
// It must be a function of its kit: fitting to a length band runs it again on a longer or shorter document.
type transform struct {
	// name is what items carry: a parameterised one is spelled name@parameter.
	name string
	make func(k *kit) (draft, error)
	// asks is the kind of fact that the recipient's question must be about: "" for any, "value" for any but flags.
	asks string
	// param is the number after @, room how many tokens a recipient needs at least for it, lead how many of them are no
	// evidence.
	param, room, lead int
}

// kit is what a transform may use.
type kit struct {
	doc       document
	random    draws
	tokenizer token.Tokenizer
	blockSize int
	param     int
	// unrelated gives a document that shares nothing with doc, another for each number, or an error that names why there is
	// none.
	unrelated func(number int) (document, error)
}

// draft is an item before it has ids.
type draft struct {
	donors    []*prompt
	recipient *prompt
	asked     question
	control   bool
	metadata  map[string]any
	// donorMetadata has one entry per donor, or none at all.
	donorMetadata []map[string]any
}

// transforms are all of the table, in its order.
var transforms = []transform{
	{name: "exact_repeat", make: exactRepeat},
	{name: "instruction_variant", make: instructionVariant},
	{name: "same_evidence_new_task", make: sameEvidenceNewTask},
	{name: "leading_evidence_new_task", make: leadingEvidenceNewTask},
	{name: "rag_reorder", make: ragReorder},
	{name: "multi_donor_composite", make: multiDonorComposite},
	{name: "fuzzy_edit", make: fuzzyEdit},
	{name: "negative_control", make: negativeControl},
	{name: "repeat_shifted", make: repeatShifted},
	{name: "sparse_edit", make: sparseEdit},
	{name: "paraphrase", make: paraphrase},
	{name: "entity_swap", make: swap("entity_swap", "name"), asks: "name"},
	{name: "number_swap", make: swap("number_swap", "number"), asks: "number"},
	{name: "polarity_flip", make: polarityFlip, asks: "flag"},
	{name: "same_template_other_facts", make: sameTemplateOtherFacts, asks: "value"},
	{name: "multi_turn", make: multiTurn},
	{name: "agent_tools", make: agentTools},
	{name: "prefix_depth@0", make: prefixDepth, param: 0},
	{name: "prefix_depth@25", make: prefixDepth, param: 25},
	{name: "prefix_depth@50", make: prefixDepth, param: 50},
	{name: "prefix_depth@75", make: prefixDepth, param: 75},
	{name: "prefix_depth@95", make: prefixDepth, param: 95},
	{name: "prefix_depth@100", make: prefixDepth, param: 100},
	{name: "rope_delta@0", make: ropeDelta, param: 0, lead: ropeLead},
	{name: "rope_delta@128", make: ropeDelta, param: 128, lead: 128 + ropeLead},
	{name: "rope_delta@512", make: ropeDelta, param: 512, room: 512 + ropeRoom, lead: 512 + ropeLead},
	{name: "rope_delta@2048", make: ropeDelta, param: 2048, room: 2048 + ropeRoom, lead: 2048 + ropeLead},
	{name: "propagation_probe", make: propagationProbe},
	{name: "no_reuse", make: noReuse},
}

// base is the name without its parameter.
func (t transform) base() string {
	name, _, _ := strings.Cut(t.name, "@")
	return name
}

// TransformNames are the names that Options.Transforms may hold, in the order of the table. A name without its @parameter
// stands for all parameters.
func TransformNames() []string {
	names := make([]string, len(transforms))
	for i, t := range transforms {
		names[i] = t.name
	}
	return names
}

// selected gives the transforms named, in the table's order; all when none is named.
func selected(names []string) ([]transform, error) {
	var out []transform
	for _, t := range transforms {
		if len(names) == 0 || slices.Contains(names, t.name) || slices.Contains(names, t.base()) {
			out = append(out, t)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(transforms, func(t transform) bool { return t.name == name || t.base() == name }) {
			return nil, fmt.Errorf("building manifest: transform %q is unknown: use %s", name, strings.Join(TransformNames(), ", "))
		}
	}
	return out, nil
}

// two gives two different entries of a list.
func two(r draws, list []string) (string, string) {
	i := r.IntN(len(list))
	j := (i + 1 + r.IntN(len(list)-1)) % len(list)
	return list[i], list[j]
}

func one(donor, recipient *prompt, asked question) draft {
	return draft{donors: []*prompt{donor}, recipient: recipient, asked: asked}
}

func exactRepeat(k *kit) (draft, error) {
	q := k.doc.questions[0]
	p := base(pick(k.random, instructions), evidence(k.doc.chunks, numbered), pick(k.random, requests), q.text)
	return one(p, p, q), nil
}

func instructionVariant(k *kit) (draft, error) {
	q := k.doc.questions[0]
	first, other := two(k.random, instructions)
	request, text := pick(k.random, requests), evidence(k.doc.chunks, numbered)
	return one(base(first, text, request, q.text), base(other, text, request, q.text), q), nil
}

// sameEvidenceNewTask: the recipient's task comes first, only its question last.
func sameEvidenceNewTask(k *kit) (draft, error) {
	q, earlier := k.doc.questions[0], k.doc.earlierQuestion()
	request, task := two(k.random, requests)
	first, other := two(k.random, instructions)
	text := evidence(k.doc.chunks, numbered)
	recipient := new(prompt).boilerplate(task).own("\n").boilerplate(other).own("\n\n" + text + "\n\n" + q.text)
	return one(base(first, text, request, earlier.text), recipient, q), nil
}

// leadingEvidenceNewTask: evidence at byte 0 in both.
func leadingEvidenceNewTask(k *kit) (draft, error) {
	q, earlier := k.doc.questions[0], k.doc.earlierQuestion()
	request, task := two(k.random, requests)
	text := evidence(k.doc.chunks, numbered)
	make := func(request, question string) *prompt {
		return new(prompt).own(text + "\n\n").boilerplate(request).own("\n" + question)
	}
	return one(make(request, earlier.text), make(task, q.text), q), nil
}

var errOneChunk = errors.New("has_one_chunk")

// ragReorder moves every chunk to another place and numbers them anew.
func ragReorder(k *kit) (draft, error) {
	q, n := k.doc.questions[0], len(k.doc.chunks)
	if n < 2 {
		return draft{}, errOneChunk
	}
	moved := make([]chunk, n)
	for i, to := range derangement(k.random, n) {
		moved[to] = k.doc.chunks[i]
	}
	instruction, request := pick(k.random, instructions), pick(k.random, requests)
	return one(base(instruction, evidence(k.doc.chunks, numbered), request, q.text),
		base(instruction, evidence(moved, numbered), request, q.text), q), nil
}

// derangement is a permutation without fixed points: a random cycle through all places (Sattolo).
func derangement(r draws, n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := r.IntN(i)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// maxDonors bounds the donors of a composite; longer documents group neighbouring chunks.
const maxDonors = 16

func multiDonorComposite(k *kit) (draft, error) {
	q, n := k.doc.questions[0], len(k.doc.chunks)
	if n < 2 {
		return draft{}, errOneChunk
	}
	opening := shuffled(k.random, instructions)
	d := draft{asked: q, recipient: base(opening[0], evidence(k.doc.chunks, numbered), pick(k.random, requests), q.text)}
	groups := min(n, maxDonors)
	for g := range groups {
		part := k.doc.chunks[g*n/groups : (g+1)*n/groups]
		ask := "What does this passage say about " + lowerFirst(part[0].subject()) + "?"
		d.donors = append(d.donors, base(opening[1+g], evidence(part, lettered), pick(k.random, requests), ask))
	}
	return d, nil
}

// fuzzyEditShare is the share of sentences that fuzzy_edit touches: enough to break most blocks, few enough that runs
// of several sentences survive.
const fuzzyEditShare = 0.2

func fuzzyEdit(k *kit) (draft, error) {
	q := k.doc.questions[0]
	edited := make([]chunk, len(k.doc.chunks))
	for i, c := range k.doc.chunks {
		edited[i] = chunk{c.title, fuzz(k.random, c.body)}
	}
	instruction, request := pick(k.random, instructions), pick(k.random, requests)
	return one(base(instruction, evidence(k.doc.chunks, numbered), request, q.text),
		base(instruction, evidence(edited, hashed), request, q.text), q), nil
}

// fuzz edits whitespace and punctuation of some sentences; words stay.
func fuzz(r draws, body string) string {
	parts := sentences(body)
	for i, s := range parts {
		if !r.chance(fuzzyEditShare) {
			continue
		}
		switch at := strings.Index(s, ", "); {
		case at >= 0 && r.chance(0.5):
			parts[i] = s[:at] + s[at+1:]
		case strings.HasSuffix(s, ". ") && r.chance(0.5):
			parts[i] = strings.TrimSuffix(s, ". ") + ".\n"
		default:
			if at := strings.Index(s, " "); at >= 0 {
				parts[i] = s[:at] + " " + s[at:]
			}
		}
	}
	return strings.Join(parts, "")
}

// sentences cuts text after ". ", "! ", "? " and line ends; the pieces joined give it back.
func sentences(text string) (parts []string) {
	start := 0
	for i := 0; i < len(text); i++ {
		end := text[i] == '\n' || i > 0 && text[i] == ' ' && strings.IndexByte(".!?", text[i-1]) >= 0
		if end {
			parts = append(parts, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		parts = append(parts, text[start:])
	}
	return parts
}

// negativeControl: an unrelated document before it, under another instruction and request.
func negativeControl(k *kit) (draft, error) {
	other, err := k.unrelated(0)
	if err != nil {
		return draft{}, err
	}
	q := k.doc.questions[0]
	first, instruction := two(k.random, instructions)
	request, task := two(k.random, requests)
	d := one(base(first, evidence(other.chunks, numbered), request, other.questions[0].text),
		base(instruction, evidence(k.doc.chunks, numbered), task, q.text), q)
	d.control = true
	d.metadata = map[string]any{"donor_source_id": other.source}
	return d, nil
}

// item gives a draft its ids.
func (d draft) item(doc document, transform string) sembench.Item {
	it := sembench.Item{
		Dataset: doc.dataset, SourceID: doc.source, Transform: transform,
		ItemID:          sembench.DefaultItemID(doc.dataset, doc.source, transform),
		RecipientPrompt: d.recipient.String(), Input: d.asked.text, Answers: d.asked.answers,
		NegativeControl: d.control, BenchmarkVersion: sembench.ManifestVersion,
		DonorPrompts: []sembench.Donor{}, Metadata: map[string]any{},
	}
	maps.Copy(it.Metadata, d.metadata)
	for key, value := range map[string]string{"domain": doc.domain, "language": doc.language, "license": doc.license} {
		if value != "" {
			it.Metadata[key] = value
		}
	}
	if d.asked.letter != "" {
		it.Metadata["expected_answer_letter"] = d.asked.letter
	}
	it.Metadata["boilerplate"] = d.recipient.declared()
	for i, p := range d.donors {
		it.DonorPrompts = append(it.DonorPrompts, sembench.Donor{
			DonorID: fmt.Sprintf("%s-d%d", it.ItemID, i), Text: p.String(), Label: transform,
			Metadata: map[string]any{"boilerplate": p.declared()},
		})
		if d.donorMetadata != nil {
			maps.Copy(it.DonorPrompts[i].Metadata, d.donorMetadata[i])
		}
	}
	return it
}
