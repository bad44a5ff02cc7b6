package dataset

import (
	"strings"
)

// Request is one prompt; Messages are its chat, nil for a plain prompt.
type Request struct {
	Text     string
	Messages []any
}

// Requests are the prompts that a record stands for: the logged prompt; the messages as they were sent, or, where an answer
// ends them, each turn of that conversation with all that was said before it; or each question after its passages. Messages are rendered as role, line end, content, blank line: not a
// model's chat template, but the same for all, so that what prompts share is kept.
func (r Record) Requests() (prompts []Request) {
	switch {
	case r.Prompt != "":
		return []Request{{Text: r.Prompt}}
	case len(r.Messages) > 0:
		return r.turns()
	}
	var evidence strings.Builder
	for _, p := range r.Passages {
		if p.Title != "" {
			evidence.WriteString(p.Title + "\n")
		}
		evidence.WriteString(p.Text + "\n\n")
	}
	for _, q := range r.Questions {
		prompts = append(prompts, Request{Text: evidence.String() + q.Text})
	}
	return prompts
}

// turns gives all messages when no answer ends them, else the conversation up to each message that an answer follows.
func (r Record) turns() (prompts []Request) {
	var text strings.Builder
	end := len(r.Messages) - 1
	transcript := roleOf(r.Messages[end]) == "assistant"
	for i, m := range r.Messages {
		role, content := Message(m)
		text.WriteString(role + "\n" + content + "\n\n")
		if transcript && i < end && role != "assistant" && roleOf(r.Messages[i+1]) == "assistant" || !transcript && i == end {
			prompts = append(prompts, Request{text.String(), r.Messages[: i+1 : i+1]})
		}
	}
	return prompts
}

func roleOf(m any) string {
	role, _ := Message(m)
	return role
}

// Message is the role and the text of one chat message: content as it is, or the texts of its parts joined, followed by
// tool calls as JSON.
func Message(m any) (role, content string) {
	object, _ := m.(map[string]any)
	role, _ = object["role"].(string)
	switch c := object["content"].(type) {
	case string:
		content = c
	case []any:
		var parts []string
		for _, part := range c {
			p, _ := part.(map[string]any)
			if text, ok := p["text"].(string); ok {
				parts = append(parts, text)
			}
		}
		content = strings.Join(parts, "\n")
	}
	if calls, ok := object["tool_calls"].([]any); ok && len(calls) > 0 {
		content += "\n" + string(jsonText(calls))
	}
	return role, strings.TrimPrefix(content, "\n")
}
