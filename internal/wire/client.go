package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"time"

	"sembench"
)

// Options configure a Client. The zero value works: no limits, no proxy, no authorization, a fresh monotonic clock.
type Options struct {
	Clock Clock
	// Dial replaces the network, for tests; nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS holds custom CAs and client certificates; nil uses the system's CAs.
	TLS *tls.Config
	// UseProxy obeys HTTP_PROXY and its kin. They are ignored otherwise: a proxy that nobody asked for is measured too.
	UseProxy bool
	// APIKey is sent as Authorization: Bearer. It and the values of Header are secrets: they appear nowhere.
	APIKey string
	Header map[string]string
	// Conns is how many idle connections are kept per host, at least 16.
	Conns int
	// Total bounds a request from start to end, Idle the time in which nothing arrives; 0 for no bound.
	Total, Idle time.Duration
	// EndGrace is how long [DONE] or the end of the body may lag behind a finish_reason; 0 means 5 s.
	EndGrace time.Duration
	// RouteHeaders are further response headers to keep; a name that ends in '-' is a prefix.
	RouteHeaders []string
}

// Client sends requests. It is safe for concurrent use; Close ends its idle connections.
type Client struct {
	options   Options
	transport *http.Transport
	http      *http.Client
	clean     secretRedactor
}

var (
	errTotal    = errors.New("the whole request took too long")
	errIdle     = errors.New("nothing arrived for too long")
	errEndGrace = errors.New("no end mark followed the finish_reason")
)

// idleConn is how long a connection is kept unused: under the 5 s after which uvicorn, the server under vLLM and SGLang,
// closes it. A request written into a connection that is just being closed fails, and it is not ours to send it twice.
const idleConn = 4 * time.Second

// New makes a client.
func New(options Options) *Client {
	if options.Clock == nil {
		options.Clock = NewClock(0)
	}
	if options.EndGrace == 0 {
		options.EndGrace = 5 * time.Second
	}
	dial := options.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	transport := &http.Transport{
		DialContext:         dial,
		TLSClientConfig:     options.TLS,
		TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: max(options.Conns, 16),
		IdleConnTimeout:     idleConn,
		WriteBufferSize:     64 << 10, // a 16k-token prompt leaves in one write
		ReadBufferSize:      16 << 10,
	}
	if options.UseProxy {
		transport.Proxy = http.ProxyFromEnvironment
	}
	secrets := []string{options.APIKey}
	for _, value := range options.Header {
		secrets = append(secrets, value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // "Bearer x": x alone is the secret
			secrets = append(secrets, credentials)
		}
	}
	return &Client{
		options:   options,
		transport: transport,
		// A redirect would send prompt and key elsewhere: it is an answer like any other.
		http:  &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		clean: newRedactor(secrets),
	}
}

// Clock is the clock of all stamps.
func (c *Client) Clock() Clock { return c.options.Clock }

// Close drops idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Clean removes secrets from a text and bounds it.
func (c *Client) Clean(text string) string { return c.clean.message(text) }

func (c *Client) authorize(h http.Header) {
	if c.options.APIKey != "" {
		h.Set("Authorization", "Bearer "+c.options.APIKey)
	}
	for name, value := range c.options.Header {
		h.Set(name, value)
	}
	h.Set("Accept-Encoding", "identity")
	h.Set("User-Agent", "sembench")
}

// Do sends one request once and reports what came of it. It fills everything that one request can know; item, arm, role and
// place belong to the caller. The result's status is ok or failed.
func (c *Client) Do(ctx context.Context, r Request) sembench.Observation {
	obs := sembench.Observation{
		RequestID: r.RequestID, Endpoint: CleanURL(r.URL()), Status: sembench.StatusOK,
		Stamps: sembench.Stamps{Scheduled: r.Scheduled}, Headers: map[string]string{},
	}
	run := &exchange{client: c, obs: &obs, decoder: decoder{api: r.API, obs: &obs, clean: c.clean}}
	if failure := run.exchange(ctx, r); failure != nil {
		failure.Status = obs.HTTPStatus
		obs.Status, obs.Error = sembench.StatusFailed, failure
	}
	return obs
}

// exchange is one request under way.
type exchange struct {
	client  *Client
	obs     *sembench.Observation
	decoder decoder
	moments moments
	idle    *time.Timer
	patient time.Duration // what the idle timer is set to; 0 is off
	cancel  context.CancelCauseFunc
	mu      sync.Mutex // guards patient and idleWhy: net/http's goroutines report progress too
	idleWhy error
}

