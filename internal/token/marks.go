package token

import (
	"strings"
	"unicode/utf8"
)

// mark is the visible space of vocabularies that come from SentencePiece.
const mark = "▁"

// markRuns cuts before runs of marks, but not behind the characters in joined. A SentencePiece model has no words: the
// whole text is one, and building it costs n log n. But a token that crosses such a cut comes from a join that does, so
// where no join has a mark behind the character at hand the ids are the same with the cut; then words repeat and
// the word cache serves them.
type markRuns struct{ joined string }

func (s markRuns) next(text string, i int) int {
	for strings.HasPrefix(text[i:], mark) {
		i += len(mark)
	}
	for {
		at := strings.Index(text[i:], mark)
		if at < 0 {
			return len(text)
		}
		i += at
		if before, _ := utf8.DecodeLastRuneInString(text[:i]); !strings.ContainsRune(s.joined, before) {
			return i
		}
		i += len(mark)
		for strings.HasPrefix(text[i:], mark) {
			i += len(mark)
		}
	}
}

// cutAtMarks makes t cut at marks where that changes no id.
func (t *bpe) cutAtMarks(f *modelFile, n normalizer, p preTokenizer) {
	steps := p.flat()
	// Gemma's file cuts at spaces, of which its normalizer leaves none.
	spaces := len(steps) == 1 && steps[0].Type == "Split" && steps[0].Pattern.String != nil && *steps[0].Pattern.String == " "
	if !t.model.characters || t.model.wholeWords || len(steps) > 0 && !(spaces && n.marksSpaces()) {
		return
	}
	// Without an unknown token, what the vocabulary lacks vanishes, and its neighbours meet across the cut.
	if _, ok := f.Vocab[mark]; !ok || t.model.unknown == none {
		return
	}
	var joined strings.Builder
	for _, pair := range f.Merges {
		left, _ := utf8.DecodeLastRuneInString(pair[0])
		if strings.HasPrefix(pair[1], mark) && string(left) != mark {
			joined.WriteRune(left)
		}
	}
	// Gemma has one such join, Llama-2 none; many would leave few cuts and long searches.
	if joined.Len() < 100 {
		t.words, t.cutters = markRuns{joined.String()}, nil
	}
}

// marksSpaces: text that n made has marks in the place of spaces.
func (n normalizer) marksSpaces() bool {
	if n.Type == "Sequence" && len(n.Normalizers) > 0 {
		return n.Normalizers[len(n.Normalizers)-1].marksSpaces()
	}
	return n.Type == "Replace" && n.Pattern.String != nil && *n.Pattern.String == " " && n.Content == mark
}
