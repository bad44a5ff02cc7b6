package engine

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// dockerLine reads dockerd's own spelling, {"log":"…","stream":"…","time":"…"} without blanks, ten times
// faster than a JSON parser. The text is unescaped in place. False, with b as it was, for any other
// spelling, which is then read as JSON.
func dockerLine(b []byte) (text []byte, stream string, ok bool) {
	const head = `{"log":"`
	if !bytes.HasPrefix(b, []byte(head)) {
		return nil, "", false
	}
	end, escaped := stringEnd(b[len(head):])
	if end < 0 {
		return nil, "", false
	}
	body, tail := b[len(head):len(head)+end], b[len(head)+end:]
	for _, s := range []string{"stdout", "stderr"} {
		after, is := bytes.CutPrefix(tail, []byte(`","stream":"`+s+`","time":"`))
		if !is {
			continue
		}
		n, odd := stringEnd(after)
		if n < 0 || odd || string(after[n:]) != `"}` {
			return nil, "", false
		}
		if !escaped {
			return body, s, true
		}
		if !escapesKnown(body) {
			return nil, "", false
		}
		return unescape(body), s, true
	}
	return nil, "", false
}

// stringEnd is where the string that b begins inside of is closed, -1 if it is not or holds a raw control
// character, and whether it holds escapes.
func stringEnd(b []byte) (end int, escaped bool) {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i, escaped
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return -1, escaped
		}
	}
	return -1, escaped
}

// escapesKnown says whether every escape is one that unescape knows: surrogate pairs are left to the JSON
// parser.
func escapesKnown(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return true
		}
		if i+1 >= len(b) {
			return false
		}
		switch b[i+1] {
		case 'n', 't', 'r', 'b', 'f', '"', '\\', '/':
			b = b[i+2:]
		case 'u':
			if i+6 > len(b) {
				return false
			}
			n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
			if err != nil || (n >= 0xD800 && n < 0xE000) {
				return false
			}
			b = b[i+6:]
		default:
			return false
		}
	}
}

// unescape rewrites known escapes in place; none grows.
func unescape(b []byte) []byte {
	out := b[:0]
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return append(out, b...)
		}
		out = append(out, b[:i]...)
		switch c := b[i+1]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			n, _ := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
			out = utf8.AppendRune(out, rune(n))
			i += 4
		default:
			out = append(out, c)
		}
		b = b[i+2:]
	}
}
