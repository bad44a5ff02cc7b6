package token

// plainRuns scans the pattern of GPT-2, which ByteLevel applies when it is not told otherwise:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
type plainRuns struct{ classes *classTable }

func (s plainRuns) next(text string, i int) int {
	t := s.classes
	c, w := t.at(text, i)
	if text[i] == '\'' {
		if n := contraction(text[i:]); n > 0 && lowerASCII(text[i+1:i+n]) {
			return i + n
		}
	}
	start := i
	if text[i] == ' ' {
		if second, w2 := t.at(text, i+w); second&(letter|number|other) != 0 {
			c, w, start = second, w2, i+w
		}
	}
	for _, set := range []class{letter, number, other} {
		if c&set != 0 {
			return t.run(text, start+w, set)
		}
	}
	// \s+(?!\S)|\s+: a run before a word leaves that word its last blank.
	last, j := i, i
	for c&space != 0 {
		last = j
		j += w
		c, w = t.at(text, j)
	}
	if j < len(text) && last > i {
		return last
	}
	return j
}

func lowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}
