package workload

import (
	"slices"
	"strings"
)

// world is a set of facts and how they are told: the source of a generated document. It can be told again in other
// words (another wording per fact) or with other values.
type world struct {
	domain   *domain
	random   draws
	sections []*section
	facts    []*fact
	entities map[string]bool
	// canonical tells every fact in its first wording.
	canonical bool
	// own and others are the wordings of each attribute for this text and for a paraphrase of it; nil before deal.
	own, others map[*attribute][]int
	// clashes tells whether text shares a run with an earlier document; nil where that is not looked at.
	clashes func(text string) bool
}

// section is one passage: an entity, and facts about it, in order. unused are attributes not stated yet.
type section struct {
	entity, title string
	heading       int // which of the domain's titles
	facts         []*fact
	unused        []*attribute
}

// fact is one true statement: slot values, and the wording in use.
type fact struct {
	attribute *attribute
	slots     map[string]string
	wording   int
}

func (f *fact) value() string { return f.slots["v"] }

func newWorld(d *domain, random draws) *world {
	return &world{domain: d, random: random, entities: map[string]bool{}}
}

// deal parts the wordings of each attribute between this text and a paraphrase. The first is the text's own, and so are all
// but one of the others: a text must not repeat itself.
func (w *world) deal() {
	w.own, w.others = map[*attribute][]int{}, map[*attribute][]int{}
	for _, at := range w.domain.attributes {
		var rest []int
		for i := 1; i < len(at.say); i++ {
			rest = append(rest, i)
		}
		rest = shuffled(w.random, rest)
		n := max(0, len(rest)-1)
		w.own[at], w.others[at] = append([]int{0}, rest[:n]...), rest[n:]
	}
}

// factsPerSection is what one section states at most: enough for a passage of some 250 tokens.
const factsPerSection = 10

// grow adds one fact, in a new section when the last is full.
func (w *world) grow() {
	if n := len(w.sections); n == 0 || len(w.sections[n-1].unused) == 0 || len(w.sections[n-1].facts) >= factsPerSection {
		w.open()
	}
	s := w.sections[len(w.sections)-1]
	f := w.fitting(s)
	s.unused = slices.DeleteFunc(s.unused, func(at *attribute) bool { return at == f.attribute })
	s.facts = append(s.facts, f)
	w.facts = append(w.facts, f)
}

// maxFitting bounds the attempts at a fact that shares no run with an earlier document; then the last one stays.
const maxFitting = 40

// fitting is the next fact of a section: the next unused attribute, unless it makes a clash with the facts before it.
func (w *world) fitting(s *section) (f *fact) {
	before := s.facts[max(0, len(s.facts)-2):]
	for try := range maxFitting {
		f = w.newFact(s.unused[try%len(s.unused)], s.entity)
		if w.clashes == nil || !w.clashes(w.passage(&section{title: s.title, entity: s.entity, facts: append(slices.Clone(before), f)}, telling{}).body) {
			break
		}
	}
	return f
}

// open begins a section about an entity that the document has not named yet.
func (w *world) open() {
	d, r := w.domain, w.random
	entity := ""
	for entity == "" || w.entities[entity] {
		entity = d.fill(r, pick(r, d.subjects), nil)
	}
	w.entities[entity] = true
	heading := r.IntN(len(d.titles))
	w.sections = append(w.sections, &section{entity: entity, title: w.title(entity, heading), heading: heading, unused: shuffled(r, d.attributes)})
}

func (w *world) title(entity string, heading int) string {
	return capital(w.domain.fill(w.random, w.domain.titles[heading], map[string]string{"e": entity}))
}

func (w *world) newFact(at *attribute, entity string) *fact {
	slots := map[string]string{"e": entity}
	for _, name := range at.slots {
		slots[name] = w.domain.draw(w.random, slotKinds[name])
	}
	slots["v"] = w.domain.fill(w.random, at.value, slots)
	f := &fact{at, slots, w.random.IntN(len(at.say))}
	switch {
	case w.canonical:
		f.wording = 0
	case w.own != nil:
		f = f.worded(w.own[at])
	}
	return f
}

// shrink takes back the last fact, and its section when that is left empty.
func (w *world) shrink() {
	s := w.sections[len(w.sections)-1]
	s.unused = append(s.unused, s.facts[len(s.facts)-1].attribute)
	s.facts = s.facts[:len(s.facts)-1]
	w.facts = w.facts[:len(w.facts)-1]
	if len(s.facts) == 0 {
		w.sections = w.sections[:len(w.sections)-1]
		delete(w.entities, s.entity)
	}
}

// say tells one fact.
func (w *world) say(f *fact) string {
	text := w.domain.fill(w.random, f.attribute.say[f.wording], f.slots)
	if w.domain.kind == "prose" {
		text = capital(text)
	}
	return text
}

// ask is the question that a fact answers.
func (w *world) ask(f *fact) string {
	return capital(w.domain.fill(w.random, f.attribute.ask, f.slots))
}

// telling is a way to tell a world: with other facts in the place of its own, in another order within a section, under
// other titles. A nil part leaves things as they are.
type telling struct {
	change func(*fact) *fact
	order  func([]*fact) []*fact
	title  func(*section) string
}

// chunks tells the whole world, one chunk a section.
func (w *world) chunks() []chunk { return w.tell(telling{}) }

func (w *world) tell(t telling) []chunk {
	out := make([]chunk, len(w.sections))
	for i, s := range w.sections {
		out[i] = w.passage(s, t)
	}
	return out
}

// passage tells one section.
func (w *world) passage(s *section, t telling) chunk {
	title, facts := s.title, s.facts
	if t.title != nil {
		title = t.title(s)
	}
	if t.order != nil {
		facts = t.order(facts)
	}
	told := make([]string, len(facts))
	for j, f := range facts {
		if t.change != nil {
			f = t.change(f)
		}
		told[j] = w.say(f)
	}
	open := w.domain.fill(w.random, w.domain.open, map[string]string{"e": s.entity})
	return chunk{title, open + strings.Join(told, w.domain.between) + w.domain.shut}
}

// questionsAsked is how many a document offers: the recipient's, and others for earlier turns.
const questionsAsked = 4

// fits tells whether an attribute is of a kind: "" stands for any, "value" for any but flags, of which there are only two.
func (at *attribute) fits(kind string) bool {
	return kind == "" || kind == at.kind || kind == "value" && at.kind != "flag"
}

// choose fills the document's questions, each about another fact of the first three quarters; the first is about a fact of
// the kind given (see fits), told in the wording that carries the question's words. It returns the place of the last of
// these facts, -1 when there are too few.
func (w *world) choose(doc *document, kind string) (last int) {
	order := w.random.Perm(max(0, len(w.facts)*3/4))
	first := slices.IndexFunc(order, func(i int) bool { return w.facts[i].attribute.fits(kind) })
	if first < 0 || len(order) < questionsAsked {
		return -1
	}
	order[0], order[first] = order[first], order[0]
	w.facts[order[0]].wording = 0
	for _, i := range order[:questionsAsked] {
		f := w.facts[i]
		doc.questions = append(doc.questions, question{text: w.ask(f), answers: []string{f.value()}, fact: f})
		last = max(last, i)
	}
	return last
}
