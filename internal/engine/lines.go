package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds the memory of one line. The longest honest lines are prompts and token dumps of a few
// megabytes; what lies beyond is dropped and counted, never a reason to stop.
const maxLine = 8 << 20

// lineReader splits a stream on LF, CRLF and lone CR (progress bars), not on U+2028 or U+0085. Blank
// lines are skipped. The result does not depend on how the reader chops the stream.
type lineReader struct {
	r     io.Reader
	buf   []byte
	start int // first byte not yet returned
	scan  int // bytes before scan hold no separator
	end   int
	eof   bool
	cr    bool // buf[scan:end] may hold a CR
	lf    int  // the next LF at or after scan, or end; only while cr

	bytes     int
	truncated int  // lines longer than maxLine
	cut       bool // the last line has no end: it may be torn, and a number at its end with it
	skipping  bool
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: make([]byte, 64<<10)}
}

// next returns the next non-blank line without its end, valid until the following call. At the end of the
// stream err is io.EOF; any other error comes from the reader.
func (l *lineReader) next() ([]byte, error) {
	for {
		if sep := l.separator(); sep >= 0 {
			line := l.buf[l.start:sep]
			l.start, l.scan = sep+1, sep+1
			if l.skipping { // the tail of an over-long line, its head was returned already
				l.skipping = false
				continue
			}
			if blank(line) {
				continue
			}
			if len(line) > maxLine {
				line = line[:maxLine]
				l.truncated++
			}
			return line, nil
		}
		l.scan = l.end
		if l.skipping {
			l.start, l.scan, l.end = 0, 0, 0
		}
		if l.end-l.start > maxLine {
			line := l.buf[l.start : l.start+maxLine]
			l.truncated++
			l.skipping = true
			l.start = l.end
			return line, nil
		}
		if l.eof {
			line := l.buf[l.start:l.end]
			l.start = l.end
			if blank(line) {
				return nil, io.EOF
			}
			l.cut = true
			return line, nil
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// separator is the index of the first LF or CR at or after scan, or -1. While CRs are about, the next LF is
// remembered: a buffer of nothing but CRs would otherwise be searched for it once per line.
func (l *lineReader) separator() int {
	rest := l.buf[l.scan:l.end]
	if !l.cr {
		nl := bytes.IndexByte(rest, '\n')
		if nl < 0 {
			return -1
		}
		return l.scan + nl
	}
	if l.lf < l.scan {
		l.lf = l.end
		if nl := bytes.IndexByte(rest, '\n'); nl >= 0 {
			l.lf = l.scan + nl
		}
	}
	if cr := bytes.IndexByte(l.buf[l.scan:l.lf], '\r'); cr >= 0 {
		return l.scan + cr
	}
	if l.lf < l.end {
		return l.lf
	}
	return -1
}

func (l *lineReader) fill() error {
	if l.start > 0 {
		n := copy(l.buf, l.buf[l.start:l.end])
		l.scan -= l.start
		l.start, l.end = 0, n
	}
	if l.end == len(l.buf) {
		grown := make([]byte, 2*len(l.buf))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range 100 { // a reader that returns nothing for ever is broken
		n, err := l.r.Read(l.buf[l.end:])
		fresh := l.buf[l.end : l.end+n]
		l.end += n
		l.bytes += n
		// fill is called when no separator is left in the buffer, so only fresh bytes can hold a CR.
		l.cr, l.lf = bytes.IndexByte(fresh, '\r') >= 0, -1
		if errors.Is(err, io.EOF) {
			l.eof = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading engine text: byte %d: %w", l.bytes, err)
		}
		if n > 0 {
			return nil
		}
	}
	return fmt.Errorf("reading engine text: byte %d: %w", l.bytes, io.ErrNoProgress)
}

func blank(b []byte) bool {
	for _, c := range b {
		if c > ' ' {
			return false
		}
	}
	return true
}
