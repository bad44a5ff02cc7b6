package wire

import (
	"bytes"
	"fmt"
)

// maxEvent bounds one event in bytes: 5 MB lines occur (whole documents in one delta), endless ones must not fill memory.
const maxEvent = 64 << 20

// sse is an incremental reader of text/event-stream. feed takes bytes as they were read, with the stamp of that read, and
// hands complete events to emit. An event is stamped with the read that brought the end of its last data line: a blank line that
// comes later closes the event, but its content was here before.
type sse struct {
	emit func(name string, data []byte, stamp int64)

	line    []byte // an unfinished line
	skipLF  bool   // the last byte was a CR: an LF that follows belongs to it
	begun   bool   // past a byte order mark
	name    string
	data    []byte
	hasData bool
	stamp   int64
	events  int
}

// feed returns an error only when an event outgrows maxEvent.
func (s *sse) feed(p []byte, stamp int64) error {
	for len(p) > 0 {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := lineEnd(p)
		if end < 0 {
			if len(s.line)+len(s.data)+len(p) > maxEvent {
				return fmt.Errorf("an event is longer than %d MiB", maxEvent>>20)
			}
			s.line = append(s.line, p...)
			return nil
		}
		s.skipLF = p[end] == '\r'
		line := p[:end]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		if len(line)+len(s.data) > maxEvent {
			return fmt.Errorf("an event is longer than %d MiB", maxEvent>>20)
		}
		s.endLine(line, stamp)
		s.line = s.line[:0]
		p = p[end+1:]
	}
	return nil
}

// lineEnd is where the first CR or LF is, -1 without one.
func lineEnd(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	head := p
	if end >= 0 {
		head = p[:end]
	}
	if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
		return cr
	}
	return end
}

func (s *sse) endLine(line []byte, stamp int64) {
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		s.dispatch()
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.data = append(s.data, value...)
		s.hasData, s.stamp = true, stamp
	case "event":
		s.name = string(value)
	}
}

func (s *sse) dispatch() {
	if s.hasData {
		s.events++
		s.emit(s.name, s.data, s.stamp)
	}
	s.name, s.data, s.hasData = "", s.data[:0], false
}

// end takes the end of the stream. The standard drops an event that no blank line closed; servers do leave the last blank
// line out, so it is handed on if whole says that it is one.
func (s *sse) end(stamp int64, whole func(data []byte) bool) {
	if len(s.line) > 0 {
		s.endLine(s.line, stamp)
		s.line = s.line[:0]
	}
	if s.hasData && whole(s.data) {
		s.dispatch()
	}
}
