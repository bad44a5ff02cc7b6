package dataset

import (
	"strconv"
	"time"

	"sembench"
)

// formats in the order in which they are tried: a format with more specific keys stands first.
var formats = []format{
	{"sembench", has("recipient_prompt"), readManifest},
	{"rag-contexts", has("ctxs", "question"), readRAG},
	{"longbench-v2", has("choice_A", "choice_B", "context", "question"), readLongBench2},
	{"longbench", has("input", "context", "answers"), readLongBench},
	{"scbench", has("context", "multi_turns"), readSCBench},
	{"sharegpt", has("conversations"), readShareGPT},
	{"openai-batch", has("custom_id", "body"), readBatch},
	{"openai-chat", func(o map[string]any) bool {
		return has("messages")(o) && !has("timestamp")(o) && !has("session_id")(o)
	}, readPrompts},
	{"prompts", func(o map[string]any) bool { return has("prompt")(o) || has("messages")(o) }, readPrompts},
}

// readManifest: an item is its recipient, asked as its own input says.
func readManifest(f *fields) Record {
	r := Record{ID: f.text("item_id", false), Prompt: f.text("recipient_prompt", true)}
	if q := f.text("input", false); q != "" {
		r.Questions = []Question{{Text: q, Answers: f.answers("answers")}}
	}
	if meta, ok := f.object["metadata"].(map[string]any); ok {
		m := &fields{object: meta, path: "metadata.", misfit: &f.own}
		r.ArrivalMS, r.Tenant, r.Domain = m.number("arrival_ms"), m.label("tenant"), m.label("domain")
	}
	return r
}

// readRAG: MuSiQue and CacheBlend style, {ctxs [{title, text}], question, answers}.
func readRAG(f *fields) Record {
	r := Record{ID: f.label("id")}
	for c := range f.objects("ctxs", true) {
		r.Passages = append(r.Passages, Passage{c.text("title", false), c.text("text", true)})
	}
	r.Questions = []Question{{Text: f.text("question", true), Answers: f.answers("answers")}}
	return r
}

// readLongBench: LongBench v1. An empty input is a task without a question, such as a summary.
func readLongBench(f *fields) Record {
	question := f.text("input", false)
	if question == "" {
		question = "Summarise the text above."
	}
	return Record{
		ID: f.label("_id"), Language: f.text("language", false), Domain: f.text("dataset", false),
		Passages:  Paragraphs(f.text("context", true)),
		Questions: []Question{{Text: question, Answers: f.answers("answers")}},
	}
}

// readLongBench2: LongBench v2, multiple choice. The question lists the choices; the answer is the text of the right one.
func readLongBench2(f *fields) Record {
	question := f.text("question", true)
	for _, letter := range []string{"A", "B", "C", "D"} {
		question += "\n" + letter + ". " + f.text("choice_"+letter, true)
	}
	answer := f.text("answer", true)
	if len(answer) != 1 || answer[0] < 'A' || answer[0] > 'D' {
		if answer != "" {
			f.problem("answer", "is %q, want A, B, C or D", answer)
		}
		return Record{}
	}
	return Record{
		ID: f.label("_id"), Domain: f.text("domain", false),
		Passages:  Paragraphs(f.text("context", true)),
		Questions: []Question{{question, []string{f.text("choice_"+answer, true)}, answer}},
	}
}

// readSCBench: one context, several questions.
func readSCBench(f *fields) Record {
	r := Record{ID: f.label("id"), Passages: Paragraphs(f.text("context", true))}
	for t := range f.objects("multi_turns", true) {
		r.Questions = append(r.Questions, Question{Text: t.text("input", true), Answers: t.answers("answer")})
	}
	return r
}

// shareRoles are ShareGPT's names of roles.
var shareRoles = map[string]string{"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant", "system": "system", "tool": "tool", "function_call": "assistant", "observation": "tool"}

func readShareGPT(f *fields) Record {
	r := Record{ID: f.label("id")}
	for c := range f.objects("conversations", true) {
		from := c.text("from", true)
		role, known := shareRoles[from]
		if !known && from != "" {
			c.problem("from", "is %q, want human or gpt", from)
		}
		r.Messages = append(r.Messages, map[string]any{"role": role, "content": c.text("value", false)})
	}
	r.Session = r.ID
	return r
}

// readBatch: OpenAI batch input, {custom_id, method, url, body}.
func readBatch(f *fields) Record {
	id := f.label("custom_id")
	body, ok := f.object["body"].(map[string]any)
	if !ok {
		f.problem("body", "is %s, want an object", kind(f.object["body"]))
		return Record{}
	}
	r := readPrompts(&fields{object: body, path: "body.", misfit: &f.own})
	r.ID = id
	return r
}

// readPrompts: {prompt} or {messages}, with optional timestamp, session_id, tenant, output_length.
func readPrompts(f *fields) Record {
	r := Record{
		ID: f.label("id"), Session: f.label("session_id"), Tenant: f.label("tenant"), OutputTokens: f.count("output_length"),
		ArrivalMS: f.time("timestamp"),
	}
	if r.Tenant == "" {
		r.Tenant = f.label("tenant_id")
	}
	r.Tools = f.list("tools", false)
	if _, chat := f.object["messages"]; !chat {
		r.Prompt = f.text("prompt", true)
		return r
	}
	for m := range f.objects("messages", true) {
		role := m.text("role", true)
		switch content := m.object["content"].(type) {
		case string, []any:
		case nil:
			if m.object["tool_calls"] == nil && role != "assistant" {
				m.problem("content", "is missing")
			}
		default:
			m.problem("content", "is %s, want text or a list of parts", kind(content))
		}
		r.Messages = append(r.Messages, m.object)
	}
	return r
}

// time is ms since the epoch, or on the file's own clock: a number is seconds (ms above 10^11, as clocks of today tell),
// a text is RFC 3339 or a number.
func (f *fields) time(key string) *float64 {
	text, ok := f.object[key].(string)
	if !ok {
		return secondsOrMS(f.number(key))
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return secondsOrMS(&x)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		f.problem(key, "is %q, want seconds, milliseconds or RFC 3339", text)
		return nil
	}
	ms := float64(t.UnixMicro()) / 1e3
	return &ms
}

func secondsOrMS(x *float64) *float64 {
	if x == nil {
		return nil
	}
	ms := *x
	if ms < 1e11 {
		ms *= 1e3
	}
	return &ms
}

func jsonText(tree any) []byte { return sembench.AppendJSON(nil, tree, 0) }

// passageBytes is about the size of a passage that a long context is cut into.
const passageBytes = 2000

// Paragraphs cuts a long text into passages of about 2,000 bytes at blank lines, else at line ends, else at sentence
// ends; the passages joined by blank lines give the words of the text back.
func Paragraphs(text string) (out []Passage) {
	for _, part := range cutText(text, []string{"\n\n", "\n", ". ", " "}) {
		out = append(out, Passage{Text: part})
	}
	return out
}
