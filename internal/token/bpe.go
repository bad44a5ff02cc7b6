package token

import "sync"

// bpe is a byte-pair tokenizer: added tokens are taken out of the text, the rest is normalized and cut into words,
// each word is built from its bytes or characters by the model's joins.
type bpe struct {
	name  string
	model model
	// raw finds the added tokens in the text as it is, normalized those in the normalized text. Nil: none.
	raw, normalized *matcher
	normalize       []rewrite
	// prepare rewrites each text between added tokens; first, only one that begins the whole text.
	prepare, first []rewrite
	// Words come from a scanner, within the fields of another where that is set, or else from cutters.
	words, fields scanner
	cutters       []cutter
	prefix        []uint32
	folder        string // of the tokenizer.json; empty for embedded vocabularies

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
	ws := t.take()
	defer t.give(ws)
	t.segments(text, false, func(s segment) {
		if s.added != none {
			dst = append(dst, s.added)
			return
		}
		if t.words == nil {
			dst = t.encodeCut(ws, dst, s.text.text)
			return
		}
		dst = t.encodeScanned(ws, dst, s.text.text)
	})
	return dst
}

// encodeScanned appends the ids of text, whose words a scanner finds.
func (t *bpe) encodeScanned(ws *workspace, dst []uint32, text string) []uint32 {
	for i := 0; i < len(text); {
		field := text
		if t.fields != nil {
			field = text[:t.fields.next(text, i)]
		}
		for i < len(field) {
			j := t.words.next(field, i)
			dst = t.encodeWord(ws, dst, field, i, j)
			i = j
		}
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

// encodeCut appends the ids of text, whose words the cutters make.
func (t *bpe) encodeCut(ws *workspace, dst []uint32, text string) []uint32 {
	for _, word := range t.cut(text) {
		dst = t.encodeWord(ws, dst, text, word.start, word.end)
	}
	return dst
}

// symbols is the tokens of word with their places in it; valid until the workspace is used again.
func (t *bpe) symbols(ws *workspace, word string) []symbol {
	s := t.model.split(ws.symbols[:0], word)
	s, ws.heap = t.model.merge(word, s, ws.heap)
	ws.symbols = s
	return s
}

// Pieces implements Tokenizer.
func (t *bpe) Pieces(text string) []string {
	ws := t.take()
	defer t.give(ws)
	var ends []int
	t.segments(text, true, func(s segment) {
		if s.added != none {
			ends = append(ends, s.end)
			return
		}
		for _, word := range t.allWords(s.text.text) {
			w := s.text.text[word.start:word.end]
			if t.model.wholeWords && t.model.vocab.id(w) != none {
				ends = append(ends, s.text.in(word.end))
				continue
			}
			for _, symbol := range t.symbols(ws, w) {
				ends = append(ends, s.text.in(word.start+int(symbol.end)))
			}
		}
	})
	return cutAt(text, ends)
}

// allWords is the words of text, however they are found.
func (t *bpe) allWords(text string) []extent {
	if t.words == nil {
		return t.cut(text)
	}
	var all []extent
	for i := 0; i < len(text); {
		field := text
		if t.fields != nil {
			field = text[:t.fields.next(text, i)]
		}
		for i < len(field) {
			j := t.words.next(field, i)
			all = append(all, extent{i, j})
			i = j
		}
	}
	return all
}

// segment is an added token or a stretch of normalized text between added tokens.
type segment struct {
	added uint32  // none: text
	text  derived // of a stretch
	end   int     // of an added token, in the original
}

// segments gives the segments of text in order. With trace, origins are offsets in text.
func (t *bpe) segments(text string, trace bool, yield func(segment)) {
	atStart := true
	t.raw.split(validUTF8(text, trace), trace, func(s segment) {
		if s.added != none {
			yield(s)
			atStart = false
			return
		}
		d := s.text
		for _, r := range t.normalize {
			d = d.then(r, trace)
		}
		t.normalized.split(d, trace, func(s segment) {
			if s.added == none {
				for _, r := range t.prepare {
					s.text = s.text.then(r, trace)
				}
				for _, r := range t.first {
					if atStart {
						s.text = s.text.then(r, trace)
					}
				}
			}
			atStart = false
			yield(s)
		})
	})
}
