package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"sembench"
)

// line is what a hash-id trace holds on a line, in any of its three dialects.
type line struct {
	timestamp            json.Number
	timestampText        bool
	input, output        int64
	hasInput, hasOutput  bool
	ids                  []uint64
	chat, parent, tenant string
	hasIDs, hasChat      bool
}

// scan reads a line without allocating: an object of numbers, plain strings and one list of whole numbers. Anything else, and
// any doubt, is false: the strict parser then decides and finds the words for an error.
func (l *line) scan(text []byte) bool {
	ids := l.ids[:0]
	*l = line{}
	s := scanner{text: text}
	if !s.eat('{') {
		return false
	}
	for first := true; ; first = false {
		if s.eat('}') {
			break
		}
		if !first && !s.eat(',') {
			return false
		}
		key, ok := s.plain()
		if !ok || !s.eat(':') {
			return false
		}
		switch string(key) {
		case "hash_ids":
			if l.hasIDs || !s.eat('[') {
				return false
			}
			l.hasIDs = true
			if ids, ok = s.whole(ids); !ok {
				return false
			}
		case "input_length":
			if l.hasInput {
				return false
			}
			l.input, l.hasInput = s.int()
			if !l.hasInput {
				return false
			}
		case "output_length":
			if l.hasOutput {
				return false
			}
			l.output, l.hasOutput = s.int()
			if !l.hasOutput {
				return false
			}
		default:
			value, quoted, ok := s.scalar()
			if !ok || !l.name(string(key), value, quoted) {
				return false
			}
		}
	}
	l.ids = ids
	s.space()
	return s.at == len(s.text)
}

// name keeps a scalar field; unknown keys are passed over. A key twice is for the strict parser.
func (l *line) name(key string, value []byte, quoted bool) bool {
	var into *string
	switch key {
	case "timestamp":
		if l.timestamp != "" {
			return false
		}
		l.timestamp, l.timestampText = json.Number(value), quoted
		return true
	case "chat_id":
		into, l.hasChat = &l.chat, true
	case "parent_chat_id":
		into = &l.parent
	case "tenant", "tenant_id":
		into = &l.tenant
	default:
		return true
	}
	if *into != "" {
		return false
	}
	*into = string(value)
	return true
}

type scanner struct {
	text []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r' || s.text[s.at] == '\n') {
		s.at++
	}
}

func (s *scanner) eat(b byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == b {
		s.at++
		return true
	}
	return false
}

// plain reads a string of printable ASCII without escapes.
func (s *scanner) plain() ([]byte, bool) {
	if !s.eat('"') {
		return nil, false
	}
	for start := s.at; s.at < len(s.text); s.at++ {
		switch b := s.text[s.at]; {
		case b == '"':
			s.at++
			return s.text[start : s.at-1], true
		case b == '\\' || b < ' ' || b > '~':
			return nil, false
		}
	}
	return nil, false
}

// int reads a whole number of at most 18 digits, without sign.
func (s *scanner) int() (int64, bool) {
	s.space()
	n, start := int64(0), s.at
	for ; s.at < len(s.text) && s.text[s.at]-'0' <= 9; s.at++ {
		n = n*10 + int64(s.text[s.at]-'0')
	}
	digits := s.at - start
	leading := digits > 1 && s.text[start] == '0'
	if s.at < len(s.text) && (s.text[s.at] == '.' || s.text[s.at]|0x20 == 'e') {
		return 0, false
	}
	return n, digits > 0 && digits <= 18 && !leading
}

// whole appends whole numbers up to the closing bracket.
func (s *scanner) whole(ids []uint64) ([]uint64, bool) {
	if s.eat(']') {
		return ids, true
	}
	for {
		n, ok := s.int()
		if !ok {
			return ids, false
		}
		ids = append(ids, uint64(n))
		if s.eat(']') {
			return ids, true
		}
		if !s.eat(',') {
			return ids, false
		}
	}
}

// scalar reads a plain string or a number.
func (s *scanner) scalar() (value []byte, quoted, ok bool) {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == '"' {
		value, ok = s.plain()
		return value, true, ok
	}
	start := s.at
	for s.at < len(s.text) && (s.text[s.at]-'0' <= 9 || s.text[s.at] == '-' || s.text[s.at] == '.' || s.text[s.at] == '+' || s.text[s.at]|0x20 == 'e') {
		s.at++
	}
	value = s.text[start:s.at]
	return value, false, json.Valid(value)
}

// parse reads a line strictly and says what is wrong with it.
func (l *line) parse(text []byte) error {
	ids := l.ids[:0]
	*l = line{}
	tree, err := sembench.ParseJSON(text)
	if err != nil {
		return err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return fmt.Errorf("is no JSON object")
	}
	var bad sembench.FieldErrors
	misfit := func(path, format string, args ...any) {
		bad = append(bad, &sembench.FieldError{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
	length := func(key string) (int64, bool) {
		value, there := object[key]
		if !there || value == nil {
			return 0, false
		}
		n, ok := wholeNumber(value)
		if !ok || n > math.MaxInt64 {
			misfit(key, "is %s, want a whole number from 0", show(value))
			return 0, false
		}
		return int64(n), true
	}
	l.input, l.hasInput = length("input_length")
	l.output, l.hasOutput = length("output_length")
	switch value := object["timestamp"].(type) {
	case nil:
	case json.Number:
		l.timestamp = value
	case string:
		l.timestamp, l.timestampText = json.Number(value), true
	default:
		misfit("timestamp", "is %s, want a number or text", show(value))
	}
	for key, into := range map[string]*string{"chat_id": &l.chat, "parent_chat_id": &l.parent, "tenant": &l.tenant} {
		switch value := object[key].(type) {
		case nil:
		case json.Number:
			*into = value.String()
		case string:
			*into = value
		default:
			misfit(key, "is %s, want a number or text", show(value))
		}
	}
	_, l.hasChat = object["chat_id"]
	if tenant, ok := object["tenant_id"].(string); ok && l.tenant == "" {
		l.tenant = tenant
	}
	switch value := object["hash_ids"].(type) {
	case nil:
		misfit("hash_ids", "is missing")
	case []any:
		l.hasIDs = true
		for i, entry := range value {
			id, ok := blockID(entry)
			if !ok {
				misfit(fmt.Sprintf("hash_ids[%d]", i), "is %s, want a whole number or text", show(entry))
				break
			}
			ids = append(ids, id)
		}
	default:
		misfit("hash_ids", "is %s, want a list", show(value))
	}
	if !l.hasInput && len(bad) == 0 {
		misfit("input_length", "is missing")
	}
	l.ids = ids
	if len(bad) > 0 {
		slices.SortStableFunc(bad, func(a, b error) int { return compareText(a.Error(), b.Error()) })
		return bad
	}
	return nil
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// blockID is a number as it is (negative ones in two's complement), a text by its hash.
func blockID(value any) (uint64, bool) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return uint64(n), true
		}
		n, err := strconv.ParseUint(string(v), 10, 64)
		return n, err == nil
	case string:
		return textID(v), true
	}
	return 0, false
}

func wholeNumber(value any) (uint64, bool) {
	literal, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseUint(string(literal), 10, 64); err == nil {
		return n, true
	}
	x, err := literal.Float64()
	if err != nil || x < 0 || x != math.Trunc(x) || x > 1<<53 {
		return 0, false
	}
	return uint64(x), true
}

// show names a value in an error: numbers and short texts as they are.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return v.String()
	case string:
		if len(v) > 40 {
			return "a text"
		}
		return strconv.Quote(v)
	case []any:
		return "a list"
	}
	return "an object"
}
