package sim

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Clock is the engine's time. Every deadline of the engine is a time of this clock.
type Clock interface {
	Now() time.Time
	// SleepUntil returns at t, at once where t is past, or early with the context's error.
	SleepUntil(ctx context.Context, t time.Time) error
}

// spinLead is how long before a deadline the wall clock stops sleeping: timers of a busy machine fire up to a
// millisecond late.
const spinLead = 1500 * time.Microsecond

type wallClock struct {
	spinning atomic.Int32
	most     int32
}

// NewWallClock is real time. It sleeps to 1.5 ms before a deadline and spins the rest, one waiter at a time (and one
// for each further pair of processors): the others sleep to the end, because spinning without a free processor
// would delay everyone.
func NewWallClock() Clock {
	return &wallClock{most: int32(max(1, runtime.GOMAXPROCS(0)/2))}
}

func (*wallClock) Now() time.Time { return time.Now() }

func (w *wallClock) SleepUntil(ctx context.Context, t time.Time) error {
	if err := sleepUntil(ctx, t.Add(-spinLead)); err != nil {
		return err
	}
	if w.spinning.Add(1) > w.most {
		w.spinning.Add(-1)
		return sleepUntil(ctx, t)
	}
	defer w.spinning.Add(-1)
	for time.Until(t) > 0 {
		runtime.Gosched()
	}
	return ctx.Err()
}

type timerClock struct{}

// NewTimerClock is real time by timers alone, for a fake clock that moves only while everyone waits
// (testing/synctest), where spinning would never end.
func NewTimerClock() Clock { return timerClock{} }

func (timerClock) Now() time.Time                                    { return time.Now() }
func (timerClock) SleepUntil(ctx context.Context, t time.Time) error { return sleepUntil(ctx, t) }

func sleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
