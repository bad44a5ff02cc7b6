// Package token turns text into token ids, exactly as the tokenizer of a serving engine would, so that blocks
// counted offline are the blocks that the engine sees.
//
// Tokenizers: the embedded o200k and cl100k vocabularies, Hugging Face tokenizer.json files (byte-level and
// byte-fallback BPE), the fallback of the public sembench ("regex"), and an engine's own /tokenize endpoint.
// Chat templates render messages to the prompt text that an engine tokenizes.
//
// Text that is not UTF-8 is encoded as a JSON request would carry it: each invalid byte becomes U+FFFD.
// Encoding adds no beginning-of-sequence token of its own: a chat template writes it where the model wants one,
// and it is then found in the text like any other added token. See Prefixer for raw completions.
//
// Loading a vocabulary costs time and memory (o200k: 9 MB, 20 ms), so it happens in Open and once per process.
package token

import (
	"context"
	"strings"
)

// Tokenizer turns text into token ids. Safe for concurrent use.
type Tokenizer interface {
	// Name identifies the ids, for documents and artifact headers: "o200k", "cl100k", "regex",
	// "file:" and the first 16 hex digits of the file's SHA-256, or "server:" and the address.
	Name() string
	// Encode appends the ids of text to dst and returns it. Empty text has no ids. A tokenizer that can fail
	// also implements Fallible; its Encode appends nothing on failure and remembers the error.
	Encode(dst []uint32, text string) []uint32
	// Pieces is text cut at token boundaries, one piece per id (a server's: one piece in all, it tells no
	// boundaries); the pieces joined give text back byte for byte.
	// Bytes of a character that spans several tokens stand in the piece of the token that completes it, so
	// that valid text has valid pieces; the pieces before are then empty.
	Pieces(text string) []string
}

// Fallible is a Tokenizer whose encoding can fail, because a server does the work. Callers that must tell
// "no tokens" from "unknown" use EncodeContext, which works for every Tokenizer.
type Fallible interface {
	Tokenizer
	// EncodeContext appends the ids of text to dst; on error dst is returned as it was given.
	EncodeContext(ctx context.Context, dst []uint32, text string) ([]uint32, error)
	// Err is the first error that Encode or Pieces swallowed; nil when there was none.
	Err() error
}

// Prefixer is implemented by tokenizers whose file puts ids in front of every raw prompt (Llama-3's
// <|begin_of_text|>): what an engine prepends on /v1/completions, where no chat template runs.
type Prefixer interface {
	// PromptPrefix is those ids, in order; empty when the model adds none.
	PromptPrefix() []uint32
}

// EncodeContext appends the ids of text to dst with any Tokenizer. It fails only where t is Fallible, with dst
// as it was given.
func EncodeContext(ctx context.Context, t Tokenizer, dst []uint32, text string) ([]uint32, error) {
	if f, ok := t.(Fallible); ok {
		return f.EncodeContext(ctx, dst, text)
	}
	return t.Encode(dst, text), nil
}

// Open gives the tokenizer that spec names:
//   - "o200k" or "": the embedded GPT-4o vocabulary
//   - "cl100k": the embedded GPT-4 vocabulary
//   - "regex": the public sembench's fallback
//   - "http://…" or "https://…": the /tokenize endpoint of an engine; nothing is sent before the first Encode
//   - anything else: the path of a tokenizer.json, or of a folder that holds one
//
// The embedded vocabularies are read once per process; a file is read on each call.
func Open(spec string) (Tokenizer, error) {
	switch {
	case spec == "" || spec == "o200k":
		return o200k()
	case spec == "cl100k":
		return cl100k()
	case spec == "regex":
		return words{}, nil
	case strings.HasPrefix(spec, "http://"), strings.HasPrefix(spec, "https://"):
		return openServer(spec)
	}
	return openFile(spec)
}
