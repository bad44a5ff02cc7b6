package wire

import (
	"bytes"
	"unicode/utf8"
)

// frame is an event that was decoded in full, with its one piece of text cut out. Engines repeat everything else byte by byte, so
// the next event is most often the same frame around another text, and then nothing but the text has to be read: the
// bytes on both sides are those of an event whose meaning is known. What comes in between must be the inside of a JSON
// string, which keeps the structure the same. Decoding this way costs a tenth.
type frame struct {
	before, after []byte
}

// textKeys are where a plain event keeps its text, as compact and as spaced JSON.
var textKeys = [][]byte{[]byte(`"content":"`), []byte(`"content": "`), []byte(`"text":"`), []byte(`"text": "`)}

// learn keeps the frame of an event whose whole meaning was text: no usage, no end, no other output. It keeps none where
// the text cannot be found exactly once.
func (f *frame) learn(data []byte, text string) {
	f.before, f.after = f.before[:0], f.after[:0]
	for _, key := range textKeys {
		at := bytes.Index(data, key)
		if at < 0 || bytes.Count(data, key) != 1 {
			continue
		}
		start := at + len(key)
		end := start
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(data) {
			return
		}
		if found, ok := plainText(data[start:end]); ok && found == text {
			f.before = append(f.before, data[:start]...)
			f.after = append(f.after, data[end:]...)
		}
		return
	}
}

// read gives the text of an event of this frame.
func (f *frame) read(data []byte) (string, bool) {
	if len(f.before) == 0 || len(data) < len(f.before)+len(f.after) ||
		!bytes.HasSuffix(data, f.after) || !bytes.HasPrefix(data, f.before) {
		return "", false
	}
	return plainText(data[len(f.before) : len(data)-len(f.after)])
}

// plainText is the value of the inside of a JSON string without a quote, with no escapes but the commonest; anything
// else is left to the parser.
func plainText(inside []byte) (string, bool) {
	if !utf8.Valid(inside) {
		return "", false
	}
	simple := true
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case c < ' ' || c == '"':
			return "", false
		case c == '\\':
			simple = false
			i++
			if i == len(inside) || !bytes.ContainsRune([]byte(`n"\/t`), rune(inside[i])) {
				return "", false
			}
		}
	}
	if simple {
		return string(inside), true
	}
	out := make([]byte, 0, len(inside))
	for i := 0; i < len(inside); i++ {
		c := inside[i]
		if c == '\\' {
			i++
			if c = inside[i]; c == 'n' {
				c = '\n'
			} else if c == 't' {
				c = '\t'
			}
		}
		out = append(out, c)
	}
	return string(out), true
}
