package token

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// The embedded vocabularies, each read on first use. Special tokens in the text are ordinary text, as in
// tiktoken's encode_ordinary: the embedded vocabularies know no chat format.
var (
	o200k = sync.OnceValues(func() (Tokenizer, error) {
		return openTiktoken("o200k", "o200k_base.tiktoken", casedRuns{classes(), 3, true})
	})
	// tiktoken's own pattern for cl100k also has \s++$ before its line-end rule. It makes no difference to ids: no
	// token of the vocabulary has a blank behind a line end.
	cl100k = sync.OnceValues(func() (Tokenizer, error) {
		return openTiktoken("cl100k", "cl100k_base.tiktoken", letterRuns{classes(), 3})
	})
)

func openTiktoken(name, file string, words scanner) (Tokenizer, error) {
	data, err := assets.Assets.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer %s: %w", name, err)
	}
	v, err := readTiktoken(data)
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer %s: %w", name, err)
	}
	t := &bpe{name: name, words: words}
	t.model = model{vocab: v, wholeWords: true, unknown: none}
	for b := range t.model.bytes {
		t.model.bytes[b] = v.id(string([]byte{byte(b)}))
	}
	return t, nil
}

// readTiktoken reads lines of a base64 token, a space and its id.
func readTiktoken(data []byte) (*vocab, error) {
	v := newVocab(bytes.Count(data, []byte("\n"))+1, len(data)/2)
	var token []byte
	line := 0
	for text := range bytes.Lines(data) {
		line++
		word, rank, ok := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
		if !ok {
			return nil, fmt.Errorf("reading vocabulary: line %d: no id", line)
		}
		var err error
		if token, err = base64.StdEncoding.AppendDecode(token[:0], word); err != nil {
			return nil, fmt.Errorf("reading vocabulary: line %d: %w", line, err)
		}
		id, err := strconv.ParseUint(string(rank), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("reading vocabulary: line %d: %w", line, err)
		}
		if err := v.add(token, uint32(id)); err != nil {
			return nil, fmt.Errorf("reading vocabulary: line %d: %w", line, err)
		}
	}
	return v, nil
}