func (e *exchange) exchange(ctx context.Context, r Request) *sembench.RequestError {
	c := e.client
	body := r.Body()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.cancel = cancel
	if c.options.Total > 0 {
		total := time.AfterFunc(c.options.Total, func() { cancel(errTotal) })
		defer total.Stop()
	}
	e.idle = time.AfterFunc(time.Hour, func() {
		e.mu.Lock()
		why := e.idleWhy
		e.mu.Unlock()
		cancel(why)
	})
	defer e.idle.Stop()
	e.wait(c.options.Idle, errIdle)
	e.moments.clock, e.moments.progress = c.options.Clock, e.alive

	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, e.moments.trace()), http.MethodPost, r.URL(), bytes.NewReader(body))
	if err != nil {
		return &sembench.RequestError{Class: sembench.ErrorConnect, Message: c.clean.message(err.Error())}
	}
	r.setHeaders(request.Header)
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	e.takeMoments()
	if err != nil {
		return e.classify(ctx, err)
	}
	defer response.Body.Close()
	failure := e.read(ctx, response)
	e.takeMoments()
	return failure
}

// wait sets the idle limit to d, 0 for none.
func (e *exchange) wait(d time.Duration, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.patient, e.idleWhy = d, why
	e.rearm()
}

// alive restarts the idle limit: something happened.
func (e *exchange) alive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rearm()
}

func (e *exchange) rearm() {
	if e.patient > 0 {
		e.idle.Reset(e.patient)
	} else {
		e.idle.Stop()
	}
}

// takeMoments copies what the trace has seen so far. Connection time is the time from asking for a connection to having
// it, name look-up included, without TLS; null on a kept connection.
func (e *exchange) takeMoments() {
	m, o := &e.moments, e.obs
	m.mu.Lock()
	defer m.mu.Unlock()
	o.Stamps.WriteStart, o.Stamps.Written, o.Stamps.FirstByte = m.gotConn, m.written, m.firstByte
	if m.gotConn == nil {
		return
	}
	reused := m.reused
	o.ReusedConn = &reused
	if reused || m.getConn == nil {
		return
	}
	connect := *m.gotConn - *m.getConn
	if m.tlsStart != nil && m.tlsDone != nil {
		handshake := *m.tlsDone - *m.tlsStart
		o.TLSNS = &handshake
		connect -= handshake
	}
	o.ConnectNS = &connect
}

// classify names an error of the round trip or of a read.
func (e *exchange) classify(ctx context.Context, err error) *sembench.RequestError {
	e.moments.mu.Lock()
	connected, tlsBegun, tlsFailed := e.moments.gotConn != nil, e.moments.tlsStart != nil, e.moments.tlsFailed
	e.moments.mu.Unlock()
	class := sembench.ErrorTruncated
	text := err.Error()
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTotal):
		class, text = sembench.ErrorTimeoutTotal, errTotal.Error()
	case errors.Is(cause, errIdle):
		class, text = sembench.ErrorTimeoutIdle, errIdle.Error()
	case ctx.Err() != nil:
		class, text = sembench.ErrorCanceled, "canceled"
	case errors.As(err, &certificate), errors.As(err, &record), tlsFailed, !connected && tlsBegun,
		strings.Contains(text, "server gave HTTP response to HTTPS client"):
		class = sembench.ErrorTLS
	case !connected:
		class = sembench.ErrorConnect
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "malformed MIME"), strings.Contains(text, "server replied with more than declared"):
		class = sembench.ErrorUndecodable
	}
	return &sembench.RequestError{Class: class, Message: e.client.clean.message(withoutURL(text))}
}

// withoutURL drops net/http's `Post "http://…": ` before an error: the address is in the observation, cleaned.
func withoutURL(text string) string {
	if head, rest, ok := strings.Cut(text, `": `); ok && strings.Contains(head, `"http`) {
		return rest
	}
	return text
}

func (e *exchange) read(ctx context.Context, response *http.Response) *sembench.RequestError {
	c, o := e.client, e.obs
	status := response.StatusCode
	o.HTTPStatus = &status
	o.Headers = keepHeaders(response.Header, c.options.RouteHeaders, c.clean.known)
	if id := response.Header.Get("X-Request-Id"); id != "" {
		id = clip(c.clean.known(id), maxHeaderValue)
		o.EngineRequestID = &id
	}
	fail := func(class, text string) *sembench.RequestError {
		return &sembench.RequestError{Class: class, Message: c.clean.message(text)}
	}
	if status != http.StatusOK {
		return fail(sembench.ErrorHTTPStatus, bodyText(response.Body))
	}
	if coding := response.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return fail(sembench.ErrorUndecodable, "the answer is encoded as "+coding+
			" though identity was asked for: something between here and the engine compresses, and so delays, the stream")
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" && kind != "" && kind != "text/plain" && kind != "application/octet-stream" {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxBody))
		tree, _ := parse(text)
		if object, ok := tree.(map[string]any); ok && (object["error"] != nil || object["object"] == "error") {
			return fail(sembench.ErrorInband, errorText(object))
		}
		return fail(sembench.ErrorUndecodable, "the answer is "+kind+", not an event stream: "+string(text))
	}
	return e.stream(ctx, response.Body)
}

