package wire

import "time"

// Clock gives nanoseconds since one origin. It must not go back: stamps are differences of it.
type Clock interface {
	Now() int64
}

type monotonic struct{ origin time.Time }

// Now reads the operating system's monotonic clock: time.Since uses the monotonic part that NewClock kept.
func (m monotonic) Now() int64 { return int64(time.Since(m.origin)) }

// NewClock is a monotonic clock that reads elapsed now: 0 for a fresh run, the wall time since its start for a resumed
// one, so that stamps of one journal stay in order.
func NewClock(elapsed time.Duration) Clock { return monotonic{time.Now().Add(-elapsed)} }
