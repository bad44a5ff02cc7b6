package token

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// vocabFile is token to id. Models of other types write lists here; they are refused by type later.
type vocabFile map[string]uint32

// UnmarshalJSON reads an object and skips anything else.
func (v *vocabFile) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	if fast, ok := readVocab(string(data)); ok {
		*v = fast
		return nil
	}
	return json.Unmarshal(data, (*map[string]uint32)(v))
}

// mergeFile is the joins in order of rank.
type mergeFile [][2]string

// UnmarshalJSON reads pairs, written as ["a","b"] or, in older files, as "a b".
func (m *mergeFile) UnmarshalJSON(data []byte) error {
	if fast, ok := readMerges(string(data)); ok {
		*m = fast
		return nil
	}
	var pairs [][2]string
	if err := json.Unmarshal(data, &pairs); err == nil {
		*m = pairs
		return nil
	}
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return fmt.Errorf("model.merges are neither pairs nor lines: %w", err)
	}
	pairs = make([][2]string, len(lines))
	for i, line := range lines {
		left, right, ok := strings.Cut(line, " ")
		if !ok {
			return fmt.Errorf("model.merges[%d] %q has no space", i, line)
		}
		pairs[i] = [2]string{left, right}
	}
	*m = pairs
	return nil
}

// The two tables are nearly all of a file of tens of megabytes, so they have readers of their own, three times as fast as
// encoding/json, for the shapes that files have. They see text that encoding/json has found valid, and give up (false)
// on anything else than they expect; then encoding/json reads it, or says what is wrong.

// tableReader walks over valid JSON.
type tableReader struct {
	text string
	at   int
}

// next is the first byte that is no white space; 0 at the end.
func (r *tableReader) next() byte {
	for r.at < len(r.text) {
		switch b := r.text[r.at]; b {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return b
		}
	}
	return 0
}

// take passes the byte b, if it comes next.
func (r *tableReader) take(b byte) bool {
	if r.next() != b {
		return false
	}
	r.at++
	return true
}

// word reads a string.
func (r *tableReader) word() (string, bool) {
	if !r.take('"') {
		return "", false
	}
	start := r.at
	plain := true
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '"':
			r.at++
			if plain {
				return r.text[start : r.at-1], true
			}
			var s string
			err := json.Unmarshal([]byte(r.text[start-1:r.at]), &s)
			return s, err == nil
		case '\\':
			plain = false
			r.at++
		}
		r.at++
	}
	return "", false
}

// id reads a number of up to nine digits.
func (r *tableReader) id() (uint32, bool) {
	r.next()
	start, n := r.at, uint32(0)
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		n = n*10 + uint32(r.text[r.at]-'0')
		r.at++
	}
	return n, r.at > start && r.at-start <= 9
}

// readVocab reads {"token":id,…}.
func readVocab(text string) (vocabFile, bool) {
	v := make(vocabFile, len(text)/24) // about what an entry takes
	r := tableReader{text: text}
	if !r.take('{') || !utf8.ValidString(text) { // encoding/json mends invalid text
		return nil, false
	}
	for r.next() != '}' {
		word, ok := r.word()
		if !ok || !r.take(':') {
			return nil, false
		}
		id, ok := r.id()
		if !ok || !r.take(',') && r.next() != '}' {
			return nil, false
		}
		v[word] = id
	}
	return v, true
}

// readMerges reads [["a","b"],…] or ["a b",…].
func readMerges(text string) (mergeFile, bool) {
	var m mergeFile
	r := tableReader{text: text}
	if !r.take('[') || !utf8.ValidString(text) {
		return nil, false
	}
	for r.next() != ']' {
		var left, right string
		var ok, okRight bool
		if r.take('[') {
			left, ok = r.word()
			ok = ok && r.take(',')
			right, okRight = r.word()
			ok = ok && okRight && r.take(']')
		} else if line, isWord := r.word(); isWord {
			left, right, ok = strings.Cut(line, " ")
		}
		if !ok || !r.take(',') && r.next() != ']' {
			return nil, false
		}
		m = append(m, [2]string{left, right})
	}
	return m, true
}
