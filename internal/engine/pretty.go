package engine

import (
	"bytes"
	"encoding/json"
)

// pretty joins a JSON document that was printed over several lines, or an array on one line, and hands on
// its objects.
type pretty struct {
	buf   []byte
	lines int
	depth int
	quote bool // inside a string
}

// prettyLine consumes bare lines of a multi-line JSON document. A document starts with a line that only
// opens it; a record with a logger header ends it unfinished.
func (c *collector) prettyLine(r *record) bool {
	p := &c.pretty
	bare := !r.header
	if p.lines == 0 {
		if !bare || len(r.text) == 0 {
			return false
		}
		switch {
		case r.text[0] == '[' && r.object == nil && c.array(r.text):
			return true
		case r.object != nil || !opens(r.text):
			return false
		}
	} else if !bare {
		c.endPretty()
		return false
	}
	if p.lines > 0 && r.object != nil && r.object["event"] != nil {
		// A JSONL event cannot stand inside an audit document: the opening line was damage.
		c.endPretty()
		return false
	}
	p.lines++
	if len(p.buf)+len(r.text) > maxLine {
		c.endPretty()
		return true
	}
	p.buf = append(append(p.buf, r.text...), '\n')
	p.scan(r.text)
	if p.depth > 0 {
		return true
	}
	buf := p.buf
	*p = pretty{}
	if obj, err := decodeObject(buf); err == nil {
		c.object(&record{object: obj})
	} else if !c.array(buf) {
		c.damaged++
	}
	return true
}

// endPretty gives an unfinished document up: its lines are damage.
func (c *collector) endPretty() {
	c.damaged += c.pretty.lines
	c.pretty = pretty{}
}

func (p *pretty) scan(b []byte) {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case p.quote && c == '\\':
			i++
		case c == '"':
			p.quote = !p.quote
		case p.quote:
		case c == '{' || c == '[':
			p.depth++
		case c == '}' || c == ']':
			p.depth--
		}
	}
	p.quote = false // a JSON string does not span lines
}

// opens says whether a line only opens a document: brackets and at most an opened member.
func opens(b []byte) bool {
	t := bytes.TrimRight(b, " \t")
	rest := bytes.TrimLeft(t, "[{ \t")
	return len(rest) < len(t) && len(rest) == 0
}

// array hands on the elements of a one-line array of objects; false when b is none.
func (c *collector) array(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var list []map[string]any
	if err := d.Decode(&list); err != nil || len(list) == 0 || d.More() {
		return false
	}
	for _, obj := range list {
		if obj == nil {
			c.damaged++
			continue
		}
		c.object(&record{object: obj})
	}
	return true
}
