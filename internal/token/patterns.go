package token

import (
	"slices"
	"sync"
)

// Split patterns that scanners know, as tokenizer.json files write them.
const (
	gpt4oPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekkenPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
		`|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` +
		`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}` +
		`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// knownPatterns is the scanner of each pattern.
var knownPatterns = sync.OnceValue(func() map[string]scanner {
	return map[string]scanner{
		gpt4oPattern:  casedRuns{classes(), 3, true},
		tekkenPattern: casedRuns{classes(), 1, false},
		llama3Pattern: letterRuns{classes(), 3},
		qwenPattern:   letterRuns{classes(), 1},
		gpt2Pattern:   plainRuns{classes()},
	}
})

// recognize replaces the cutters by scanners where all of steps together are known: one pattern, or DeepSeek-V3's
// three. Scanners need no list of words.
func (t *bpe) recognize(steps []preTokenizer) {
	var patterns []string
	for _, s := range steps {
		switch {
		case s.Type == "ByteLevel" && (s.UseRegex == nil || *s.UseRegex):
			patterns = append(patterns, gpt2Pattern)
		case s.Type == "ByteLevel":
		case s.Type == "Split" && s.Pattern.Regex != nil && (s.Behavior == "Isolated" && !s.Invert):
			patterns = append(patterns, written(*s.Pattern.Regex))
		case s.Type == "Split" && s.Pattern.Regex != nil && s.Behavior == "Removed" && s.Invert && len(steps) <= 2:
			patterns = append(patterns, written(*s.Pattern.Regex))
		default:
			return
		}
	}
	if slices.Equal(patterns, []string{deepseekDigits, deepseekHan, deepseekWords}) {
		t.fields, t.words, t.cutters = deepseekFields{classes()}, deepseekRuns{classes()}, nil
		return
	}
	if len(patterns) == 1 {
		if s, ok := knownPatterns()[patterns[0]]; ok {
			t.words, t.cutters = s, nil
		}
	}
}
