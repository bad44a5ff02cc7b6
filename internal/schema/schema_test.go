package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sembench"
)

func compile(t *testing.T, record any) *jsonschema.Schema {
	t.Helper()
	text := sembench.Marshal(Of("record", record, nil))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("record.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("record.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An independent validator accepts what the codec writes and refuses a document with a misfit.
func TestSchemaFitsTheCodec(t *testing.T) {
	s := compile(t, sembench.Result{})
	good := sembench.Result{ResultVersion: sembench.ResultVersion, Requests: []sembench.Row{{ItemID: "a"}}, Paired: &sembench.Paired{}}
	check := func(text []byte, want bool) {
		t.Helper()
		var doc any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); (err == nil) != want {
			t.Errorf("validation says %v for %.200s", err, text)
		}
	}
	text := sembench.Marshal(good)
	check(text, true)
	check(bytes.Replace(text, []byte(`"pairs_total": 0`), []byte(`"pairs_total": "0"`), 1), false)
	check(bytes.Replace(text, []byte(`"result_version"`), []byte(`"result_versiom"`), 1), false)
	check(bytes.Replace(text, []byte(`"item_id"`), []byte(`"a_new_field": [1], "item_id"`), 1), true)
}

func TestComments(t *testing.T) {
	docs, err := Comments(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"Row", "Row.LatencyMS", "Stamps.FirstAnswer", "Verdict"} {
		if docs[key] == "" {
			t.Errorf("no comment was found for %s", key)
		}
	}
}

func ExampleOf() {
	schema := Of("span", sembench.Span{}, nil)
	fmt.Println(string(sembench.AppendJSON(nil, schema["$ref"], 0)))
	// Output: "#/$defs/Span"
}
