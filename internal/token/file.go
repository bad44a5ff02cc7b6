package token

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxFile bounds a tokenizer.json. The largest in use have 33 MB.
const maxFile = 256 << 20

// tokenizerFile is what a tokenizer.json says about ids. Truncation, padding and the decoder do not change them.
type tokenizerFile struct {
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         *modelFile      `json:"model"`
}

type modelFile struct {
	Type                    string    `json:"type"`
	Vocab                   vocabFile `json:"vocab"`
	Merges                  mergeFile `json:"merges"`
	Dropout                 *float64  `json:"dropout"`
	UnkToken                *string   `json:"unk_token"`
	ContinuingSubwordPrefix *string   `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string   `json:"end_of_word_suffix"`
	FuseUnk                 bool      `json:"fuse_unk"`
	ByteFallback            bool      `json:"byte_fallback"`
	IgnoreMerges            bool      `json:"ignore_merges"`
}

// openFile reads the tokenizer.json at path, or in the folder path.
func openFile(path string) (Tokenizer, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer: %w (o200k, cl100k, regex, a server's address, a tokenizer.json or its folder)", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("opening tokenizer %s: %d bytes, more than the %d that a tokenizer.json may have", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer: %w", err)
	}
	t, err := parseFile(data)
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer %s: %w", path, err)
	}
	t.folder = filepath.Dir(path)
	config, err := readConfig(t.folder)
	if err != nil {
		return nil, fmt.Errorf("opening tokenizer: %w", err)
	}
	// Llama's fast tokenizer class, which DeepSeek uses, puts bos_token before prompts whatever the post-processor says.
	if id, ok := t.raw.id(config.tokens["bos_token"]); ok && config.addBOS && len(t.prefix) == 0 {
		t.prefix = []uint32{id}
	}
	return t, nil
}

// parseFile makes a tokenizer of a tokenizer.json. What it does not support it names in the error, because ids that
// are almost right move every block behind the first wrong one.
func parseFile(data []byte) (*bpe, error) {
	var file tokenizerFile
	if err := json.Unmarshal(data, &file); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) {
			return nil, fmt.Errorf("the file is truncated at byte %d: %w", len(data), err)
		}
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	if file.Model == nil {
		return nil, errors.New("no model: not a tokenizer.json")
	}
	sum := sha256.Sum256(data)
	t := &bpe{name: "file:" + hex.EncodeToString(sum[:8])}

	n, err := decode[normalizer](file.Normalizer)
	if err != nil {
		return nil, fmt.Errorf("reading normalizer: %w", err)
	}
	if t.normalize, err = n.rewrites(); err != nil {
		return nil, err
	}
	p, err := decode[preTokenizer](file.PreTokenizer)
	if err != nil {
		return nil, fmt.Errorf("reading pre_tokenizer: %w", err)
	}
	byteLevel, err := t.preTokenize(p)
	if err != nil {
		return nil, err
	}
	if t.model, err = file.Model.model(byteLevel); err != nil {
		return nil, err
	}
	t.cutAtMarks(file.Model, n, p)
	if err := t.add(file.AddedTokens); err != nil {
		return nil, err
	}
	post, err := decode[postProcessor](file.PostProcessor)
	if err != nil {
		return nil, fmt.Errorf("reading post_processor: %w", err)
	}
	if t.prefix, err = post.prefix(); err != nil {
		return nil, err
	}
	return t, nil
}

// model builds the tables of f.
func (f *modelFile) model(byteLevel bool) (model, error) {
	m := model{wholeWords: f.IgnoreMerges, characters: !byteLevel, unknown: none, fuse: f.FuseUnk}
	switch {
	case f.Type != "BPE" && (f.Type != "" || f.Merges == nil):
		return m, fmt.Errorf("model type %q is not supported, only BPE", f.Type)
	case f.Dropout != nil && *f.Dropout != 0:
		return m, errors.New("model.dropout is not supported: ids would be random")
	case f.ContinuingSubwordPrefix != nil && *f.ContinuingSubwordPrefix != "":
		return m, errors.New("model.continuing_subword_prefix is not supported")
	case f.EndOfWordSuffix != nil && *f.EndOfWordSuffix != "":
		return m, errors.New("model.end_of_word_suffix is not supported")
	case len(f.Vocab) == 0:
		return m, errors.New("model.vocab is empty")
	}
	spelling := func(dst []byte, s string) ([]byte, bool) { return append(dst, s...), s != "" }
	if byteLevel {
		spelling = appendBytesOf
	}
	size := 0
	for s := range f.Vocab {
		size += len(s)
	}
	m.vocab = newVocab(len(f.Vocab), size)
	var spelled []byte
	for s, id := range f.Vocab {
		// A token that no text can spell is there for added tokens only.
		var ok bool
		if spelled, ok = spelling(spelled[:0], s); ok {
			if err := m.vocab.add(spelled, id); err != nil {
				return m, fmt.Errorf("reading model.vocab: %w", err)
			}
		}
	}
	for b := range m.bytes {
		m.bytes[b] = none
		if byteLevel {
			m.bytes[b] = m.vocab.id(string([]byte{byte(b)}))
		} else if f.ByteFallback {
			m.bytes[b] = m.vocab.id(fmt.Sprintf("<0x%02X>", b))
		}
	}
	if f.UnkToken != nil {
		id, ok := f.Vocab[*f.UnkToken]
		if !ok {
			return m, fmt.Errorf("model.unk_token %q is not in the vocabulary", *f.UnkToken)
		}
		m.unknown = id
	}
	m.pairs = newPairTable(len(f.Merges))
	for rank, pair := range f.Merges {
		left, okLeft := f.Vocab[pair[0]]
		right, okRight := f.Vocab[pair[1]]
		id, ok := f.Vocab[pair[0]+pair[1]]
		if !okLeft || !okRight || !ok {
			return m, fmt.Errorf("model.merges[%d] %q joins what is not in the vocabulary", rank, pair)
		}
		m.pairs.put(left, right, uint32(rank), id)
	}
	return m, nil
}

// add sets the added tokens.
func (t *bpe) add(tokens []addedToken) error {
	var raw, normalized []addedToken
	for i, a := range tokens {
		switch {
		case a.Content == "":
			return fmt.Errorf("added_tokens[%d].content is empty", i)
		case a.Normalized:
			for _, r := range t.normalize {
				a.Content = r(a.Content, false).text
			}
			normalized = append(normalized, a)
		default:
			raw = append(raw, a)
		}
	}
	t.raw, t.normalized = newMatcher(raw), newMatcher(normalized)
	return nil
}

// postProcessor is what goes around the ids of a prompt.
type postProcessor struct {
	Type       string          `json:"type"`
	Processors []postProcessor `json:"processors"`
	Single     []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		}
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []uint32 `json:"ids"`
	} `json:"special_tokens"`
}

// prefix is the ids that p puts before a prompt.
func (p postProcessor) prefix() ([]uint32, error) {
	switch p.Type {
	case "", "ByteLevel":
		return nil, nil
	case "Sequence":
		var all []uint32
		for _, part := range p.Processors {
			ids, err := part.prefix()
			if err != nil {
				return nil, err
			}
			all = append(ids, all...) // each step goes around what the one before made
		}
		return all, nil
	case "TemplateProcessing":
		var all []uint32
		for _, piece := range p.Single {
			if piece.SpecialToken == nil {
				break
			}
			all = append(all, p.SpecialTokens[piece.SpecialToken.ID].IDs...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("post_processor %s is not supported", p.Type)
}

// PromptPrefix implements Prefixer.
func (t *bpe) PromptPrefix() []uint32 { return append([]uint32(nil), t.prefix...) }

// byteOf maps the characters that byte-level vocabularies write for bytes, as GPT-2 chose them: printable Latin-1 is
// itself, the other 68 bytes follow from U+0100 on. -1: no such character.
var byteOf = func() (m [0x100 + 68]int16) {
	for r := range m {
		m[r] = -1
	}
	next := 0x100
	for b := range 256 {
		r := b
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			r = next
			next++
		}
		m[r] = int16(b)
	}
	return m
}()

// appendBytesOf appends the bytes that a byte-level vocabulary writes as s; false when s is no such writing.
func appendBytesOf(dst []byte, s string) ([]byte, bool) {
	for _, r := range s {
		if int(r) >= len(byteOf) || byteOf[r] < 0 {
			return dst, false
		}
		dst = append(dst, byte(byteOf[r]))
	}
	return dst, s != ""
}
