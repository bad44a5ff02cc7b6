package quality

import (
	"strings"
	"unicode"
)

// Normalize returns the comparison tokens of s: lower case, every code point that is neither letter nor number becomes
// a space, split on spaces; Chinese, Japanese and Korean text is split per code point, because it has no (or few) spaces to split on.
// Combining marks are not letters and so split a decomposed word; both sides of a comparison suffer alike.
// Invalid UTF-8 separates tokens. No letters or numbers: nil.
func Normalize(s string) []string {
	var tokens []string
	start := -1 // of the running token in lower
	lower := strings.Map(unicode.ToLower, s)
	end := func(i int) {
		if start >= 0 {
			tokens = append(tokens, lower[start:i])
			start = -1
		}
	}
	for i, r := range lower {
		switch {
		case r == unicode.ReplacementChar || !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
		case isCJK(r):
			end(i)
			tokens = append(tokens, string(r))
		case start < 0:
			start = i
		}
	}
	end(len(lower))
	return tokens
}

// isCJK covers the scripts, and the two prolonged sound marks, which Unicode files under Common.
func isCJK(r rune) bool {
	if r < 0x1100 { // below all of them; spares Latin text four table searches
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) ||
		r == 'ー' || r == 'ｰ'
}
