package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"sembench/internal/token"
)

func collect(t *testing.T, text, format string) (requests []Request, problems []string, s *Source) {
	t.Helper()
	s, err := Open(strings.NewReader(text), "f", format)
	if err != nil {
		return nil, []string{err.Error()}, nil
	}
	for r, err := range s.Requests() {
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		r.IDs = append([]uint64(nil), r.IDs...)
		requests = append(requests, r)
	}
	return requests, problems, s
}

func brief(r Request) string {
	arrival, output := "-", "-"
	if r.ArrivalMS != nil {
		arrival = fmt.Sprint(*r.ArrivalMS)
	}
	if r.OutputTokens != nil {
		output = fmt.Sprint(*r.OutputTokens)
	}
	return fmt.Sprint(arrival, " ", r.InputTokens, " ", output, " ", r.IDs, " ", r.Tenant, "/", r.Session)
}

// One line of each published format, as its documentation shows it.
func TestTraceFormats(t *testing.T) {
	for _, c := range []struct {
		name, text, format string
		block              int
		want               string
	}{
		{"mooncake", `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`, "mooncake", 512, "27482 6955 52 [46 47] /"},
		{"bailian", `{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 30, "output_length": 8, "type": "text", "turn": 1, "hash_ids": [1089, 1090]}`, "bailian", 16, "61114 30 8 [1089 1090] /159"},
		{"lmbench", `{"timestamp": "1700000000000000", "input_length": 100, "output_length": 5, "hash_ids": [7, 8, 9, 10]}`, "lmbench", 32, "1.7e+09 100 5 [7 8 9 10] /"},
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 00:00:01.5000000,374,44\r\n", "azure", 0, "1.7000928015e+12 374 44 [] /"},
		{"burstgpt", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n", "burstgpt", 0, "5000 472 18 [] /"},
		{"burstgpt v2", "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5.5,s1,3,GPT-4,472,18,490,API log\n", "burstgpt", 0, "5500 472 18 [] /s1"},
		{"tenant, text ids", `{"timestamp": 1, "input_length": 512, "output_length": null, "hash_ids": ["a"], "tenant": "t"}`, "mooncake", 512, fmt.Sprint("1 512 - [", textID("a"), "] t/")},
		{"BOM, CRLF, blank lines", "\xef\xbb\xbf\r\n{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [3]}\r\n\r\n", "mooncake", 512, "1 5 2 [3] /"},
	} {
		requests, problems, s := collect(t, c.text, "")
		if len(problems) > 0 || len(requests) != 1 || brief(requests[0]) != c.want || s.Format != c.format || s.BlockSize != c.block {
			t.Errorf("%s: %v %v (%v), want %s", c.name, requests, problems, s, c.want)
			for _, r := range requests {
				t.Log(brief(r))
			}
		}
	}
}

func TestBadLines(t *testing.T) {
	const good = `{"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [3]}` + "\n"
	for _, c := range []struct{ text, want string }{
		{good + `{"timestamp": 1, "input_length": "5", "hash_ids": [3]}`, `line 2: input_length is "5", want a whole number from 0`},
		{good + `{"timestamp": 1, "input_length": 5.5, "hash_ids": [3, "x", null]}`, `line 2: hash_ids[2] is null, want a whole number or text; input_length is 5.5, want a whole number from 0`},
		{good + `{"timestamp": true, "input_length": 5, "hash_ids": 7}`, "line 2: hash_ids is 7, want a list; timestamp is a boolean, want a number or text"},
		{good + `{"timestamp": "soon", "input_length": 5, "hash_ids": []}`, `line 2: timestamp is "soon", want a number`},
		{good + `{"timestamp": 1, "hash_ids": [3]}`, "line 2: input_length is missing"},
		{good + `{"timestamp": 1, "input_length": 5}`, "line 2: hash_ids is missing"},
		{good + `{"timestamp": 1, "input_len`, "line 2: column 18: the text ends inside a string (truncated?)"},
		{good + `[1]`, "line 2: is no JSON object"},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 00:00:01,x,44\n", `line 2: contexttokens is "x", want a whole number from 0`},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\nsoon,1,44\n", `line 2: timestamp is "soon", want seconds or a date and time`},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n1,2\n", `line 2: generatedtokens is "", want a whole number from 0`},
		{"TIMESTAMP,ContextTokens\n1,2\n", `line 1: no column "generatedtokens"`},
	} {
		_, problems, _ := collect(t, c.text, "")
		if strings.Join(problems, "|") != c.want {
			t.Errorf("%s: got %q, want %q", c.text, problems, c.want)
		}
	}
	if _, problems, _ := collect(t, good, "parquet"); len(problems) != 1 || !strings.HasPrefix(problems[0], `reading f: format "parquet" is unknown: use mooncake, `) {
		t.Error(problems)
	}
}

