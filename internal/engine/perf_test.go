package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

// busyLog is a vLLM log where one line in a hundred is of interest, as a busy server writes it: access
// lines and request lines between statistics and connector decisions.
func busyLog(lines int) []byte {
	var b bytes.Buffer
	for i := range lines {
		switch {
		case i%100 == 0 && i%200 == 0:
			fmt.Fprintf(&b, "(EngineCore_DP0 pid=11) INFO 05-01 10:00:02 [connector.py:900] SemBlend semantic lookup hit request_id=cmpl-r%d-0-9f8e7d6c donor_id=cmpl-d1-0-1a2b3c4d similarity=0.913 kind=semantic_span reusable_tokens=1536 reason=ok latency_ms=8.4\n", i)
		case i%100 == 0:
			b.WriteString("(APIServer pid=1) INFO 04-09 11:02:39 [loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 51.2 tokens/s, Running: 4 reqs, Waiting: 2 reqs, GPU KV cache usage: 33.1%, Prefix cache hit rate: 12.5%\n")
		case i%3 == 0:
			b.WriteString("(APIServer pid=1) INFO:     10.20.30.40:41400 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n")
		case i%3 == 1:
			fmt.Fprintf(&b, "(APIServer pid=1) INFO 05-01 10:00:01 [async_llm.py:270] Added request cmpl-e%d-0.\n", i)
		default:
			fmt.Fprintf(&b, "(APIServer pid=1) INFO 05-01 10:00:00 [logger.py:43] Received request cmpl-e%d-0: prompt: '%s', params: SamplingParams(n=1, temperature=0.0, max_tokens=8), lora_request: None.\n", i, strings.Repeat("Explain this ", 12))
		}
	}
	return b.Bytes()
}

func BenchmarkSummarizeVLLM(b *testing.B) {
	data := busyLog(200_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Summarize("vllm", bytes.NewReader(data), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWriteBenchLog writes the log of bench/engine.sh where its environment names a file.
func TestWriteBenchLog(t *testing.T) {
	path, size := os.Getenv("SEMBENCH_BENCH_LOG"), os.Getenv("SEMBENCH_BENCH_MB")
	mb, err := strconv.Atoi(size)
	if path == "" || err != nil {
		t.Skip("bench/engine.sh sets the file and its size")
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, &endless{block: busyLog(20_000), left: mb << 20}); err != nil {
		t.Fatal(err)
	}
}

// The same log in the envelopes of container runtimes.
func BenchmarkWrapped(b *testing.B) {
	for name, wrap := range map[string]func(string) string{
		"cri": func(s string) string { return "2031-05-01T10:00:00.123456789Z stdout F " + s },
		"docker": func(s string) string {
			j, _ := json.Marshal(map[string]string{"log": s + "\n", "stream": "stdout", "time": "2031-05-01T10:00:00Z"})
			return string(j)
		},
		"colour": func(s string) string { return "\x1b[1;36m" + s + "\x1b[0m" },
	} {
		var in bytes.Buffer
		for line := range strings.Lines(string(busyLog(20_000))) {
			in.WriteString(wrap(strings.TrimSuffix(line, "\n")) + "\n")
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(in.Len()))
			for b.Loop() {
				if _, err := Summarize("vllm", bytes.NewReader(in.Bytes()), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadAudit(b *testing.B) {
	one := fillIn(auditAdvert, "0", "1024", "16") + fillIn(auditLoad, "", "1024", "")
	data := []byte(strings.Repeat(one, 5000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ReadAudit(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
