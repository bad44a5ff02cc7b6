package sembench

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The record codec. A record is a struct whose fields carry json tags; a pointer field is nullable, and
// null and absent both read as nil. Three rules go beyond encoding/json:
//
//   - every key is always written, unless its tag says omitempty; a nil slice is [], a nil map is {};
//   - a field `Extra map[string]any` with tag "-" keeps the keys that this version does not know;
//   - a field tagged required:"true" must be there: a missing key is an error.

// FieldError is one value that does not fit its record. Path is like donor_prompts[0].text.
type FieldError struct {
	Path, Problem string
}

func (e *FieldError) Error() string { return e.Path + " " + e.Problem }

// FieldErrors is every misfit field of one record, on one line.
type FieldErrors []error

func (e FieldErrors) Error() string {
	words := make([]string, len(e))
	for i, err := range e {
		words[i] = err.Error()
	}
	return strings.Join(words, "; ")
}

func (e FieldErrors) Unwrap() []error { return e }

func (e FieldErrors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Marshal gives a record as one line in the project's spelling (see AppendJSON), without a line end.
func Marshal(record any) []byte { return AppendJSON(nil, toTree(record), 0) }

// MarshalIndent gives a record as an indented document with a final newline.
func MarshalIndent(record any) []byte { return append(AppendJSON(nil, toTree(record), 2), '\n') }

// Unmarshal reads one JSON text into the record that into points to. It reports every misfit field at
// once (FieldErrors), or the one *SyntaxError.
func Unmarshal(text []byte, into any) error {
	tree, err := ParseJSON(text)
	if err != nil {
		return err
	}
	return FromTree(tree, into)
}

// FromTree fills a record from a value of ParseJSON. It reports every misfit field (FieldErrors).
func FromTree(tree, into any) error {
	var problems FieldErrors
	fromTree("", tree, reflect.ValueOf(into).Elem(), func(path, format string, args ...any) {
		if path == "" {
			path = "the document"
		}
		problems = append(problems, &FieldError{Path: path, Problem: fmt.Sprintf(format, args...)})
	})
	return problems.orNil()
}

type field struct {
	key                 string
	index               []int
	required, omitEmpty bool
}

type shape struct {
	fields []field
	extra  []int // index of Extra, nil without one
}

var shapes sync.Map // reflect.Type → shape

func shapeOf(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape)
	}
	var s shape
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Name == "Extra" && key == "-":
			s.extra = f.Index
		case f.Anonymous || !f.IsExported() || key == "-" || key == "":
		default:
			s.fields = append(s.fields, field{key, f.Index, f.Tag.Get("required") == "true", options == "omitempty"})
		}
	}
	shapes.Store(t, s)
	return s
}

// toTree turns a Go value into ParseJSON's shapes.
func toTree(record any) any {
	switch v := record.(type) {
	case nil, bool, string, json.Number, int, int64, uint64, float64:
		return v
	}
	return treeOf(reflect.ValueOf(record))
}

func treeOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return treeOf(v.Elem())
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		if n, ok := v.Interface().(json.Number); ok {
			return n
		}
		return v.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.Slice, reflect.Array:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = treeOf(v.Index(i))
		}
		return out
	case reflect.Map:
		out := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = treeOf(it.Value())
		}
		return out
	case reflect.Struct:
		s := shapeOf(v.Type())
		out := make(map[string]any, len(s.fields))
		if s.extra != nil {
			if extra := v.FieldByIndex(s.extra); extra.Len() > 0 {
				maps.Copy(out, treeOf(extra).(map[string]any))
			}
		}
		for _, f := range s.fields {
			value := v.FieldByIndex(f.index)
			if !f.omitEmpty || !value.IsZero() {
				out[f.key] = treeOf(value)
			}
		}
		return out
	}
	panic("sembench: no JSON form for " + v.Type().String())
}

type report func(path, format string, args ...any)

func kindOf(tree any) string {
	switch tree.(type) {
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

func fromTree(path string, tree any, into reflect.Value, misfit report) {
	want := func(kind string) { misfit(path, "is %s, want %s", kindOf(tree), kind) }
	switch into.Kind() {
	case reflect.Pointer:
		if tree == nil {
			into.SetZero()
			return
		}
		fresh := reflect.New(into.Type().Elem())
		fromTree(path, tree, fresh.Elem(), misfit)
		into.Set(fresh)
	case reflect.Interface:
		if tree == nil {
			into.SetZero()
		} else {
			into.Set(reflect.ValueOf(tree))
		}
	case reflect.Bool:
		if b, ok := tree.(bool); ok {
			into.SetBool(b)
		} else {
			want("true or false")
		}
	case reflect.String:
		switch v := tree.(type) {
		case string:
			into.SetString(v)
		case json.Number:
			if into.Type() != reflect.TypeFor[json.Number]() {
				want("a string")
				return
			}
			into.SetString(string(v))
		default:
			want("a string")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := integer(tree)
		if !ok || into.OverflowInt(n) {
			want("a whole number")
			return
		}
		into.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		literal, _ := tree.(json.Number)
		n, err := strconv.ParseUint(string(literal), 10, 64)
		if err != nil || into.OverflowUint(n) {
			want("a whole number, not negative")
			return
		}
		into.SetUint(n)
	case reflect.Float32, reflect.Float64:
		literal, ok := tree.(json.Number)
		f, err := strconv.ParseFloat(string(literal), 64)
		if !ok || err != nil {
			want("a finite number")
			return
		}
		into.SetFloat(f)
	case reflect.Slice:
		list, ok := tree.([]any)
		if !ok {
			if tree != nil {
				want("a list")
			}
			return
		}
		fresh := reflect.MakeSlice(into.Type(), len(list), len(list))
		for i, member := range list {
			fromTree(fmt.Sprintf("%s[%d]", path, i), member, fresh.Index(i), misfit)
		}
		into.Set(fresh)
	case reflect.Array:
		list, ok := tree.([]any)
		if !ok || len(list) != into.Len() {
			want(fmt.Sprintf("a list of %d", into.Len()))
			return
		}
		for i, member := range list {
			fromTree(fmt.Sprintf("%s[%d]", path, i), member, into.Index(i), misfit)
		}
	case reflect.Map:
		object, ok := tree.(map[string]any)
		if !ok {
			if tree != nil {
				want("an object")
			}
			return
		}
		fresh := reflect.MakeMapWithSize(into.Type(), len(object))
		for _, key := range slices.Sorted(maps.Keys(object)) {
			value := reflect.New(into.Type().Elem()).Elem()
			fromTree(join(path, key), object[key], value, misfit)
			fresh.SetMapIndex(reflect.ValueOf(key).Convert(into.Type().Key()), value)
		}
		into.Set(fresh)
	case reflect.Struct:
		object, ok := tree.(map[string]any)
		if !ok {
			want("an object")
			return
		}
		structFromTree(path, object, into, misfit)
	default:
		panic("sembench: no JSON form for " + into.Type().String())
	}
}

func structFromTree(path string, object map[string]any, into reflect.Value, misfit report) {
	s := shapeOf(into.Type())
	known := make(map[string]bool, len(s.fields))
	for _, f := range s.fields {
		known[f.key] = true
		value, present := object[f.key]
		switch {
		case f.required && !present:
			misfit(join(path, f.key), "is missing")
		case present:
			fromTree(join(path, f.key), value, into.FieldByIndex(f.index), misfit)
		}
	}
	if s.extra == nil {
		return
	}
	var extra map[string]any
	for key, value := range object {
		if !known[key] {
			if extra == nil {
				extra = map[string]any{}
			}
			extra[key] = value
		}
	}
	into.FieldByIndex(s.extra).Set(reflect.ValueOf(extra))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// integer reads a whole number, also spelled 3.0 or 3e2 as other producers do, if it is exact in 53 bits.
func integer(tree any) (int64, bool) {
	literal, ok := tree.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(literal), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
