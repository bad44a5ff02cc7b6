package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"sembench"
)

// column is one field of a row in a flat table, named as in the result document; a planner's fields are planners.<name>.<field>.
type column struct {
	name  string
	kind  columnKind
	value func(sembench.Row) any // string, int64, float64 or bool; nil for null
}

type columnKind int

const (
	textColumn columnKind = iota + 1
	integerColumn
	realColumn
	flagColumn
)

// columnsOf lists the fields of a row in the order of the document, then those of every planner that ran in any row, sorted.
func columnsOf(rows []sembench.Row) []column {
	out := fieldsOf(reflect.TypeFor[sembench.Row](), "", func(row sembench.Row) (reflect.Value, bool) { return reflect.ValueOf(row), true })
	names := map[string]bool{}
	for _, row := range rows {
		for name := range row.Planners {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, fieldsOf(reflect.TypeFor[sembench.PlannerRow](), "planners."+name+".", func(row sembench.Row) (reflect.Value, bool) {
			p, ran := row.Planners[name]
			return reflect.ValueOf(p), ran
		})...)
	}
	return out
}

// fieldsOf makes columns of a struct's exported fields; maps of structs are left to their own columns, keys that this version does not know are left out.
func fieldsOf(t reflect.Type, prefix string, of func(sembench.Row) (reflect.Value, bool)) []column {
	var out []column
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" || field.Type.Kind() == reflect.Map {
			continue
		}
		out = append(out, column{prefix + name, kindOfField(field.Type), func(row sembench.Row) any {
			record, ok := of(row)
			if !ok {
				return nil
			}
			return plainValue(record.Field(i))
		}})
	}
	return out
}

func kindOfField(t reflect.Type) columnKind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return integerColumn
	case reflect.Float64:
		return realColumn
	case reflect.Bool:
		return flagColumn
	}
	return textColumn
}

// plainValue is a field without its pointer; nil pointers and nil lists are null, lists are JSON.
func plainValue(v reflect.Value) any {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
		if v.IsNil() {
			return nil
		}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	}
	doc, err := json.Marshal(v.Interface())
	if err != nil {
		return nil
	}
	return string(doc)
}

// CSV writes the rows of a result, one line a row and every field of the document. Null is an empty cell, measured nothing is 0.
// A text that a spreadsheet would run as a formula gets an apostrophe before it.
func CSV(w io.Writer, r *sembench.Result) error {
	columns := columnsOf(r.Requests)
	out := csv.NewWriter(w)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	if err := out.Write(line); err != nil {
		return fmt.Errorf("writing rows as CSV: %w", err)
	}
	for _, row := range r.Requests {
		for i, c := range columns {
			line[i] = cellText(c.value(row))
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("writing rows as CSV: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

func cellText(v any) string {
	switch v := v.(type) {
	case string:
		if v != "" && strings.IndexByte("=+-@\t\r", v[0]) >= 0 {
			return "'" + v
		}
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// Parquet writes the rows of a result with the columns of CSV, all optional: null stays null.
func Parquet(w io.Writer, r *sembench.Result) error {
	columns := columnsOf(r.Requests)
	group := parquet.Group{}
	for _, c := range columns {
		node := parquet.String()
		switch c.kind {
		case integerColumn:
			node = parquet.Int(64)
		case realColumn:
			node = parquet.Leaf(parquet.DoubleType)
		case flagColumn:
			node = parquet.Leaf(parquet.BooleanType)
		}
		group[c.name] = parquet.Optional(node)
	}
	// The schema sorts its columns by name; a row's values have to stand in that order.
	slices.SortFunc(columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
	out := parquet.NewWriter(w, parquet.NewSchema("rows", group), parquet.Compression(&parquet.Zstd), parquet.CreatedBy("sembench", "", ""))
	for _, row := range r.Requests {
		values := make(parquet.Row, len(columns))
		for i, c := range columns {
			values[i] = parquet.NullValue().Level(0, 0, i)
			if v := c.value(row); v != nil {
				values[i] = parquet.ValueOf(v).Level(0, 1, i)
			}
		}
		if _, err := out.WriteRows([]parquet.Row{values}); err != nil {
			return fmt.Errorf("writing rows as Parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing rows as Parquet: %w", err)
	}
	return nil
}
