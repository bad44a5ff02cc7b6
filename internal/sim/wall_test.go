package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkLateness reports how far behind the law's deadline the first chunk leaves, on prompts of a thousand tokens.
func BenchmarkLateness(b *testing.B) {
	e, err := New(Default())
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(e.Handler())
	defer server.Close()
	b.ResetTimer()
	for i := range b.N {
		body := chatBody(prose(uint64(i), 330))
		body["stream"] = true
		text, _ := json.Marshal(body)
		res, err := server.Client().Post(server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	b.StopTimer()
	var late []time.Duration
	for _, t := range e.Truth() {
		late = append(late, time.Duration(t.EmittedFirstNS-t.LawTTFTNS))
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2])/1e3, "p50-us-late")
	b.ReportMetric(float64(late[len(late)*99/100])/1e3, "p99-us-late")
}

// BenchmarkStreams is the rate of streams with eight chunks each over loopback, keep-alive connections, one request at
// a time on each.
func BenchmarkStreams(b *testing.B) {
	e, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(e.Handler())
	defer server.Close()
	body := `{"prompt":"The lake is seven metres deep in May. How deep is the lake?","max_tokens":8,"stream":true}`
	request := []byte(fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	const clients = 32
	b.ResetTimer()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			for i := c; i < b.N; i += clients {
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				chunks := 0
				for {
					line, err := in.ReadSlice('\n')
					if err != nil {
						b.Error(err)
						return
					}
					if bytes.HasPrefix(line, []byte("data: {")) {
						chunks++
					}
					if string(line) == "0\r\n" {
						in.ReadSlice('\n')
						break
					}
				}
				if chunks != 9 { // and the one with the finish reason
					b.Errorf("%d chunks", chunks)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "streams/s")
}

// One request at a time over a real socket: the first output leaves at the law's time, never before it.
func TestFirstOutputLeavesOnTime(t *testing.T) {
	r := start(t, Config{BaseMS: 20, ITLMS: 1})
	for range 10 {
		body := chatBody("How deep is the lake?")
		body["stream"] = true
		if _, text := r.post("/v1/chat/completions", body, ""); !strings.Contains(text, "[DONE]") {
			t.Fatal(text)
		}
	}
	var late []int64
	for _, got := range r.e.Truth() {
		late = append(late, got.EmittedFirstNS-got.LawTTFTNS)
	}
	slices.Sort(late)
	if late[0] < 0 || late[len(late)/2] > int64(5*time.Millisecond) {
		t.Errorf("late by %v ns", late)
	}
}
