package offline

import (
	"context"
	"strings"

	"sembench"
	"sembench/internal/token"
)

// ChatTemplate gives Options.Render for a chat template: "none", "auto" (the one beside t's file) or a Jinja file. Nil without
// error: no template. The assistant's turn is opened, as an engine does before it generates.
func ChatTemplate(spec string, t token.Tokenizer) (func(messages []any, tools any) (string, error), error) {
	template, err := token.OpenTemplate(spec, t)
	if template == nil {
		return nil, err
	}
	return func(messages []any, tools any) (string, error) {
		offered, _ := tools.([]any)
		return template.Render(messages, offered, true)
	}, nil
}

// source says who counted the tokens of a prompt: prompt_tokens_source of rows.
func (o Options) source() string {
	if _, asked := o.Tokenizer.(token.Fallible); asked {
		return "engine_tokenize"
	}
	return "local"
}

// recipient gives the ids of an item's recipient and its text as it would be sent.
func (o Options) recipient(ctx context.Context, it sembench.Item) ([]uint32, string, error) {
	return o.encode(ctx, it, it.RecipientPrompt, it.Messages(), it.Metadata["tools"])
}

// donor is the same for one of its donors, with tools of its own or the item's.
func (o Options) donor(ctx context.Context, it sembench.Item, d sembench.Donor) ([]uint32, string, error) {
	tools, ok := d.Metadata["tools"]
	if !ok {
		tools = it.Metadata["tools"]
	}
	return o.encode(ctx, it, d.Text, it.DonorMessages(d), tools)
}

func (o Options) encode(ctx context.Context, it sembench.Item, prompt string, messages []any, tools any) ([]uint32, string, error) {
	if o.Raw {
		if system := it.Text("system_prompt"); system != "" {
			prompt = system + "\n\n" + prompt
		}
		ids, err := token.EncodePrompt(ctx, o.Tokenizer, nil, prompt)
		return ids, prompt, err
	}
	text, err := o.chat(messages, tools)
	if err != nil {
		return nil, "", err
	}
	ids, err := token.EncodeContext(ctx, o.Tokenizer, nil, text)
	return ids, text, err
}

// chat is the text of a chat: rendered, or its contents with an empty line between them.
func (o Options) chat(messages []any, tools any) (string, error) {
	if o.Render != nil {
		return o.Render(messages, tools)
	}
	var contents []string
	for _, m := range messages {
		message, _ := m.(map[string]any)
		switch content := message["content"].(type) {
		case string:
			contents = append(contents, content)
		case []any:
			contents = append(contents, texts(content))
		}
	}
	return strings.Join(contents, "\n\n"), nil
}

// texts joins the text parts of a content, one a line, as engines do for templates that read strings.
func texts(parts []any) string {
	var out []string
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if text, ok := part["text"].(string); ok {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}
