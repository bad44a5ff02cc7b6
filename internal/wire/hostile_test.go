package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sembench"
)

// A script is what a hostile server does after it has read a request: wait, write, and so on, then close or stay.
type step struct {
	after time.Duration
	bytes string
}

type script struct {
	steps []step
	// stay keeps the connection open after the last step.
	stay bool
	// served counts the requests that the server got.
	served int
}

const ms = time.Millisecond

// head begins a chunked event stream.
const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// chunk frames bytes for a chunked body; last ends it.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

const last = "0\r\n\r\n"

func data(s string) string { return "data: " + s + "\n\n" }

func delta(s string) string {
	return data(`{"id":"chatcmpl-1","choices":[{"index":0,"delta":` + s + `}]}`)
}

func content(s string) string { return delta(`{"content":"` + s + `"}`) }

const stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

const done = "data: [DONE]\n\n"

// at is one event in its own chunk, sent after a wait.
func at(after time.Duration, events ...string) step {
	return step{after, chunk(strings.Join(events, ""))}
}

// start and finish frame a well-behaved answer around events.
func stream(steps ...step) []step {
	steps[0].bytes = head + steps[0].bytes
	return append(steps, step{0, last})
}

// dial gives a dialer to a server that follows the script, over net.Pipe: no socket, so that time can be faked.
func (s *script) dial(_ context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	go s.answer(server)
	return client, nil
}

// answer follows the script on one connection.
func (s *script) answer(server net.Conn) {
	defer server.Close()
	in := bufio.NewReader(server)
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, request.Body)
		s.served++
		for _, step := range s.steps {
			time.Sleep(step.after)
			if _, err := io.WriteString(server, step.bytes); err != nil {
				return
			}
		}
		if !s.stay {
			return
		}
	}
}

// serve runs one request against a script under a fake clock. The request is written at 0.
func serve(t *testing.T, api API, s *script, options Options) (obs sembench.Observation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		options.Dial = s.dial
		client := New(options)
		obs = client.Do(t.Context(), Request{API: api, BaseURL: "http://engine.test", Model: "m", RequestID: "r1",
			Messages: []any{map[string]any{"role": "user", "content": "x"}}})
		client.Close()
		time.Sleep(time.Minute) // servers that stay finish their scripts
	})
	return obs
}

// want is what an answer must give. Times in milliseconds after the write; -1 for a stamp that must be null.
type want struct {
	class               string
	event, first, final int
	answer              int
	text                string
	chunks              int
	cached              int // -1 for null
	message             string
}

