package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tokenChunk is an event of the size that vLLM sends.
const tokenChunk = `data: {"id":"chatcmpl-sembench-warm-000012-recipient-2c4b9e7257a6b973","object":"chat.completion.chunk","created":1764587000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

const usageChunk = `data: {"id":"chatcmpl-sembench-warm-000012-recipient-2c4b9e7257a6b973","object":"chat.completion.chunk","created":1764587000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[],"usage":{"prompt_tokens":1000,"total_tokens":1008,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":960}}}` + "\n\ndata: [DONE]\n\n"

func eightChunks(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for range 8 {
		io.WriteString(w, tokenChunk)
		w.(http.Flusher).Flush()
	}
	io.WriteString(w, stop+usageChunk)
}

// BenchmarkStreams is streams a second of 8 chunks each, server and client in one process. The minimal loop is what net/http
// costs without an instrument: it splits lines, stamps the first and looks for the end.
func BenchmarkStreams(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(eightChunks))
	defer server.Close()
	const workers = 64
	run := func(b *testing.B, one func()) {
		var left atomic.Int64
		left.Store(int64(b.N))
		var group sync.WaitGroup
		b.ReportAllocs()
		b.ResetTimer()
		for range workers {
			group.Go(func() {
				for left.Add(-1) >= 0 {
					one()
				}
			})
		}
		group.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "streams/s")
	}
	b.Run("wire", func(b *testing.B) {
		client := New(Options{Conns: workers, Total: time.Minute, Idle: time.Minute})
		defer client.Close()
		request := Request{BaseURL: server.URL, Model: "m", MaxTokens: 8, Messages: []any{map[string]any{"role": "user", "content": "x"}}}
		run(b, func() {
			if obs := client.Do(b.Context(), request); obs.Error != nil || len(obs.Chunks) != 8 || *obs.CachedTokens() != 960 {
				b.Errorf("%+v, %d chunks", obs.Error, len(obs.Chunks))
			}
		})
	})
	b.Run("minimal", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}}
		defer client.CloseIdleConnections()
		body := []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`)
		run(b, func() {
			response, err := client.Post(server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			defer response.Body.Close()
			var first time.Time
			lines := bufio.NewScanner(response.Body)
			for lines.Scan() {
				if first.IsZero() && bytes.HasPrefix(lines.Bytes(), []byte("data:")) {
					first = time.Now()
				}
			}
		})
	})
}

// BenchmarkPaced is what the client adds to TTFT: 64 streams at a time, first token after 50 ms, then one each 10 ms, measured from
// the server's stamp just before it writes. Beside it a minimal loop, and aiohttp where Python has it.
func BenchmarkPaced(b *testing.B) {
	clock := NewClock(0)
	var mu sync.Mutex
	wrote, wroteWall := map[string]int64{}, map[string]int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		wait := 50 * time.Millisecond
		for i := range 8 {
			time.Sleep(wait)
			wait = 10 * time.Millisecond
			now, wall := clock.Now(), time.Now().UnixNano()
			io.WriteString(w, tokenChunk)
			w.(http.Flusher).Flush()
			if i == 0 {
				mu.Lock()
				wrote[r.Header.Get("X-Request-Id")] = now
				wroteWall[r.Header.Get("X-Request-Id")] = wall
				mu.Unlock()
			}
		}
		io.WriteString(w, stop+usageChunk)
	}))
	defer server.Close()
	run := func(b *testing.B, one func(id string) int64) {
		var added []float64
		for n := 0; b.Loop(); n++ {
			var group sync.WaitGroup
			for i := range 64 {
				group.Go(func() {
					id := strconv.Itoa(n*64 + i)
					first := one(id)
					mu.Lock()
					added = append(added, float64(first-wrote[id])/1e6)
					mu.Unlock()
				})
			}
			group.Wait()
		}
		slices.Sort(added)
		b.ReportMetric(added[len(added)/2], "ms-added-p50")
		b.ReportMetric(added[len(added)*99/100], "ms-added-p99")
	}
	b.Run("wire", func(b *testing.B) {
		client := New(Options{Conns: 64, Clock: clock, Total: time.Minute, Idle: time.Minute})
		defer client.Close()
		run(b, func(id string) int64 {
			obs := client.Do(b.Context(), Request{BaseURL: server.URL, Model: "m", RequestID: id, Messages: []any{map[string]any{"role": "user", "content": "x"}}})
			if obs.Error != nil {
				b.Error(obs.Error)
				return 0
			}
			return *obs.Stamps.FirstOutput
		})
	})
	b.Run("minimal", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
		defer client.CloseIdleConnections()
		run(b, func(id string) (first int64) {
			request, err := http.NewRequest(http.MethodPost, server.URL, bytes.NewReader([]byte("{}")))
			if err != nil {
				b.Error(err)
				return 0
			}
			request.Header.Set("X-Request-Id", id)
			response, err := client.Do(request)
			if err != nil {
				b.Error(err)
				return 0
			}
			defer response.Body.Close()
			buffer := make([]byte, 4096)
			for {
				n, err := response.Body.Read(buffer)
				if n > 0 && first == 0 {
					first = clock.Now()
				}
				if err != nil {
					return first
				}
			}
		})
	})
	b.Run("aiohttp", func(b *testing.B) {
		python := os.Getenv("PYTHON")
		if python == "" {
			python = "python3"
		}
		if exec.Command(python, "-c", "import aiohttp").Run() != nil {
			b.Skip("no Python with aiohttp; name one in PYTHON")
		}
		const rounds = 10
		var added []float64
		for b.Loop() {
			out, err := exec.Command(python, "testdata/paced.py", server.URL, strconv.Itoa(rounds)).Output()
			if err != nil {
				b.Fatal(err)
			}
			for line := range strings.Lines(string(out)) {
				id, stamp, _ := strings.Cut(strings.TrimSpace(line), " ")
				ns, err := strconv.ParseInt(stamp, 10, 64)
				if err != nil {
					b.Fatal(err)
				}
				mu.Lock()
				added = append(added, float64(ns-wroteWall[id])/1e6)
				mu.Unlock()
			}
		}
		slices.Sort(added)
		b.ReportMetric(added[len(added)/2], "ms-added-p50")
		b.ReportMetric(added[len(added)*99/100], "ms-added-p99")
	})
}
