package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// One record of each format, as its publisher documents it.
const (
	longbench   = `{"input": "Who?", "context": "Ann is here.\n\nBob left.", "answers": ["Ann"], "length": 5, "dataset": "qasper", "language": "en", "all_classes": null, "_id": "x1"}`
	longbench2  = `{"_id": "y2", "domain": "Law", "sub_domain": "s", "difficulty": "easy", "length": "short", "question": "Which?", "choice_A": "one", "choice_B": "two", "choice_C": "three", "choice_D": "four", "answer": "C", "context": "It is three."}`
	scbench     = `{"id": 3, "context": "Some text.", "multi_turns": [{"input": "a?", "answer": "A"}, {"input": "b?", "answer": ["B", "C"]}, {"input": "c?", "answer": 4}]}`
	sharegpt    = `{"id": "conv", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}, {"from": "human", "value": "bye"}, {"from": "gpt", "value": "ciao"}]}`
	openaiChat  = `{"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}], "tools": []}`
	openaiBatch = `{"custom_id": "b1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}`
	promptLine  = `{"prompt": "hi", "timestamp": "2026-01-02T03:04:05Z", "session_id": 7, "tenant": "t", "output_length": 12}`
	manifest    = `{"item_id": "i", "dataset": "d", "source_id": "s", "transform": "x", "donor_prompts": [], "recipient_prompt": "text", "input": "q?", "answers": ["a"], "metadata": {"arrival_ms": 5, "tenant": "t"}}`
)

func TestEveryFormatIsRecognised(t *testing.T) {
	for _, c := range []struct{ text, format, want string }{
		{rag, "rag-contexts", `id=7 passages=[{T Oslo is big.}] questions=[{Which? [Oslo] }]`},
		{longbench, "longbench", `id=x1 passages=[{ Ann is here.

Bob left.}] questions=[{Who? [Ann] }]`},
		{longbench2, "longbench-v2", `id=y2 passages=[{ It is three.}] questions=[{Which?
A. one
B. two
C. three
D. four [three] C}]`},
		{scbench, "scbench", `id=3 passages=[{ Some text.}] questions=[{a? [A] } {b? [B C] } {c? [4] }]`},
		{sharegpt, "sharegpt", "id=conv passages=[] questions=[] requests=[user\nhi\n\n|user\nhi\n\nassistant\nhello\n\nuser\nbye\n\n]"},
		{openaiChat, "openai-chat", "id= passages=[] questions=[] requests=[system\nbe brief\n\nuser\nhi\n\n]"},
		{openaiBatch, "openai-batch", "id=b1 passages=[] questions=[] requests=[user\nhi\n\n]"},
		{promptLine, "prompts", "id= passages=[] questions=[] requests=[hi] arrival=1767323045000 session=7 tenant=t output=12"},
		{manifest, "sembench", "id=i passages=[] questions=[{q? [a] }] requests=[text] arrival=5 tenant=t"},
	} {
		for _, container := range []string{c.text, "[" + c.text + "]", "\xef\xbb\xbf[\r\n" + c.text + "\r\n]"} {
			for _, format := range []string{"", "auto", c.format} {
				got, err := all(Read(strings.NewReader(container), "f", format))
				if err != nil || len(got) != 1 {
					t.Errorf("%s as %q: %d records, %v", c.format, format, len(got), err)
					continue
				}
				if text := outline(got[0]); text != c.want {
					t.Errorf("%s: got\n%s\nwant\n%s", c.format, text, c.want)
				}
			}
		}
	}
}

func outline(r Record) string {
	out := fmt.Sprintf("id=%s passages=%v questions=%v", r.ID, r.Passages, r.Questions)
	if r.Prompt != "" || len(r.Messages) > 0 {
		var texts []string
		for _, q := range r.Requests() {
			texts = append(texts, q.Text)
		}
		out += " requests=[" + strings.Join(texts, "|") + "]"
	}
	if r.ArrivalMS != nil {
		out += fmt.Sprintf(" arrival=%.0f", *r.ArrivalMS)
	}
	if r.Session != "" && r.Session != r.ID {
		out += " session=" + r.Session
	}
	if r.Tenant != "" {
		out += " tenant=" + r.Tenant
	}
	if r.OutputTokens != nil {
		out += fmt.Sprintf(" output=%d", *r.OutputTokens)
	}
	return out
}

