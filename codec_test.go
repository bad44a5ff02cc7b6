package sembench

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// random fills v with arbitrary values of its type: nullable fields are sometimes nil, lists sometimes empty.
func random(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(3) > 0 && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			random(r, v.Elem(), depth+1)
		}
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "a", "naïve \u2028 <b>&", "tab\t\"quote\"\\", "日本", "\x01"}[r.IntN(6)])
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(1<<53) - 1<<52)
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Float64:
		v.SetFloat(math.Round(r.NormFloat64()*1e6) / math.Pow(10, float64(r.IntN(20)-4)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			random(r, v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			random(r, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"one", "two"}[:r.IntN(3)] {
			value := reflect.New(v.Type().Elem()).Elem()
			random(r, value, depth+1)
			v.SetMapIndex(reflect.ValueOf(key), value)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(any([]any{"text", true, json.Number("1.50"), map[string]any{"k": []any{}}}[r.IntN(4)])))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Extra" {
				v.Field(i).Set(reflect.ValueOf(map[string]any{"unknown_key": json.Number("1e-07")}))
			} else {
				random(r, v.Field(i), depth+1)
			}
		}
	}
}

// records lists every document and line that the tool writes.
var records = map[string]func() any{
	"item":        func() any { return new(Item) },
	"plan":        func() any { return new(Plan) },
	"head":        func() any { return new(JournalHead) },
	"observation": func() any { return new(Observation) },
	"row":         func() any { return new(Row) },
	"calibration": func() any { return new(Calibration) },
	"throughput":  func() any { return new(Throughput) },
	"curve":       func() any { return new(TraceCurve) },
	"truth":       func() any { return new(SimTruth) },
	"selftest":    func() any { return new(Selftest) },
	"result":      func() any { return new(Result) },
	"verdict":     func() any { return new(Verdict) },
}

// A random record written and read again is written to the same bytes, unknown keys included; encoding/json, an
// independent reader, sees the same values in it.
func TestRecordsRoundTrip(t *testing.T) {
	for name, fresh := range records {
		for seed := range uint64(50) {
			record := fresh()
			random(rand.New(rand.NewPCG(seed, 1)), reflect.ValueOf(record).Elem(), 0)
			text := Marshal(record)
			back := fresh()
			if err := Unmarshal(text, back); err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, text)
			}
			if again := Marshal(back); !bytes.Equal(text, again) {
				t.Fatalf("%s, seed %d:\n%s\nbecame\n%s", name, seed, text, again)
			}
			indented, err := ParseJSON(MarshalIndent(record))
			if err != nil || !bytes.Equal(AppendJSON(nil, indented, 0), text) {
				t.Fatalf("%s, seed %d: the indented form says something else (%v)", name, seed, err)
			}
			var std any
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(&std); err != nil {
				t.Fatalf("%s, seed %d: encoding/json: %v", name, seed, err)
			}
			if tree, _ := ParseJSON(text); !reflect.DeepEqual(tree, std) {
				t.Fatalf("%s, seed %d: ParseJSON and encoding/json differ on %s", name, seed, text)
			}
		}
	}
}

func TestUnknownKeysSurvive(t *testing.T) {
	text := `{"item_id": "a", "metadata": {"future": [1.50, {"x": null}]}, "new_field": {"k": 1e5}, "donor_prompts": [{"donor_id": "d", "text": "t", "later": true}]}`
	var it Item
	if err := Unmarshal([]byte(text), &it); err != nil {
		t.Fatal(err)
	}
	out := string(Marshal(it))
	for _, want := range []string{`"future": [1.50, {"x": null}]`, `"new_field": {"k": 1e5}`, `"later": true`} {
		if !bytes.Contains([]byte(out), []byte(want)) {
			t.Errorf("%s is lost in %s", want, out)
		}
	}
}

// Messages are part of the contract with people: exact.
func TestMalformedInput(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, `line 1, column 1: the text ends where a value should be (truncated?)`},
		{`{"a": 1`, `line 1, column 8: the text ends inside a value (truncated?): want ',' or '}'`},
		{"{\"item_id\": \"x\",\n \"item_id\": \"y\"}", `line 2, column 2: duplicate key "item_id"`},
		{`{"item_id": "\ud800"}`, `line 1, column 20: lone surrogate \ud800`},
		{`{"item_id": "\udc00x"}`, `line 1, column 20: lone surrogate \udc00`},
		{`{"item_id": 5}`, `item_id is a number, want a string`},
		{`{"item_id": null}`, `item_id is null, want a string`},
		{`{"donor_prompts": [{"text": []}], "answers": "x"}`, `donor_prompts[0].text is a list, want a string; answers is a string, want a list`},
		{`{"negative_control": 1}`, `negative_control is a number, want true or false`},
		{`[]`, `the document is a list, want an object`},
		{`{} x`, `line 1, column 4: unexpected text after the value`},
		{`{"a": 01}`, `line 1, column 7: malformed number`},
		{`{"a": "` + "\xff" + `"}`, `line 1, column 8: invalid UTF-8 in a string`},
		{`{"a" 1}`, `line 1, column 6: want ':' after key "a"`},
		{`{a: 1}`, `line 1, column 2: want an object key in double quotes`},
		{`nul`, `line 1, column 1: unexpected "n"`},
	} {
		var it Item
		if err := Unmarshal([]byte(c.text), &it); err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	var row Row
	if err := Unmarshal([]byte(`{"total_blocks": 1.5}`), &row); err == nil || err.Error() != "item_id is missing; total_blocks is a number, want a whole number" {
		t.Errorf("row: %v", err)
	}
}

// Spellings by python3 -c 'import json; print(json.dumps([...]))'.
func TestSpellingIsPythons(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{1.0, "1.0"}, {1e-7, "1e-07"}, {1e16, "1e+16"}, {123456789012345680.0, "1.2345678901234568e+17"}, {0.1, "0.1"}, {1e-4, "0.0001"},
		{1e-5, "1e-05"}, {math.Copysign(0, -1), "-0.0"}, {9999999999999998.0, "9999999999999998.0"}, {1e22, "1e+22"}, {5e-324, "5e-324"},
		{math.Inf(1), "null"}, {math.NaN(), "null"}, {map[string]any{"b": 1, "a": []any{}}, `{"a": [], "b": 1}`},
		{"<&>\u2028é\u007f\n\x1f", "\"<&>\u2028é\u007f\\n\\u001f\""},
	} {
		if got := string(AppendJSON(nil, c.value, 0)); got != c.want {
			t.Errorf("%v is written %s, want %s", c.value, got, c.want)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a": [1, 2.50, "x\u00e9", null, true]}`, `"\ud83d\ude00"`, `[[[[]]]]`, `-0`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := ParseJSON(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("accepted what encoding/json rejects: %q", text)
		}
		again, err := ParseJSON(AppendJSON(nil, tree, 0))
		if err != nil || !reflect.DeepEqual(tree, again) {
			t.Fatalf("%q came back as %v (%v)", text, again, err)
		}
	})
}
