package token

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ardanlabs/jinja"
)

// contentLoop finds a loop over the parts of a message's content.
var contentLoop = regexp.MustCompile(`for\s+\w+\s+in\s+[\w.\[\]'"]*content\b`)

// prepareChat does to messages what engines do before they render (vLLM 0.11, entrypoints/chat_utils.py): it decodes
// tool_calls[].function.arguments, and joins the text parts of a content for a template that reads strings only. What is
// no JSON object stays a string; a part that is no text is an error, as such a template would drop it.
func prepareChat(messages jinja.Value, readsParts bool) error {
	for i, message := range items(messages) {
		for _, call := range items(field(message, "tool_calls")) {
			function := field(call, "function")
			arguments := field(function, "arguments")
			if !arguments.IsString() {
				continue
			}
			if decoded, err := parseJSON(arguments.AsString()); err == nil && decoded.IsDict() {
				function.AsDict().Set("arguments", decoded)
			}
		}
		content := field(message, "content")
		if !content.IsList() || readsParts {
			continue
		}
		var texts []string
		for j, part := range items(content) {
			text := field(part, "text")
			if !text.IsString() {
				return fmt.Errorf("messages[%d].content[%d] is no text, and the template reads only text", i, j)
			}
			texts = append(texts, text.AsString())
		}
		message.AsDict().Set("content", jinja.NewString(strings.Join(texts, "\n")))
	}
	return nil
}

// field is the value of key in v; undefined when v is no object or lacks it.
func field(v jinja.Value, key string) jinja.Value {
	if !v.IsDict() {
		return jinja.Undefined()
	}
	f, _ := v.AsDict().Get(key)
	return f
}

// items is the elements of v; none when v is no list.
func items(v jinja.Value) []jinja.Value {
	if !v.IsList() {
		return nil
	}
	return v.AsList().Items
}
