package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"sembench"
)

// element is one JSON value of a file: a line of JSONL, or an element of an array. line is where it begins. With an error
// that is about the whole file, number is 0.
type element struct {
	number, line int
	text         []byte
}

// elements cuts a file into JSON values: an array at the top level gives its elements, anything else one value a line.
// An element above sembench.MaxLine is an error and reading goes on after it. Text is valid until the next step.
func elements(in *bufio.Reader) iter.Seq2[element, error] {
	return func(yield func(element, error) bool) {
		skipped, first, err := leading(in)
		switch {
		case errors.Is(err, io.EOF):
		case err != nil:
			yield(element{}, err)
		case first == '[':
			arrayElements(in, skipped+1, yield)
		default:
			number := 0
			for line, err := range sembench.Lines(in) {
				number++
				e := element{number, line.Number + skipped, line.Text}
				if err != nil && !errors.Is(err, sembench.ErrLineTooLong) {
					e.number = 0
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// leading passes over a byte order mark and white space and tells the first byte that follows, and how many line ends
// went by.
func leading(in *bufio.Reader) (lines int, first byte, err error) {
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3)
	}
	for {
		b, err := in.Peek(1)
		if err != nil {
			return lines, 0, err
		}
		switch b[0] {
		case '\n':
			lines++
		case ' ', '\t', '\r':
		default:
			return lines, b[0], nil
		}
		_, _ = in.Discard(1)
	}
}

// arrayElements cuts a top-level array. Only quotes and brackets are looked at; what is between is for the JSON parser.
func arrayElements(in *bufio.Reader, line int, yield func(element, error) bool) {
	_, _ = in.ReadByte() // the opening bracket
	c := cutter{e: element{number: 1, line: line}, line: line}
	for {
		b, err := in.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("line %d: the file ends inside the array (truncated?)", c.line)
			}
			yield(element{}, err)
			return
		}
		switch c.take(b) {
		case whole, last:
			if len(c.e.text) > 0 || c.tooLong {
				if !yield(c.e, c.problem()) {
					return
				}
			}
			if b == ']' && c.depth < 0 {
				return
			}
			c.e = element{number: c.e.number + 1, line: c.line, text: c.e.text[:0]}
			c.tooLong = false
		}
	}
}

type step int

const (
	more step = iota
	whole
	last
)

// cutter follows an array byte by byte.
type cutter struct {
	e                         element
	line, depth               int
	inString, escape, tooLong bool
}

func (c *cutter) problem() error {
	if c.tooLong {
		return fmt.Errorf("is longer than %d MiB", sembench.MaxLine>>20)
	}
	return nil
}

func (c *cutter) take(b byte) step {
	if b == '\n' {
		c.line++
	}
	switch {
	case c.escape:
		c.escape = false
	case c.inString:
		c.escape = b == '\\'
		c.inString = b != '"'
	case b == '"':
		c.inString = true
	case b == '{' || b == '[':
		c.depth++
	case b == '}' || b == ']':
		if c.depth--; c.depth < 0 {
			return last
		}
	case b == ',' && c.depth == 0:
		return whole
	case len(c.e.text) == 0 && (b == ' ' || b == '\n' || b == '\r' || b == '\t'):
		c.e.line = c.line
		return more
	}
	if len(c.e.text) >= sembench.MaxLine {
		c.tooLong = true
		return more
	}
	c.e.text = append(c.e.text, b)
	return more
}
