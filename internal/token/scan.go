package token

import "unicode/utf8"

// A scanner finds the words of one split pattern without a regular expression: next is the end of the word that
// begins at text[i], for 0 <= i < len(text). Every character belongs to a word. The end of text is what the
// pattern's lookahead sees as the end.
type scanner interface {
	next(text string, i int) int
}

// letterRuns scans the patterns of GPT-4, Llama-3 and Qwen, which differ only in how many digits make a word:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
type letterRuns struct {
	classes *classTable
	digits  int
}

func (s letterRuns) next(text string, i int) int {
	t := s.classes
	c, w := t.at(text, i)
	first := text[i]
	if first == '\'' {
		if n := contraction(text[i:]); n > 0 {
			return i + n
		}
	}
	switch {
	case c&letter != 0:
		return t.run(text, i+w, letter)
	case c&number != 0:
		return t.numbers(text, i, s.digits)
	}
	second, w2 := t.at(text, i+w)
	switch {
	case second&letter != 0 && first != '\r' && first != '\n':
		return t.run(text, i+w+w2, letter)
	case c&other != 0:
		return newlines(text, t.run(text, i+w, other), false)
	case first == ' ' && second&other != 0:
		return newlines(text, t.run(text, i+w+w2, other), false)
	}
	return t.blanks(text, i)
}

// casedRuns scans the patterns of GPT-4o and of Mistral's tekken, where a word is upper case then lower case, with an
// English contraction kept at its end or not:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
type casedRuns struct {
	classes      *classTable
	digits       int
	contractions bool
}

func (s casedRuns) next(text string, i int) int {
	t := s.classes
	c, w := t.at(text, i)
	if c&number != 0 {
		return t.numbers(text, i, s.digits)
	}
	first := text[i]
	start := i
	if c&letter == 0 && first != '\r' && first != '\n' {
		start = i + w // the optional character before the word
	}
	end, lowered := t.casedWord(text, start)
	if c.isMark() && !lowered {
		// With the mark as prefix the first alternative fails; without it, the mark alone satisfies it.
		end = start
	}
	if end > start || c.isMark() {
		if s.contractions {
			end += contraction(text[end:])
		}
		return end
	}
	if c&other != 0 {
		return newlines(text, t.run(text, i+w, other), true)
	}
	if second, w2 := t.at(text, i+w); first == ' ' && second&other != 0 {
		return newlines(text, t.run(text, i+w+w2, other), true)
	}
	return t.blanks(text, i)
}

// casedWord is the end of [upper either]*[lower either]+ at text[i], and true; where that does not match, the end of
// [upper either]+ (i when there is none), and false. The greedy first part gives back characters until the second
// part has one: where no lower case follows, the word ends behind the last character that may be either.
func (t *classTable) casedWord(text string, i int) (end int, lowered bool) {
	lastEither := -1
	for {
		c, w := t.at(text, i)
		if c&(upper|either) == 0 {
			if c&lower != 0 {
				return t.run(text, i+w, lower|either), true
			}
			break
		}
		i += w
		if c&either != 0 {
			lastEither = i
		}
	}
	if lastEither >= 0 {
		return lastEither, true
	}
	return i, false
}

// numbers is the end of \p{N}{1,limit} at text[i].
func (t *classTable) numbers(text string, i, limit int) int {
	for n := 0; n < limit; n++ {
		c, w := t.at(text, i)
		if c&number == 0 {
			break
		}
		i += w
	}
	return i
}

// blanks is the end of \s*[\r\n]+|\s+(?!\S)|\s+ at text[i], which is white space. A run with a line
// end goes up to its last one; else a run before a word leaves that word its last blank.
func (t *classTable) blanks(text string, i int) int {
	line, last, j := -1, i, i
	for {
		c, w := t.at(text, j)
		if c&space == 0 {
			break
		}
		last = j
		if b := text[j]; b == '\r' || b == '\n' {
			line = j + 1
		}
		j += w
	}
	switch {
	case line > 0:
		return line
	case j < len(text) && last > i:
		return last
	}
	return j
}

// newlines is the end of [\r\n]* at text[i], or of [\r\n/]*.
func newlines(text string, i int, slash bool) int {
	for i < len(text) && (text[i] == '\r' || text[i] == '\n' || slash && text[i] == '/') {
		i++
	}
	return i
}

// contraction is the length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at the start of text; 0 when there is none. The long s
// (U+017F) folds to s.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(text) > 2 && text[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(text) > 2 && text[2]|0x20 == 'l' {
			return 3
		}
	}
	if r, w := utf8.DecodeRuneInString(text[1:]); r == 'ſ' {
		return 1 + w
	}
	return 0
}
