package sim

import "net/http"

// transportFaults: what happens between the engine and the client.
func transportFaults() []Fault {
	const share, lost = "share of requests, after the first 24", "failed requests count as short successes: TTFT and error rate too low"
	return []Fault{
		{
			Name: "inband_error", Value: share, Default: 0.04, Does: "After status 200 and one chunk the stream carries an error object and ends as if all were well.",
			Check: "no_engine_errors", Naive: lost,
			install: struck(func(d *delivery) { d.failAfter = 1 }),
		},
		{
			Name: "cut", Value: share, Default: 0.7, Does: "The connection breaks after the first chunk.", Check: "pairs_valid", Naive: lost,
			install: struck(func(d *delivery) { d.cutAfter = 1 }),
		},
		{
			Name: "no_end_mark", Value: share, Default: 0.7, Does: "A stream ends cleanly after the first chunk, without finish_reason and [DONE].", Check: "pairs_valid", Naive: lost,
			install: struck(func(d *delivery) { d.stopAfter = 1 }),
		},
		{
			Name: "html_200", Value: share, Default: 0.7, Does: "A proxy answers status 200 with an HTML page.", Check: "pairs_valid", Naive: lost,
			install: struck(func(d *delivery) {
				d.instead = &page{status: http.StatusOK, contentType: "text/html; charset=utf-8", body: []byte("<!doctype html><title>Sign in</title><p>Please sign in.\n")}
			}),
		},
		{
			Name: "status_429", Value: share, Default: 0.7, Does: "A limiter answers status 429 with Retry-After.", Check: "pairs_valid", Naive: "only lightly loaded moments are measured",
			install: struck(func(d *delivery) {
				d.instead = refused(http.StatusTooManyRequests, "RateLimitError", "Too many requests.")
			}),
		},
		{
			Name: "status_503", Value: share, Default: 0.04, Does: "A load balancer answers status 503.", Check: "no_engine_errors", Naive: "only healthy moments are measured",
			install: struck(func(d *delivery) {
				d.instead = refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "No healthy upstream.")
			}),
		},
		{
			Name: "utf8_split", Value: share, Default: 1, Does: "Each write is cut in two, inside a character where there is one.",
			Naive:   "answers with replacement characters, events that do not decode",
			install: struck(func(d *delivery) { d.splitUTF8 = true }),
		},
		{
			Name: "coalesced_chunks", Value: share, Default: 1, Does: "After the first token, up to eight share one event.",
			Naive:   "chunks counted as tokens: inter-token time too long, output rate too low",
			install: struck(func(d *delivery) { d.group = 8 }),
		},
		{
			Name: "gzip", Value: share, Default: 0.7, Does: "The response is compressed although the client asked for none.", Check: "pairs_valid",
			Naive:   "nothing decodes, or a client that unpacks in blocks reads TTFT too long",
			install: struck(func(d *delivery) { d.gzip = true }),
		},
		{
			Name: "usage_twice", Value: share, Default: 1, Does: "A usage object without details comes before the one with them.",
			Naive:   "cached tokens unknown: the first usage wins",
			install: struck(func(d *delivery) { d.usageTwice = true }),
		},
	}
}

// spared is how many requests of a process a fault that strikes only a share of them leaves alone: a pre-flight has to pass for a
// fault to be met in the run.
const spared = 24

// struck changes the delivery of a share of the jobs: of all of them at a share of 1, otherwise of those after the first.
func struck(change func(d *delivery)) func(*Engine, float64) hooks {
	return func(*Engine, float64) hooks {
		return hooks{deliver: func(c *call, d *delivery) {
			if c.value >= 1 || c.j.index >= spared && c.chance(c.value) {
				c.act()
				change(d)
			}
		}}
	}
}

func refused(status int, kind, message string) *page {
	return &page{status: status, contentType: "application/json", retryAfter: 1, body: (&apiError{status, kind, "", message}).body()}
}
