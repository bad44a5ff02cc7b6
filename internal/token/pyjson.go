package token

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/ardanlabs/jinja"
)

// pythonJSON is the filter tojson of transformers: json.dumps with its own defaults, but without ASCII escapes. Arguments:
// ensure_ascii, indent, separators, sort_keys.
func pythonJSON(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if len(args) == 0 {
		return jinja.Undefined(), fmt.Errorf("tojson wants a value")
	}
	w := jsonWriter{item: ", ", colon: ": ", indent: -1}
	for i, name := range []string{"ensure_ascii", "indent", "separators", "sort_keys"} {
		option, ok := named[name]
		if i+1 < len(args) {
			option, ok = args[i+1], true
		}
		if !ok || option.IsNone() {
			continue
		}
		switch name {
		case "ensure_ascii":
			w.ascii = option.IsBool() && option.AsBool()
		case "indent":
			if !option.IsInt() {
				return jinja.Undefined(), fmt.Errorf("tojson: indent is no integer")
			}
			// A level deeper than any template's; a larger one is a mistake that would fill the memory.
			w.indent = int(min(max(option.AsInt(), 0), 64))
		case "separators":
			pair := items(option)
			if len(pair) != 2 || !pair[0].IsString() || !pair[1].IsString() {
				return jinja.Undefined(), fmt.Errorf("tojson: separators are not two strings")
			}
			w.item, w.colon, w.separated = pair[0].AsString(), pair[1].AsString(), true
		case "sort_keys":
			w.sorted = option.IsBool() && option.AsBool()
		}
	}
	if w.indent >= 0 && !w.separated {
		w.item = "," // json.dumps drops the space where a new line follows
	}
	if err := w.write(args[0], 1); err != nil {
		return jinja.Undefined(), err
	}
	return jinja.NewString(w.b.String()), nil
}

type jsonWriter struct {
	b           strings.Builder
	item, colon string
	indent      int // -1: on one line
	separated   bool
	ascii       bool
	sorted      bool
}

func (w *jsonWriter) write(v jinja.Value, depth int) error {
	switch {
	case v.IsNone():
		w.b.WriteString("null")
	case v.IsBool():
		w.b.WriteString(strconv.FormatBool(v.AsBool()))
	case v.IsInt():
		w.b.WriteString(strconv.FormatInt(v.AsInt(), 10))
	case v.IsFloat():
		w.b.WriteString(pythonFloat(v.AsFloat()))
	case v.IsString():
		w.quote(v.AsString())
	case v.IsList():
		return w.group('[', ']', depth, len(v.AsList().Items), func(i int) error {
			return w.write(v.AsList().Items[i], depth+1)
		})
	case v.IsDict():
		keys := slices.Clone(v.AsDict().OrderedKeys())
		if w.sorted {
			slices.Sort(keys)
		}
		return w.group('{', '}', depth, len(keys), func(i int) error {
			value, _ := v.AsDict().Get(keys[i])
			w.quote(keys[i])
			w.b.WriteString(w.colon)
			return w.write(value, depth+1)
		})
	default:
		return fmt.Errorf("tojson: a value is undefined or a function, which JSON cannot say")
	}
	return nil
}

// group writes n elements between brackets.
func (w *jsonWriter) group(open, shut byte, depth, n int, element func(i int) error) error {
	w.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		w.newLine(depth)
		if err := element(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newLine(depth - 1)
	}
	w.b.WriteByte(shut)
	return nil
}

func (w *jsonWriter) newLine(depth int) {
	if w.indent >= 0 {
		w.b.WriteByte('\n')
		w.b.WriteString(strings.Repeat(" ", w.indent*depth))
	}
}

// quote writes s with the escapes of json.dumps.
func (w *jsonWriter) quote(s string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	w.b.WriteByte('"')
	for _, r := range s {
		switch escape, ok := short[r]; {
		case ok:
			w.b.WriteString(escape)
		case r < 0x20 || w.ascii && 0x7f < r && r <= 0xffff:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case w.ascii && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, high, low)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}

// pythonFloat is repr(f): the shortest digits that give f back, with a point or an exponent.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
