package sim

import (
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// delivery is how an output reaches the client. Faults change it; the law's times stay what they are.
type delivery struct {
	// roleLead is how long before the first output the role chunk leaves; 0: together with it. commentLead is the same for a
	// keep-alive comment; 0: none.
	roleLead, commentLead time.Duration
	// due is when each chunk leaves; later chunks never leave before earlier ones.
	due []time.Time
	// group is how many chunks after the first share one event; 0 and 1: none do.
	group int
	// failAfter, cutAfter and stopAfter are the number of chunks after which an error object comes, the connection breaks, or
	// the response ends as if complete but without any end mark; -1: never.
	failAfter, cutAfter, stopAfter int
	// instead replaces the whole response.
	instead *page
	// gzip compresses although the client asked for none, splitUTF8 writes every buffer in two parts, through a
	// character where there is one; usageTwice sends a usage without details first.
	gzip, splitUTF8, usageTwice bool
}

// page is a whole response.
type page struct {
	status      int
	contentType string
	retryAfter  int // seconds; 0: not said
	body        []byte
}

func (e *Engine) plainDelivery(j *job) delivery {
	d := delivery{failAfter: -1, cutAfter: -1, stopAfter: -1, due: make([]time.Time, len(j.out.chunks))}
	for i := range d.due {
		d.due[i] = j.due(i)
	}
	return d
}

// last is after how many chunks the response ends early; -1: it does not.
func (d *delivery) last() int {
	last := -1
	for _, n := range []int{d.failAfter, d.cutAfter, d.stopAfter} {
		if n >= 0 && (last < 0 || n < last) {
			last = n
		}
	}
	return last
}

// wording turns an output into the bytes of one API. Its appenders add to a buffer that is then written.
type wording interface {
	// streamed tells whether chunks leave one by one.
	streamed() bool
	// head adds what comes before the first output.
	head(buf []byte) []byte
	chunk(buf []byte, text string) []byte
	tail(buf []byte) []byte
	failure(buf []byte) []byte
	// whole and failed are the one body of a request that does not stream.
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
	switch {
	case j.delivery.instead != nil:
		if e.done(ctx, j) == nil {
			j.delivery.instead.write(w)
		}
	case !say.streamed():
		if e.done(ctx, j) == nil {
			out.whole(say)
		}
	default:
		out.stream(ctx, say)
	}
}

func (p *page) write(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.Header().Set("Content-Type", p.contentType)
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body) // the client may be gone: nothing is left to tell it
}

// sender writes to the client what has gathered in its buffer.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	zip     *gzip.Writer
	e       *Engine
	j       *job
	buf     []byte
}

// whole answers a request that does not stream.
func (s *sender) whole(say wording) {
	d := &s.j.delivery
	body := say.whole()
	switch {
	case d.cutAfter >= 0:
		panic(http.ErrAbortHandler) // net/http closes the connection
	case d.failAfter >= 0:
		body = say.failed()
	}
	if !d.gzip {
		writeJSON(s.w, http.StatusOK, body)
		return
	}
	s.w.Header().Set("Content-Type", "application/json")
	s.buf = body
	s.compress()
	s.flush()
	_ = s.zip.Close()
}

func (s *sender) compress() {
	s.w.Header().Set("Content-Encoding", "gzip")
	s.zip = gzip.NewWriter(s.w)
}

// stream sends chunk after chunk, each at its time.
func (s *sender) stream(ctx context.Context, say wording) {
	d, chunks, clock := &s.j.delivery, s.j.out.chunks, s.e.cfg.Clock
	s.w.Header().Set("Content-Type", say.contentType())
	s.w.Header().Set("Cache-Control", "no-cache")
	// Also a stream that is so short that it leaves in one write is a stream: net/http would give it a length.
	s.w.Header().Set("Transfer-Encoding", "chunked")
	if d.gzip {
		s.compress()
	}
	if !s.early(ctx, say) {
		return
	}
	last, text := d.last(), ""
	for i, chunk := range chunks {
		if i == last {
			break
		}
		text += chunk
		if i > 0 && d.group > 1 && i%d.group != 0 && i+1 < len(chunks) {
			continue
		}
		if clock.SleepUntil(ctx, d.due[i]) != nil {
			s.e.drop(s.j)
			return
		}
		s.buf, text = say.chunk(s.buf, text), ""
		if i == 0 {
			s.stamp()
		}
		// Chunks that are due already share a write; the last one waits for the end where no time passes between.
		if next := i + 1; next < len(d.due) && clock.Now().Before(d.due[next]) || next == len(d.due) && s.j.itl > 0 {
			s.flush()
		}
	}
	if last >= 0 {
		s.flush()
	}
	if s.e.done(ctx, s.j) != nil {
		return
	}
	switch {
	case d.cutAfter >= 0:
		panic(http.ErrAbortHandler)
	case d.failAfter >= 0:
		s.buf = say.failure(s.buf)
	case d.stopAfter < 0:
		s.buf = say.tail(s.buf)
	}
	if s.zip != nil || d.splitUTF8 {
		s.flush()
	} else {
		_, _ = s.w.Write(s.buf) // leaves with the end of the body, which net/http writes now
	}
	if s.zip != nil {
		_ = s.zip.Close()
	}
}

// early sends what comes before the first output. It is false when the client is gone.
func (s *sender) early(ctx context.Context, say wording) bool {
	d := &s.j.delivery
	wait := func(lead time.Duration) bool {
		if s.e.cfg.Clock.SleepUntil(ctx, d.due[0].Add(-lead)) != nil {
			s.e.drop(s.j)
			return false
		}
		return true
	}
	if d.commentLead > 0 {
		if !wait(d.commentLead) {
			return false
		}
		s.buf = append(s.buf, ": keep-alive\n\n"...)
		s.flush()
	}
	if d.roleLead > 0 && !wait(d.roleLead) {
		return false
	}
	s.buf = say.head(s.buf)
	if d.roleLead > 0 {
		s.flush()
	}
	return true
}

// drop ends a job whose client has left.
func (e *Engine) drop(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abort(j)
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
	if s.j.delivery.splitUTF8 {
		cut := split2(s.buf)
		s.push(s.buf[:cut])
		s.push(s.buf[cut:])
	} else {
		s.push(s.buf)
	}
	s.buf = s.buf[:0]
}

func (s *sender) push(part []byte) {
	var err error
	if s.zip != nil {
		if _, err = s.zip.Write(part); err == nil {
			err = s.zip.Flush()
		}
	} else {
		_, err = s.w.Write(part)
	}
	if err == nil {
		_ = s.control.Flush()
	}
}

// split2 is where to cut a buffer: inside its first character of several bytes, else in the middle.
func split2(buf []byte) int {
	for i, b := range buf {
		if b >= utf8.RuneSelf {
			return i + 1
		}
	}
	return len(buf) / 2
}
