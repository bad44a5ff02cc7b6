package token

// DeepSeek-V3 cuts in three steps: digits in threes, then Han and kana, then words within what is left. The first two
// make fields, and the third sees a field's end as the end of text.
const (
	deepseekDigits = `\p{N}{1,3}`
	deepseekHan    = `[一-龥぀-ゟ゠-ヿ]+`
	deepseekWords  = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" +
		`|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// deepseekFields scans the first two steps.
type deepseekFields struct{ classes *classTable }

func (s deepseekFields) next(text string, i int) int {
	t := s.classes
	if c, _ := t.at(text, i); c&number != 0 {
		return t.numbers(text, i, 3)
	}
	han := false
	for j, r := range text[i:] {
		switch is := isHanOrKana(r); {
		case j == 0:
			han = is
		case is != han || t[r]&number != 0:
			return i + j
		}
	}
	return len(text)
}

// isHanOrKana is the class of the second step.
func isHanOrKana(r rune) bool { return '一' <= r && r <= '龥' || '\u3040' <= r && r <= '\u30ff' }

// deepseekRuns scans the third step, and what none of its alternatives match: those characters are words, in runs.
type deepseekRuns struct{ classes *classTable }

func (s deepseekRuns) next(text string, i int) int {
	if end := s.match(text, i); end > i {
		return end
	}
	for i < len(text) {
		_, w := s.classes.at(text, i)
		i += w
		if s.match(text, i) > i {
			break
		}
	}
	return i
}

// match is the end of the match at text[i]; i when there is none.
func (s deepseekRuns) match(text string, i int) int {
	if i >= len(text) {
		return i
	}
	t := s.classes
	first := text[i]
	c, w := t.at(text, i)
	if c&punct != 0 && w == 1 && asciiLetters(text, i+1) > i+1 {
		return asciiLetters(text, i+1)
	}
	word := letter | either // \p{L} and \p{M}: every letter has a case or is "either"
	second, w2 := t.at(text, i+w)
	switch {
	case c&word != 0:
		return t.run(text, i+w, word)
	case c&punct == 0 && first != '\r' && first != '\n' && second&word != 0:
		return t.run(text, i+w+w2, word)
	case c&punct != 0:
		return newlines(text, t.run(text, i+w, punct), false)
	case first == ' ' && second&punct != 0:
		return newlines(text, t.run(text, i+w+w2, punct), false)
	case c&space != 0:
		return t.blanks(text, i)
	}
	return i
}

// asciiLetters is the end of [A-Za-z]* at text[i].
func asciiLetters(text string, i int) int {
	for i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z') {
		i++
	}
	return i
}
