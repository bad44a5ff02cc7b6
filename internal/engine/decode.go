package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"sembench"
)

var errNotObject = errors.New("not a JSON object")

// decodeObject reads exactly one JSON object; numbers stay json.Number so that 64-bit hashes survive. What
// the project's own, faster parser refuses (a repeated key, half a surrogate pair) is foreign text's right.
func decodeObject(b []byte) (map[string]any, error) {
	if v, err := sembench.ParseJSON(b); err == nil {
		obj, ok := v.(map[string]any)
		if !ok {
			return nil, errNotObject
		}
		return obj, nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotObject
	}
	return obj, nil
}

// maxCount bounds every count read from foreign text: above it a number is damage, and sums of honest
// counts stay far from overflow.
const maxCount = 1 << 40

// count reads a non-negative integer, also when spelled as a float without fraction. Nil for anything
// else: strings, booleans, negatives, fractions, absurd sizes.
func count(v any) *int {
	n := integer(v)
	if n == nil || *n < 0 {
		return nil
	}
	return n
}

// integer is count with negatives allowed.
func integer(v any) *int {
	num, ok := v.(json.Number)
	if !ok {
		return nil
	}
	if n, err := strconv.Atoi(num.String()); err == nil {
		if n > maxCount || n < -maxCount {
			return nil
		}
		return &n
	}
	f, err := num.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxCount {
		return nil
	}
	n := int(f)
	return &n
}

// number reads a finite JSON number; nil for anything else.
func number(v any) *float64 {
	num, ok := v.(json.Number)
	if !ok {
		return nil
	}
	f, err := num.Float64()
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return &f
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// parseCount reads the digits at the start of b, thousands separators not allowed, and what follows.
func parseCount(b []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(b) && digit(b[i]) {
		if i >= 13 {
			return 0, b, false
		}
		n = n*10 + int(b[i]-'0')
		i++
	}
	if i == 0 || n > maxCount {
		return 0, b, false
	}
	return n, b[i:], true
}

// parseSigned is parseCount with an optional minus.
func parseSigned(b []byte) (n int, rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		n, rest, ok = parseCount(b[1:])
		return -n, rest, ok
	}
	return parseCount(b)
}

// parseFloat reads an unsigned decimal number at the start of b: digits and dots only.
func parseFloat(b []byte) (f float64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && i < 32 && (digit(b[i]) || b[i] == '.') {
		i++
	}
	end := i
	for end > 0 && b[end-1] == '.' { // "0.64." ends a sentence
		end--
	}
	f, err := strconv.ParseFloat(string(b[:end]), 64)
	if err != nil {
		return 0, b, false
	}
	return f, b[i:], true
}

// field is the value after "key=" where key starts the text or follows a blank, a comma or a bracket; it
// ends at a blank, a comma or a closing bracket.
func field(b []byte, key string) ([]byte, bool) {
	from := 0
	for {
		i := bytes.Index(b[from:], []byte(key))
		if i < 0 {
			return nil, false
		}
		i += from
		from = i + len(key)
		if i > 0 && b[i-1] != ' ' && b[i-1] != ',' && b[i-1] != '(' && b[i-1] != '[' {
			continue
		}
		if from >= len(b) || b[from] != '=' {
			continue
		}
		v := b[from+1:]
		if end := bytes.IndexAny(v, " ,)]"); end >= 0 {
			v = v[:end]
		}
		return v, true
	}
}

// fieldCount reads a whole-number field.
func fieldCount(b []byte, key string) (int, bool) {
	v, ok := field(b, key)
	if !ok {
		return 0, false
	}
	n, rest, ok := parseCount(v)
	return n, ok && len(rest) == 0
}

// fieldFloat reads an unsigned decimal field, with or without a unit behind it.
func fieldFloat(b []byte, key string) (float64, bool) {
	v, ok := field(b, key)
	if !ok {
		return 0, false
	}
	f, _, ok := parseFloat(v)
	return f, ok
}

func ptr[T any](v T) *T { return &v }

// add adds n to a nullable sum, which exists from the first addend on.
func add(p **int, n int) {
	if *p == nil {
		*p = new(int)
	}
	**p += n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
