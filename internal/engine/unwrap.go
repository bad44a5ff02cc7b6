package engine

import (
	"bytes"
	"unicode/utf8"
)

// record is one log record: the message after every wrapper and the logger header came off. Its slices
// are valid only during the call that receives it.
type record struct {
	text   []byte // the line without wrappers, header included
	msg    []byte
	level  level
	header bool // a logger header was recognised; without one only a leading marker counts
	indent bool // the message was indented, as traceback frames are
	logger loggerKind
	origin                // where it comes from
	object map[string]any // the parsed object of a JSON line
	trace  string         // traceback carried inside a JSON record
}

const (
	wrapDocker = 1 << iota
	wrapCRI
	wrapPod
	wrapTimestamp
	wrapANSI
	wrapLabel
	wrapProgress
	wrapJournal
)

var wrapperNames = []string{"docker", "cri", "pod", "timestamp", "ansi", "label", "progress", "journal"}

// dockerSplit is where dockerd cuts a long record; only a part that long can lack its newline on purpose.
const dockerSplit = 16 << 10

// unwrapper takes envelopes off lines and joins what a container runtime tore apart.
type unwrapper struct {
	ranks   *rankTable
	sink    func(*record)
	seen    int // wrap* bits
	invalid int
	parts   map[string][]byte // CRI P parts and docker parts by pod and stream
	damaged int
	rec     record
}

// maxParts bounds the streams whose parts wait for their end: pods of one log times two.
const maxParts = 256

