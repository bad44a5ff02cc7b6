package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tokenizerConfig is what a tokenizer's folder says about chats.
type tokenizerConfig struct {
	sources map[string]string // by name; "default" is the only one that most have
	tokens  map[string]string // bos_token and its like
	addBOS  bool              // add_bos_token: bos_token goes before raw prompts
}

// readConfig reads tokenizer_config.json and chat_template.jinja in folder; either may be absent.
func readConfig(folder string) (tokenizerConfig, error) {
	c := tokenizerConfig{sources: map[string]string{}, tokens: map[string]string{}}
	path := filepath.Join(folder, "tokenizer_config.json")
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return c, fmt.Errorf("reading tokenizer folder: %w", err)
	default:
		if err := c.parse(data); err != nil {
			return c, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	data, err = os.ReadFile(filepath.Join(folder, "chat_template.jinja"))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return c, fmt.Errorf("reading tokenizer folder: %w", err)
	default:
		c.sources = map[string]string{"default": string(data)}
	}
	return c, nil
}

// parse reads a tokenizer_config.json. chat_template is a string or a list of named ones; tokens are strings or objects
// with content.
func (c *tokenizerConfig) parse(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for key, raw := range fields {
		var text string
		var object struct{ Content string }
		var named []struct{ Name, Template string }
		switch {
		case key == "chat_template" && json.Unmarshal(raw, &text) == nil && text != "":
			c.sources["default"] = text
		case key == "chat_template" && json.Unmarshal(raw, &named) == nil:
			for _, n := range named {
				c.sources[n.Name] = n.Template
			}
		case key == "add_bos_token":
			c.addBOS = string(raw) == "true"
		case !strings.HasSuffix(key, "_token"):
		case json.Unmarshal(raw, &text) == nil && text != "":
			c.tokens[key] = text
		case json.Unmarshal(raw, &object) == nil && object.Content != "":
			c.tokens[key] = object.Content
		}
	}
	return nil
}
