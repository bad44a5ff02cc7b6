package main

import (
	"errors"

	"sembench/internal/offline"
	"sembench/internal/scenario"
	"sembench/internal/wire"
)

// setPrompts says how prompts become the text that an engine tokenizes: through a chat template, or raw for the endpoints that run none.
func setPrompts(o *offline.Options, s *scenario.Scenario) (err error) {
	o.Raw = s.API != string(wire.Chat)
	if o.Raw && s.ChatTemplate != "" && s.ChatTemplate != "none" {
		return usage(errors.New("--chat-template with --api "+s.API), "only chats are rendered: leave --chat-template out, or use --api chat")
	}
	o.Render, err = offline.ChatTemplate(s.ChatTemplate, o.Tokenizer)
	return usage(err, "")
}
