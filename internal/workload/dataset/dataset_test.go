package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"sembench"
)

func cut(text string) (found []string, err error) {
	for e, problem := range elements(bufio.NewReader(strings.NewReader(text))) {
		if problem != nil {
			return found, problem
		}
		found = append(found, fmt.Sprintf("%d@%d %s", e.number, e.line, e.text))
	}
	return found, nil
}

func TestElements(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"", "", ""},
		{" \n\t\r\n", "", ""},
		{"[]", "", ""},
		{"[ \n ]\n", "", ""},
		{`[1,"a,]\"[",{"x":[2,3]}]`, `1@1 1|2@1 "a,]\"["|3@1 {"x":[2,3]}`, ""},
		{"\xef\xbb\xbf\r\n[\r\n  {\"a\": 1},\r\n\r\n  {\"b\": 2}\r\n]\r\n", "1@3 {\"a\": 1}|2@5 {\"b\": 2}\r\n", ""},
		{"\n{\"a\": 1}\r\n\n{\"b\": 2}", `1@2 {"a": 1}|2@4 {"b": 2}`, ""},
		{`[1,2`, "1@1 1", "line 1: the file ends inside the array (truncated?)"},
		{"[1,\n\"x", "1@1 1", "line 2: the file ends inside the array (truncated?)"},
	} {
		got, err := cut(c.text)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if strings.Join(got, "|") != c.want || message != c.err {
			t.Errorf("%q: %q, %q; want %q, %q", c.text, strings.Join(got, "|"), message, c.want, c.err)
		}
	}
}

// repeated is a reader of n bytes of one text again and again, without holding them.
type repeated struct {
	text string
	n    int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.n)], strings.Repeat(r.text, len(p)/len(r.text)+1))
	r.n -= n
	return n, nil
}

// A record beyond the limit is an error and the next one is read.
func TestOversizedRecord(t *testing.T) {
	for _, frame := range [][3]string{{"[\"", "\",", "{\"a\": 1}]"}, {"\"", "\"\n", "{\"a\": 1}"}} {
		in := io.MultiReader(strings.NewReader(frame[0]), &repeated{"x", 70 << 20}, strings.NewReader(frame[1]+frame[2]))
		var got []string
		for e, err := range elements(bufio.NewReader(in)) {
			if err != nil {
				got = append(got, "error")
			} else {
				got = append(got, string(e.text))
			}
		}
		if !slices.Equal(got, []string{"error", `{"a": 1}`}) {
			t.Errorf("%q: %q", frame[0], got)
		}
	}
}

func all(records iter.Seq2[Record, error]) (got []Record, err error) {
	var bad sembench.Problems
	for r, err := range records {
		if err != nil {
			bad.Add(err)
		} else {
			got = append(got, r)
		}
	}
	return got, bad.Err()
}

const rag = `{"ctxs": [{"title": "T", "text": "Oslo is big."}], "question": "Which?", "answers": ["Oslo"], "id": 7}`

func TestCompressedInput(t *testing.T) {
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	_, _ = io.WriteString(g, rag)
	g.Close()
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(z, rag)
	z.Close()
	for name, text := range map[string][]byte{"plain": []byte(rag), "gzip": gz.Bytes(), "zstd": zs.Bytes()} {
		got, err := all(Read(bytes.NewReader(text), "f", ""))
		if err != nil || len(got) != 1 || got[0].ID != "7" || got[0].Passages[0].Text != "Oslo is big." {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if name == "plain" {
			continue
		}
		for _, cut := range []int{3, 5, len(text) / 2, len(text) - 1} {
			if _, err := all(Read(bytes.NewReader(text[:cut]), "f", "")); err == nil {
				t.Errorf("%s cut at %d of %d: no error", name, cut, len(text))
			}
		}
	}
	_, err = all(Read(bytes.NewReader(gz.Bytes()[:gz.Len()-4]), "f.gz", ""))
	if !errors.Is(err, io.ErrUnexpectedEOF) && (err == nil || !strings.Contains(err.Error(), "unexpected EOF")) {
		t.Errorf("truncated gzip: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, format, want string }{
		{"", "", "reading f: no record in it"},
		{"\n\n", "", "reading f: no record in it"},
		{"[]", "rag-contexts", "reading f: no record in it"},
		{rag, "csv9", `reading f: format "csv9" is unknown: use ` + strings.Join(Formats(), ", ")},
		{`{"b": 1, "a": 2}`, "", "reading f: the format is not recognised from keys a, b: name it (" + strings.Join(Formats(), ", ") + ")"},
		{"3", "rag-contexts", "reading f: record 1 (line 1): is no JSON object"},
		{"{\"ctxs\": [], \"question\": \"\xff\"}", "", "reading f: record 1: line 1, column 27: invalid UTF-8 in a string"},
		{`{"ctxs": [3, {}], "question": ""}`, "", "reading f: record 1 (line 1): ctxs[0] is a number, want an object; ctxs[1].text is missing; question is empty"},
	} {
		if _, err := all(Read(strings.NewReader(c.text), "f", c.format)); err == nil || err.Error() != c.want {
			t.Errorf("%q: got\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

// No input panics, and what is read without error is read again the same.
func FuzzRead(f *testing.F) {
	for i, text := range []string{rag, longbench, longbench2, scbench, sharegpt, openaiChat, openaiBatch, promptLine, manifest} {
		f.Add([]byte(text), i)
	}
	f.Add([]byte("["+rag+",\n"+rag+"]"), 0)
	f.Add([]byte("\x1f\x8b"), 0)
	f.Fuzz(func(t *testing.T, text []byte, which int) {
		names := append(Formats(), "")
		name := names[uint(which)%uint(len(names))]
		first, err := all(Read(bytes.NewReader(text), "f", name))
		for _, r := range first {
			r.Requests()
		}
		again, second := all(Read(bytes.NewReader(text), "f", name))
		if !reflect.DeepEqual(first, again) || fmt.Sprint(err) != fmt.Sprint(second) {
			t.Errorf("two readings differ: %v, %v", first, again)
		}
	})
}