// One bad line in a thousand is a counted warning, one in twenty an error.
func TestBadShare(t *testing.T) {
	trace := func(good int) io.Reader {
		return strings.NewReader(strings.Repeat(`{"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [3]}`+"\n", good) + "{}\n")
	}
	c, err := Analyze(trace(1000), "f", "", Options{})
	if err != nil || c.Requests != 1000 || !strings.Contains(strings.Join(c.Warnings, "\n"), "1 lines could not be read, the first: line 1001: hash_ids is missing") {
		t.Errorf("%v, %v", c.Warnings, err)
	}
	if _, err := Analyze(trace(20), "f", "", Options{}); err == nil || !strings.HasPrefix(err.Error(), "reading f: 1 of 21 lines cannot be read: line 21: ") {
		t.Error(err)
	}
	c, err = Analyze(strings.NewReader(`{"timestamp": 1, "input_length": 5000, "output_length": 2, "hash_ids": [3]}`), "f", "", Options{})
	if err != nil || !strings.Contains(strings.Join(c.Warnings, "\n"), "1 of 1 requests have another number of block ids than input_length / 512, rounded up") {
		t.Errorf("misfit: %v, %v", c.Warnings, err)
	}
}

// endless is n bytes of one digit.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	for i := range p[:n] {
		p[i] = '1'
	}
	e.n -= n
	return n, nil
}

// A line of 200 MB is a bad line; the ones around it are read.
func TestHugeLine(t *testing.T) {
	const good = `{"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [3]}` + "\n"
	s, err := Open(io.MultiReader(strings.NewReader(good+"["), &endless{200 << 20}, strings.NewReader("\n"+good)), "f", "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, err := range s.Requests() {
		got = append(got, fmt.Sprint(err))
	}
	if strings.Join(got, "|") != "<nil>|line 2: line is longer than 64 MiB|<nil>" {
		t.Errorf("got %q", got)
	}
}

func TestTruncatedGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	for i := range 20000 {
		fmt.Fprintf(w, `{"timestamp": %d, "input_length": 5, "output_length": 2, "hash_ids": [%d]}`+"\n", i, i*7919)
	}
	w.Close()
	if c, err := Analyze(bytes.NewReader(z.Bytes()), "f", "", Options{}); err != nil || c.Requests != 20000 {
		t.Fatalf("whole: %v, %v", c.Requests, err)
	}
	for _, cut := range []int{5, z.Len() / 2, z.Len() - 1} {
		if _, err := Analyze(bytes.NewReader(z.Bytes()[:cut]), "f", "", Options{}); err == nil {
			t.Errorf("cut at %d: no error", cut)
		}
	}
}