// A value of another kind than the format says, in each format: every misfit field by name.
func TestMisfitsAreNamed(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"longbench", `{"input": 3, "context": "", "answers": {}}`, "input is a number, want text; context is empty; answers is an object, want text"},
		{"longbench-v2", `{"question": "q", "choice_A": 1, "choice_B": "b", "choice_C": "c", "answer": "E", "context": "x"}`, `choice_A is a number, want text; choice_D is missing; answer is "E", want A, B, C or D`},
		{"scbench", `{"context": "x", "multi_turns": [{"input": "q", "answer": [null]}, 7]}`, "multi_turns[0].answer[0] is null, want text; multi_turns[1] is a number, want an object"},
		{"sharegpt", `{"conversations": [{"from": "robot", "value": "x"}, {"value": 1}]}`, `conversations[0].from is "robot", want human or gpt; conversations[1].from is missing; conversations[1].value is a number, want text`},
		{"openai-chat", `{"messages": [{"content": "x"}, {"role": "user"}, {"role": "user", "content": 5}]}`, "messages[0].role is missing; messages[1].content is missing; messages[2].content is a number, want text or a list of parts"},
		{"openai-batch", `{"custom_id": "a", "body": []}`, "body is a list, want an object"},
		{"openai-batch", `{"custom_id": "a", "body": {"messages": []}}`, "body.messages is empty"},
		{"prompts", `{"prompt": "", "timestamp": "soon", "output_length": -1, "tenant": []}`, `tenant is a list, want text; output_length is -1, want a whole number from 0; timestamp is "soon", want seconds, milliseconds or RFC 3339; prompt is empty`},
		{"sembench", `{"recipient_prompt": "", "metadata": {"arrival_ms": "x"}}`, "recipient_prompt is empty; metadata.arrival_ms is a string, want a number"},
	} {
		_, err := all(Read(strings.NewReader(c.text), "f", c.format))
		if want := "reading f: record 1 (line 1): " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", c.format, err, want)
		}
	}
}

// Seconds below 10^11, milliseconds above; text and numbers alike.
func TestTimes(t *testing.T) {
	for text, want := range map[string]float64{`1.5`: 1500, `1700000000`: 1.7e12, `1700000000000`: 1.7e12, `"12"`: 12000, `"1970-01-01T00:00:01.5Z"`: 1500} {
		got, err := all(Read(strings.NewReader(`{"prompt": "x", "timestamp": `+text+`}`), "f", ""))
		if err != nil || *got[0].ArrivalMS != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// No word is lost, and no piece is longer than the limit unless it has no place to cut.
func TestParagraphs(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "word%d", i)
		text.WriteString([]string{" ", " ", ". ", " ", "\n", " ", "\n\n"}[i%7])
	}
	whole := text.String()
	var joined []string
	for _, p := range Paragraphs(whole) {
		if len(p.Text) > passageBytes {
			t.Errorf("a passage of %d bytes", len(p.Text))
		}
		joined = append(joined, p.Text)
	}
	if got := strings.Join(strings.Fields(strings.Join(joined, " ")), " "); got != strings.Join(strings.Fields(whole), " ") {
		t.Error("words are lost")
	}
	if n := len(joined); n < len(whole)/passageBytes || n > 2*len(whole)/passageBytes {
		t.Errorf("%d passages of %d bytes", n, len(whole))
	}
	if got := Paragraphs(" \n\n "); got != nil {
		t.Errorf("blank text gives %v", got)
	}
	if got := Paragraphs(strings.Repeat("x", 5000)); len(got) != 1 {
		t.Errorf("a text without a place to cut gives %d passages", len(got))
	}
}

func TestMessageText(t *testing.T) {
	role, content := Message(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": "1"}}})
	if role != "assistant" || content != `[{"id": "1"}]` {
		t.Errorf("%q %q", role, content)
	}
	if role, content := Message(7); role != "" || content != "" {
		t.Errorf("%q %q", role, content)
	}
}
