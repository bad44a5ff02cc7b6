package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// Template is a model's chat template: it turns messages into the prompt text that an engine tokenizes. Safe for
// concurrent use. The environment is that of transformers' apply_chat_template: trimmed blocks, tojson as Python's
// json.dumps writes, raise_exception and strftime_now.
//
// Where Python's Jinja raises on a careless template (iterating over none), the library behind this renders nothing
// instead; and none that is printed is "", where Python prints None.
type Template struct {
	// Now is the clock behind strftime_now, which some models write into the system prompt; nil: time.Now.
	Now func() time.Time

	name      string
	plain     compiled
	withTools compiled // for messages with tools, where the model has a template of its own for them
	variables map[string]jinja.Value
}

// OpenTemplate gives the chat template that spec names, for prompts that t will tokenize:
//   - "none" or "": nil, no template; the prompt text is used as it is
//   - "auto": the template beside t's tokenizer.json (chat_template.jinja, or chat_template in tokenizer_config.json);
//     an error when t is no file or its folder has none
//   - anything else: the path of a Jinja file
//
// bos_token and its like come from the tokenizer_config.json beside t's file; elsewhere they are undefined.
func OpenTemplate(spec string, t Tokenizer) (*Template, error) {
	if spec == "" || spec == "none" {
		return nil, nil
	}
	folder := ""
	if b, ok := t.(*bpe); ok {
		folder = b.folder
	}
	var config tokenizerConfig
	if folder != "" {
		var err error
		if config, err = readConfig(folder); err != nil {
			return nil, fmt.Errorf("opening chat template: %w", err)
		}
	}
	if spec != "auto" {
		source, err := os.ReadFile(spec)
		if err != nil {
			return nil, fmt.Errorf("opening chat template: %w (auto, none or a Jinja file)", err)
		}
		config.sources = map[string]string{"default": string(source)}
	} else if folder == "" {
		return nil, fmt.Errorf("opening chat template auto: tokenizer %s has no folder to look in: name a template file, or none", t.Name())
	} else if len(config.sources) == 0 {
		return nil, fmt.Errorf("opening chat template auto: no chat_template in %s: name a template file, or none", folder)
	}
	return config.compile(spec)
}

func (c *tokenizerConfig) compile(spec string) (*Template, error) {
	t := &Template{name: spec, variables: map[string]jinja.Value{}}
	source, ok := c.sources["default"]
	if !ok {
		return nil, fmt.Errorf("opening chat template %s: several templates and none is named default", spec)
	}
	var err error
	if t.plain, err = compileJinja(source); err != nil {
		return nil, fmt.Errorf("opening chat template %s: %w", spec, err)
	}
	t.withTools = t.plain
	if source, ok := c.sources["tool_use"]; ok {
		if t.withTools, err = compileJinja(source); err != nil {
			return nil, fmt.Errorf("opening chat template %s: tool_use: %w", spec, err)
		}
	}
	for key, token := range c.tokens {
		t.variables[key] = jinja.NewString(token)
	}
	return t, nil
}

// compiled is a template and whether it goes through the parts of a message's content itself.
type compiled struct {
	*jinja.Template
	readsParts bool
}

// toJSON finds the filter tojson in expressions and statements.
var toJSON = regexp.MustCompile(`\|\s*tojson\b`)

// compileJinja compiles source with our JSON filter in the place of the library's, which sorts keys and escapes < and &
// when it indents. A filter that is not built in is looked up among the variables.
func compileJinja(source string) (compiled, error) {
	t, err := jinja.Compile(toJSON.ReplaceAllString(source, "| python_json"))
	return compiled{t, contentLoop.MatchString(source)}, err
}

