package quality

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// States reports whether the normalized value is a substring of the normalized answer, both joined by single spaces.
// A match may not cut a run of digits: "120" does not state "12", or every larger number would state its parts. Letters may be
// cut: "Parisian" states "Paris".
// A value without letters or numbers is never stated.
func States(answer, value string) bool {
	v := strings.Join(Normalize(value), " ")
	if v == "" {
		return false
	}
	text := strings.Join(Normalize(answer), " ")
	for from := 0; ; {
		i := strings.Index(text[from:], v)
		if i < 0 {
			return false
		}
		i += from
		if !cutsDigits(text[:i], v) && !cutsDigits(v, text[i+len(v):]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

// cutsDigits reports whether a digit stands on both sides of the place between two neighbouring texts.
func cutsDigits(left, right string) bool {
	l, _ := utf8.DecodeLastRuneInString(left)
	r, _ := utf8.DecodeRuneInString(right)
	return unicode.IsDigit(l) && unicode.IsDigit(r)
}

// Leak reports whether an output on a wrong-reuse control states the donor's value, which only reused KV could have told it.
func Leak(output, donorValue string) bool { return States(output, donorValue) }
