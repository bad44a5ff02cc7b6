package dataset

import (
	"strings"
)

// Requests are the prompts that a record stands for: the logged prompt; each turn of a conversation with all that was
// said before it; or each question after its passages. Messages are rendered as role, line end, content, blank line: not a
// model's chat template, but the same for all, so that what prompts share is kept.
func (r Record) Requests() (prompts []string) {
	switch {
	case r.Prompt != "":
		return []string{r.Prompt}
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
		prompts = append(prompts, evidence.String()+q.Text)
	}
	return prompts
}

// turns gives the conversation up to each user or tool message that an answer follows, or that is the last.
func (r Record) turns() (prompts []string) {
	var text strings.Builder
	for i, m := range r.Messages {
		role, content := Message(m)
		text.WriteString(role + "\n" + content + "\n\n")
		last := i == len(r.Messages)-1
		answered := !last && roleOf(r.Messages[i+1]) == "assistant"
		if role != "assistant" && (last || answered) {
			prompts = append(prompts, text.String())
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