// maxBody is how much of a body that is not a stream is read.
const maxBody = 64 << 10

// bodyText is the sentence in an error body, or its beginning.
func bodyText(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, maxBody))
	if tree, err := parse(text); err == nil {
		if object, ok := tree.(map[string]any); ok {
			return errorText(object)
		}
	}
	return string(text)
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// stream reads events until the end mark, the end of the body, or a failure. Each read is stamped before anything else
// is done with it.
func (e *exchange) stream(ctx context.Context, body io.Reader) *sembench.RequestError {
	c, d := e.client, &e.decoder
	buffer := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	events := sse{emit: d.event}
	var head []byte
	finished := false
	for {
		n, err := body.Read(buffer[:])
		now := c.options.Clock.Now()
		if n > 0 {
			// Streams that became readable at the same time take their stamps before any of them decodes: decoding 64 first
			// chunks would make the last stamp a millisecond late.
			runtime.Gosched()
			if events.events == 0 && len(head) < maxMessage {
				head = append(head, buffer[:min(n, maxMessage)]...)
			}
			if over := events.feed(buffer[:n], now); over != nil {
				d.fail(sembench.ErrorUndecodable, over.Error())
			}
			switch {
			case d.finished && !finished:
				// Usage and [DONE] follow at once; a server that sends neither has still said that it is done.
				finished = true
				e.wait(c.options.EndGrace, errEndGrace)
			case !finished:
				e.alive()
			}
		}
		if err != nil {
			events.end(now, func(data []byte) bool {
				if bytes.Equal(bytes.TrimSpace(data), endMark) {
					return true
				}
				_, bad := parse(data)
				return bad == nil
			})
		}
		if d.failure != nil || d.ended || err != nil {
			e.obs.Stamps.Done = &now
			failure := e.conclude(ctx, err, events.events, head)
			if err == nil { // also after a failure: whoever comes next finds the connection as its twin did
				e.drain(body, buffer[:])
			}
			return failure
		}
	}
}

// drain reads what follows the end mark, normally the last chunk's frame, so that the connection can be used again. A
// body that does not end at once costs the connection, not time.
func (e *exchange) drain(body io.Reader, buffer []byte) {
	e.wait(100*time.Millisecond, errEndGrace)
	for range 64 {
		if _, err := body.Read(buffer); err != nil {
			return
		}
	}
}

// conclude decides what an ended stream was, and keeps its text.
func (e *exchange) conclude(ctx context.Context, err error, events int, head []byte) *sembench.RequestError {
	d := &e.decoder
	if e.client.clean.any {
		e.obs.Usage, _ = e.client.clean.tree(e.obs.Usage).(map[string]any)
		e.obs.EngineMetrics, _ = e.client.clean.tree(e.obs.EngineMetrics).(map[string]any)
	}
	text := e.client.clean.known(d.text.String())
	if d.text.Len() > 0 {
		digest := sembench.SHA256([]byte(text))
		e.obs.OutputText, e.obs.OutputSHA256 = &text, &digest
	}
	fail := func(class, text string) *sembench.RequestError {
		return &sembench.RequestError{Class: class, Message: e.client.clean.message(text)}
	}
	switch {
	case d.failure != nil:
		return d.failure
	case d.ended, d.finished && (err != nil):
		// Complete, even if the connection then broke: the end was said.
		if e.obs.Stamps.FirstOutput == nil {
			return fail(sembench.ErrorEmptyOutput, "the stream ended well but carried no output")
		}
		return nil
	case err != io.EOF && err != nil:
		return e.classify(ctx, err)
	case events == 0 && len(bytes.TrimSpace(head)) > 0:
		return fail(sembench.ErrorUndecodable, "the answer holds no event: "+string(head))
	case events == 0:
		return fail(sembench.ErrorEmptyOutput, "the answer has no body")
	}
	return fail(sembench.ErrorTruncated, "the stream ended without [DONE] or a finish_reason")
}
