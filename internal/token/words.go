package token

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words is the public sembench's fallback: runs of word characters (letters, numbers, "_") or single other
// non-space symbols of the lower-cased text. The id of a token is the little-endian uint32 of the first four bytes
// of its SHA-256, masked to 31 bits.
type words struct{}

// Name implements Tokenizer.
func (words) Name() string { return "regex" }

// Encode implements Tokenizer.
func (words) Encode(dst []uint32, text string) []uint32 {
	low := lowered(text, false).text
	for i := 0; ; {
		start, end := nextWord(low, i)
		if start == end {
			return dst
		}
		sum := sha256.Sum256([]byte(low[start:end]))
		dst = append(dst, binary.LittleEndian.Uint32(sum[:])&0x7fffffff)
		i = end
	}
}

// Pieces implements Tokenizer. White space stands before the token that follows it; at the end, in the last piece.
func (words) Pieces(text string) []string {
	low := lowered(text, true)
	var ends []int
	for i := 0; ; {
		start, end := nextWord(low.text, i)
		if start == end {
			return cutAt(text, ends)
		}
		ends = append(ends, low.in(end))
		i = end
	}
}

// nextWord is the first token of text at or behind i; start == end when there is none.
func nextWord(text string, i int) (start, end int) {
	for i < len(text) {
		r, w := utf8.DecodeRuneInString(text[i:])
		if isSpace(r) {
			i += w
			continue
		}
		start, end = i, i+w
		for isWord(r) && end < len(text) {
			if r, w = utf8.DecodeRuneInString(text[end:]); isWord(r) {
				end += w
			}
		}
		return start, end
	}
	return i, i
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// isSpace is Python's \s: White_Space and the four ASCII separators.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// lowered is text in lower case as Python's str.lower makes it: simple mappings but for two letters.
func lowered(text string, trace bool) derived {
	ascii := true
	for i := range len(text) {
		ascii = ascii && text[i] < utf8.RuneSelf
	}
	if ascii {
		return derived{text: strings.ToLower(text)}
	}
	b := builder{trace: trace}
	for i, r := range text {
		_, w := utf8.DecodeRuneInString(text[i:])
		low := lowerRune(r)
		if r == 'Σ' && finalSigma(text[:i], text[i+w:]) {
			low = "ς"
		}
		b.write(low, i+w)
	}
	return b.done()
}

// lowerRune is the lower case of r, whatever stands around it.
func lowerRune(r rune) string {
	if r == 'İ' { // the only letter whose lower case is two characters
		return "i̇"
	}
	return string(unicode.ToLower(r))
}

// finalSigma: a sigma between before and after ends a word (Unicode, section 3.13, Final_Sigma).
func finalSigma(before, after string) bool {
	cased := false
	for before != "" && !cased {
		r, w := utf8.DecodeLastRuneInString(before)
		if !ignorable(r) {
			if !isCased(r) {
				return false
			}
			cased = true
		}
		before = before[:len(before)-w]
	}
	for _, r := range after {
		if !ignorable(r) {
			return cased && !isCased(r)
		}
	}
	return cased
}

// isCased is the property Cased.
func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// ignorable is the property Case_Ignorable: marks, modifiers, format characters, and the punctuation that
// Word_Break keeps inside words.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune("'.:·՟״‘’․‧︓﹒﹕＇．：", r)
}
