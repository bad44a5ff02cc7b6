package token

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// bpe is a byte-pair tokenizer: text is cut into words, each word into tokens.
type bpe struct {
	name  string
	model model
	words scanner

	mu   sync.Mutex
	idle []*workspace
}

// workspace is what one Encode needs for itself. Idle ones are kept, so that their caches stay warm.
type workspace struct {
	cache   wordCache
	symbols []symbol
	heap    []uint64
}

// maxIdle bounds the workspaces kept (1 MB each).
const maxIdle = 16

func (t *bpe) take() *workspace {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		w := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return w
	}
	return new(workspace)
}

func (t *bpe) give(w *workspace) {
	// A pathological word of megabytes must not stay.
	if cap(w.symbols) > 1<<16 {
		w.symbols, w.heap = nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) < maxIdle {
		t.idle = append(t.idle, w)
	}
}

// Name implements Tokenizer.
func (t *bpe) Name() string { return t.name }

// Encode implements Tokenizer.
func (t *bpe) Encode(dst []uint32, text string) []uint32 {
	text = validUTF8(text).text
	ws := t.take()
	defer t.give(ws)
	for i := 0; i < len(text); {
		j := t.words.next(text, i)
		dst = t.encodeWord(ws, dst, text, i, j)
		i = j
	}
	return dst
}

// encodeWord appends the ids of the word text[i:j].
func (t *bpe) encodeWord(ws *workspace, dst []uint32, text string, i, j int) []uint32 {
	if j-i > keyBytes {
		return t.tokenize(ws, dst, text[i:j])
	}
	k := key(text, i, j)
	slot := ws.cache.slot(k)
	if slot.key == k && int(slot.length) == j-i {
		if slot.n == 1 {
			return append(dst, slot.ids[0])
		}
		return append(dst, slot.ids[:slot.n]...)
	}
	from := len(dst)
	dst = t.tokenize(ws, dst, text[i:j])
	if n := len(dst) - from; n <= cachedIDs {
		slot.key, slot.length, slot.n = k, uint8(j-i), uint8(n)
		copy(slot.ids[:], dst[from:])
	}
	return dst
}

// tokenize appends the ids of word, without the cache.
func (t *bpe) tokenize(ws *workspace, dst []uint32, word string) []uint32 {
	if t.model.wholeWords {
		if id := t.model.vocab.id(word); id != none {
			return append(dst, id)
		}
	}
	for _, s := range t.symbols(ws, word) {
		dst = append(dst, s.id)
	}
	return dst
}

// symbols is the tokens of word with their places in it; valid until the workspace is used again.
func (t *bpe) symbols(ws *workspace, word string) []symbol {
	s := ws.symbols[:0]
	for i := range len(word) {
		if id := t.model.bytes[word[i]]; id != none {
			s = append(s, symbol{start: int32(i), end: int32(i) + 1, id: id})
		}
	}
	s, ws.heap = t.model.merge(word, s, ws.heap)
	ws.symbols = s
	return s
}

// Pieces implements Tokenizer.
func (t *bpe) Pieces(text string) []string {
	valid := validUTF8(text)
	ws := t.take()
	defer t.give(ws)
	var ends []int
	for i := 0; i < len(valid.text); {
		j := t.words.next(valid.text, i)
		word := valid.text[i:j]
		if t.model.wholeWords && t.model.vocab.id(word) != none {
			ends = append(ends, j)
		} else {
			for _, s := range t.symbols(ws, word) {
				ends = append(ends, i+int(s.end))
			}
		}
		i = j
	}
	return valid.pieces(text, ends)
}

// derived is text made from an original, character by character.
type derived struct {
	text string
	// origin[i] is where in the original the character that holds text[i] ends. Nil: text is the original.
	origin []int
}

// validUTF8 replaces each invalid byte of text by U+FFFD, as encoding/json does when a request is written.
func validUTF8(text string) derived {
	if utf8.ValidString(text) {
		return derived{text: text}
	}
	var b strings.Builder
	var origin []int
	for i, r := range text {
		// The width of what stands in text, which is 1 for an invalid byte.
		_, w := utf8.DecodeRuneInString(text[i:])
		n, _ := b.WriteRune(r)
		for range n {
			origin = append(origin, i+w)
		}
	}
	return derived{text: b.String(), origin: origin}
}

// pieces cuts original where the tokens of d end; ends are offsets in d.text, ascending.
func (d derived) pieces(original string, ends []int) []string {
	if len(ends) == 0 {
		if original == "" {
			return nil
		}
		return []string{original}
	}
	out := make([]string, len(ends))
	from := 0
	for i, end := range ends {
		// A token may end inside a character: its bytes wait for the token that completes it.
		for end > 0 && end < len(d.text) && !utf8.RuneStart(d.text[end]) {
			end--
		}
		if d.origin != nil && end > 0 {
			end = d.origin[end-1]
		}
		end = max(end, from)
		if i == len(ends)-1 {
			end = len(original)
		}
		out[i], from = original[from:end], end
	}
	return out
}
