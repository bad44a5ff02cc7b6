package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sembench"
)

// validator compiles a committed schema.
func validator(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "schemas", name+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits fails the test when a document does not fit its committed schema, by an independent validator.
func fits(t *testing.T, s *jsonschema.Schema, text []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%.300s\n%v", text, err)
	}
}

// Every artifact of the committed tiny run can be read, fits its schema, and gives the same result when judged again.
func TestTinyRun(t *testing.T) {
	d := copyRun(t, "../../testdata/run")
	for _, doc := range []struct{ path, schema string }{
		{d.result(), "result"}, {d.verdict(), "verdict"}, {d.calibration(), "calibration"}, {d.evidence(), "evidence"}, {d.preflight(), "preflight"},
	} {
		text, err := os.ReadFile(doc.path)
		if err != nil {
			t.Fatal(err)
		}
		fits(t, validator(t, doc.schema), text)
	}
	for _, lines := range []struct{ path, schema, head string }{
		{d.manifest(), "manifest", ""}, {d.offline(), "row", ""}, {d.observations(), "observation", "journal-head"}, {d.calibrationJournal(), "observation", "journal-head"},
	} {
		text, err := os.ReadFile(lines.path)
		if err != nil {
			t.Fatal(err)
		}
		s := validator(t, lines.schema)
		for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			if i == 0 && lines.head != "" {
				fits(t, validator(t, lines.head), line)
				continue
			}
			fits(t, s, line)
		}
	}
	var before, after sembench.Result
	if err := sembench.ReadDocument(d.result(), &before); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := sembenchRun(t, context.Background(), "judge", string(d), "--allow-simulated"); code > exitGate {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	if err := sembench.ReadDocument(d.result(), &after); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		a, b any
	}{{"aggregate", before.Aggregate, after.Aggregate}, {"paired", before.Paired, after.Paired}, {"requests", before.Requests, after.Requests}, {"checks", before.Checks, after.Checks}} {
		if a, b := sembench.Marshal(part.a), sembench.Marshal(part.b); !bytes.Equal(a, b) {
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			t.Errorf("%s judged again differs: …%.200s\nwas …%.200s\nif that is meant: make testdata", part.name, b[max(0, at-80):], a[max(0, at-80):])
		}
	}
}
