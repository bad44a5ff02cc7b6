package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"sembench"
)

// Answer is a small response that is no event stream: a model list, a reset, a scrape.
type Answer struct {
	Status int
	Header http.Header
	// Body holds at most the limit that Call was given.
	Body []byte
}

// OK tells that the status is 2xx.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Object is the body as a JSON object; nil when it is none.
func (a Answer) Object() map[string]any {
	tree, _ := parse(a.Body)
	object, _ := tree.(map[string]any)
	return object
}

// Call makes a plain request with the client's authorization; body nil sends none. It may take Options.Total, at most 30 s. At most
// limit bytes of the answer are read. The error is nil whenever a status came.
func (c *Client) Call(ctx context.Context, method, url string, body []byte, limit int64) (Answer, *sembench.RequestError) {
	var obs sembench.Observation
	e := &exchange{client: c, obs: &obs}
	e.moments.clock, e.moments.progress = c.options.Clock, func() {}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.after(c.callLimit(), func() { cancel(errTotal) })()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, e.moments.trace()), method, url, reader)
	if err != nil {
		return Answer{}, &sembench.RequestError{Class: sembench.ErrorConnect, Message: c.clean.message(err.Error())}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, e.classify(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		return Answer{}, e.classify(ctx, err)
	}
	return Answer{response.StatusCode, response.Header, text}, nil
}

// Warm opens n connections to url's host and leaves them idle, so that measured requests find one. It holds n GET requests
// open at the same time, which is what makes them n connections, and reports the first error. An answer without body gives its
// connection back at once: use a path that has one.
func (c *Client) Warm(ctx context.Context, url string, n int) *sembench.RequestError {
	var open, done sync.WaitGroup
	open.Add(n)
	errs := make([]*sembench.RequestError, n)
	for i := range n {
		done.Go(func() {
			once := sync.OnceFunc(open.Done)
			defer once()
			errs[i] = c.hold(ctx, url, once, open.Wait)
		})
	}
	done.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// hold makes a GET, reports that it is open, waits for the others and reads the answer to its end.
func (c *Client) hold(ctx context.Context, url string, opened, others func()) *sembench.RequestError {
	var obs sembench.Observation
	e := &exchange{client: c, obs: &obs}
	e.moments.clock, e.moments.progress = c.options.Clock, func() {}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.after(c.callLimit(), func() { cancel(errTotal) })()
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, e.moments.trace()), http.MethodGet, url, nil)
	if err != nil {
		return &sembench.RequestError{Class: sembench.ErrorConnect, Message: c.clean.message(err.Error())}
	}
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	if err != nil {
		return e.classify(ctx, err)
	}
	defer response.Body.Close()
	opened()
	others()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)); err != nil {
		return e.classify(ctx, err)
	}
	return nil
}

// maxCall bounds a plain request: none of them generates anything, and a hanging one must not hold up a run for as long as
// a generation may take.
const maxCall = 30 * time.Second

func (c *Client) callLimit() time.Duration {
	if c.options.Total > 0 {
		return min(c.options.Total, maxCall)
	}
	return maxCall
}

// after runs f in d and gives the function that calls it off.
func (c *Client) after(d time.Duration, f func()) func() {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}
