package token

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// preTokenizer is a step of a tokenizer.json's pre_tokenizer.
type preTokenizer struct {
	Type          string         `json:"type"`
	Pretokenizers []preTokenizer `json:"pretokenizers"`
	// Split
	Pattern  pattern `json:"pattern"`
	Behavior string  `json:"behavior"`
	Invert   bool    `json:"invert"`
	// ByteLevel
	AddPrefixSpace *bool `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"` // null: true
	// Digits
	IndividualDigits bool `json:"individual_digits"`
	// Metaspace
	Replacement   string `json:"replacement"`
	PrependScheme string `json:"prepend_scheme"`
	MetaSplit     *bool  `json:"split"` // null: true
}

// cutter cuts text into words and appends their extents, moved by offset, to words. What a pattern removes is in no word.
type cutter func(words []extent, text string, offset int) []extent

// flat is the steps of p in order.
func (p preTokenizer) flat() []preTokenizer {
	switch p.Type {
	case "":
		return nil
	case "Sequence":
		var all []preTokenizer
		for _, part := range p.Pretokenizers {
			all = append(all, part.flat()...)
		}
		return all
	}
	return []preTokenizer{p}
}

// preTokenize sets how t finds words. It reports whether words are bytes rather than characters. A kind or a
// combination that this package lacks is an error that names it.
func (t *bpe) preTokenize(p preTokenizer) (byteLevel bool, err error) {
	steps := p.flat()
	for i, s := range steps {
		switch s.Type {
		case "Split":
			c, err := s.cutter()
			if err != nil {
				return false, err
			}
			t.cutters = append(t.cutters, c)
		case "Digits":
			t.cutters = append(t.cutters, digits(s.IndividualDigits))
		case "ByteLevel":
			if i != len(steps)-1 {
				return false, fmt.Errorf("pre_tokenizer %s behind ByteLevel is not supported", steps[i+1].Type)
			}
			if s.AddPrefixSpace != nil && *s.AddPrefixSpace {
				if i > 0 {
					return false, fmt.Errorf("pre_tokenizer ByteLevel with add_prefix_space behind %s is not supported", steps[i-1].Type)
				}
				t.prepare = append(t.prepare, prepend(" ", " "))
			}
			if s.UseRegex == nil || *s.UseRegex {
				t.cutters = append(t.cutters, scanned(plainRuns{classes()}))
			}
			byteLevel = true
		case "Metaspace":
			if i > 0 {
				return false, fmt.Errorf("pre_tokenizer Metaspace behind %s is not supported", steps[i-1].Type)
			}
			if err := t.metaspace(s); err != nil {
				return false, err
			}
		default:
			return false, fmt.Errorf("pre_tokenizer %s is not supported", s.Type)
		}
	}
	t.recognize(steps)
	return byteLevel, nil
}

// metaspace writes spaces as a visible mark and cuts before each.
func (t *bpe) metaspace(s preTokenizer) error {
	space, mark := " ", s.Replacement
	if mark == "" {
		return fmt.Errorf("pre_tokenizer Metaspace without replacement is not supported")
	}
	toMark, err := replace(pattern{String: &space}, mark)
	if err != nil {
		return err
	}
	t.prepare = append(t.prepare, toMark)
	switch scheme := s.PrependScheme; {
	case scheme == "never", scheme == "" && s.AddPrefixSpace != nil && !*s.AddPrefixSpace:
	case scheme == "always", scheme == "":
		t.prepare = append(t.prepare, prepend(mark, mark))
	case scheme == "first":
		t.first = append(t.first, prepend(mark, mark))
	default:
		return fmt.Errorf("pre_tokenizer Metaspace with prepend_scheme %q is not supported", scheme)
	}
	if s.MetaSplit == nil || *s.MetaSplit {
		t.cutters = append(t.cutters, split(literal(mark), "MergedWithNext", false))
	}
	return nil
}

// cut is the words of text by the cutters, one after the other; with none, the whole text is one word.
func (t *bpe) cut(text string) []extent {
	if text == "" {
		return nil
	}
	now := []extent{{0, len(text)}}
	for _, c := range t.cutters {
		var next []extent
		for _, w := range now {
			next = c(next, text[w.start:w.end], w.start)
		}
		now = next
	}
	return now
}

// cutter is the step Split.
func (p preTokenizer) cutter() (cutter, error) {
	behaviors := []string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}
	if !slices.Contains(behaviors, p.Behavior) {
		return nil, fmt.Errorf("pre_tokenizer Split with behavior %q is not supported", p.Behavior)
	}
	if p.Pattern.Regex != nil && (p.Behavior == "Isolated" && !p.Invert || p.Behavior == "Removed" && p.Invert) {
		// Both give the matches; the patterns in the table match every character, so nothing stands between.
		if s, ok := knownPatterns()[written(*p.Pattern.Regex)]; ok {
			return scanned(s), nil
		}
	}
	find, err := p.Pattern.finder()
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer Split: %w", err)
	}
	return split(find, p.Behavior, p.Invert), nil
}

// part is a match of a pattern or the text between two.
type part struct {
	extent
	match bool
}

// split cuts at matches the way the Hugging Face behaviors say.
func split(find func(string) []extent, behavior string, invert bool) cutter {
	return func(words []extent, text string, offset int) []extent {
		for _, w := range arrange(parts(find(text), len(text), invert), behavior) {
			if w.start < w.end {
				words = append(words, extent{w.start + offset, w.end + offset})
			}
		}
		return words
	}
}

// parts is the matches and what lies between them; invert swaps which is which.
func parts(matches []extent, length int, invert bool) []part {
	var all []part
	from := 0
	for _, m := range matches {
		if m.start > from {
			all = append(all, part{extent{from, m.start}, invert})
		}
		all = append(all, part{m, !invert})
		from = m.end
	}
	if from < length {
		all = append(all, part{extent{from, length}, invert})
	}
	return all
}

// arrange joins or drops parts as behavior says.
func arrange(all []part, behavior string) []part {
	var out []part
	previous := false // the part before was a match
	if behavior == "MergedWithNext" {
		slices.Reverse(all)
	}
	for i, p := range all {
		switch behavior {
		case "Removed":
			if !p.match {
				out = append(out, p)
			}
		case "Isolated":
			out = append(out, p)
		case "MergedWithPrevious", "MergedWithNext":
			if last := len(out) - 1; p.match && !previous && last >= 0 {
				out[last].start, out[last].end = min(out[last].start, p.start), max(out[last].end, p.end)
			} else {
				out = append(out, p)
			}
		case "Contiguous":
			if i > 0 && p.match == previous {
				out[len(out)-1].end = p.end
			} else {
				out = append(out, p)
			}
		}
		previous = p.match
	}
	if behavior == "MergedWithNext" {
		slices.Reverse(out)
	}
	return out
}

// digits is the step Digits: numbers stand apart from the rest, each character alone or in runs.
func digits(alone bool) cutter {
	behavior := "Contiguous"
	if alone {
		behavior = "Isolated"
	}
	return split(func(text string) []extent {
		var all []extent
		for i, r := range text {
			if unicode.IsNumber(r) {
				all = append(all, extent{i, i + len(string(r))})
			}
		}
		return all
	}, behavior, false)
}

// scanned makes a cutter of a scanner.
func scanned(s scanner) cutter {
	return func(words []extent, text string, offset int) []extent {
		for i := 0; i < len(text); {
			j := s.next(text, i)
			words = append(words, extent{i + offset, j + offset})
			i = j
		}
		return words
	}
}

// written is a pattern with its line ends written out, as most files have them.
func written(pattern string) string {
	return strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(pattern)
}
