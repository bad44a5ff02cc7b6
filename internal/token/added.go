package token

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is an entry of a tokenizer.json's added_tokens: text that is one token wherever it stands.
type addedToken struct {
	ID      uint32 `json:"id"`
	Content string `json:"content"`
	// SingleWord: only where no word character stands beside it.
	SingleWord bool `json:"single_word"`
	// LStrip and RStrip: it takes the white space before or behind it along.
	LStrip bool `json:"lstrip"`
	RStrip bool `json:"rstrip"`
	// Normalized: it is looked for in the normalized text, else in the text as it is.
	Normalized bool `json:"normalized"`
	Special    bool `json:"special"`
}

// matcher finds added tokens, leftmost and of those the longest, with a byte trie.
type matcher struct {
	tokens []addedToken
	next   map[int]int // node<<8 | byte -> node; node 0 is the root
	final  map[int]int // node -> index of the token that ends there
	first  [256]bool   // bytes that begin a token
}

// newMatcher is nil when there are no tokens.
func newMatcher(tokens []addedToken) *matcher {
	if len(tokens) == 0 {
		return nil
	}
	m := &matcher{tokens: tokens, next: map[int]int{}, final: map[int]int{}}
	nodes := 1
	for index, token := range tokens {
		node := 0
		for i := range len(token.Content) {
			edge := node<<8 | int(token.Content[i])
			if m.next[edge] == 0 {
				m.next[edge] = nodes
				nodes++
			}
			node = m.next[edge]
		}
		m.final[node] = index
		m.first[token.Content[0]] = true
	}
	return m
}

// id is the id of the added token content; false when there is none.
func (m *matcher) id(content string) (uint32, bool) {
	if m == nil {
		return 0, false
	}
	for _, token := range m.tokens {
		if token.Content == content {
			return token.ID, true
		}
	}
	return 0, false
}

// find is the index and the extent of the first token in text at or behind i; -1 when there is none.
func (m *matcher) find(text string, i int) (index, start, end int) {
	for ; i < len(text); i++ {
		if !m.first[text[i]] {
			continue
		}
		index = -1
		node := 0
		for j := i; j < len(text); {
			if node = m.next[node<<8|int(text[j])]; node == 0 {
				break
			}
			j++
			if f, ok := m.final[node]; ok {
				index, end = f, j
			}
		}
		if index >= 0 {
			return index, i, end
		}
	}
	return -1, 0, 0
}

// split gives the added tokens in d and the text between them, in order. A nil matcher finds none.
func (m *matcher) split(d derived, trace bool, yield func(segment)) {
	text, from := d.text, 0
	for i := 0; m != nil; {
		index, start, end := m.find(text, i)
		if index < 0 {
			break
		}
		i = end
		token := &m.tokens[index]
		if token.SingleWord && !standsAlone(text, start, end) {
			continue
		}
		if token.LStrip {
			start = max(from, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
		}
		if token.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if start > from {
			yield(segment{added: none, text: d.slice(from, start, trace)})
		}
		yield(segment{added: token.ID, end: d.in(end)})
		i, from = end, end
	}
	if from < len(text) {
		yield(segment{added: none, text: d.slice(from, len(text), trace)})
	}
}

// slice is d.text[from:to], with origins when they are asked for.
func (d derived) slice(from, to int, trace bool) derived {
	part := derived{text: d.text[from:to]}
	switch {
	case d.origin != nil:
		part.origin = append([]int(nil), d.origin[from:to]...)
	case trace && from > 0:
		for i := from; i < to; i++ {
			part.origin = append(part.origin, i+1)
		}
	}
	return part
}

// standsAlone: no word character touches text[start:end].
func standsAlone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return (start == 0 || !isWord(before)) && (end == len(text) || !isWord(after))
}
