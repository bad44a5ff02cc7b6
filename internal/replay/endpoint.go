package replay

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sembench/internal/wire"
)

// Problems of an endpoint, as EndpointError.Problem.
const (
	ProblemUnreachable  = "unreachable"
	ProblemTLS          = "tls"
	ProblemNotAnAPI     = "not_an_api"
	ProblemUnauthorized = "unauthorized"
	ProblemModelMissing = "model_missing"
	ProblemGeneration   = "generation_failed"
	ProblemReset        = "reset_failed"
	ProblemSalt         = "salt_not_honoured"
	ProblemSameEngine   = "exact_arm_is_the_same_engine"
)

// EndpointError is why a server cannot be measured: exit code 3. Hint says what to do, "" when nothing is known.
type EndpointError struct {
	Endpoint, Problem, Detail, Hint string
}

func (e *EndpointError) Error() string {
	return fmt.Sprintf("checking %s: %s", wire.CleanURL(e.Endpoint), e.Detail)
}

// maxScrape bounds a metrics page and a model list, in bytes.
const maxScrape = 8 << 20

// process is what an engine's metrics tell of the engine itself.
type process struct {
	// boot names the engine process: its address and start time; nil when it exports none. The address is part of it because two
	// engines may share a process.
	boot *string
	// blockSize is the cache granularity in tokens; nil when it exports none.
	blockSize *int
}

// readProcess scrapes an engine's metrics; everything is nil where there are none.
func readProcess(ctx context.Context, client *wire.Client, engine, base string) (p process) {
	address := MetricsURL(engine, base)
	if address == "" {
		return p
	}
	answer, failure := client.Call(ctx, http.MethodGet, address, nil, maxScrape)
	if failure != nil || !answer.OK() {
		return p
	}
	for line := range strings.Lines(string(answer.Body)) {
		if p.boot == nil && strings.HasPrefix(line, "process_start_time_seconds") {
			p.boot = bootID(client, base, line)
		}
		if p.blockSize == nil && strings.HasPrefix(line, "vllm:cache_config_info{") {
			p.blockSize = labelInt(line, `,block_size="`, `{block_size="`)
		}
	}
	return p
}

// bootID is the address with the start time of a metrics line; nil when the line has no value.
func bootID(client *wire.Client, base, line string) *string {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return nil
	}
	host := base
	if u, err := url.Parse(base); err == nil {
		host = u.Host
	}
	id := client.Clean(host + "@" + fields[len(fields)-1])
	return &id
}

// labelInt is the whole number behind the first of some label heads; nil when there is none.
func labelInt(line string, heads ...string) *int {
	for _, head := range heads {
		if _, rest, ok := strings.Cut(line, head); ok {
			text, _, _ := strings.Cut(rest, `"`)
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				return &n
			}
		}
	}
	return nil
}

// resetResult is what came of a reset.
type resetResult struct {
	done bool
	// odd: it worked, but not at once; or not at all.
	odd    bool
	detail string
}

// resetter resets engines. Sleep is the wait between attempts, patience how much of it one reset may take.
type resetter struct {
	client   *wire.Client
	sleep    func(context.Context, time.Duration) error
	patience time.Duration
}

// all resets every address, one after the other, each retried while the engine says that it is busy. Done only if all
// of them said that they did it: a status is not enough, since an engine may answer 200 with success false.
func (r resetter) all(ctx context.Context, urls []string) resetResult {
	if len(urls) == 0 {
		return resetResult{odd: true, detail: "no reset address"}
	}
	all := resetResult{done: true}
	var details []string
	for _, address := range urls {
		one := r.one(ctx, address)
		all.done = all.done && one.done
		all.odd = all.odd || one.odd
		if one.odd {
			details = append(details, wire.CleanURL(address)+": "+one.detail)
		}
	}
	all.detail = strings.Join(details, "; ")
	return all
}

func (r resetter) one(ctx context.Context, address string) resetResult {
	ctx, cancel := context.WithTimeout(ctx, r.patience) // a reset that hangs
	defer cancel()
	wait, waited := 5*time.Millisecond, time.Duration(0)
	for attempt := 1; ; attempt++ {
		answer, failure := r.client.Call(ctx, http.MethodPost, address, nil, 64<<10)
		if failure != nil {
			return resetResult{odd: true, detail: failure.Class + ": " + failure.Message}
		}
		done, busy, detail := readReset(answer)
		detail = r.client.Clean(detail)
		switch {
		case done:
			return resetResult{done: true, odd: attempt > 1, detail: fmt.Sprintf("done at attempt %d", attempt)}
		case !busy:
			return resetResult{odd: true, detail: detail}
		case waited >= r.patience || r.sleep(ctx, wait) != nil:
			return resetResult{odd: true, detail: "still busy after " + r.patience.String() + ": " + detail}
		}
		waited += wait
		wait = min(2*wait, 500*time.Millisecond)
	}
}

// readReset tells what a reset's answer means. vLLM: {"success": bool} since 0.29, an empty 200 before. SGLang: 200 with
// a sentence, 400 while requests are pending.
func readReset(answer wire.Answer) (done, busy bool, detail string) {
	body := answer.Object()
	success, says := body["success"].(bool)
	detail = fmt.Sprintf("status %d: %s", answer.Status, answer.Body)
	switch answer.Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusLocked, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return false, true, detail
	}
	switch {
	case !answer.OK():
		return false, false, detail
	case says && !success:
		return false, true, detail // blocks are still held: an engine frees them a moment after its last chunk
	case body["error"] != nil, strings.HasPrefix(strings.TrimSpace(string(answer.Body)), "<"):
		return false, false, detail
	}
	return true, false, detail
}

// sleep waits, or gives the reason why not.
func sleep(ctx context.Context, d time.Duration) error {
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
