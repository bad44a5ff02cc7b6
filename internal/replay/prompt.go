package replay

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"sembench"
	"sembench/internal/wire"
)

// prompt is what a request says, in the forms of all endpoints.
type prompt struct {
	messages []any
	tools    []any
	text     string
	// tenant is metadata.cache_salt: the step's salt goes in front of it.
	tenant string
}

// recipient is an item's measured prompt. Completions and the native endpoint have no system turn: the system prompt
// goes in front, with a blank line.
func recipient(item sembench.Item) prompt {
	return prompt{item.Messages(), tools(item.Metadata), withSystem(item, item.RecipientPrompt), item.Text("cache_salt")}
}

// donor is a donor's prompt, with the item's system prompt and tools.
func donor(item sembench.Item, d sembench.Donor) prompt {
	p := prompt{item.DonorMessages(d), tools(d.Metadata), withSystem(item, d.Text), item.Text("cache_salt")}
	if p.tools == nil {
		p.tools = tools(item.Metadata)
	}
	return p
}

func tools(metadata map[string]any) []any {
	list, _ := metadata["tools"].([]any)
	return list
}

func withSystem(item sembench.Item, text string) string {
	if system := item.Text("system_prompt"); system != "" {
		return system + "\n\n" + text
	}
	return text
}

// plain is a prompt of one user turn.
func plain(text string) prompt {
	return prompt{messages: []any{userTurn(text)}, text: text}
}

func userTurn(text string) any { return map[string]any{"role": "user", "content": text} }

// beginning is what every prompt with p's template, system prompt and tools starts with, followed by one user word.
func (p prompt) beginning(item sembench.Item, word string) prompt {
	var turns []any
	for _, m := range p.messages {
		message, _ := m.(map[string]any)
		if role, _ := message["role"].(string); role != "system" && role != "developer" {
			break
		}
		turns = append(turns, m)
	}
	return prompt{append(turns, userTurn(word)), p.tools, withSystem(item, word), p.tenant}
}

// salt is what sets a step's requests apart from all others; the zero salt sets nothing apart.
type salt struct {
	field string // value of cache_salt
	nonce string // first words of the first message
}

// newSalt derives a salt from what names a step. The nonce is six groups of three digits: tokenizers either keep such a group whole
// or split every digit, so that all nonces have the same number of tokens (Preflight checks that), in 60 bits.
func newSalt(kind string, parts ...string) salt {
	digest := sembench.SHA256([]byte(strings.Join(parts, "\x1f")))
	if kind == SaltField {
		return salt{field: "sb-" + digest[:24]}
	}
	groups := make([]string, 6)
	for i := range groups {
		var n uint
		fmt.Sscanf(digest[i*8:i*8+8], "%x", &n)
		groups[i] = fmt.Sprintf("%03d", n%1000)
	}
	return salt{nonce: strings.Join(groups, " ") + "\n"}
}

// apply gives the prompt with the salt in it, and the cache_salt to send. p is not changed.
func (s salt) apply(p prompt) (prompt, string) {
	field := p.tenant
	if s.field != "" {
		field = s.field
		if p.tenant != "" {
			field += "." + p.tenant
		}
	}
	if s.nonce == "" {
		return p, field
	}
	p.text = s.nonce + p.text
	if len(p.messages) > 0 {
		first, _ := p.messages[0].(map[string]any)
		first = maps.Clone(first)
		switch content := first["content"].(type) {
		case []any:
			first["content"] = append([]any{map[string]any{"type": "text", "text": s.nonce}}, content...)
		case string:
			first["content"] = s.nonce + content
		default:
			first["content"] = s.nonce
		}
		p.messages = append([]any{first}, p.messages[1:]...)
	}
	return p, field
}

// request is the wire request of a prompt.
func (c Config) request(base, id string, p prompt, s salt, maxTokens int) wire.Request {
	p, field := s.apply(p)
	plain := presets[c.Engine].plain
	return wire.Request{
		API: c.API, BaseURL: base, Model: c.Model, Messages: p.messages, Tools: p.tools, Prompt: p.text,
		MaxTokens: maxTokens, Seed: c.SamplingSeed, Salt: field, RequestID: id, HeaderIDOnly: plain, ExtraBody: c.ExtraBody,
	}
}

// randomWords gives n pseudo-words of three or four syllables, drawn from 70 syllables: no two such texts share a
// block's worth of tokens, and no natural text does.
func randomWords(random *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		var w strings.Builder
		for range 3 + random.IntN(2) {
			w.WriteByte("bdfgklmnprstvz"[random.IntN(14)])
			w.WriteByte("aeiou"[random.IntN(5)])
		}
		words[i] = w.String()
	}
	return strings.Join(words, " ")
}
