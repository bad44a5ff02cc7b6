package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"sembench"
)

// Record is one record of a file. What its format does not have is empty or nil.
type Record struct {
	// Number counts records from 1, Line is where it begins in the (decompressed) file.
	Number, Line int
	// ID is the file's own, or "" for none.
	ID string
	// Passages and Questions: documents and what is asked about them.
	Passages  []Passage
	Questions []Question
	// Domain and Language as the file says.
	Domain, Language string
	// Messages (and Tools) or Prompt: a request as it was sent.
	Messages, Tools []any
	Prompt          string
	// ArrivalMS is the request's time in ms on the file's own clock.
	ArrivalMS       *float64
	Session, Tenant string
	// OutputTokens is how long the answer was.
	OutputTokens *int64
}

// Passage is one document or part of it.
type Passage struct{ Title, Text string }

// Question asks something that Passages state. Answers are acceptable replies. Letter names the right choice of a
// multiple-choice question, "" for others.
type Question struct {
	Text    string
	Answers []string
	Letter  string
}

// format is one kind of file. fits looks at the first record; read turns a record into ours and reports every misfit
// field.
type format struct {
	name string
	fits func(object map[string]any) bool
	read func(f *fields) Record
}

// Formats are the names that Read accepts.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Read yields the records of a file of the named format; "" or "auto" recognises it from the first record. name is for
// messages. A bad record yields a *BadRecord and reading goes on; a file that cannot be read on ends the sequence with one.
// A file without a record is an error.
func Read(r io.Reader, name, wanted string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		fail := func(err error) bool { return yield(Record{}, fmt.Errorf("reading %s: %w", name, err)) }
		bad := func(e element, err error) bool { return yield(Record{}, &BadRecord{name, atElement(e, err)}) }
		var use *format
		if wanted != "" && wanted != "auto" {
			i := slices.IndexFunc(formats, func(f format) bool { return f.name == wanted })
			if i < 0 {
				fail(fmt.Errorf("format %q is unknown: use %s", wanted, strings.Join(Formats(), ", ")))
				return
			}
			use = &formats[i]
		}
		plain, err := Decompress(r)
		if err != nil {
			fail(err)
			return
		}
		defer plain.Close()
		found := false
		for e, err := range elements(bufio.NewReaderSize(plain, 1<<16)) {
			found = true
			if err != nil {
				if e.number == 0 && !fail(err) || e.number > 0 && !bad(e, err) {
					return
				}
				continue
			}
			object, err := parseObject(e)
			if err == nil && use == nil {
				if use, err = recognise(object); err != nil {
					fail(err)
					return
				}
			}
			var record Record
			if err == nil {
				f := &fields{object: object}
				record = use.read(f)
				record.Number, record.Line = e.number, e.line
				err = f.err()
			}
			if err != nil {
				if !bad(e, err) {
					return
				}
				continue
			}
			if !yield(record, nil) {
				return
			}
		}
		if !found {
			fail(fmt.Errorf("no record in it"))
		}
	}
}

// BadRecord is a record that does not fit its format; reading goes on after it.
type BadRecord struct {
	// File is the name for messages.
	File string
	Err  error
}

func (e *BadRecord) Error() string { return fmt.Sprintf("reading %s: %v", e.File, e.Err) }
func (e *BadRecord) Unwrap() error { return e.Err }

// atElement says where in the file an error stands. Columns count from the record's begin on its first line.
func atElement(e element, err error) error {
	var syntax *sembench.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("record %d: %w", e.number, &sembench.SyntaxError{Line: e.line + syntax.Line - 1, Column: syntax.Column, Problem: syntax.Problem})
	}
	return fmt.Errorf("record %d (line %d): %w", e.number, e.line, err)
}

func parseObject(e element) (map[string]any, error) {
	tree, err := sembench.ParseJSON(e.text)
	if err != nil {
		return nil, err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("is no JSON object")
	}
	return object, nil
}

