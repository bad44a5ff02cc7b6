package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"sembench"
)

// usageText sums the usage objects of OpenAI-shaped responses. cached_tokens is what the server says it
// did not have to compute: exact reuse, local and external together.
type usageText struct {
	seen sembench.UsageSeen
	with int // prompt tokens of responses that carried cached_tokens
}

// usageObject reads one response. Absent details are not zero: some servers omit them when nothing hit, and
// all do when the flag is off.
func (c *collector) usageObject(obj map[string]any) {
	usage, ok := obj["usage"].(map[string]any)
	if !ok {
		c.shapes.objects++
		return
	}
	c.saw("usage")
	u := &c.usage.seen
	u.Responses++
	prompt := count(usage["prompt_tokens"])
	if prompt != nil {
		add(&u.PromptTokens, *prompt)
	}
	if n := count(usage["completion_tokens"]); n != nil {
		add(&u.CompletionTokens, *n)
	}
	details, _ := usage["prompt_tokens_details"].(map[string]any)
	if n := count(details["created_cache_tokens"]); n != nil {
		add(&u.CreatedCacheTokens, *n)
	}
	cached := count(details["cached_tokens"])
	if cached == nil || prompt == nil || *cached > *prompt {
		u.WithoutDetails++
		return
	}
	add(&u.CachedTokens, *cached)
	c.usage.with += *prompt
}

// summary is null when no response was seen. The fraction covers the responses with details only.
func (t *usageText) summary() *sembench.UsageSeen {
	if t.seen.Responses == 0 {
		return nil
	}
	u := t.seen
	if u.CachedTokens != nil && t.with > 0 {
		u.ExactReuseFraction = ptr(float64(*u.CachedTokens) / float64(t.with))
	}
	return &u
}

// RequestTimes reads vLLM's per-request metrics object (the top-level "metrics" of the last chunk):
// time to first token and queue time in milliseconds, null where absent or negative. Keys without _ms are
// seconds. Fallbacks are differences of first_token_time, first_scheduled_time and arrival_time. An error
// when the text is no object.
func RequestTimes(metrics []byte) (ttftMS, queueMS *float64, err error) {
	var raw any
	if err := json.Unmarshal(metrics, &raw); err != nil {
		return nil, nil, fmt.Errorf("reading request metrics: %w", err)
	}
	obj, ok := raw.(map[string]any)
	if !ok {
		return nil, nil, errors.New("reading request metrics: not an object")
	}
	get := func(key string) *float64 {
		if f, ok := obj[key].(float64); ok && f >= 0 {
			return &f
		}
		return nil
	}
	pick := func(ms, ms2, s, s2, to, from string) *float64 {
		for _, k := range []string{ms, ms2} {
			if f := get(k); f != nil {
				return f
			}
		}
		for _, k := range []string{s, s2} {
			if f := get(k); f != nil {
				return ptr(*f * 1000)
			}
		}
		if a, b := get(to), get(from); a != nil && b != nil && *a >= *b {
			return ptr((*a - *b) * 1000)
		}
		return nil
	}
	ttftMS = pick("time_to_first_token_ms", "ttft_ms", "time_to_first_token", "ttft", "first_token_time", "first_scheduled_time")
	queueMS = pick("queue_time_ms", "time_in_queue_ms", "queue_time", "time_in_queue", "first_scheduled_time", "arrival_time")
	return ttftMS, queueMS, nil
}
