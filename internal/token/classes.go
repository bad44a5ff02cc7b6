package token

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of the character classes that split patterns distinguish.
type class uint8

const (
	letter class = 1 << iota // \p{L}
	number                   // \p{N}
	space                    // \s: the property White_Space
	upper                    // \p{Lu} \p{Lt}
	lower                    // \p{Ll}
	either                   // \p{Lm} \p{Lo} \p{M}
	punct                    // \p{P} \p{S}
	other                    // [^\s\p{L}\p{N}]
)

// isMark: \p{M}, which is "either" but no letter.
func (c class) isMark() bool { return c&(either|letter) == either }

// classTable gives the classes of every code point.
type classTable [unicode.MaxRune + 1]class

// classes fills the table on first use (1.1 MB, about 2 ms): Unicode 16.
var classes = sync.OnceValue(func() *classTable {
	t := new(classTable)
	t.add(unicode.L, letter)
	t.add(unicode.N, number)
	t.add(unicode.White_Space, space)
	t.add(unicode.Lu, upper)
	t.add(unicode.Lt, upper)
	t.add(unicode.Ll, lower)
	t.add(unicode.Lm, either)
	t.add(unicode.Lo, either)
	t.add(unicode.M, either)
	t.add(unicode.P, punct)
	t.add(unicode.S, punct)
	for _, r := range newer {
		for x := r.first; x <= r.last; x++ {
			t[x] |= r.class
		}
	}
	for i, c := range t {
		if c&(letter|number|space) == 0 {
			t[i] |= other
		}
	}
	return t
})

func (t *classTable) add(ranges *unicode.RangeTable, c class) {
	for _, r := range ranges.R16 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			t[x] |= c
		}
	}
	for _, r := range ranges.R32 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			t[x] |= c
		}
	}
}

// at is the class and the width in bytes of the character at text[i]; the end of text has no class and no width.
func (t *classTable) at(text string, i int) (class, int) {
	if i >= len(text) {
		return 0, 0
	}
	if b := text[i]; b < utf8.RuneSelf {
		return t[b], 1
	}
	r, w := utf8.DecodeRuneInString(text[i:])
	return t[r], w
}

// run is the end of the longest run of characters from text[i] on that have a class of set.
func (t *classTable) run(text string, i int, set class) int {
	for i < len(text) {
		if b := text[i]; b < utf8.RuneSelf {
			if t[b]&set == 0 {
				return i
			}
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(text[i:])
		if t[r]&set == 0 {
			return i
		}
		i += w
	}
	return i
}
