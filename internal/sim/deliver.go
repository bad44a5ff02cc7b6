package sim

import (
	"net/http"
	"time"
)

// delivery is how an output reaches the client. Faults change it; the law's times stay what they are.
type delivery struct {
	// roleLead is how long before the first output the role chunk leaves; 0: together with it.
	roleLead time.Duration
	// due is when each chunk leaves.
	due []time.Time
	// failAfter and cutAfter are the number of chunks after which an error object comes, or the connection ends; -1: never.
	failAfter, cutAfter int
}

func (e *Engine) plainDelivery(j *job) delivery {
	d := delivery{failAfter: -1, cutAfter: -1, due: make([]time.Time, len(j.out.chunks))}
	for i := range d.due {
		d.due[i] = j.due(i)
	}
	return d
}

// wording turns an output into the bytes of one API. Its appenders add to a buffer that is then written.
type wording interface {
	// streamed tells whether chunks leave one by one.
	streamed() bool
	// head adds what comes before the first output; role may be sent early.
	head(buf []byte) []byte
	chunk(buf []byte, i int) []byte
	tail(buf []byte) []byte
	failure(buf []byte) []byte
	// whole is the one body of a request that does not stream.
	whole() []byte
	failed() []byte
	contentType() string
}

// serve runs a job and writes its answer.
func (e *Engine) serve(w http.ResponseWriter, r *http.Request, j *job, say wording) {
	ctx := r.Context()
	if e.submit(ctx, j) != nil {
		return // the client is gone
	}
	e.voice.route(w, j)
	out := &sender{w: w, control: http.NewResponseController(w), e: e, j: j}
	if !say.streamed() {
		if e.done(ctx, j) != nil {
			return
		}
		if body := j.wholeBody(say); body != nil {
			writeJSON(w, http.StatusOK, body)
			return
		}
		panic(http.ErrAbortHandler) // cut: net/http closes the connection
	}
	w.Header().Set("Content-Type", say.contentType())
	w.Header().Set("Cache-Control", "no-cache")
	d := &j.delivery
	if d.roleLead > 0 {
		if e.cfg.Clock.SleepUntil(ctx, d.due[0].Add(-d.roleLead)) != nil {
			e.drop(j)
			return
		}
	}
	out.buf = say.head(out.buf)
	if d.roleLead > 0 {
		out.flush()
	}
	for i := range j.out.chunks {
		if i == d.failAfter || i == d.cutAfter {
			break
		}
		if e.cfg.Clock.SleepUntil(ctx, d.due[i]) != nil {
			e.drop(j)
			return
		}
		out.buf = say.chunk(out.buf, i)
		if i == 0 {
			out.stamp()
		}
		// Chunks that are due already share a write; the last one waits for the end where no time passes between.
		if next := i + 1; next < len(d.due) && e.cfg.Clock.Now().Before(d.due[next]) || next == len(d.due) && j.itl > 0 {
			out.flush()
		}
	}
	if d.cutAfter >= 0 || d.failAfter >= 0 {
		out.flush()
	}
	if e.done(ctx, j) != nil {
		return
	}
	switch {
	case d.cutAfter >= 0:
		panic(http.ErrAbortHandler)
	case d.failAfter >= 0:
		out.buf = say.failure(out.buf)
	default:
		out.buf = say.tail(out.buf)
	}
	out.flush()
}

// wholeBody is what a request that does not stream gets; nil: the connection is cut.
func (j *job) wholeBody(say wording) []byte {
	switch {
	case j.delivery.cutAfter >= 0:
		return nil
	case j.delivery.failAfter >= 0:
		return say.failed()
	}
	return say.whole()
}

// drop ends a job whose client has left.
func (e *Engine) drop(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abort(j)
}

// sender writes to the client what has gathered in its buffer.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	e       *Engine
	j       *job
	buf     []byte
}

// stamp notes when the first output left.
func (s *sender) stamp() {
	now := s.e.cfg.Clock.Now()
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.j.emitted = now
}

// flush writes; a client that is gone ends the request's context, which is noticed at the next wait.
func (s *sender) flush() {
	if len(s.buf) == 0 {
		return
	}
	if _, err := s.w.Write(s.buf); err == nil {
		_ = s.control.Flush()
	}
	s.buf = s.buf[:0]
}
