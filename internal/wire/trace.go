package wire

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
)

// moments are stamps that net/http's goroutines take. Callbacks may come after the request returned (a dial that goes on
// for the pool), so everything is under the lock and read once.
type moments struct {
	mu    sync.Mutex
	clock Clock

	getConn, gotConn, written, firstByte *int64
	tlsStart, tlsDone                    *int64
	tlsFailed                            bool
	reused                               bool
	progress                             func()
}

func (m *moments) stamp(at **int64) {
	now := m.clock.Now()
	m.mu.Lock()
	*at = &now
	m.mu.Unlock()
}

func (m *moments) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { m.stamp(&m.getConn) },
		GotConn: func(info httptrace.GotConnInfo) {
			// A kept connection that the server just closed makes net/http take another before anything was
			// written: the last connection is the one that counts.
			m.stamp(&m.gotConn)
			m.mu.Lock()
			m.reused = info.Reused
			m.mu.Unlock()
			m.progress()
		},
		TLSHandshakeStart: func() { m.stamp(&m.tlsStart) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			m.stamp(&m.tlsDone)
			m.mu.Lock()
			m.tlsFailed = err != nil
			m.mu.Unlock()
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { m.stamp(&m.written); m.progress() },
		GotFirstResponseByte: func() { m.stamp(&m.firstByte); m.progress() },
	}
}