// By hand with the regex tokenizer, blocks of 4: the second prompt repeats the first's two blocks behind another word, so
// no prefix and no aligned block is the same, but span finds a run that covers its second block.
func TestTextLog(t *testing.T) {
	tk, err := token.Open("regex")
	if err != nil {
		t.Fatal(err)
	}
	const log = `{"prompt": "a b c d e f g h", "tenant": "x"}
{"prompt": "z a b c d e f g h"}
{"messages": [{"role": "user", "content": "q"}], "timestamp": 12}
`
	c, err := Analyze(strings.NewReader(log), "log.jsonl", "", Options{BlockSize: 4, Tokenizer: tk})
	if err != nil {
		t.Fatal(err)
	}
	if c.Requests != 3 || c.BlockIDs != 4 || c.InputTokens != 8+9+2 || c.Tokenizer != "regex" {
		t.Errorf("%+v", c)
	}
	if *c.Infinite.BlockHitRate != 0 || *c.AnyPosition.BlockHitRate != 0 || *c.Span.BlockHitRate != 0.25 || c.Semantic == nil {
		t.Errorf("prefix %v, any %v, span %v", *c.Infinite.BlockHitRate, *c.AnyPosition.BlockHitRate, *c.Span.BlockHitRate)
	}
	c, err = Analyze(strings.NewReader(`{"prompt": "a b c d e f g h"}`+"\n"+`{"prompt": "e f g h a b c d"}`+"\n"+`{"prompt": "a b c d x"}`), "log.jsonl", "prompts", Options{BlockSize: 4, Tokenizer: tk})
	if err != nil || *c.Infinite.BlockHitRate != 0.2 || *c.AnyPosition.BlockHitRate != 0.6 || c.Infinite.TokenHitRate == nil {
		t.Errorf("%+v %v", c, err)
	}
}

// A prompt of 64 words twice: the second's 16 blocks of 32 are what every rung finds, the planner semblend too.
func TestSemanticReuseOfARepeat(t *testing.T) {
	var words []string
	for i := range 64 {
		words = append(words, fmt.Sprint("w", i))
	}
	line := `{"prompt": "` + strings.Join(words, " ") + `"}` + "\n"
	c, err := Analyze(strings.NewReader(line+line), "f", "", Options{BlockSize: 4, TokenizerSpec: "regex"})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*float64{"prefix": c.Infinite.BlockHitRate, "any": c.AnyPosition.BlockHitRate, "span": c.Span.BlockHitRate, "semantic": c.Semantic.BlockHitRate} {
		if *got != 0.5 {
			t.Errorf("%s: %v, want 0.5", name, *got)
		}
	}
	if _, err := Analyze(strings.NewReader(line), "f", "", Options{TokenizerSpec: "no such file"}); err == nil {
		t.Error("a missing tokenizer is no error")
	}
}

func FuzzOpen(f *testing.F) {
	for _, text := range []string{
		`{"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [3, 4]}`,
		`{"chat_id": 1, "parent_chat_id": -1, "timestamp": 6.1, "input_length": 3, "hash_ids": []}`,
		"TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n", "Timestamp,Model,Request tokens,Response tokens\n1,x,2,3", `{"prompt": "x"}`, "\x1f\x8b",
	} {
		f.Add([]byte(text))
	}
	tk, err := token.Open("regex")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Analyze(bytes.NewReader(text), "f", "", Options{Tokenizer: tk})
		if err != nil {
			return
		}
		for _, x := range []*float64{c.Infinite.BlockHitRate, c.Infinite.TokenHitRate, c.AnyPosition.BlockHitRate} {
			if x != nil && !(*x >= 0 && *x <= 1) {
				t.Errorf("a rate of %v", *x)
			}
		}
	})
}

// The quick scanner and the strict parser agree on every line that the quick one takes, but for keys given twice, which
// only the strict one sees.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [3, 4], "x": "y", "tenant": "t"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var quick, strict line
		if !quick.scan(text) || !quick.hasIDs || !quick.hasInput {
			return
		}
		if err := strict.parse(text); err != nil {
			if !strings.Contains(err.Error(), "duplicate key") {
				t.Fatalf("%q is taken, though %v", text, err)
			}
			return
		}
		if fmt.Sprint(quick) != fmt.Sprint(strict) {
			t.Errorf("%q: %+v and %+v", text, quick, strict)
		}
	})
}