func recognise(object map[string]any) (*format, error) {
	for i, f := range formats {
		if f.fits(object) {
			return &formats[i], nil
		}
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return nil, fmt.Errorf("the format is not recognised from keys %s: name it (%s)", strings.Join(keys, ", "), strings.Join(Formats(), ", "))
}

// has is a format test: all keys are there.
func has(keys ...string) func(map[string]any) bool {
	return func(object map[string]any) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { _, ok := object[key]; return !ok })
	}
}

// fields reads an object and collects what does not fit.
type fields struct {
	object map[string]any
	path   string
	misfit *sembench.FieldErrors
	own    sembench.FieldErrors
}

func (f *fields) err() error {
	if len(f.own) == 0 {
		return nil
	}
	return f.own
}

func (f *fields) problem(key, format string, args ...any) {
	into := f.misfit
	if into == nil {
		into = &f.own
	}
	*into = append(*into, &sembench.FieldError{Path: f.path + key, Problem: fmt.Sprintf(format, args...)})
}

// text is a string field; missing or null is "" and, where required, a problem.
func (f *fields) text(key string, required bool) string {
	switch v := f.object[key].(type) {
	case string:
		if v == "" && required {
			f.problem(key, "is empty")
		}
		return v
	case nil:
		if required {
			f.problem(key, "is missing")
		}
	default:
		f.problem(key, "is %s, want text", kind(v))
	}
	return ""
}

// label is a text or number used as a name.
func (f *fields) label(key string) string {
	switch v := f.object[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		f.problem(key, "is %s, want text", kind(v))
	}
	return ""
}

// number is nil when missing or null.
func (f *fields) number(key string) *float64 {
	switch v := f.object[key].(type) {
	case nil:
	case json.Number:
		if x, err := v.Float64(); err == nil {
			return &x
		}
		f.problem(key, "is %s, out of range", v)
	default:
		f.problem(key, "is %s, want a number", kind(v))
	}
	return nil
}

// count is a whole number, nil when missing or null.
func (f *fields) count(key string) *int64 {
	x := f.number(key)
	if x == nil {
		return nil
	}
	n := int64(*x)
	if float64(n) != *x || n < 0 {
		f.problem(key, "is %v, want a whole number from 0", *x)
		return nil
	}
	return &n
}

// list is a list field; missing or null is nil and, where required, a problem.
func (f *fields) list(key string, required bool) []any {
	switch v := f.object[key].(type) {
	case []any:
		if len(v) == 0 && required {
			f.problem(key, "is empty")
		}
		return v
	case nil:
		if required {
			f.problem(key, "is missing")
		}
	default:
		f.problem(key, "is %s, want a list", kind(v))
	}
	return nil
}

// objects gives each object of a list.
func (f *fields) objects(key string, required bool) iter.Seq[*fields] {
	return func(yield func(*fields) bool) {
		into := f.misfit
		if into == nil {
			into = &f.own
		}
		for i, entry := range f.list(key, required) {
			path := fmt.Sprintf("%s[%d]", key, i)
			object, ok := entry.(map[string]any)
			if !ok {
				f.problem(path, "is %s, want an object", kind(entry))
				continue
			}
			if !yield(&fields{object: object, path: f.path + path + ".", misfit: into}) {
				return
			}
		}
	}
}

// answers is a text, a number or a list of them.
func (f *fields) answers(key string) (found []string) {
	add := func(path string, v any) {
		switch v := v.(type) {
		case string:
			found = append(found, v)
		case json.Number:
			found = append(found, v.String())
		case bool:
			found = append(found, fmt.Sprint(v))
		default:
			f.problem(path, "is %s, want text", kind(v))
		}
	}
	switch v := f.object[key].(type) {
	case nil:
	case []any:
		for i, entry := range v {
			add(fmt.Sprintf("%s[%d]", key, i), entry)
		}
	default:
		add(key, v)
	}
	return found
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
