package sembench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	var got []string
	for line, err := range Lines(strings.NewReader("\xef\xbb\xbfa\r\n\n  \nb\u2028c\n" + long + "\ntorn")) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Torn != (line.Number == 6) {
			t.Errorf("line %d: torn is %v", line.Number, line.Torn)
		}
		got = append(got, string(line.Text))
	}
	if want := []string{"a", "b\u2028c", long, "torn"}; !slices.Equal(got, want) {
		t.Errorf("got %d lines, first %q", len(got), got[0])
	}
}

// A line above the limit is an error with its number, and the next one is read.
func TestLineTooLong(t *testing.T) {
	in := io.MultiReader(strings.NewReader("first\n"), io.LimitReader(endless{}, MaxLine+10), strings.NewReader("\nlast\n"))
	var texts []string
	tooLong := 0
	for line, err := range Lines(in) {
		if errors.Is(err, ErrLineTooLong) && line.Number == 2 {
			tooLong++
			continue
		}
		texts = append(texts, string(line.Text))
	}
	if tooLong != 1 || !slices.Equal(texts, []string{"first", "last"}) {
		t.Errorf("%d lines too long, others %q", tooLong, texts)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A failing writer leaves the old file as it was and nothing beside it.
func TestWriteFileIsAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "doc.json")
	write := func(text string, fail error) error {
		return WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, text)
			return fail
		})
	}
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk full")
	if err := write("new", broken); !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("the error is %v", err)
	}
	text, _ := os.ReadFile(path)
	entries, _ := os.ReadDir(filepath.Dir(path))
	if string(text) != "old" || len(entries) != 1 {
		t.Errorf("%q stands in it, with %d files in the folder", text, len(entries))
	}
}

func TestReadManifestNamesEveryProblem(t *testing.T) {
	good := `{"item_id": "a", "dataset": "d", "source_id": "s", "transform": "t", "recipient_prompt": "p"}`
	_, _, err := LoadManifest(strings.NewReader(good+"\n"+good+"\n"+
		`{"dataset": "d", "source_id": "s", "transform": "t", "recipient_prompt": "", "donor_prompts": [{"text": "x"}], "benchmark_version": "v9"}`+"\n"+
		`{"item_id": "b", "dataset": "d`+"\n"), "m.jsonl")
	want := `reading m.jsonl: line 2: item_id repeats "a" of line 1: ids must be unique
reading m.jsonl: line 3: recipient_prompt is missing or empty: nothing would be measured; benchmark_version is "v9", want "sembench.manifest.v1"; donor_prompts[0].donor_id is missing or empty
reading m.jsonl: line 4, column 29: the text ends inside a string (truncated?)`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, _, err := LoadManifest(strings.NewReader("\n"), "m.jsonl"); err == nil {
		t.Error("an empty manifest is accepted")
	}
}

// The id and the file's digest by python3: hashlib.sha256("d\x1fs\x1ft".encode()).hexdigest()[:16].
func TestDefaultItemID(t *testing.T) {
	if got, want := DefaultItemID("d", "s", "t"), "6138f3764c931b3e"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJournalDropsATornLastLine(t *testing.T) {
	text := `{"schema": "sembench.observations.v1", "run_id": "r", "manifest_sha256": "m", "config_sha256": "c"}` + "\n" +
		`{"seq": 1, "item_id": "a"}` + "\n" + `{"seq": 2, "ite`
	head, lines, err := ReadJournal(strings.NewReader(text), "j")
	if err != nil || head.RunID != "r" {
		t.Fatal(head, err)
	}
	n := 0
	for o, err := range lines {
		if n++; err != nil || o.Seq != 1 {
			t.Errorf("line %d: %v %v", n, o.Seq, err)
		}
	}
	if n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
	if _, _, err := ReadJournal(strings.NewReader(`{"schema": "x", "run_id": "r", "manifest_sha256": "m", "config_sha256": "c"}`), "j"); err == nil {
		t.Error("a journal of another schema is accepted")
	}
}
