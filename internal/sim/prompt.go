package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// message is one turn of a chat.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// render is the engine's chat template: tools first, each turn under its role, and the assistant's mark at the end.
// plain is the same without marks, asked the last user turn.
//
//	<|system|>
//	You are terse.
//	<|user|>
//	Why is the sky blue?
//	<|assistant|>
func render(messages []message, tools json.RawMessage) (rendered, plain, asked string, err error) {
	var full, bare strings.Builder
	if given(tools) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, tools); err != nil {
			return "", "", "", fmt.Errorf("tools: %w", err)
		}
		fmt.Fprintf(&full, "<|tools|>\n%s\n", compact.Bytes())
	}
	for i, m := range messages {
		text, err := contentText(m.Content)
		if err != nil {
			return "", "", "", fmt.Errorf("messages[%d].content: %w", i, err)
		}
		if m.Role == "" {
			return "", "", "", fmt.Errorf("messages[%d].role is empty", i)
		}
		fmt.Fprintf(&full, "<|%s|>\n%s\n", m.Role, text)
		if given(m.ToolCalls) {
			fmt.Fprintf(&full, "<|tool_calls|>\n%s\n", m.ToolCalls)
		}
		fmt.Fprintf(&bare, "%s\n", text)
		if m.Role == "user" {
			asked = text
		}
	}
	full.WriteString("<|assistant|>\n")
	return full.String(), bare.String(), asked, nil
}

func given(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text != "" && text != "null"
}

// contentText is a turn's text: a string, null, or a list of text parts joined by line ends.
func contentText(raw json.RawMessage) (string, error) {
	if !given(raw) {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("want a string or a list of text parts")
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("part %d has type %q: only text is understood", i, p.Type)
		}
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n"), nil
}

// prompt is a request's text and ids.
type prompt struct {
	plain, question string
	ids             []uint32
}

func (e *Engine) chatPrompt(messages []message, tools json.RawMessage) (prompt, error) {
	if len(messages) == 0 {
		return prompt{}, fmt.Errorf("messages is empty")
	}
	rendered, plain, asked, err := render(messages, tools)
	if err != nil {
		return prompt{}, err
	}
	return prompt{plain, ask(asked), e.tok.Encode(nil, rendered)}, nil
}

// textPrompt reads the prompt of a completion: a string, a list of one string, or token ids.
func (e *Engine) textPrompt(raw json.RawMessage) (prompt, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && given(raw) {
		return prompt{text, ask(text), e.tok.Encode(nil, text)}, nil
	}
	var texts []string
	if json.Unmarshal(raw, &texts) == nil && len(texts) == 1 {
		return prompt{texts[0], ask(texts[0]), e.tok.Encode(nil, texts[0])}, nil
	}
	var ids []uint32
	if json.Unmarshal(raw, &ids) == nil && len(ids) > 0 {
		return prompt{ids: ids}, nil
	}
	return prompt{}, fmt.Errorf("prompt: want a string, a list of one string, or a list of token ids")
}
