package workload

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// document is what transforms work on: titled chunks of evidence, and questions that they answer.
type document struct {
	dataset, source string
	domain, license string
	language        string
	chunks          []chunk
	// questions: the first is the one that a recipient asks; there is at least one.
	questions []question
	// world is nil for real text, whose facts are unknown.
	world *world
}

// chunk is one passage.
type chunk struct{ title, body string }

// question asks for something that the chunks state; answers are acceptable replies. fact is nil for real text.
type question struct {
	text    string
	answers []string
	fact    *fact
	// letter names the right choice where the question lists choices.
	letter string
}

// earlierQuestion is what a donor asks where it must differ from the recipient.
func (d document) earlierQuestion() question {
	if len(d.questions) > 1 {
		return d.questions[1]
	}
	return question{text: "Which names occur in these passages?"}
}

// subject names a chunk: its title, or the words it begins with.
func (c chunk) subject() string {
	if c.title != "" {
		return c.title
	}
	words := strings.Fields(c.body)
	return strings.Join(words[:min(5, len(words))], " ")
}

// evidence is chunks as they stand in a prompt, labelled from 1 in the order given.
func evidence(chunks []chunk, label labels) string {
	parts := make([]string, len(chunks))
	for i, c := range chunks {
		parts[i] = label.of(i, c.title) + "\n" + c.body
	}
	return strings.Join(parts, "\n\n")
}

// labels is a way to head chunks.
type labels int

const (
	numbered labels = iota // [1] Title
	lettered               // Passage A: Title
	hashed                 // ## 1 Title
)

func (l labels) of(i int, title string) string {
	number := strconv.Itoa(i + 1)
	switch l {
	case lettered:
		name := ""
		for n := i; n >= 0; n = n/26 - 1 {
			name = string(rune('A'+n%26)) + name
		}
		return strings.TrimSpace("Passage " + name + ": " + title)
	case hashed:
		return strings.TrimSpace("## " + number + " " + title)
	}
	return strings.TrimSpace("[" + number + "] " + title)
}

// lowerFirst gives s with a small first letter, unless its first word has more capitals (a name in capitals, a code).
func lowerFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(s[size:], " ")
	if size == 0 || strings.ContainsFunc(word, unicode.IsUpper) {
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}
