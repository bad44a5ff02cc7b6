package token

import (
	"strings"
	"unicode/utf8"
)

// derived is text made from an original piece by piece.
type derived struct {
	text string
	// origin[i] is where in the original the character that text[i] came from ends; it never falls. Nil: text is the
	// original, or nobody asked for origins.
	origin []int
}

// in is the offset in the original that stands for offset end of d.text. An end inside a character falls back to the
// character's begin: its bytes wait for the token that completes it.
func (d derived) in(end int) int {
	for end > 0 && end < len(d.text) && !utf8.RuneStart(d.text[end]) {
		end--
	}
	if d.origin == nil || end == 0 {
		return end
	}
	return d.origin[end-1]
}

// builder makes a derived text.
type builder struct {
	text   strings.Builder
	origin []int
	trace  bool
}

// write appends s, which came from the original up to offset end.
func (b *builder) write(s string, end int) {
	b.text.WriteString(s)
	if b.trace {
		for range len(s) {
			b.origin = append(b.origin, end)
		}
	}
}

func (b *builder) done() derived { return derived{b.text.String(), b.origin} }

// rewrite makes one text from another, with origins where trace is set.
type rewrite func(text string, trace bool) derived

// then applies r to the text of d; origins lead back to d's original.
func (d derived) then(r rewrite, trace bool) derived {
	e := r(d.text, trace)
	if d.origin == nil {
		return e
	}
	if e.origin == nil {
		return derived{e.text, d.origin}
	}
	for i, end := range e.origin {
		if end > 0 {
			end = d.origin[end-1]
		}
		e.origin[i] = end
	}
	return e
}

// validUTF8 replaces each invalid byte of text by U+FFFD, as encoding/json does when a request is written.
func validUTF8(text string, trace bool) derived {
	if utf8.ValidString(text) {
		return derived{text: text}
	}
	return eachRune(text, trace, func(r rune) string { return string(r) })
}

// eachRune replaces every character of text by what change gives for it; an invalid byte is the character U+FFFD.
func eachRune(text string, trace bool, change func(rune) string) derived {
	b := builder{trace: trace}
	for i, r := range text {
		_, w := utf8.DecodeRuneInString(text[i:]) // 1 for an invalid byte
		b.write(change(r), i+w)
	}
	return b.done()
}

// cutAt cuts text at ascending offsets; what follows the last belongs to the last piece.
func cutAt(text string, ends []int) []string {
	if len(ends) == 0 {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	out := make([]string, len(ends))
	from := 0
	for i, end := range ends {
		end = max(end, from)
		if i == len(ends)-1 {
			end = len(text)
		}
		out[i], from = text[from:end], end
	}
	return out
}
