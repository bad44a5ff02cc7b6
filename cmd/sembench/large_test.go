package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/scenario"
)

// manyItems writes a manifest of n small items with controls and shifted copies.
func manyItems(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.jsonl")
	err := sembench.WriteFile(path, func(w io.Writer) error {
		for i := range n {
			donor := fmt.Sprintf("w%d one two three w%d four five six seven eight nine ten eleven twelve", i, i*i)
			it := sembench.Item{ItemID: fmt.Sprint(i), Dataset: "d", SourceID: fmt.Sprint(i), Transform: fmt.Sprintf("t%d", i%3), NegativeControl: i%7 == 0,
				RecipientPrompt: strings.Repeat("x ", i%5) + donor, DonorPrompts: []sembench.Donor{{DonorID: "d0", Text: donor}}}
			if _, err := fmt.Fprintf(w, "%s\n", sembench.Marshal(it)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// timeless is a document without what two runs never share.
func timeless(t *testing.T, document any) string {
	t.Helper()
	tree, err := sembench.ParseJSON(sembench.Marshal(document))
	if err != nil {
		t.Fatal(err)
	}
	var clear func(any)
	clear = func(node any) {
		object, _ := node.(map[string]any)
		for key, value := range object {
			if strings.Contains(key, "latency_ms") {
				object[key] = nil
			}
			clear(value)
		}
	}
	clear(tree)
	return string(sembench.MarshalIndent(tree))
}

// More than 5,000 rows stand beside the document; they give the aggregate that the document has, and Parquet holds what JSONL holds.
func TestLargeInput(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of items")
	}
	manifest := manyItems(t, inlineRows+200)
	folder := t.TempDir()
	run := func(name string, more ...string) sembench.Result {
		path := filepath.Join(folder, name)
		_, complaint, code := sembenchRun(t, context.Background(), append([]string{"run-offline", manifest, "--tokenizer", "regex", "--block-size", "4", "--planner", "semblend,span",
			"--output", path, "--quiet"}, more...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, complaint)
		}
		result, _, err := readResult(path)
		if err != nil {
			t.Fatal(err)
		}
		return result.Result
	}
	lines, columns := run("a.json"), run("b.json", "--rows", "parquet")
	if len(lines.Requests) != 0 || lines.RowsFile == nil || *lines.RowsFile != "a.rows.jsonl" || *columns.RowsFile != "b.rows.parquet" {
		t.Fatalf("%d rows in the document, rows in %v and %v", len(lines.Requests), lines.RowsFile, columns.RowsFile)
	}
	rows, err := readRows(filepath.Join(folder, "a.rows.jsonl"))
	if err != nil || len(rows) != inlineRows+200 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := judge.Aggregate(rows, judge.Options{BlockSize: 4})
	if got := lines.Aggregate; !bytes.Equal(sembench.Marshal(got), sembench.Marshal(want)) {
		t.Errorf("the document's aggregate is\n%s\nits rows give\n%s", sembench.MarshalIndent(got), sembench.MarshalIndent(want))
	}
	if a, b := timeless(t, lines.Aggregate), timeless(t, columns.Aggregate); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
	back, err := parquet.ReadFile[rowColumns](filepath.Join(folder, "b.rows.parquet"))
	if err != nil || len(back) != len(rows) {
		t.Fatalf("%d rows of Parquet, %v", len(back), err)
	}
	for i, row := range rows {
		got, want := back[i], columnsOf(row)
		got.SemblendLatencyMS, want.SemblendLatencyMS = nil, nil
		for p := range got.Planners {
			got.Planners[p].LatencyMS, want.Planners[p].LatencyMS = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("row %d: Parquet has %+v, JSONL %+v", i, got, want)
		}
	}
}

// columnsOf is what Parquet should hold of a row: empty lists and absent ones are one there.
func columnsOf(row sembench.Row) rowColumns {
	out := columns(&row)
	none := func(list *[]string) {
		if len(*list) == 0 {
			*list = []string{}
		}
	}
	none(&out.DonorIDs)
	for i := range out.Planners {
		none(&out.Planners[i].DonorIDs)
	}
	return out
}

// Items are read one by one: the heap does not follow the manifest's length.
func TestManifestIsNotHeld(t *testing.T) {
	if raceEnabled {
		t.Skip("memory is not its own under the race detector")
	}
	path := filepath.Join(t.TempDir(), "long.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const count, size = 1500, 20_000
	text := strings.Repeat("abcd ", size/5)
	for i := range count {
		fmt.Fprintf(file, "%s\n", sembench.Marshal(sembench.Item{ItemID: fmt.Sprint(i), Dataset: "d", SourceID: "s", Transform: "t", RecipientPrompt: text}))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s := scenario.Default()
	s.Manifest = path
	c := command()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	in, err := openSource(c, s)
	if err != nil || in.total != count {
		t.Fatalf("%d items, %v", in.total, err)
	}
	seen, highest := 0, uint64(0)
	for _, err := range in.items {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen%300 == 0 {
			highest = max(highest, heap())
		}
	}
	if seen != count || highest > before+8<<20 {
		t.Errorf("%d items of %d MB took the heap from %d to %d MB", seen, count*size>>20, before>>20, highest>>20)
	}
	// A manifest that changes between the two readings is refused.
	in, err = openSource(c, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, sembench.Marshal(sembench.Item{ItemID: "other", Dataset: "d", SourceID: "s", Transform: "t", RecipientPrompt: "x"}), 0o644); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range in.items {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "it changed while it was read") {
		t.Errorf("a manifest that changed gives %v", last)
	}
}
