package workload

import (
	"fmt"
	"strings"
)

// conversation is a chat under construction: its messages, and its text as it would be rendered without a chat template
// (role, line end, content, blank line).
type conversation struct {
	prompt
	messages []any
}

// say appends a message whose parts alternate between declared boilerplate and text of its own.
func (c *conversation) say(role string, fields map[string]any, parts ...part) *conversation {
	if len(c.messages) > 0 {
		c.own("\n\n")
	}
	c.own(role + "\n")
	message := map[string]any{"role": role}
	var content strings.Builder
	for _, p := range parts {
		content.WriteString(p.text)
		if p.shared {
			c.boilerplate(p.text)
		} else {
			c.own(p.text)
		}
	}
	message["content"] = content.String()
	for key, value := range fields {
		message[key] = value
	}
	c.messages = append(c.messages, message)
	return c
}

type part struct {
	text   string
	shared bool
}

func own(text string) part    { return part{text, false} }
func shared(text string) part { return part{text, true} }

// copy is a conversation that can go on apart.
func (c *conversation) copy() *conversation {
	out := &conversation{messages: append([]any(nil), c.messages...)}
	out.own(c.String())
	out.shared = append([]span(nil), c.shared...)
	return out
}

// chat is a draft of two conversations.
func chat(donor, recipient *conversation, asked question) draft {
	d := one(&donor.prompt, &recipient.prompt, asked)
	d.metadata = map[string]any{"messages": recipient.messages}
	d.donorMetadata = []map[string]any{{"messages": donor.messages}}
	return d
}

// reply is what an assistant says to a question: the sentence that states the fact, or the answer.
func (d document) reply(q question) string {
	switch {
	case q.fact != nil:
		return d.world.say(q.fact)
	case len(q.answers) > 0:
		return q.answers[0]
	}
	return "The passages name several."
}

// multiTurn: two questions so far; the recipient is the conversation with the second answer and a third question.
func multiTurn(k *kit) (draft, error) {
	q, first := k.doc.questions[0], k.doc.earlierQuestion()
	second := question{text: "And which figures occur in them?"}
	if len(k.doc.questions) > 2 {
		second = k.doc.questions[2]
	}
	c := new(conversation)
	c.say("user", nil, shared(pick(k.random, instructions)), own("\n\n"+evidence(k.doc.chunks, numbered)+"\n\n"), shared(pick(k.random, requests)), own("\n"+first.text))
	c.say("assistant", nil, own(k.doc.reply(first)))
	c.say("user", nil, own(second.text))
	donor := c.copy()
	c.say("assistant", nil, own(k.doc.reply(second)))
	c.say("user", nil, own(q.text))
	return chat(donor, c, q), nil
}

// agentTools: the evidence comes as results of tool calls; the recipient has read the last third as well and is asked.
func agentTools(k *kit) (draft, error) {
	q, n := k.doc.questions[0], len(k.doc.chunks)
	if n < 2 {
		return draft{}, errOneChunk
	}
	c := new(conversation)
	c.say("user", nil, shared(pick(k.random, instructions)), own("\n"), shared("Read the passages with read_passage, one after another, then wait for a question."))
	var donor *conversation
	for i, p := range k.doc.chunks {
		id, arguments := fmt.Sprintf("call_%d", i+1), fmt.Sprintf(`{"number": %d}`, i+1)
		c.say("assistant", map[string]any{"tool_calls": []any{map[string]any{
			"id": id, "type": "function", "function": map[string]any{"name": "read_passage", "arguments": arguments},
		}}}, own(""))
		c.own("read_passage(" + arguments + ")")
		c.say("tool", map[string]any{"tool_call_id": id}, own(strings.TrimSpace(p.title+"\n"+p.body)))
		if i+1 == max(1, n*2/3) {
			donor = c.copy()
		}
	}
	c.say("user", nil, shared(pick(k.random, requests)), own("\n"+q.text))
	d := chat(donor, c, q)
	tools := []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "read_passage", "description": "Gives one passage of the dossier.",
		"parameters": map[string]any{
			"type": "object", "required": []any{"number"},
			"properties": map[string]any{"number": map[string]any{"type": "integer", "description": "counts from 1"}},
		},
	}}}
	d.metadata["tools"] = tools
	d.donorMetadata[0]["tools"] = tools
	return d, nil
}