// Render is the prompt text for messages and tools (nil: none), with the opening of the assistant's turn when
// addGenerationPrompt is set. Messages and tools are what a request carries: anything that encoding/json can write,
// keys in the order in which it writes them. Tool arguments that are JSON in a string are decoded, as engines do
// before they render; content in text parts becomes one string, joined by line ends, unless the template reads
// parts. Rendering the same values gives the same text, but for strftime_now.
func (t *Template) Render(messages, tools []any, addGenerationPrompt bool) (text string, err error) {
	chat, err := jinjaValue(messages)
	if err != nil {
		return "", fmt.Errorf("rendering chat template %s: messages: %w", t.name, err)
	}
	offered := jinja.None()
	template := t.plain
	if len(tools) > 0 {
		template = t.withTools
		if offered, err = jinjaValue(tools); err != nil {
			return "", fmt.Errorf("rendering chat template %s: tools: %w", t.name, err)
		}
	}
	if err := prepareChat(chat, template.readsParts); err != nil {
		return "", fmt.Errorf("rendering chat template %s: %w", t.name, err)
	}
	now := t.Now
	if now == nil {
		now = time.Now
	}
	variables := map[string]jinja.Value{
		"messages": chat, "tools": offered, "documents": jinja.None(),
		"add_generation_prompt": jinja.NewBool(addGenerationPrompt),
		"python_json":           jinja.NewCallable("tojson", pythonJSON),
		"strftime_now": jinja.NewCallable("strftime_now", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			if len(args) != 1 || !args[0].IsString() {
				return jinja.Undefined(), errors.New("strftime_now wants a format")
			}
			s, err := strftime(now(), args[0].AsString())
			return jinja.NewString(s), err
		}),
	}
	for key, value := range t.variables {
		variables[key] = value
	}
	// The library answers a template's misuse of its values with a panic in places.
	defer func() {
		if r := recover(); r != nil {
			text, err = "", fmt.Errorf("rendering chat template %s: the template failed: %v", t.name, r)
		}
	}()
	if text, err = template.RenderValues(variables); err != nil {
		return "", fmt.Errorf("rendering chat template %s: %w", t.name, err)
	}
	return text, nil
}

// jinjaValue is v as its JSON says, with the order of keys kept.
func jinjaValue(v any) (jinja.Value, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return jinja.Undefined(), err
	}
	return parseJSON(b.String())
}

// parseJSON reads one JSON value.
func parseJSON(text string) (jinja.Value, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := nextValue(d)
	if err != nil {
		return v, err
	}
	if _, err := d.Token(); err != io.EOF {
		return v, errors.New("more than one JSON value")
	}
	return v, nil
}

func nextValue(d *json.Decoder) (jinja.Value, error) {
	t, err := d.Token()
	if err != nil {
		return jinja.Undefined(), err
	}
	switch t := t.(type) {
	case string:
		return jinja.NewString(t), nil
	case bool:
		return jinja.NewBool(t), nil
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return jinja.NewInt(n), nil
		}
		f, err := t.Float64()
		return jinja.NewFloat(f), err
	case json.Delim:
		if t == '[' {
			var items []jinja.Value
			for d.More() {
				item, err := nextValue(d)
				if err != nil {
					return item, err
				}
				items = append(items, item)
			}
			_, err := d.Token()
			return jinja.NewList(items), err
		}
		object := jinja.NewDict()
		for d.More() {
			key, err := nextValue(d)
			if err != nil {
				return key, err
			}
			value, err := nextValue(d)
			if err != nil {
				return value, err
			}
			object.AsDict().Set(key.AsString(), value)
		}
		_, err := d.Token()
		return object, err
	}
	return jinja.None(), nil
}

// strftime formats as C does, for the directives that templates use.
func strftime(t time.Time, format string) (string, error) {
	layouts := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'B': "January", 'b': "Jan", 'd': "02", 'e': "_2", 'A': "Monday", 'a': "Mon",
		'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'Z': "MST", 'z': "-0700",
		'F': "2006-01-02", 'T': "15:04:05",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := layouts[format[i]]
		switch {
		case format[i] == '%':
			b.WriteByte('%')
		case ok:
			b.WriteString(t.Format(layout))
		default:
			return "", fmt.Errorf("strftime_now: %%%c is not supported", format[i])
		}
	}
	return b.String(), nil
}
