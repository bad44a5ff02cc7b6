package token

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dlclark/regexp2"
	"golang.org/x/text/unicode/norm"
)

// normalizer is a step of a tokenizer.json's normalizer.
type normalizer struct {
	Type        string       `json:"type"`
	Normalizers []normalizer `json:"normalizers"`
	Prepend     string       `json:"prepend"`
	Pattern     pattern      `json:"pattern"`
	Content     string       `json:"content"`
}

// pattern is a literal or a regular expression.
type pattern struct {
	String *string
	Regex  *string
}

// rewrites is what n does, in order. A kind that this package lacks is an error that names it.
func (n normalizer) rewrites() ([]rewrite, error) {
	switch n.Type {
	case "":
		return nil, nil
	case "Sequence":
		var all []rewrite
		for _, part := range n.Normalizers {
			r, err := part.rewrites()
			if err != nil {
				return nil, err
			}
			all = append(all, r...)
		}
		return all, nil
	case "NFC":
		return []rewrite{normalForm(norm.NFC)}, nil
	case "NFD":
		return []rewrite{normalForm(norm.NFD)}, nil
	case "NFKC":
		return []rewrite{normalForm(norm.NFKC)}, nil
	case "NFKD":
		return []rewrite{normalForm(norm.NFKD)}, nil
	case "Lowercase":
		return []rewrite{func(text string, trace bool) derived { return eachRune(text, trace, lowerRune) }}, nil
	case "Prepend":
		return []rewrite{prepend(n.Prepend, "")}, nil
	case "Replace":
		r, err := replace(n.Pattern, n.Content)
		if err != nil {
			return nil, fmt.Errorf("normalizer Replace: %w", err)
		}
		return []rewrite{r}, nil
	}
	return nil, fmt.Errorf("normalizer %s is not supported", n.Type)
}

// normalForm composes or decomposes; text that has the form already stays as it is.
func normalForm(form norm.Form) rewrite {
	return func(text string, trace bool) derived {
		if form.IsNormalString(text) {
			return derived{text: text}
		}
		if !trace {
			return derived{text: form.String(text)}
		}
		b := builder{trace: true}
		var it norm.Iter
		it.InitString(form, text)
		for !it.Done() {
			s := it.Next()
			b.write(string(s), it.Pos())
		}
		return b.done()
	}
}

// prepend puts head before text that is not empty and does not begin with unless (if that is not empty).
func prepend(head, unless string) rewrite {
	return func(text string, trace bool) derived {
		if text == "" || unless != "" && strings.HasPrefix(text, unless) {
			return derived{text: text}
		}
		if !trace {
			return derived{text: head + text}
		}
		b := builder{trace: true}
		b.write(head, 0)
		for i := range len(text) {
			b.write(text[i:i+1], i+1)
		}
		return b.done()
	}
}

// replace puts content in the place of every match of p.
func replace(p pattern, content string) (rewrite, error) {
	find, err := p.finder()
	if err != nil {
		return nil, err
	}
	return func(text string, trace bool) derived {
		if p.String != nil && !trace {
			return derived{text: strings.ReplaceAll(text, *p.String, content)}
		}
		b := builder{trace: trace}
		from := 0
		for _, m := range find(text) {
			b.copy(text, from, m.start)
			b.write(content, m.end)
			from = m.end
		}
		if from == 0 {
			return derived{text: text}
		}
		b.copy(text, from, len(text))
		return b.done()
	}, nil
}

// copy writes text[from:to] unchanged.
func (b *builder) copy(text string, from, to int) {
	b.text.WriteString(text[from:to])
	for i := from; b.trace && i < to; i++ {
		b.origin = append(b.origin, i+1)
	}
}

// extent is text[start:end].
type extent struct{ start, end int }

// finder gives the function that finds the non-empty matches of p, in order.
func (p pattern) finder() (func(text string) []extent, error) {
	switch {
	case p.String != nil && *p.String != "":
		return literal(*p.String), nil
	case p.Regex != nil:
		re, err := regexp2.Compile(*p.Regex, regexp2.None)
		if err != nil {
			return nil, fmt.Errorf("pattern %q is not supported: %w", *p.Regex, err)
		}
		return expression(re), nil
	}
	return nil, fmt.Errorf("pattern has neither String nor Regex")
}

func literal(s string) func(string) []extent {
	return func(text string) []extent {
		var all []extent
		for i := 0; ; {
			at := strings.Index(text[i:], s)
			if at < 0 {
				return all
			}
			i += at + len(s)
			all = append(all, extent{i - len(s), i})
		}
	}
}

// expression finds with a backtracking engine, which knows the lookaheads that split patterns use.
func expression(re *regexp2.Regexp) func(string) []extent {
	return func(text string) []extent {
		var all []extent
		offset, runes := 0, 0 // byte offset of the character number runes
		to := func(rune int) int {
			for i := range text[offset:] {
				if runes == rune {
					return offset + i
				}
				runes++
			}
			return len(text)
		}
		// Without a timeout (the zero MatchTimeout means none) matching has no error.
		for m, err := re.FindStringMatch(text); m != nil && err == nil; m, err = re.FindNextMatch(m) {
			if m.Length == 0 {
				continue
			}
			start := to(m.Index)
			offset, runes = start, m.Index
			end := to(m.Index + m.Length)
			offset, runes = end, m.Index+m.Length
			all = append(all, extent{start, end})
		}
		return all
	}
}

// decode reads one step of a tokenizer.json; null gives the zero step.
func decode[T any](data json.RawMessage) (step T, err error) {
	if len(data) > 0 {
		err = json.Unmarshal(data, &step)
	}
	return step, err
}
