package sim

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe is the two ends of one connection.
func (m *Memory) pipe() (client, server *memoryConn) {
	up, down := newStream(), newStream()
	client = &memoryConn{in: down, out: up, tag: memoryClock{m}.Now, saw: m.read}
	server = &memoryConn{in: up, out: down, tag: memoryClock{m}.Now, saw: func(time.Time) {}}
	return client, server
}

// memoryConn is one end. Writes never wait; a read gives bytes of one write only, so that each keeps its moment.
// Deadlines in the past take effect at once, as net/http needs; later ones never come, for no time passes.
type memoryConn struct {
	in, out *stream
	tag     func() time.Time
	saw     func(written time.Time)
}

// stream is one direction.
type stream struct {
	mu      sync.Mutex
	change  *sync.Cond
	parts   []part
	ended   bool // by the writer
	dropped bool // by the reader
	expired bool
}

type part struct {
	data    []byte
	written time.Time
}

func newStream() *stream {
	s := &stream{}
	s.change = sync.NewCond(&s.mu)
	return s
}

func (c *memoryConn) Read(p []byte) (int, error) {
	n, written, err := c.in.read(p)
	if n > 0 {
		c.saw(written)
	}
	return n, err
}

func (s *stream) read(p []byte) (int, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.dropped:
			return 0, time.Time{}, net.ErrClosed
		case s.expired:
			return 0, time.Time{}, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, time.Time{}, nil
		case len(s.parts) > 0:
			first := &s.parts[0]
			n, written := copy(p, first.data), first.written
			if first.data = first.data[n:]; len(first.data) == 0 {
				s.parts = s.parts[1:]
			}
			return n, written, nil
		case s.ended:
			return 0, time.Time{}, io.EOF
		}
		s.change.Wait()
	}
}

func (c *memoryConn) Write(p []byte) (int, error) {
	s := c.out
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.dropped {
		return 0, io.ErrClosedPipe
	}
	if len(p) > 0 {
		s.parts = append(s.parts, part{append([]byte(nil), p...), c.tag()})
		s.change.Broadcast()
	}
	return len(p), nil
}

func (c *memoryConn) Close() error {
	for _, s := range []*stream{c.in, c.out} {
		s.mu.Lock()
		if s == c.in {
			s.dropped = true
		}
		s.ended = true
		s.change.Broadcast()
		s.mu.Unlock()
	}
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr  { return memoryAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr { return memoryAddr{} }

func (c *memoryConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.expired = !t.IsZero() && !t.After(time.Now())
	c.in.change.Broadcast()
	return nil
}

func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }
