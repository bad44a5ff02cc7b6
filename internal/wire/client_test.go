package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sembench"
)

func TestFailuresBeforeAnAnswer(t *testing.T) {
	check := func(name, url, class string, options Options) {
		t.Helper()
		client := New(options)
		defer client.Close()
		obs := client.Do(t.Context(), Request{BaseURL: url})
		if obs.Error == nil || obs.Error.Class != class {
			t.Errorf("%s: %+v, want class %s", name, obs.Error, class)
		}
		if obs.Error != nil && strings.Contains(obs.Error.Message, "Post ") {
			t.Errorf("%s: the message repeats the address: %s", name, obs.Error.Message)
		}
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	check("closed port", closed.URL, sembench.ErrorConnect, Options{})
	check("no such name", "http://sembench.invalid", sembench.ErrorConnect, Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("lookup sembench.invalid: no such host")
	}})
	check("no address", "http://%zz", sembench.ErrorConnect, Options{})
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	check("unknown certificate", secure.URL, sembench.ErrorTLS, Options{})
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	check("TLS to a plain server", strings.Replace(plain.URL, "http:", "https:", 1), sembench.ErrorTLS, Options{})
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	client := New(Options{})
	defer client.Close()
	if obs := client.Do(ctx, Request{BaseURL: server.URL}); obs.Error == nil || obs.Error.Class != sembench.ErrorCanceled {
		t.Errorf("%+v, want class canceled", obs.Error)
	}
}

func TestTLSTimeIsApart(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	client := New(Options{TLS: &tls.Config{RootCAs: pool}})
	defer client.Close()
	first := client.Do(t.Context(), Request{BaseURL: server.URL})
	second := client.Do(t.Context(), Request{BaseURL: server.URL})
	switch {
	case first.Error != nil || second.Error != nil:
		t.Fatal(first.Error, second.Error)
	case first.TLSNS == nil || *first.TLSNS <= 0 || first.ConnectNS == nil || *first.ReusedConn:
		t.Errorf("the first request has tls %v, connect %v", first.TLSNS, first.ConnectNS)
	case second.TLSNS != nil || second.ConnectNS != nil || !*second.ReusedConn:
		t.Errorf("the second request has tls %v, connect %v", second.TLSNS, second.ConnectNS)
	case second.Stamps.FirstByte == nil:
		t.Error("HTTP/2 gave no first byte stamp")
	}
}

// Connecting takes 30 ms and the handshake 20: each is in its own field, and neither in TTFT.
func TestConnectionTimesAreExact(t *testing.T) {
	keeper := httptest.NewTLSServer(http.NotFoundHandler())
	defer keeper.Close()
	certificates := keeper.TLS.Certificates
	synctest.Test(t, func(t *testing.T) {
		slow := func(*tls.ClientHelloInfo) (*tls.Config, error) { time.Sleep(20 * ms); return nil, nil }
		plain := &script{steps: stream(at(7*ms, content("a")), at(0, stop, done))}
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			time.Sleep(30 * ms)
			outer, inner := net.Pipe()
			go func() {
				secured := tls.Server(inner, &tls.Config{Certificates: certificates, GetConfigForClient: slow})
				plain.answer(secured)
			}()
			return outer, nil
		}
		// The fake clock stands before the certificate begins to be valid.
		client := New(Options{Dial: dial, TLS: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}})
		obs := client.Do(t.Context(), Request{BaseURL: "https://engine.test"})
		if obs.Error != nil || *obs.ConnectNS != 30e6 || *obs.TLSNS != 20e6 || *obs.TTFT() != 7 {
			t.Errorf("connect %v, tls %v, ttft %v, error %v; want 30, 20 and 7 ms", obs.ConnectNS, obs.TLSNS, obs.TTFT(), obs.Error)
		}
		client.Close()
		time.Sleep(time.Minute)
	})
}

func answer(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, content("a")+stop+done)
}