var hostile = []struct {
	name   string
	api    API
	script script
	want   want
}{
	{"plain", Chat, script{steps: stream(at(30*ms, content("a")), at(10*ms, content("b")), at(10*ms, stop, done))},
		want{"", 30, 30, 40, 30, "ab", 2, -1, ""}},
	{"role chunk 50 ms early", Chat, script{steps: stream(at(10*ms, delta(`{"role":"assistant","content":""}`)), at(50*ms, content("a")), at(0, stop, done))},
		want{"", 10, 60, 60, 60, "a", 1, -1, ""}},
	{"null and empty deltas", Chat, script{steps: stream(at(10*ms, delta(`{"role":"assistant","content":null}`)), at(5*ms, delta(`{"content":""}`)), at(5*ms, delta(`{}`)),
		at(5*ms, data(`{"choices":[]}`)), at(5*ms, content("a")), at(0, stop, done))},
		want{"", 10, 30, 30, 30, "a", 1, -1, ""}},
	{"white space is output", Chat, script{steps: stream(at(10*ms, content(" ")), at(10*ms, content("a")), at(0, stop, done))},
		want{"", 10, 10, 20, 10, " a", 2, -1, ""}},
	{"reasoning first", Chat, script{steps: stream(at(20*ms, delta(`{"reasoning_content":"hm"}`)), at(30*ms, content("a")), at(0, stop, done))},
		want{"", 20, 20, 50, 50, "hma", 2, -1, ""}},
	{"reasoning by its other name", Chat, script{steps: stream(at(20*ms, delta(`{"reasoning":"hm"}`)), at(30*ms, stop, done))},
		want{"", 20, 20, 20, -1, "hm", 1, -1, ""}},
	{"tool call first", Chat, script{steps: stream(at(20*ms, delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}`)),
		at(10*ms, delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`)), at(0, stop, done))},
		want{"", 20, 20, 30, 20, "f{}", 2, -1, ""}},
	{"refusal and audio", Chat, script{steps: stream(at(5*ms, delta(`{"refusal":"no"}`)), at(5*ms, delta(`{"audio":{"data":"QUJD"}}`)), at(0, stop, done))},
		want{"", 5, 5, 10, 5, "no", 2, -1, ""}},
	{"usage-only chunk with empty choices", Chat, script{steps: stream(at(5*ms, content("a")), at(5*ms, stop),
		at(5*ms, data(`{"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}`), done))},
		want{"", 5, 5, 5, 5, "a", 1, 4, ""}},
	{"two usage objects, the last non-null counts", Chat, script{steps: stream(at(5*ms, data(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}`)),
		at(5*ms, data(`{"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":8}}}`)), at(0, data(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}`), done))},
		want{"", 5, 5, 5, 5, "a", 1, 8, ""}},
	{"usage ahead of output", Chat, script{steps: stream(at(5*ms, data(`{"choices":[],"usage":{"prompt_tokens":9}}`)), at(5*ms, content("a")), at(0, stop, done))},
		want{"", 5, 10, 10, 10, "a", 1, -1, ""}},
	{"several events in one read", Chat, script{steps: stream(at(5*ms, content("a"), content("b"), content("c"), stop, done))},
		want{"", 5, 5, 5, 5, "abc", 3, -1, ""}},
	{"one event over many reads, stamped with its end", Chat, script{steps: stream(at(5*ms, `data: {"choices":[{"del`), at(5*ms, `ta":{"content":"a`), at(5*ms, "b\"}}]}\n"), at(5*ms, "\n"), at(0, stop, done))},
		want{"", 15, 15, 15, 15, "ab", 1, -1, ""}},
	{"UTF-8 split across reads", Chat, script{steps: stream(at(5*ms, "data: {\"choices\":[{\"delta\":{\"content\":\"\xe2\x82"), at(5*ms, "\xac\"}}]}\n\n"), at(0, stop, done))},
		want{"", 10, 10, 10, 10, "€", 1, -1, ""}},
	{"CRLF, also between reads", Chat, script{steps: stream(at(5*ms, strings.ReplaceAll(content("a"), "\n", "\r\n")), at(5*ms, "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r"), at(5*ms, "\n\r"), at(0, "\n"), at(0, stop, done))},
		want{"", 5, 5, 10, 5, "ab", 2, -1, ""}},
	{"CR alone", Chat, script{steps: stream(at(5*ms, strings.ReplaceAll(content("a")+stop+done, "\n", "\r")))},
		want{"", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"comments, event names, no space, byte order mark", Chat, script{steps: stream(at(5*ms, "\xef\xbb\xbf: hello\n\n: ping\n\n"), at(5*ms, "event: message\nid: 7\nretry: 10\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"), at(0, stop, done))},
		want{"", 10, 10, 10, 10, "a", 1, -1, ""}},
	{"multi-line data", Chat, script{steps: stream(at(5*ms, "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n"), at(0, stop, done))},
		want{"", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"multi-line data with CRLF", Chat, script{steps: stream(at(5*ms, "data: {\"choices\":\r\ndata: [{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n"), at(0, stop, done))},
		want{"", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"5 MB line", Chat, script{steps: stream(at(5*ms, content(strings.Repeat("x", 5<<20))), at(0, stop, done))},
		want{"", 5, 5, 5, 5, strings.Repeat("x", 5<<20), 1, -1, ""}},
	{"no [DONE], but a finish_reason", Chat, script{steps: stream(at(5*ms, content("a")), at(5*ms, stop))},
		want{"", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"finish_reason, then silence: the grace ends it", Chat, script{steps: []step{{0, head}, at(5*ms, content("a")), at(5*ms, stop), {10 * time.Second, ""}}},
		want{"", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"[DONE] without its blank line", Chat, script{steps: stream(at(5*ms, content("a")), at(0, "data: [DONE]"))},
		want{"", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"duplicate keys and a lone surrogate are forgiven", Chat, script{steps: stream(at(5*ms, data(`{"id":"a","id":"b","choices":[{"delta":{"content":"\ud83d"}}]}`)), at(0, stop, done))},
		want{"", 5, 5, 5, 5, "\uFFFD", 1, -1, ""}},
	{"token ids without text", Chat, script{steps: stream(at(5*ms, data(`{"choices":[{"delta":{"content":""},"token_ids":[7]}]}`)), at(5*ms, content("a")), at(0, stop, done))},
		want{"", 5, 5, 10, 5, "a", 2, -1, ""}},
	{"completions", Completions, script{steps: stream(at(5*ms, data(`{"id":"cmpl-1","choices":[{"text":""}]}`)), at(5*ms, data(`{"choices":[{"text":"a"}]}`)), at(5*ms, data(`{"choices":[{"text":"","finish_reason":"length"}]}`), done))},
		want{"", 5, 10, 10, 10, "a", 1, -1, ""}},
	{"SGLang native, cumulative", Generate, script{steps: stream(at(5*ms, data(`{"text":"ab","meta_info":{"id":"g","finish_reason":null,"cached_tokens":3,"completion_tokens":1}}`)),
		at(5*ms, data(`{"text":"abc","meta_info":{"id":"g","finish_reason":null,"cached_tokens":3,"completion_tokens":3}}`)),
		at(5*ms, data(`{"text":"abc","meta_info":{"id":"g","finish_reason":{"type":"length","length":3},"cached_tokens":5,"completion_tokens":3}}`), done))},
		want{"", 5, 5, 10, 5, "abc", 2, 5, ""}},
	{"SGLang native, incremental", Generate, script{steps: stream(at(5*ms, data(`{"text":"ab","meta_info":{}}`)), at(5*ms, data(`{"text":"cd","meta_info":{}}`)), at(5*ms, data(`{"text":"","meta_info":{"finish_reason":{"type":"stop"}}}`), done))},
		want{"", 5, 5, 10, 5, "abcd", 2, -1, ""}},

	// Failures.
	{"cut stream", Chat, script{steps: []step{{0, head}, at(5*ms, content("a"))}},
		want{"truncated", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"cut inside an event", Chat, script{steps: []step{{0, head}, at(5*ms, content("a")), at(5*ms, `data: {"choices":[{"delta":{"con`)}},
		want{"truncated", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"clean end without an end mark", Chat, script{steps: stream(at(5*ms, content("a")))},
		want{"truncated", 5, 5, 5, 5, "a", 1, -1, "without [DONE]"}},
	{"clean early end without output", Chat, script{steps: stream(at(5*ms, delta(`{"role":"assistant"}`)), at(0, stop, done))},
		want{"empty_output", 5, -1, -1, -1, "", 0, -1, ""}},
	{"nothing at all", Chat, script{steps: []step{{5 * ms, head + last}}},
		want{"empty_output", -1, -1, -1, -1, "", 0, -1, ""}},
	{"in-band error after 200", Chat, script{steps: stream(at(5*ms, content("a")), at(5*ms, data(`{"error":{"message":"out of memory","code":500}}`), done))},
		want{"inband_error", 5, 5, 5, 5, "a", 1, -1, "out of memory"}},
	{"in-band error, vLLM's older object", Chat, script{steps: stream(at(5*ms, data(`{"object":"error","message":"bad","code":400}`), done))},
		want{"inband_error", 5, -1, -1, -1, "", 0, -1, "bad"}},
	{"in-band error by event name", Chat, script{steps: stream(at(5*ms, "event: error\ndata: {\"detail\":\"gone\"}\n\n"))},
		want{"inband_error", 5, -1, -1, -1, "", 0, -1, "gone"}},
	{"in-band error as JSON instead of a stream", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 25\r\n\r\n" + `{"error":"not allowed!!"}`}}},
		want{"inband_error", -1, -1, -1, -1, "", 0, -1, "not allowed!!"}},
	{"a whole answer instead of a stream", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n" + `{"choices":[]}`}}},
		want{"undecodable", -1, -1, -1, -1, "", 0, -1, "not an event stream"}},
	{"finish_reason abort", Generate, script{steps: stream(at(5*ms, data(`{"text":"a","meta_info":{"finish_reason":{"type":"abort","message":"too long"}}}`), done))},
		want{"inband_error", 5, 5, 5, 5, "a", 1, -1, "too long"}},
	{"200 with HTML", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<html>x</html>"}}},
		want{"undecodable", -1, -1, -1, -1, "", 0, -1, "text/html"}},
	{"HTML that calls itself a stream", Chat, script{steps: stream(at(5*ms, "<html>\n\nx</html>"))},
		want{"undecodable", -1, -1, -1, -1, "", 0, -1, "no event: <html>"}},
	{"an event that is no JSON", Chat, script{steps: stream(at(5*ms, data("{oops")), at(0, stop, done))},
		want{"undecodable", 5, -1, -1, -1, "", 0, -1, "oops"}},
	{"trickle beyond the idle limit", Chat, script{steps: stream(at(5*ms, content("a")), at(2*time.Second, content("b")), at(0, stop, done))},
		want{"timeout_idle", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"silence beyond the idle limit", Chat, script{steps: stream(at(2*time.Second, content("a"), stop, done))},
		want{"timeout_idle", -1, -1, -1, -1, "", 0, -1, ""}},
	{"keep-alive comments beyond the total limit", Chat, script{steps: []step{{0, head}, at(900*ms, ": x\n\n"), at(900*ms, ": x\n\n"), at(900*ms, ": x\n\n"), at(900*ms, ": x\n\n")}, stay: true},
		want{"timeout_total", -1, -1, -1, -1, "", 0, -1, ""}},
	{"closed before an answer", Chat, script{steps: []step{{5 * ms, ""}}},
		want{"truncated", -1, -1, -1, -1, "", 0, -1, ""}},
	{"429 with Retry-After", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nContent-Length: 29\r\n\r\n" + `{"error":{"message":"slow!"}}`}}},
		want{"http_status", -1, -1, -1, -1, "", 0, -1, "slow!"}},
	{"503", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy"}}},
		want{"http_status", -1, -1, -1, -1, "", 0, -1, "busy"}},
	{"a redirect is not followed", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 307 There\r\nLocation: http://elsewhere.test/\r\nContent-Length: 0\r\n\r\n"}}},
		want{"http_status", -1, -1, -1, -1, "", 0, -1, ""}},
	{"content length too long", Chat, script{steps: []step{{0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"}, {5 * ms, content("a")}}},
		want{"truncated", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"content length too short", Chat, script{steps: []step{{0, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n", len(content("a")))}, {5 * ms, content("a") + stop + done}}},
		want{"truncated", 5, 5, 5, 5, "a", 1, -1, ""}},
	{"gzip by a proxy", Chat, script{steps: []step{{5 * ms, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"}}},
		want{"undecodable", -1, -1, -1, -1, "", 0, -1, "gzip"}},
	{"not HTTP", Chat, script{steps: []step{{5 * ms, "SSH-2.0-OpenSSH_9\r\n\r\n"}}},
		want{"undecodable", -1, -1, -1, -1, "", 0, -1, ""}},
}

func TestHostileServers(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			obs := serve(t, c.api, &c.script, Options{Total: 3 * time.Second, Idle: time.Second})
			check := func(what string, got, want any) {
				t.Helper()
				if got != want {
					t.Errorf("%s is %.200v, want %.200v (%v)", what, got, want, obs.Error)
				}
			}
			class, message := "", ""
			if obs.Error != nil {
				class, message = obs.Error.Class, obs.Error.Message
			}
			check("class", class, c.want.class)
			check("status", obs.Status == sembench.StatusOK, c.want.class == "")
			if !strings.Contains(message, c.want.message) {
				t.Errorf("message %q lacks %q", message, c.want.message)
			}
			check("first event", since(obs, obs.Stamps.FirstEvent), c.want.event)
			check("first output", since(obs, obs.Stamps.FirstOutput), c.want.first)
			check("last output", since(obs, obs.Stamps.LastOutput), c.want.final)
			check("first answer", since(obs, obs.Stamps.FirstAnswer), c.want.answer)
			text := ""
			if obs.OutputText != nil {
				text = *obs.OutputText
			}
			check("text", text, c.want.text)
			check("chunks", len(obs.Chunks), c.want.chunks)
			cached := -1
			if n := obs.CachedTokens(); n != nil {
				cached = *n
			}
			check("cached tokens", cached, c.want.cached)
			check("requests at the server", c.script.served, 1) // nothing is sent twice
			if len(message) > maxMessage+3 {
				t.Errorf("the message has %d bytes", len(message))
			}
		})
	}
}

// since gives whole milliseconds after the write, -1 for null. Under the fake clock they are exact.
func since(obs sembench.Observation, stamp *int64) int {
	if stamp == nil || obs.Stamps.WriteStart == nil {
		return -1
	}
	ns := *stamp - *obs.Stamps.WriteStart
	if ns%int64(ms) != 0 {
		return -2
	}
	return int(ns / int64(ms))
}
