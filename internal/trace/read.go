package trace

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"sembench"
	"sembench/internal/token"
	"sembench/internal/workload"
)

// Source is an open trace.
type Source struct {
	// Format is what it was recognised as: mooncake, bailian, lmbench, azure, burstgpt, or text.
	Format string
	// BlockSize is the tokens per id; 0 for formats without ids.
	BlockSize int
	// Tokenizer counts the tokens of prompts; nil means o200k. Set it before Requests.
	Tokenizer token.Tokenizer

	name string
	wish string // the text format asked for, "" to recognise it
	in   *bufio.Reader
}

// peeked is how much of a file is looked at to recognise its format: longer than the first line of any known trace.
const peeked = 1 << 20

// Block sizes of the published traces.
const (
	mooncakeBlock = 512
	bailianBlock  = 16
)

// traceFormats are the formats read here; every other name is a text format of workload.Formats.
var traceFormats = []string{"mooncake", "bailian", "lmbench", "azure", "burstgpt"}

// Formats are the names that Open accepts.
func Formats() []string { return slices.Concat(traceFormats, workload.Formats()) }

// Open begins to read a trace, compressed or not. format is one of Formats; "" or "auto" recognises it from its first
// record. name is for messages.
func Open(r io.Reader, name, format string) (*Source, error) {
	fail := func(err error) (*Source, error) { return nil, fmt.Errorf("reading %s: %w", name, err) }
	if format != "" && format != "auto" && !slices.Contains(Formats(), format) {
		return fail(fmt.Errorf("format %q is unknown: use %s", format, strings.Join(Formats(), ", ")))
	}
	plain, err := workload.Decompress(r)
	if err != nil {
		return fail(err)
	}
	s := &Source{Format: format, name: name, in: bufio.NewReaderSize(plain, peeked)}
	head, err := s.in.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	head = trimmed(head)
	if len(head) == 0 {
		return fail(errors.New("no request in it"))
	}
	if !slices.Contains(traceFormats, format) {
		s.wish, s.Format = format, "text"
		if format == "" || format == "auto" {
			s.Format = recognise(head)
		}
	}
	s.BlockSize = map[string]int{"mooncake": mooncakeBlock, "bailian": bailianBlock}[s.Format]
	if s.Format == "lmbench" {
		s.BlockSize = fittedBlock(head)
	}
	return s, nil
}

// trimmed is text without a byte order mark and white space before it.
func trimmed(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
}

func recognise(head []byte) string {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	var l line
	switch lower := strings.ToLower(string(first[:min(len(first), 200)])); {
	case strings.HasPrefix(lower, "timestamp,contexttokens"):
		return "azure"
	case strings.HasPrefix(lower, "timestamp,") && strings.Contains(lower, "request tokens"):
		return "burstgpt"
	case !bytes.Contains(first, []byte(`"hash_ids"`)):
		return "text"
	case !l.scan(first) && l.parse(first) != nil:
		return "mooncake" // it names hash ids; reading it will tell what is wrong
	}
	switch {
	case l.hasChat:
		return "bailian"
	case l.timestampText:
		return "lmbench"
	}
	return "mooncake"
}

// fittedBlock is the size among powers of two from 8 to 4096 for which most requests at the beginning have as many ids as
// blocks; the larger of equals, 16 when none fits.
func fittedBlock(head []byte) int {
	fits := map[int]int{}
	for raw := range bytes.Lines(head) {
		var l line
		if !l.scan(bytes.TrimSpace(raw)) {
			continue
		}
		for size := 8; size <= 4096; size *= 2 {
			if blocks := (l.input + int64(size) - 1) / int64(size); blocks == int64(len(l.ids)) {
				fits[size]++
			}
		}
	}
	best := bailianBlock
	for size := 8; size <= 4096; size *= 2 {
		if fits[size] > 0 && fits[size] >= fits[best] {
			best = size
		}
	}
	return best
}

// BadLine is a line that could not be read; reading goes on after it.
type BadLine struct {
	Number int
	Err    error
}

func (e *BadLine) Error() string { return fmt.Sprintf("line %d: %v", e.Number, e.Err) }
func (e *BadLine) Unwrap() error { return e.Err }

// Requests yields the requests in order. IDs are valid until the next step. A bad line yields a *BadLine and reading goes
// on; any other error ends the sequence.
func (s *Source) Requests() iter.Seq2[Request, error] {
	switch s.Format {
	case "mooncake", "bailian", "lmbench":
		return s.hashIDs
	case "azure", "burstgpt":
		return s.table
	}
	return s.texts
}

// hashIDs reads the three dialects of hash-id JSONL. Timestamps: Mooncake whole ms, Bailian seconds, LMBench ns as text.
func (s *Source) hashIDs(yield func(Request, error) bool) {
	toMS := map[string]float64{"mooncake": 1, "bailian": 1e3, "lmbench": 1e-6}[s.Format]
	var l line
	for raw, err := range sembench.Lines(s.in) {
		if err != nil && !errors.Is(err, sembench.ErrLineTooLong) {
			yield(Request{}, err)
			return
		}
		var r Request
		if err == nil && !l.scan(raw.Text) || err == nil && !(l.hasIDs && l.hasInput) {
			err = l.parse(raw.Text)
		}
		if err == nil {
			r, err = l.request(toMS)
		}
		if err != nil {
			err = &BadLine{raw.Number, plainSyntax(err)}
		}
		if !yield(r, err) {
			return
		}
	}
}

// plainSyntax drops the line of a syntax error inside one line.
func plainSyntax(err error) error {
	var syntax *sembench.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("column %d: %s", syntax.Column, syntax.Problem)
	}
	return err
}

func (l *line) request(toMS float64) (Request, error) {
	r := Request{InputTokens: l.input, IDs: l.ids, Tenant: l.tenant, Session: l.chat}
	if l.hasOutput {
		n := l.output
		r.OutputTokens = &n
	}
	if l.timestamp != "" {
		x, err := l.timestamp.Float64()
		if err != nil {
			return r, &sembench.FieldError{Path: "timestamp", Problem: fmt.Sprintf("is %q, want a number", string(l.timestamp))}
		}
		x *= toMS
		r.ArrivalMS = &x
	}
	return r, nil
}

// textID is the id of a block that a trace names by text.
func textID(s string) uint64 { return xxh3.HashString(s) }

// columns of the two CSV traces, by header in lower case.
var columns = map[string][3]string{
	"azure":    {"timestamp", "contexttokens", "generatedtokens"},
	"burstgpt": {"timestamp", "request tokens", "response tokens"},
}

// table reads traces of lengths.
func (s *Source) table(yield func(Request, error) bool) {
	in := csv.NewReader(s.in)
	in.ReuseRecord, in.FieldsPerRecord = true, -1
	header, err := in.Read()
	if err != nil {
		yield(Request{}, err)
		return
	}
	at := map[string]int{}
	for i, name := range header {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))] = i
	}
	want := columns[s.Format]
	for _, name := range want {
		if _, there := at[name]; !there {
			yield(Request{}, fmt.Errorf("line 1: no column %q", name))
			return
		}
	}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		var bad *csv.ParseError
		if err != nil && !errors.As(err, &bad) {
			yield(Request{}, err)
			return
		}
		var r Request
		if err != nil {
			err = &BadLine{bad.Line, bad.Err}
		} else if r, err = tableRow(row, at, want); err != nil {
			number, _ := in.FieldPos(0)
			err = &BadLine{number, err}
		}
		if !yield(r, err) {
			return
		}
	}
}

func tableRow(row []string, at map[string]int, want [3]string) (r Request, err error) {
	cell := func(name string) string {
		if i, there := at[name]; there && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	count := func(name string) (int64, error) {
		x, err := strconv.ParseFloat(cell(name), 64)
		if err != nil || x < 0 || x != float64(int64(x)) {
			return 0, fmt.Errorf("%s is %q, want a whole number from 0", name, cell(name))
		}
		return int64(x), nil
	}
	arrival, err := tableTime(cell(want[0]))
	if err != nil {
		return r, fmt.Errorf("%s is %q, want seconds or a date and time", want[0], cell(want[0]))
	}
	if r.InputTokens, err = count(want[1]); err != nil {
		return r, err
	}
	output, err := count(want[2])
	r.ArrivalMS, r.OutputTokens, r.Session = &arrival, &output, strings.Clone(cell("session id"))
	return r, err
}

// tableTime is ms from seconds, or from a date and time (Azure: 2023-11-16 18:17:03.9799600).
func tableTime(cell string) (float64, error) {
	if x, err := strconv.ParseFloat(cell, 64); err == nil {
		return x * 1e3, nil
	}
	t, err := time.Parse("2006-01-02 15:04:05.999999999", strings.TrimSuffix(strings.Replace(cell, "T", " ", 1), "+00:00"))
	if err != nil {
		return 0, err
	}
	return float64(t.UnixMicro()) / 1e3, nil
}

// texts reads logs with prompts.
func (s *Source) texts(yield func(Request, error) bool) {
	tk := s.Tokenizer
	if tk == nil {
		var err error
		if tk, err = token.Open(""); err != nil {
			yield(Request{}, err)
			return
		}
	}
	var ids []uint32
	for record, err := range workload.Records(s.in, s.name, s.wish) {
		if err != nil {
			if !yield(Request{}, err) {
				return
			}
			continue
		}
		for _, request := range record.Requests() {
			ids = tk.Encode(ids[:0], request.Text)
			r := Request{
				ArrivalMS: record.ArrivalMS, InputTokens: int64(len(ids)), OutputTokens: record.OutputTokens,
				Tenant: record.Tenant, Session: record.Session, Text: request.Text, tokens: ids,
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}