// line unwraps one physical line and passes the record on; a part of a record waits for the rest.
func (u *unwrapper) line(b []byte) {
	if !utf8.Valid(b) {
		u.invalid++
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	u.peel(b, origin{}, "", 0)
}

// flush passes on parts whose end never came; they are damaged but may still hold a whole message.
func (u *unwrapper) flush() {
	for _, key := range sortedKeys(u.parts) {
		part := u.parts[key]
		delete(u.parts, key)
		u.damaged++
		u.peel(part, origin{}, "", maxDepth-2)
	}
}

// maxDepth bounds envelopes within envelopes; real ones nest four deep (kubectl, docker, label, colour).
const maxDepth = 12

// peel takes one envelope off per turn. A line whose logger header starts here is not peeled further: what
// follows may be a prompt that quotes an envelope.
func (u *unwrapper) peel(b []byte, from origin, pod string, depth int) {
	for ; depth < maxDepth; depth++ {
		before := len(b)
		b = trimLeft(b)
		if len(b) == 0 {
			return
		}
		indent := len(b) < before
		switch c := b[0]; {
		case c == '{':
			u.object(b, from, pod, depth)
			return
		case c == 0x1b:
			b = u.stripANSI(b)
			continue
		case c == '[':
			if rest, ok := lostANSI(b); ok {
				u.seen |= wrapANSI
				b = rest
				continue
			}
			if name, rest, ok := podPrefix(b); ok {
				u.seen |= wrapPod
				pod, b = string(name), rest
				continue
			}
		case c == '(':
			if label, rest, ok := processLabel(b); ok {
				u.seen |= wrapLabel
				from, b = u.ranks.process(label), rest
				continue
			}
		case c >= '0' && c <= '9':
			if rest, ok := rfc3339(b); ok {
				if stream, tag, text, ok := criHead(rest); ok {
					u.seen |= wrapCRI
					joined, whole := u.join(pod+"\x00"+stream, text, tag == 'F')
					if !whole {
						return
					}
					b = joined
					continue
				}
				u.seen |= wrapTimestamp
				b = rest
				continue
			}
		case c >= 'A' && c <= 'S': // months
			if rest, ok := journalPrefix(b); ok {
				u.seen |= wrapJournal
				b = rest
				continue
			}
		}
		if bytes.IndexByte(b, 0x1b) >= 0 {
			b = u.stripANSI(b)
			continue
		}
		u.rec = record{text: b, origin: from, indent: indent}
		if parseHeader(&u.rec, b, u.ranks) {
			break
		}
		rest, ok := progressBar(b)
		if !ok {
			break
		}
		u.seen |= wrapProgress
		b = rest
	}
	if depth >= maxDepth {
		u.rec = record{text: b, origin: from}
		parseHeader(&u.rec, b, u.ranks)
	}
	u.finish()
}

// finish trims the message and hands the record over.
func (u *unwrapper) finish() {
	r := &u.rec
	if !r.header {
		r.msg = r.text
	} else {
		r.indent = len(r.msg) > 0 && r.msg[0] == ' '
	}
	for {
		trimmed := trimLeft(r.msg)
		rest, ok := lostANSI(trimmed)
		r.msg = rest
		if !ok {
			break
		}
		u.seen |= wrapANSI
	}
	for n := len(r.msg); n > 0 && r.msg[n-1] <= ' '; n = len(r.msg) {
		r.msg = r.msg[:n-1]
	}
	u.sink(r)
}

// join collects parts of one stream. Parts beyond maxLine are dropped; the head is what carries a marker.
func (u *unwrapper) join(key string, text []byte, final bool) (joined []byte, whole bool) {
	part, waiting := u.parts[key]
	if final && !waiting {
		return text, true
	}
	if room := maxLine - len(part); len(text) > room {
		text = text[:max(room, 0)]
	}
	part = append(part, text...)
	if final {
		delete(u.parts, key)
		return part, true
	}
	if !waiting && len(u.parts) >= maxParts {
		u.damaged++
		return nil, false
	}
	if u.parts == nil {
		u.parts = map[string][]byte{}
	}
	u.parts[key] = part
	return nil, false
}

// object reads a line that starts with a brace: a docker envelope is peeled, anything else is handed on
// with its object, and a line that is no object is a bare record.
func (u *unwrapper) object(b []byte, from origin, pod string, depth int) {
	if text, stream, ok := dockerLine(b); ok {
		u.seen |= wrapDocker
		u.docker(text, from, pod, stream, depth)
		return
	}
	obj, err := decodeObject(b)
	if err != nil {
		u.rec = record{text: b, origin: from}
		u.finish()
		return
	}
	text, isLog := obj["log"].(string)
	stream, hasStream := obj["stream"].(string)
	_, hasTime := obj["time"].(string)
	if isLog && (hasStream || hasTime) {
		u.seen |= wrapDocker
		u.docker([]byte(text), from, pod, stream, depth)
		return
	}
	u.rec = record{text: b, origin: from, object: obj}
	jsonHeader(&u.rec)
	u.finish()
}

func (u *unwrapper) docker(text []byte, from origin, pod, stream string, depth int) {
	ends := len(text) > 0 && text[len(text)-1] == '\n'
	key := pod + "\x01" + stream
	if _, waiting := u.parts[key]; !ends && (len(text) >= dockerSplit || waiting) {
		u.join(key, text, false)
		return
	}
	joined, _ := u.join(key, text, true)
	for len(joined) > 0 {
		line := joined
		if i := bytes.IndexAny(joined, "\r\n"); i >= 0 {
			line, joined = joined[:i], joined[i+1:]
		} else {
			joined = nil
		}
		if !blank(line) {
			u.peel(line, from, pod, depth+1)
		}
	}
}

// stripANSI removes SGR sequences (ESC [ digits and semicolons m) and lone ESCs, in place.
func (u *unwrapper) stripANSI(b []byte) []byte {
	u.seen |= wrapANSI
	out := b[:0]
	for {
		i := bytes.IndexByte(b, 0x1b)
		if i < 0 {
			out = append(out, b...)
			return out
		}
		out = append(out, b[:i]...)
		b = b[i+1:]
		if rest, ok := lostANSI(b); ok {
			b = rest
		}
	}
}

// lostANSI takes one leading "[33m"-like sequence off, as left when a viewer dropped the ESC.
func lostANSI(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '[' {
		return b, false
	}
	for i := 1; i < len(b) && i < 20; i++ {
		switch c := b[i]; {
		case c == 'm':
			return b[i+1:], true
		case c != ';' && (c < '0' || c > '9'):
			return b, false
		}
	}
	return b, false
}

// podPrefix reads kubectl's "[pod/NAME/CONTAINER] ".
func podPrefix(b []byte) (name, rest []byte, ok bool) {
	if !bytes.HasPrefix(b, []byte("[pod/")) {
		return nil, b, false
	}
	i := bytes.IndexByte(b[:min(len(b), 600)], ']')
	if i < 0 || i+1 >= len(b) || b[i+1] != ' ' || bytes.IndexByte(b[:i], ' ') >= 0 {
		return nil, b, false
	}
	return b[1:i], b[i+2:], true
}

// processLabel reads "(Name k=v … pid=N[, ip=A]) ", the prefix of vLLM's and Ray's processes.
func processLabel(b []byte) (label, rest []byte, ok bool) {
	i := bytes.IndexByte(b[:min(len(b), 200)], ')')
	if i < 2 || !letter(b[1]) || !bytes.Contains(b[:i], []byte("pid=")) {
		return nil, b, false
	}
	rest = b[i+1:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return b[1:i], rest, true
}

// rfc3339 takes a leading RFC 3339 time and one blank off.
func rfc3339(b []byte) ([]byte, bool) {
	if len(b) < 21 || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return b, false
	}
	for i := 19; i < len(b) && i < 40; i++ {
		switch c := b[i]; {
		case c == ' ' || c == '\t':
			return b[i+1:], true
		case c >= '0' && c <= '9', c == '.', c == ':', c == '+', c == '-', c == 'Z':
		default:
			return b, false
		}
	}
	return b, false
}

// journalPrefix reads journalctl's "Mon DD HH:MM:SS host unit[pid]: ".
func journalPrefix(b []byte) ([]byte, bool) {
	if len(b) < 24 || b[3] != ' ' || b[6] != ' ' || b[9] != ':' || b[12] != ':' || b[15] != ' ' || !digit(b[5]) || !digit(b[7]) {
		return b, false
	}
	host := bytes.IndexByte(b[16:min(len(b), 120)], ' ')
	if host < 1 {
		return b, false
	}
	unit := b[16+host+1:]
	end := bytes.IndexByte(unit[:min(len(unit), 120)], ' ')
	if end < 4 || unit[end-1] != ':' || unit[end-2] != ']' {
		return b, false
	}
	return unit[end+1:], true
}

// criHead reads what follows the time in a CRI line: stream, tag, text.
func criHead(b []byte) (stream string, tag byte, text []byte, ok bool) {
	if len(b) < 9 || (!bytes.HasPrefix(b, []byte("stdout ")) && !bytes.HasPrefix(b, []byte("stderr "))) {
		return "", 0, nil, false
	}
	tag = b[7]
	if (tag != 'P' && tag != 'F') || b[8] != ' ' {
		return "", 0, nil, false
	}
	if b[3] == 'o' {
		return "stdout", tag, b[9:], true
	}
	return "stderr", tag, b[9:], true
}

// progressBar takes a leading tqdm bar off: "…NN%|…| a/b […]". False when nothing follows the bar.
func progressBar(b []byte) ([]byte, bool) {
	head := b[:min(len(b), 200)]
	i := bytes.Index(head, []byte("%|"))
	if i < 1 || head[i-1] < '0' || head[i-1] > '9' {
		return b, false
	}
	rest := b[i+2:]
	bar := bytes.IndexByte(rest[:min(len(rest), 1200)], '|')
	if bar < 0 {
		return b, false
	}
	rest = rest[bar+1:]
	open := bytes.IndexByte(rest[:min(len(rest), 60)], '[')
	if open < 0 {
		return b, false
	}
	closed := bytes.IndexByte(rest[open:min(len(rest), open+300)], ']')
	if closed < 0 || blank(rest[open+closed+1:]) {
		return b, false
	}
	return rest[open+closed+1:], true
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }
