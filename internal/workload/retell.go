package workload

import (
	"errors"
	"maps"
	"slices"

	"sembench/internal/quality"
)

// Transforms that need to know what is true: other words for the same facts, other facts in the same words.

var (
	errNeedsFacts = errors.New("needs_known_facts")
	// errRedraw asks the generator for another document.
	errRedraw = errors.New("needs_another_draw")
)

// reworded is the fact in another wording; itself when it has only one.
func (f *fact) reworded(r draws) *fact {
	n := len(f.attribute.say)
	if n < 2 {
		return f
	}
	return &fact{f.attribute, f.slots, (f.wording + 1 + r.IntN(n-1)) % n}
}

// maxValues bounds the attempts at another value.
const maxValues = 200

// leaked is the asked fact with a value that its document states nowhere: what only another document's KV could tell. The
// fact itself when no such value is found.
func (k *kit) leaked() *fact {
	asked, text := k.doc.questions[0].fact, evidence(k.doc.chunks, numbered)
	for range maxValues {
		if f := k.doc.world.revalued(k.random, asked); !quality.States(text, f.value()) {
			return f
		}
	}
	return asked
}

// worded is the fact in one of the wordings given: its own if it is among them.
func (f *fact) worded(list []int) *fact {
	if slices.Contains(list, f.wording) {
		return f
	}
	return &fact{f.attribute, f.slots, list[f.wording%len(list)]}
}

// revalued is the fact with another value in the same wording. Neither value states the other.
func (w *world) revalued(r draws, f *fact) *fact {
	for range maxValues {
		if g := f.with(w.domain.fill(r, f.attribute.value, f.slots)); !quality.States(g.value(), f.value()) && !quality.States(f.value(), g.value()) {
			return g
		}
	}
	return f
}

func (f *fact) with(value string) *fact {
	slots := maps.Clone(f.slots)
	slots["v"] = value
	return &fact{f.attribute, slots, f.wording}
}

// paraphrase: the donor states the same facts in other wordings, under other titles; instruction and request are the same. The
// wordings of an attribute are dealt to the two sides for the whole document, so that two facts of one attribute never meet
// in one wording; the first is always the recipient's. A section in which a run is left, such as the end of one sentence with
// the beginning of the next around a long name, is told again in another order.
func paraphrase(k *kit) (draft, error) {
	w := k.doc.world
	if w == nil {
		return draft{}, errNeedsFacts
	}
	if w.own == nil {
		w.deal()
	}
	plain := w.tell(telling{change: func(f *fact) *fact { return f.worded(w.own[f.attribute]) }})
	other := telling{
		change: func(f *fact) *fact { return f.worded(w.others[f.attribute]) },
		title:  func(s *section) string { return w.title(s.entity, (s.heading+1)%len(w.domain.titles)) },
	}
	out := make([]chunk, len(w.sections))
	held := runs(k.tokenizer, k.blockSize, evidence(plain, numbered), nil)
	for i, s := range w.sections {
		other.order = nil
		for range maxRetellings {
			out[i] = w.passage(s, other)
			text := evidence(out[i:i+1], numbered)
			if overlap(held, runs(k.tokenizer, k.blockSize, text, nil)) == 0 && (w.clashes == nil || !w.clashes(text)) {
				break
			}
			other.order = func(facts []*fact) []*fact { return shuffled(k.random, facts) }
		}
	}
	q := k.doc.questions[0]
	instruction, request := pick(k.random, instructions), pick(k.random, requests)
	d := one(base(instruction, evidence(out, numbered), request, k.doc.earlierQuestion().text),
		base(instruction, evidence(plain, numbered), request, q.text), q)
	d.metadata = map[string]any{"paraphrased_facts": len(w.facts)}
	return d, nil
}

// maxRetellings bounds the attempts at a section; the generator throws the document away where all failed.
const maxRetellings = 30

// swapShare is the share of other facts of the kind that a swap changes too.
const swapShare = 0.1

// wrongReuse is a control: a donor that tells the world with other values, and what the recipient asks has another answer.
func wrongReuse(k *kit, kind string, donor, recipient []chunk, leak string) (draft, error) {
	q := k.doc.questions[0]
	instruction, request := pick(k.random, instructions), pick(k.random, requests)
	d := one(base(instruction, evidence(donor, numbered), request, q.text), base(instruction, evidence(recipient, numbered), request, q.text), q)
	if leak == q.fact.value() || quality.States(d.recipient.String(), leak) || stated(leak, q.answers) {
		return draft{}, errRedraw
	}
	d.metadata = map[string]any{
		"control_kind": kind, "divergent_donor_value": leak, "expected_no_fact_leak": true, "fact_probe": q.text,
	}
	return d, nil
}

func swap(name, kind string) func(k *kit) (draft, error) {
	return func(k *kit) (draft, error) {
		w := k.doc.world
		if w == nil {
			return draft{}, errNeedsFacts
		}
		leaked := k.leaked()
		donor := w.tell(telling{change: func(f *fact) *fact {
			switch {
			case f == k.doc.questions[0].fact:
				return leaked
			case f.attribute.kind == kind && k.random.chance(swapShare):
				return w.revalued(k.random, f)
			}
			return f
		}})
		return wrongReuse(k, name, donor, k.doc.chunks, leaked.value())
	}
}

// polarityFlip: a yes becomes a no. The recipient states the attribute with one polarity throughout, else the donor's value
// would stand in it anyway.
func polarityFlip(k *kit) (draft, error) {
	w := k.doc.world
	if w == nil {
		return draft{}, errNeedsFacts
	}
	asked := k.doc.questions[0].fact
	leak := w.revalued(k.random, asked).value()
	tell := func(value string) []chunk {
		return w.tell(telling{change: func(f *fact) *fact {
			if f.attribute == asked.attribute {
				return f.with(value)
			}
			return f
		}})
	}
	return wrongReuse(k, "polarity_flip", tell(leak), tell(asked.value()), leak)
}

// sameTemplateOtherFacts: every value is another one, every word around it stays.
func sameTemplateOtherFacts(k *kit) (draft, error) {
	w := k.doc.world
	if w == nil {
		return draft{}, errNeedsFacts
	}
	leaked := k.leaked()
	donor := w.tell(telling{change: func(f *fact) *fact {
		if f == k.doc.questions[0].fact {
			return leaked
		}
		return w.revalued(k.random, f)
	}})
	return wrongReuse(k, "same_template_other_facts", donor, k.doc.chunks, leaked.value())
}
