package sim

import (
	"context"
	"net"
	"sync"
	"time"
)

// Memory is a world without wall time: a network inside the process and a clock that only moves when the engine
// or the client waits. The engine's clock runs ahead while it answers; the client's follows the bytes that
// it reads, each of which carries the moment at which it was written. A client that sends one request at a
// time therefore measures exactly what the law charged. Under concurrency times only never go back; use [Engine.Play]
// for that.
type Memory struct {
	mu     sync.Mutex
	now    time.Time // the engine's
	seen   time.Time // the client's, never ahead of the engine's
	origin time.Time

	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewMemory is an empty world. Its time begins at an arbitrary fixed instant.
func NewMemory() *Memory {
	origin := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	return &Memory{now: origin, seen: origin, origin: origin, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Clock is the engine's clock.
func (m *Memory) Clock() Clock { return memoryClock{m} }

type memoryClock struct{ m *Memory }

func (c memoryClock) Now() time.Time {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return c.m.now
}

func (c memoryClock) SleepUntil(ctx context.Context, t time.Time) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.now = later(c.m.now, t)
	return ctx.Err()
}

// Now is the client's clock, in nanoseconds since the world began.
func (m *Memory) Now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(m.seen.Sub(m.origin))
}

// Sleep lets the client wait.
func (m *Memory) Sleep(ctx context.Context, d time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = m.seen.Add(max(0, d))
	m.now = later(m.now, m.seen)
	return ctx.Err()
}

// read moves the client's clock to the moment at which the bytes that it reads were written.
func (m *Memory) read(written time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = later(m.seen, written)
}

// Dial connects to whoever accepts from Listener, whatever the address.
func (m *Memory) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := m.pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Listener accepts what Dial connects.
func (m *Memory) Listener() net.Listener { return memoryListener{m} }

type memoryListener struct{ m *Memory }

func (l memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.m.conns:
		return c, nil
	case <-l.m.closed:
		return nil, net.ErrClosed
	}
}

func (l memoryListener) Close() error {
	l.m.once.Do(func() { close(l.m.closed) })
	return nil
}

func (l memoryListener) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }
