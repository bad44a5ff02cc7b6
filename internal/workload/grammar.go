package workload

import (
	"cmp"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A domain is a kind of document: what its sections are about, what facts they state, and the wordings of each fact.
// corpus/*.txt hold them as text, a line being a word and its rest:
//
//	domain, language, kind     once, first; kind is prose, code, lines or table
//	dates                      how dates are written: a language, or iso; the domain's language without it
//	open, close, between       what stands before, after and between the facts of a section (escapes as in Go)
//	subject                    pattern of a section's entity, slot {e}
//	title                      a wording of a section's heading
//	fact                       begins an attribute; then
//	value KIND PATTERN         KIND is number, name, flag or text; PATTERN gives slot {v}
//	ask                        the question that {v} answers
//	say                        a wording; all wordings of a fact use the same slots
//
// Patterns hold {slot} and {kind arguments}; see [domain.fill].
type domain struct {
	name, language, kind string
	dates                string
	open, shut, between  string
	subjects, titles     []string
	attributes           []*attribute
}

// attribute is one thing that can be true of an entity.
type attribute struct {
	name, kind string
	value, ask string
	say        []string
	slots      []string
}

//go:embed corpus/*.txt
var corpus embed.FS

// domains are all of corpus, by file name. Broken corpus files are caught by the tests, which call loadDomains.
var domains = sync.OnceValue(func() []*domain {
	list, err := loadDomains()
	if err != nil {
		panic("workload: " + err.Error())
	}
	return list
})

func loadDomains() (list []*domain, err error) {
	files, err := corpus.ReadDir("corpus")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := corpus.ReadFile("corpus/" + f.Name())
		if err != nil {
			return nil, err
		}
		d, err := parseDomain(f.Name(), string(text))
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func parseDomain(file, text string) (*domain, error) {
	d := &domain{language: "en", kind: "prose", between: " "}
	var at *attribute
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimRight(line, "\r"), " ")
		fail := func(problem string) error {
			return fmt.Errorf("reading corpus %s: line %d: %s", file, i+1, problem)
		}
		if at == nil && (word == "value" || word == "ask" || word == "say") {
			return nil, fail(word + " stands before any fact")
		}
		switch word {
		case "", "#":
		case "domain":
			d.name = rest
		case "language":
			d.language = rest
		case "kind":
			d.kind = rest
		case "dates":
			d.dates = rest
		case "open", "close", "between":
			plain, err := strconv.Unquote(rest)
			if err != nil {
				return nil, fail(word + " wants a quoted text")
			}
			*map[string]*string{"open": &d.open, "close": &d.shut, "between": &d.between}[word] = plain
		case "subject":
			d.subjects = append(d.subjects, rest)
		case "title":
			d.titles = append(d.titles, rest)
		case "fact":
			at = &attribute{name: rest}
			d.attributes = append(d.attributes, at)
		case "value":
			at.kind, at.value, _ = strings.Cut(rest, " ")
		case "ask":
			at.ask = rest
		case "say":
			at.say = append(at.say, strings.ReplaceAll(rest, `\n`, "\n"))
		default:
			return nil, fail(fmt.Sprintf("unknown word %q", word))
		}
	}
	for _, at := range d.attributes {
		if len(at.say) == 0 {
			return nil, fmt.Errorf("reading corpus %s: fact %s has no wording", file, at.name)
		}
		at.slots = slotsOf(at.say[0])
	}
	return d, nil
}

// slotKinds are the slots that any wording may use; {e} and {v} come from the fact itself.
var slotKinds = map[string]string{"p": "person", "d": "date", "t": "time", "n": "int 11 989", "c": "city", "o": "company", "k": "code"}

// slotsOf lists the one-letter slots of a wording in order of first use, without e and v.
func slotsOf(pattern string) (slots []string) {
	for rest := pattern; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return slots
		}
		if after == "" || after[0] < 'a' || after[0] > 'z' {
			rest = after
			continue
		}
		name, after, ok := strings.Cut(after, "}")
		if _, known := slotKinds[name]; ok && known && !strings.Contains(strings.Join(slots, " "), name) {
			slots = append(slots, name)
		}
		rest = after
	}
}

// fill replaces {…} in a pattern: a slot by its value, else a kind by a fresh draw. Kinds: int LOW HIGH, dec LOW HIGH
// (one decimal), pick A|B|C, date, time, person, city, company, coined, code, money, hex N, low (a coined name in lower case).
func (d *domain) fill(r draws, pattern string, slots map[string]string) string {
	var b strings.Builder
	for rest := pattern; ; {
		before, after, ok := strings.Cut(rest, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if after == "" || after[0] < 'a' || after[0] > 'z' { // a brace of code or JSON
			b.WriteByte('{')
			rest = after
			continue
		}
		name, after, _ := strings.Cut(after, "}")
		if value, known := slots[name]; known {
			b.WriteString(value)
		} else {
			b.WriteString(d.draw(r, name))
		}
		rest = after
	}
}

func (d *domain) draw(r draws, kind string) string {
	word, rest, _ := strings.Cut(kind, " ")
	bounds := func() (int, int) {
		low, high, _ := strings.Cut(rest, " ")
		a, _ := strconv.Atoi(low)
		b, _ := strconv.Atoi(high)
		return a, max(a, b)
	}
	switch word {
	case "int":
		return strconv.Itoa(r.between(bounds()))
	case "dec":
		low, high := bounds()
		return fmt.Sprintf("%d.%d", r.between(low, high-1), r.IntN(10))
	case "pick":
		return pick(r, strings.Split(rest, "|"))
	case "date":
		return r.date(cmp.Or(d.dates, d.language))
	case "time":
		return fmt.Sprintf("%02d:%02d", r.IntN(24), r.IntN(60))
	case "person":
		return r.person()
	case "city":
		return pick(r, cities)
	case "company":
		return r.company()
	case "coined":
		return r.coined()
	case "low":
		return strings.ToLower(r.coined())
	case "code":
		return r.code()
	case "money":
		return r.money(d.language)
	case "hex":
		n, _ := bounds()
		return r.hex(n)
	}
	return "{" + kind + "}" // a test over the corpus shows that none remains
}
