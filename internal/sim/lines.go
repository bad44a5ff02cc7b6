package sim

import (
	"io"
	"sync"
)

// Channels of lines, as the evidence faults name them.
const (
	channelLog   = "log"
	channelAudit = "audit"
)

// lineWriter writes whole lines, one Write each, so that lines of several writers into one file do not mix.
type lineWriter struct {
	mu      *sync.Mutex
	w       io.Writer
	channel string
	e       *Engine
	broken  *error
}

func (e *Engine) lines(w io.Writer, channel string) lineWriter {
	return lineWriter{mu: &e.lineLock, w: w, channel: channel, e: e, broken: &e.lineError}
}

// write adds the line end. The first failure is kept (see Engine.Err) and ends all writing: a file with holes
// would be damaged evidence that nobody asked for.
func (l *lineWriter) write(line []byte) {
	if l.w == nil {
		return
	}
	lines := [][]byte{line}
	for _, a := range l.e.faults {
		if a.hooks.line == nil {
			continue
		}
		var changed [][]byte
		for _, one := range lines {
			changed = append(changed, a.hooks.line(l.channel, one)...)
		}
		lines = changed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range lines {
		if *l.broken != nil {
			return
		}
		if _, err := l.w.Write(append(one, '\n')); err != nil {
			*l.broken = err
		}
	}
}

// Err is the first failure to write the log or the audit; nil when there was none.
func (e *Engine) Err() error {
	e.lineLock.Lock()
	defer e.lineLock.Unlock()
	return e.lineError
}
