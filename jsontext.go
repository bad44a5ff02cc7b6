package sembench

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a document that ParseJSON accepts: deep enough for any real record,
// shallow enough that a hostile file cannot exhaust the stack.
const maxDepth = 256

// SyntaxError is a place in a JSON text where it breaks the rules of formats.md section 1. Line and
// Column count from 1; Column is in bytes.
type SyntaxError struct {
	Line, Column int
	Problem      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// ParseJSON reads one JSON value that fills the whole text. Objects become map[string]any, arrays []any,
// and numbers json.Number, which keeps the source literal. Duplicate keys, lone surrogates, invalid UTF-8,
// nesting beyond 256 and anything after the value are a *SyntaxError.
func ParseJSON(text []byte) (any, error) {
	p := parser{text: text}
	p.space()
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(p.text) {
		return nil, p.fail("unexpected text after the value")
	}
	return value, nil
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) fail(format string, args ...any) error {
	before := p.text[:min(p.at, len(p.text))]
	line, column := 1, 1
	for _, b := range before {
		column++
		if b == '\n' {
			line, column = line+1, 1
		}
	}
	return &SyntaxError{Line: line, Column: column, Problem: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d", maxDepth)
	}
	if p.at >= len(p.text) {
		return nil, p.fail("the text ends where a value should be (truncated?)")
	}
	switch c := p.text[p.at]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.string()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, word := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if strings.HasPrefix(string(p.text[p.at:min(p.at+len(word.text), len(p.text))]), word.text) {
			p.at += len(word.text)
			return word.value, nil
		}
	}
	return nil, p.fail("unexpected %q", firstRune(p.text[p.at:]))
}

func firstRune(text []byte) string {
	_, size := utf8.DecodeRune(text)
	return string(text[:size])
}

func (p *parser) object(depth int) (any, error) {
	p.at++
	out := map[string]any{}
	for p.space(); ; p.space() {
		if p.at < len(p.text) && p.text[p.at] == '}' && len(out) == 0 {
			p.at++
			return out, nil
		}
		if p.at >= len(p.text) || p.text[p.at] != '"' {
			return nil, p.fail("want an object key in double quotes")
		}
		keyAt := p.at
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			p.at = keyAt
			return nil, p.fail("duplicate key %q", key)
		}
		if p.space(); p.at >= len(p.text) || p.text[p.at] != ':' {
			return nil, p.fail("want ':' after key %q", key)
		}
		p.at++
		p.space()
		if out[key], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		done, err := p.next('}')
		if err != nil || done {
			return out, err
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	p.at++
	out := []any{}
	for p.space(); ; p.space() {
		if p.at < len(p.text) && p.text[p.at] == ']' && len(out) == 0 {
			p.at++
			return out, nil
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
		done, err := p.next(']')
		if err != nil || done {
			return out, err
		}
	}
}

// next passes a comma (false) or the closing bracket (true).
func (p *parser) next(closing byte) (done bool, err error) {
	p.space()
	if p.at >= len(p.text) {
		return false, p.fail("the text ends inside a value (truncated?): want ',' or '%c'", closing)
	}
	c := p.text[p.at]
	if c != ',' && c != closing {
		return false, p.fail("want ',' or '%c', got %q", closing, firstRune(p.text[p.at:]))
	}
	p.at++
	return c == closing, nil
}

func (p *parser) number() (any, error) {
	start := p.at
	digits := func() int {
		from := p.at
		for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
			p.at++
		}
		return p.at - from
	}
	if p.text[p.at] == '-' {
		p.at++
	}
	leading := p.at
	n := digits()
	if n == 0 || n > 1 && p.text[leading] == '0' {
		p.at = start
		return nil, p.fail("malformed number")
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		if digits() == 0 {
			return nil, p.fail("malformed number: no digit after '.'")
		}
	}
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if digits() == 0 {
			return nil, p.fail("malformed number: no digit in the exponent")
		}
	}
	return json.Number(p.text[start:p.at]), nil
}

func (p *parser) string() (string, error) {
	start := p.at
	p.at++
	// The common case, no escape, is one slice of the text.
	for i := p.at; i < len(p.text); i++ {
		if c := p.text[i]; c == '"' {
			plain := p.text[p.at:i]
			if !utf8.Valid(plain) {
				return "", p.fail("invalid UTF-8 in a string")
			}
			p.at = i + 1
			return string(plain), nil
		} else if c == '\\' || c < 0x20 {
			break
		}
	}
	var out []byte
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if !utf8.Valid(out) {
				p.at = start
				return "", p.fail("invalid UTF-8 in a string")
			}
			return string(out), nil
		case c < 0x20:
			return "", p.fail("unescaped control character %#02x in a string", c)
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
			p.at++
		}
	}
	p.at = start
	return "", p.fail("the text ends inside a string (truncated?)")
}

func (p *parser) escape() (rune, error) {
	if p.at+1 >= len(p.text) {
		return 0, p.fail("the text ends inside an escape (truncated?)")
	}
	c := p.text[p.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		p.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, p.fail("unknown escape \\%c", c)
	}
	high, err := p.hex4()
	if err != nil {
		return 0, err
	}
	switch {
	case high >= 0xDC00 && high <= 0xDFFF:
		return 0, p.fail("lone surrogate \\u%04x", high)
	case high < 0xD800 || high > 0xDBFF:
		return high, nil
	}
	if p.at+1 >= len(p.text) || p.text[p.at] != '\\' || p.text[p.at+1] != 'u' {
		return 0, p.fail("lone surrogate \\u%04x", high)
	}
	low, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if low < 0xDC00 || low > 0xDFFF {
		return 0, p.fail("lone surrogate \\u%04x", high)
	}
	return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00), nil
}

// hex4 reads \uXXXX at the current place and moves past it.
func (p *parser) hex4() (rune, error) {
	if p.at+6 > len(p.text) {
		return 0, p.fail("the text ends inside an escape (truncated?)")
	}
	n, err := strconv.ParseUint(string(p.text[p.at+2:p.at+6]), 16, 32)
	if err != nil {
		return 0, p.fail("malformed escape %q", p.text[p.at:p.at+6])
	}
	p.at += 6
	return rune(n), nil
}

// AppendJSON writes a value of ParseJSON's shapes (and Go's own numbers) in the project's one spelling: keys
// sorted at every level, ", " and ": " between, non-ASCII raw, floats as Python's repr writes them, NaN and
// infinities as null. A positive indent puts each member on a line of its own, as Python's json.dumps does.
func AppendJSON(dst []byte, value any, indent int) []byte {
	return appendValue(dst, value, indent, 0)
}

func appendValue(dst []byte, value any, indent, level int) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return appendString(dst, v)
	case json.Number:
		return append(dst, v...)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case float64:
		return appendFloat(dst, v)
	case []any:
		return appendMembers(dst, '[', ']', len(v), indent, level, func(dst []byte, i int) []byte {
			return appendValue(dst, v[i], indent, level+1)
		})
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		return appendMembers(dst, '{', '}', len(keys), indent, level, func(dst []byte, i int) []byte {
			dst = append(appendString(dst, keys[i]), ": "...)
			return appendValue(dst, v[keys[i]], indent, level+1)
		})
	}
	// Any other Go value goes through the record codec first.
	return appendValue(dst, toTree(value), indent, level)
}

func appendMembers(dst []byte, open, closing byte, n, indent, level int, member func([]byte, int) []byte) []byte {
	dst = append(dst, open)
	for i := range n {
		switch {
		case indent > 0:
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '\n')
			dst = append(dst, strings.Repeat(" ", indent*(level+1))...)
		case i > 0:
			dst = append(dst, ", "...)
		}
		dst = member(dst, i)
	}
	if indent > 0 && n > 0 {
		dst = append(dst, '\n')
		dst = append(dst, strings.Repeat(" ", indent*level)...)
	}
	return append(dst, closing)
}

// appendString escapes only what JSON demands, as Python's json.dumps(ensure_ascii=False) does.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		default:
			if k := strings.IndexByte("\b\f\n\r\t", c); k >= 0 {
				dst = append(dst, '\\', "bfnrt"[k])
			} else {
				dst = fmt.Appendf(dst, "\\u%04x", c)
			}
		}
	}
	return append(dst, '"')
}

// appendFloat writes the shortest text that reads back as f, spelled as Python's repr: 1.0, 1e-07, 1e+16.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	exp := strconv.FormatFloat(f, 'e', -1, 64)
	power, _ := strconv.Atoi(exp[strings.IndexByte(exp, 'e')+1:])
	if power < -4 || power >= 16 {
		return append(dst, exp...)
	}
	plain := strconv.FormatFloat(f, 'f', -1, 64)
	dst = append(dst, plain...)
	if !strings.Contains(plain, ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}