func TestKeepAliveAndWarm(t *testing.T) {
	var mu sync.Mutex
	conns := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, "{}")
			return
		}
		answer(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			conns++
			mu.Unlock()
		}
	}
	server.Start()
	defer server.Close()
	client := New(Options{Conns: 32})
	defer client.Close()
	if err := client.Warm(t.Context(), server.URL+"/v1/models", 32); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 3 {
				if obs := client.Do(t.Context(), Request{BaseURL: server.URL}); obs.Error != nil || !*obs.ReusedConn {
					t.Errorf("reused is %v, error %v", *obs.ReusedConn, obs.Error)
				}
			}
		})
	}
	group.Wait()
	mu.Lock()
	defer mu.Unlock()
	if conns != 32 {
		t.Errorf("%d connections, want the 32 warm ones", conns)
	}
}

// An answer that counts as a failure does not cost the next request its connection, even if the end of the body comes a little
// later than the end mark; one that comes much later costs the connection, not the time.
func TestConnectionOutlivesFailures(t *testing.T) {
	check := func(events string, late time.Duration, reused bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: []step{{0, head}, at(5*ms, events), {late, last}}, stay: true}
			client := New(Options{Dial: s.dial})
			first, second := client.Do(t.Context(), Request{BaseURL: "http://engine.test"}), client.Do(t.Context(), Request{BaseURL: "http://engine.test"})
			if first.Error == nil || *second.ReusedConn != reused || since(first, first.Stamps.Done) != 5 {
				t.Errorf("after %.40q: error %v, done after %d ms, connection reused %v", events, first.Error, since(first, first.Stamps.Done), *second.ReusedConn)
			}
			client.Close()
			time.Sleep(time.Minute)
		})
	}
	check(stop+done, 20*ms, true)
	check(data(`{"error":"x"}`)+done, 20*ms, true)
	check(delta(`{}`)+done, 20*ms, true)
	check(stop+done, 10*time.Second, false)
}

// On a socket, against the server's own emission stamp: the median of 20 within 1 ms.
func TestStampsOnASocket(t *testing.T) {
	clock := NewClock(0)
	var emitted int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, delta(`{"role":"assistant"}`))
		w.(http.Flusher).Flush()
		<-time.After(10 * time.Millisecond)
		emitted = clock.Now()
		io.WriteString(w, content("a"))
		w.(http.Flusher).Flush()
		io.WriteString(w, stop+done)
	}))
	defer server.Close()
	client := New(Options{Clock: clock})
	defer client.Close()
	var late []int64
	for range 20 {
		obs := client.Do(t.Context(), Request{BaseURL: server.URL})
		if obs.Error != nil {
			t.Fatal(obs.Error)
		}
		if *obs.Stamps.FirstOutput < emitted {
			t.Fatal("the role chunk was taken for output: it was stamped before any was sent")
		}
		late = append(late, *obs.Stamps.FirstOutput-emitted)
	}
	slices.Sort(late)
	if median := time.Duration(late[10]); median > time.Millisecond {
		t.Errorf("stamps are %v late in the median, want under 1 ms", median)
	}
}

func TestSecretsAppearNowhere(t *testing.T) {
	const key, other = "sk-very-secret-key-1234567890", "tenant-password-77"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		echo := r.Header.Get("Authorization") + " " + r.Header.Get("X-Tenant")
		w.Header().Set("X-Route-Reason", echo)
		w.Header().Set("X-Route", echo)
		w.Header().Set("X-Request-Id", echo)
		switch r.URL.Query().Get("as") {
		case "status":
			http.Error(w, "no: "+echo+" password=hunter22 sk-abcdefghijklmnopqrstuv", http.StatusForbidden)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, data(`{"id":"`+echo+`","choices":[{"delta":{"content":"`+echo+`"}}],"usage":{"`+echo+`":["`+echo+`"]},"metrics":{"m":{"n":"`+echo+`"}}}`)+data(`{"error":"`+echo+`"}`))
		}
	}))
	defer server.Close()
	client := New(Options{APIKey: key, Header: map[string]string{"X-Tenant": other}})
	defer client.Close()
	for _, base := range []string{server.URL, strings.Replace(server.URL, "http://", "http://user:"+other+"@", 1)} {
		text := string(sembench.Marshal(client.Do(t.Context(), Request{BaseURL: base})))
		for _, secret := range []string{key, other} {
			if strings.Contains(text, secret) {
				t.Errorf("%q in %s", secret, text)
			}
		}
	}
	status := client.Clean("no: Bearer " + key + " password=hunter22 and sk-abcdefghijklmnopqrstuv http://me:pw12@host/x")
	for _, secret := range []string{key, "hunter22", "sk-abcdef", "pw12"} {
		if strings.Contains(status, secret) {
			t.Errorf("%q in %s", secret, status)
		}
	}
}

