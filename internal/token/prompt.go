package token

import (
	"context"
	"fmt"
)

// EncodePrompt appends the ids that an engine gives a raw prompt, as on /v1/completions: the ids of text behind those that the
// model's file puts in front of every prompt (Llama-3's <|begin_of_text|>). A server is asked to add them itself; the embedded
// vocabularies add none. Empty text has no ids. It fails only where t is Fallible, with dst as it was given.
func EncodePrompt(ctx context.Context, t Tokenizer, dst []uint32, text string) ([]uint32, error) {
	if text == "" {
		return dst, nil
	}
	if s, ok := t.(*server); ok {
		ids, err := s.ask(ctx, text, true)
		if err != nil {
			return dst, fmt.Errorf("tokenizing at %s: %w", s.shown, err)
		}
		return append(dst, ids...), nil
	}
	if p, ok := t.(Prefixer); ok {
		dst = append(dst, p.PromptPrefix()...)
	}
	return EncodeContext(ctx, t, dst, text)
}
