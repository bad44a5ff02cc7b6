// Package schema makes the JSON Schema (draft 2020-12) of a record from its Go type, so that schema and code cannot drift
// apart. Descriptions come from the doc comments of the source, where it is at hand.
//
// Pointers are nullable, slices and maps are not, required follows the codec's tags alone, and unknown keys are allowed: fields may be
// added, so that documents of an older or newer version fit too; none may change meaning.
package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
)

// Of is the schema of a record's type. Docs maps "Type" and "Type.Field" to comments; nil leaves descriptions out.
func Of(title string, record any, docs map[string]string) map[string]any {
	g := generator{docs: docs, defs: map[string]any{}}
	root := g.of(reflect.TypeOf(record))
	out := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   title,
		"$defs":   g.defs,
	}
	for key, value := range root {
		out[key] = value
	}
	return out
}

type generator struct {
	docs map[string]string
	defs map[string]any
}

func (g generator) of(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{g.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return map[string]any{"type": "integer"}
	case reflect.Uint64, reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float64:
		// NaN and infinities are written as null.
		return map[string]any{"type": []any{"number", "null"}}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		if _, known := g.defs[t.Name()]; !known {
			g.defs[t.Name()] = nil // a record may hold itself
			g.defs[t.Name()] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	}
	return map[string]any{} // any
}

func (g generator) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || key == "" || key == "-" {
			continue
		}
		property := g.of(f.Type)
		if comment := g.docs[t.Name()+"."+f.Name]; comment != "" {
			property["description"] = comment
		}
		properties[key] = property
		if f.Tag.Get("required") == "true" {
			required = append(required, key)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "required": required}
	if comment := g.docs[t.Name()]; comment != "" {
		out["description"] = comment
	}
	return out
}

// Comments reads the doc comments of every record in the Go files of a folder, as "Type" and "Type.Field".
func Comments(source fs.FS) (map[string]string, error) {
	docs := map[string]string{}
	names, err := fs.Glob(source, "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok {
				collect(group, docs)
			}
		}
	}
	return docs, nil
}

func collect(group *ast.GenDecl, docs map[string]string) {
	for _, spec := range group.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		comment := named.Doc.Text()
		if comment == "" {
			comment = group.Doc.Text()
		}
		note(docs, named.Name.Name, comment)
		record, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range record.Fields.List {
			comment := f.Doc.Text()
			if comment == "" {
				comment = f.Comment.Text()
			}
			for _, name := range f.Names {
				note(docs, named.Name.Name+"."+name.Name, comment)
			}
		}
	}
}

func note(docs map[string]string, key, comment string) {
	if comment = strings.Join(strings.Fields(comment), " "); comment != "" {
		docs[key] = comment
	}
}