func TestTokensPerChunk(t *testing.T) {
	s := script{steps: stream(
		at(ms, data(`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}`)),
		at(ms, data(`{"choices":[{"delta":{"content":"bcd"}}],"usage":{"completion_tokens":4}}`)),
		at(ms, content("e")), at(ms, stop, done))}
	obs := serve(t, Chat, &s, Options{})
	var got [][2]int64
	for _, c := range obs.Chunks {
		got = append(got, [2]int64{c[1], c[2]})
	}
	if want := [][2]int64{{1, 1}, {3, 3}, {1, -1}}; !slices.Equal(got, want) {
		t.Errorf("bytes and tokens %v, want %v", got, want)
	}
}

func TestBody(t *testing.T) {
	seed := int64(7)
	base := Request{BaseURL: "http://h/v1/", Model: "m", Messages: []any{map[string]any{"role": "user", "content": "x"}}, Prompt: "p",
		MaxTokens: 64, Seed: &seed, Salt: "s", RequestID: "id"}
	check := func(api API, extra map[string]any, url, want string) {
		t.Helper()
		r := base
		r.API, r.ExtraBody = api, extra
		var got, expected any
		if err := json.Unmarshal(r.Body(), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if g, w := string(sembench.Marshal(got)), string(sembench.Marshal(expected)); g != w {
			t.Errorf("%s body\n%s, want\n%s", api, g, w)
		}
		if r.URL() != url {
			t.Errorf("%s goes to %s, want %s", api, r.URL(), url)
		}
	}
	check(Chat, nil, "http://h/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true},
		"temperature":0,"max_tokens":64,"seed":7,"cache_salt":"s","request_id":"id"}`)
	check(Completions, map[string]any{"max_tokens": nil, "max_completion_tokens": 9, "stream_options": map[string]any{"continuous_usage_stats": true}},
		"http://h/v1/completions", `{"model":"m","prompt":"p","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},
		"temperature":0,"max_completion_tokens":9,"seed":7,"cache_salt":"s","request_id":"id"}`)
	check(Generate, map[string]any{"sampling_params": map[string]any{"stop": "x"}}, "http://h/generate",
		`{"text":"p","stream":true,"sampling_params":{"temperature":0,"max_new_tokens":64,"stop":"x"},"extra_key":"s","rid":"id"}`)
}

// A proxy from the environment is measured only when it was asked for.
func TestProxyOnlyWhenAsked(t *testing.T) {
	if New(Options{}).transport.Proxy != nil {
		t.Error("the proxy variables are obeyed unasked")
	}
	if New(Options{UseProxy: true}).transport.Proxy == nil {
		t.Error("the proxy variables are not obeyed when asked")
	}
}

func TestEngineMetrics(t *testing.T) {
	for _, key := range []string{"metrics", "timings"} {
		s := script{steps: stream(at(ms, content("a")), at(ms, stop), at(0, data(`{"choices":[],"`+key+`":{"queue_time_ms":3}}`), done))}
		if obs := serve(t, Chat, &s, Options{}); obs.EngineMetrics["queue_time_ms"] != json.Number("3") {
			t.Errorf("%s: %v", key, obs.EngineMetrics)
		}
	}
}

func TestCallDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{steps: []step{{time.Hour, ""}}}
		client := New(Options{Dial: s.dial, Total: 10 * time.Minute})
		begun := time.Now()
		if _, failure := client.Call(t.Context(), http.MethodGet, "http://engine.test/metrics", nil, 100); failure == nil || failure.Class != sembench.ErrorTimeoutTotal {
			t.Errorf("%+v, want a timeout", failure)
		}
		if took := time.Since(begun); took != maxCall {
			t.Errorf("took %v", took)
		}
		client.Close()
		time.Sleep(2 * time.Hour)
	})
}

func TestIdentityIsAskedFor(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Accept-Encoding")
		answer(w, r)
	}))
	defer server.Close()
	client := New(Options{})
	defer client.Close()
	if client.Do(t.Context(), Request{BaseURL: server.URL}); asked != "identity" {
		t.Errorf("asked for %q", asked)
	}
}

func TestRouteHeaders(t *testing.T) {
	h := http.Header{}
	for _, name := range []string{"X-Synapse-Route-Endpoint-Id", "X-Vsr-Selected-Model", "X-Semrouter-Path", "X-Gateway-Destination-Endpoint", "Set-Cookie", "X-Mine"} {
		h.Set(name, strings.Repeat("v", 1000))
	}
	kept := keepHeaders(h, []string{"X-Mine"}, func(s string) string { return s })
	if len(kept) != 5 || kept["set-cookie"] != "" || len(kept["x-mine"]) > maxHeaderValue+3 {
		t.Errorf("kept %v", kept)
	}
}

// However a stream is cut into reads, its events are the same.
func FuzzStream(f *testing.F) {
	for _, c := range hostile {
		for _, s := range c.script.steps {
			if len(s.bytes) < 1<<12 {
				f.Add([]byte(s.bytes), uint8(3))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		read := func(step int) (events []string) {
			s := sse{emit: func(name string, data []byte, _ int64) { events = append(events, name+"\x00"+string(data)) }}
			for rest := text; len(rest) > 0; {
				n := min(step, len(rest))
				if s.feed(rest[:n], 0) != nil {
					t.Fatal("a small stream is too long")
				}
				rest = rest[n:]
			}
			s.end(0, func([]byte) bool { return true })
			return events
		}
		whole, pieces := read(len(text)+1), read(int(size)+1)
		if !slices.Equal(whole, pieces) {
			t.Errorf("in one read %q, in reads of %d %q", whole, int(size)+1, pieces)
		}
		for _, api := range []API{Chat, Completions, Generate} {
			var obs sembench.Observation
			d := decoder{api: api, obs: &obs, clean: newRedactor(nil)}
			for _, e := range whole {
				name, data, _ := strings.Cut(e, "\x00")
				d.event(name, []byte(data), 1)
			}
			if (obs.Stamps.FirstOutput == nil) != (len(obs.Chunks) == 0) {
				t.Error("output without a stamp")
			}
		}
	})
}

// An event that is read by its frame means what it means when it is parsed.
func FuzzFrame(f *testing.F) {
	for _, second := range []string{`b`, `\n`, `\"`, `\u00e9`, `","finish_reason":"stop`, `é`, `\\`, ``} {
		f.Add([]byte(`{"id":"a","choices":[{"delta":{"content":"a"},"finish_reason":null}]}`), []byte(`{"id":"a","choices":[{"delta":{"content":"`+second+`"},"finish_reason":null}]}`))
		f.Add([]byte(`{"choices": [{"text": "x", "logprobs": null}], "usage": null}`), []byte(`{"choices": [{"text": "`+second+`", "logprobs": null}], "usage": null}`))
	}
	f.Add([]byte(`{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"name":"f"}}]}}]}`), []byte(`{"choices":[{"delta":{"content":"b","tool_calls":[{"function":{"name":"f"}}]}}]}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var a, b sembench.Observation
		learned := decoder{api: Chat, obs: &a, clean: newRedactor(nil)}
		learned.event("", first, 1)
		text, ok := learned.frame.read(second)
		if !ok {
			return
		}
		whole := decoder{api: Chat, obs: &b, clean: newRedactor(nil)}
		whole.event("", second, 1)
		chunks := 0
		if text != "" {
			chunks = 1
		}
		if whole.failure != nil || whole.text.String() != text || len(b.Chunks) != chunks || b.Usage != nil || whole.finished || b.OutputTokenIDs != nil {
			t.Errorf("after %s, %s is read as %q and parsed as %q (%v)", first, second, text, whole.text.String(), whole.failure)
		}
	})
}
