package workload

import "strings"

// world is a set of facts and how they are told: the source of a generated document. It can be told again in other
// words (another wording per fact) or with other values.
type world struct {
	domain   *domain
	random   draws
	sections []*section
	facts    []*fact
	entities map[string]bool
}

// section is one passage: an entity, and facts about it, in order. unused are attributes not stated yet.
type section struct {
	entity, title string
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

// factsPerSection is what one section states at most: enough for a passage of some 250 tokens.
const factsPerSection = 10

// grow adds one fact, in a new section when the last is full.
func (w *world) grow() {
	if n := len(w.sections); n == 0 || len(w.sections[n-1].unused) == 0 || len(w.sections[n-1].facts) >= factsPerSection {
		w.open()
	}
	s := w.sections[len(w.sections)-1]
	f := w.newFact(s.unused[0], s.entity)
	s.unused = s.unused[1:]
	s.facts = append(s.facts, f)
	w.facts = append(w.facts, f)
}

// open begins a section about an entity that the document has not named yet.
func (w *world) open() {
	d, r := w.domain, w.random
	entity := ""
	for entity == "" || w.entities[entity] {
		entity = d.fill(r, pick(r, d.subjects), nil)
	}
	w.entities[entity] = true
	title := d.fill(r, pick(r, d.titles), map[string]string{"e": entity})
	w.sections = append(w.sections, &section{entity: entity, title: capital(title), unused: shuffled(r, d.attributes)})
}

func (w *world) newFact(at *attribute, entity string) *fact {
	slots := map[string]string{"e": entity}
	for _, name := range at.slots {
		slots[name] = w.domain.draw(w.random, slotKinds[name])
	}
	slots["v"] = w.domain.fill(w.random, at.value, slots)
	return &fact{at, slots, w.random.IntN(len(at.say))}
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

// chunks tells the whole world, one chunk a section.
func (w *world) chunks() []chunk {
	out := make([]chunk, len(w.sections))
	for i, s := range w.sections {
		told := make([]string, len(s.facts))
		for j, f := range s.facts {
			told[j] = w.say(f)
		}
		out[i] = chunk{s.title, w.domain.open + strings.Join(told, w.domain.between) + w.domain.shut}
	}
	return out
}

// choose fills the document's questions: one about a fact of the first three quarters, told in the wording that carries the
// question's words, and another about some other fact there. It returns the place of the later one.
func (w *world) choose(doc *document) (last int) {
	n := max(2, len(w.facts)*3/4)
	first := w.random.IntN(n)
	other := (first + 1 + w.random.IntN(n-1)) % n
	w.facts[first].wording = 0
	for _, i := range []int{first, other} {
		f := w.facts[i]
		doc.questions = append(doc.questions, question{w.ask(f), []string{f.value()}})
	}
	return max(first, other)
}
