package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"sembench"
)

func inJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everyEngine is each name that a sample may be read under.
var everyEngine = []string{"vllm", "sglang", "trtllm", "lmcache", "openai", "auto"}

// The same bytes in other chunks give the same document.
func TestChunking(t *testing.T) {
	readers := map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with error": iotest.DataErrReader,
	}
	check := func(name string, data []byte) {
		t.Helper()
		for _, engine := range everyEngine {
			want := inJSON(t, summarize(t, engine, data))
			for how, wrap := range readers {
				ev, err := Summarize(engine, wrap(bytes.NewReader(data)), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := inJSON(t, ev); got != want {
					t.Errorf("%s as %s, %s:\n%s\nwant\n%s", name, engine, how, got, want)
				}
			}
		}
	}
	var all []byte
	for _, s := range loadSamples(t) {
		check(s.name, s.data)
		all = append(append(all, s.data...), '\r')
	}
	check("all", all)
}

// negative finds a count below zero anywhere in a document; need_to_load alone is signed.
func negative(v any, path string) string {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if k == "need_to_load" {
				continue
			}
			if bad := negative(e, path+"."+k); bad != "" {
				return bad
			}
		}
	case []any:
		for i, e := range v {
			if bad := negative(e, fmt.Sprintf("%s[%d]", path, i)); bad != "" {
				return bad
			}
		}
	case float64:
		if v < 0 {
			return fmt.Sprintf("%s = %g", path, v)
		}
	}
	return ""
}

// wellFormed are the invariants of any summary of any bytes.
func wellFormed(t testing.TB, ev *sembench.Evidence) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(inJSON(t, ev)), &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc, "events") // audit objects are kept as they came
	if bad := negative(doc, ""); bad != "" {
		t.Errorf("negative: %s", bad)
	}
	if ev.Engine == "lmcache" && (ev.MaterializedSemanticKVReuse || ev.MaterializedSemanticKVReuseFileLevel) {
		t.Error("LMCache became semantic")
	}
	if ev.MaterializedSemanticKVReuse && (ev.SemanticHits == nil || *ev.SemanticHits == 0 || *ev.MaterializationEvents == 0) {
		t.Error("flag without both kinds of evidence")
	}
	if ev.MaterializedSemanticKVReuse && ev.Join == "per_request" && *ev.Requests.HitAndMaterialized == 0 {
		t.Error("flag without a request that has both")
	}
	if e := ev.ExactReuse; e != nil && e.Ratio != nil && (*e.Ratio < 0 || *e.Ratio > 1) {
		t.Errorf("ratio %g", *e.Ratio)
	}
}

// Every prefix of every sample is read without a fault, and never yields more than the whole does.
func TestTruncation(t *testing.T) {
	step := 1
	if testing.Short() || raceEnabled {
		step = 17
	}
	for _, s := range loadSamples(t) {
		for _, engine := range []string{"auto", s.engine} {
			if _, err := Canonical(engine); err != nil {
				engine = "vllm"
			}
			for n := 0; n <= len(s.data); n += step {
				ev := summarize(t, engine, s.data[:n])
				wellFormed(t, ev)
			}
		}
		for n := 0; n <= len(s.data); n += step {
			_, err := ReadAudit(bytes.NewReader(s.data[:n]))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = ParseMetrics(bytes.NewReader(s.data[:n]))
			for b := range ReadKVEvents(bytes.NewReader(s.data[:n])) {
				NewKVState().Apply(b)
			}
		}
	}
}

// A prompt that quotes evidence is no evidence, whatever wrapper the log came in.
func TestQuotedEvidence(t *testing.T) {
	evil := []string{
		"SemBlend semantic lookup hit request_id=z donor_id=y similarity=0.99 kind=k reusable_tokens=4096 reason=ok",
		"SemBlend materialized request_id=z donor_id=y tokens=4096",
		"[FUZZY RADIX] fuzzy match success: rid=z cached=4096 prompt=1 offset=0",
		"[FUZZY] Realized 4096 fuzzy tokens (contiguous)",
		"LMCache INFO: Retrieved 4096 out of 4096 required tokens (from 4096 total tokens)",
		"Reqid: z, Total tokens 4096, LMCache hit tokens: 4096, need to load: 4095",
		"100%|##| 2/2 [00:01<00:00, 1.7it/s]SemBlend materialized request_id=z donor_id=y tokens=4096",
		"2031-05-01T10:00:00Z stdout F SemBlend materialized request_id=z donor_id=y tokens=4096",
		`{"event":"runtime_materialized","schema_version":2,"request_id":"z","tokens":4096}`,
		"ERROR Traceback (most recent call last): RuntimeError: boom [E:onnxruntime:, x] Non-zero status code returned",
		"\x1b[33mSemBlend materialized request_id=z donor_id=y tokens=4096\x1b[0m",
	}
	heads := []string{
		"INFO 05-01 10:00:00 [logger.py:43] Received request cmpl-e1-0: prompt: '",
		"INFO 05-01 10:00:00 logger.py:43] Received request cmpl-e1-0: prompt: '",
		"(APIServer pid=1) INFO 05-01 10:00:00 [logger.py:43] Received request x: prompt: '",
		"[2031-05-01 10:00:00 TP0] Receive: obj=GenerateReqInput(text='",
		"INFO:     10.0.0.1:1 - \"POST /v1?prompt=",
		"2031-05-01T10:00:00.1Z  INFO dynamo_llm::http: prompt: ",
		"I0501 10:00:00.000000       1 server.go:1] prompt: ",
		"2031-05-01 10:00:00,000 - app - INFO - prompt: ",
	}
	for _, e := range evil {
		for _, h := range heads {
			line := h + e + "', params: SamplingParams(n=1)\n"
			wrapped := inJSON(t, map[string]any{"log": line, "stream": "stdout", "time": "2031-05-01T10:00:00Z"}) + "\n"
			logged := inJSON(t, map[string]any{"levelname": "INFO", "message": "prompt: " + e}) + "\n"
			for _, in := range []string{line, wrapped, logged, "2031-05-01T10:00:00.000000001Z stdout F " + line, "[pod/a/b] " + line} {
				for _, engine := range everyEngine {
					ev := summarize(t, engine, []byte(in))
					if deref(ev.SemanticHits)+deref(ev.MaterializationEvents)+deref(ev.MaterializedTokens)+ev.ErrorCount+ev.RuntimeWarningCount != 0 || ev.LMCache != nil {
						t.Errorf("%s: %q became evidence: %s", engine, in, inJSON(t, ev))
					}
				}
			}
		}
	}
}

func TestWrappers(t *testing.T) {
	const msg = "INFO 05-01 10:00:00 [connector.py:900] SemBlend materialized request_id=r donor_id=d tokens=8"
	long := msg + " " + strings.Repeat("x", 20<<10)
	docker := func(log string) string {
		return inJSON(t, map[string]any{"log": log, "stream": "stderr", "time": "2031-05-01T10:00:00Z"}) + "\n"
	}
	for name, in := range map[string]string{
		"bare":                 msg,
		"CRLF":                 msg + "\r\n",
		"bom":                  "\xef\xbb\xbf" + msg,
		"pod":                  "[pod/vllm-0/engine] " + msg,
		"pod and time":         "[pod/vllm-0/engine] 2031-05-01T10:00:00.123456789Z " + msg,
		"offset time":          "2031-05-01T10:00:00.123+02:00 " + msg,
		"cri":                  "2031-05-01T10:00:00.1Z stdout F " + msg,
		"cri parts":            "2031-05-01T10:00:00.1Z stdout P " + msg[:70] + "\n2031-05-01T10:00:00.1Z stdout F " + msg[70:],
		"cri part never ends":  "2031-05-01T10:00:00.1Z stdout P " + msg,
		"docker":               docker(msg + "\n"),
		"docker parts":         docker(long[:16<<10]) + docker(long[16<<10:]+"\n"),
		"docker and cri":       docker("2031-05-01T10:00:00.1Z stdout F " + msg + "\n"),
		"label":                "(Worker_TP0 pid=21) " + msg,
		"ray label":            "(RayWorkerWrapper pid=901, ip=10.0.0.2) " + msg,
		"colour":               "\x1b[1;36m(EngineCore_DP0 pid=11)\x1b[0;0m " + msg,
		"lost colour":          "[1;36m(EngineCore_DP0 pid=11)[0;0m " + msg,
		"colour behind header": "INFO 05-01 10:00:00 [connector.py:900] [32;20mSemBlend materialized request_id=r donor_id=d tokens=8",
		"progress":             "Loading:  50%|#####     | 1/2 [00:01<00:01,  1.0s/it]" + msg,
		"progress then CR":     "Loading:  50%|#####     | 1/2 [00:01<00:01,  1.0s/it]\r" + msg,
		"bad utf8":             msg + " \xff\xfe",
		"no source tag":        "INFO 05-01 10:00:00 SemBlend materialized request_id=r donor_id=d tokens=8",
		"python":               "2031-05-01 10:00:00,123 INFO SemBlend materialized request_id=r donor_id=d tokens=8",
		"python dashes":        "2031-05-01 10:00:00,123 - semblend.connector - INFO - SemBlend materialized request_id=r donor_id=d tokens=8",
		"python default":       "INFO:semblend:SemBlend materialized request_id=r donor_id=d tokens=8",
		"json":                 `{"level":"info","msg":"SemBlend materialized request_id=r donor_id=d tokens=8"}`,
		"zap":                  "2031-05-01T10:00:00Z\tINFO\tsemblend\tSemBlend materialized request_id=r donor_id=d tokens=8",
		"klog":                 "I0501 10:00:00.000000       1 server.go:1] SemBlend materialized request_id=r donor_id=d tokens=8",
	} {
		ev := summarize(t, "vllm", []byte(in))
		if ev.MaterializedTokens == nil || *ev.MaterializedTokens != 8 || *ev.MaterializationEvents != 1 {
			t.Errorf("%s: %s", name, inJSON(t, ev))
		}
	}
	ev := summarize(t, "vllm", []byte("[pod/a/b] 2031-05-01T10:00:00Z \x1b[1m(EngineCore pid=1)\x1b[0m "+msg+"\n\xff\n"))
	if got := strings.Join(ev.Input.Wrappers, " "); got != "ansi label pod timestamp" || ev.Input.InvalidUTF8Lines != 1 || ev.Input.Lines != 2 {
		t.Errorf("wrappers %q invalid %d lines %d", got, ev.Input.InvalidUTF8Lines, ev.Input.Lines)
	}
}

func TestErrors(t *testing.T) {
	trace := "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    g()\nRuntimeError: boom\n"
	tagged := func(s string) string {
		return "ERROR 05-01 10:00:00 [core.py:10] " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\nERROR 05-01 10:00:00 [core.py:10] ") + "\n"
	}
	for _, c := range []struct {
		name, in string
		errors   int
	}{
		{"bare traceback", trace, 1},
		{"two tracebacks", trace + trace, 2},
		{"chained", trace + "\nDuring handling of the above exception, another exception occurred:\n\n" + trace, 1},
		{"logged line by line", tagged(trace), 1},
		{"message and traceback", tagged("EngineCore failed.") + tagged(trace), 1},
		{"message, traceback, then another error", tagged("EngineCore failed.") + tagged(trace) + tagged("gone"), 2},
		{"interleaved processes", "(A pid=1) Traceback (most recent call last):\n(B pid=2) INFO 05-01 10:00:00 [a.py:1] fine\n(A pid=1)   File \"x\"\n(A pid=1) ValueError: no\n", 1},
		{"info text that says ERROR", "INFO 05-01 10:00:00 [a.py:1] ERROR rate is 0\n", 0},
		{"klog", "E0501 10:00:00.000000       1 a.go:1] no route\n", 1},
		{"json", `{"level":"error","msg":"no route"}` + "\n", 1},
		{"critical", "CRITICAL 05-01 10:00:00 [a.py:1] out\n", 1},
		{"bare exception", "torch.OutOfMemoryError: CUDA out of memory. Tried\n", 1},
		{"sglang exception", "[2031-05-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n", 1},
		{"matcher", "ERROR 05-01 10:00:00 [c.py:1] SemBlend provider lookup failed; falling back\n" + trace, 0},
		{"rust", "2031-05-01T10:00:00.123Z ERROR dynamo::x: no route\n", 1},
	} {
		ev := summarize(t, "vllm", []byte(c.in))
		if ev.ErrorCount != c.errors || len(ev.Errors) != c.errors {
			t.Errorf("%s: %d errors %q, want %d", c.name, ev.ErrorCount, ev.Errors, c.errors)
		}
	}
	var many strings.Builder
	for range 1000 {
		many.WriteString("ERROR 05-01 10:00:00 [a.py:1] " + strings.Repeat("long ", 1000) + "\n")
	}
	ev := summarize(t, "vllm", []byte(many.String()))
	if ev.ErrorCount != 1000 || len(ev.Errors) != 50 || len(ev.Errors[0]) > maxErrorText {
		t.Errorf("count %d kept %d of %d bytes", ev.ErrorCount, len(ev.Errors), len(ev.Errors[0]))
	}
}

// Beyond the cap the sums stay right, and the document says what is lost.
func TestMaxRequests(t *testing.T) {
	var in strings.Builder
	for i := range 50 {
		for rank := range 2 {
			fmt.Fprintf(&in, "(Worker_TP%d pid=1) INFO 05-01 10:00:00 [c.py:1] SemBlend materialized request_id=r%d donor_id=d tokens=16\n", rank, i)
		}
	}
	ev, err := Summarize("vllm", strings.NewReader(in.String()), Options{MaxRequests: 10})
	if err != nil {
		t.Fatal(err)
	}
	if *ev.MaterializedTokens != 800 || *ev.MaterializationEvents != 50 || *ev.Requests.Materialized != 10 {
		t.Errorf("tokens %d events %d requests %d", *ev.MaterializedTokens, *ev.MaterializationEvents, *ev.Requests.Materialized)
	}
	if !strings.Contains(strings.Join(ev.Warnings, "\n"), "raise --max-requests") {
		t.Errorf("warnings %q", ev.Warnings)
	}
}

// Data-parallel groups are different requests, tensor-parallel ranks the same one; without a request id,
// too.
func TestRanks(t *testing.T) {
	line := func(label string) string {
		return "(" + label + " pid=1) [2031-05-01 10:00:00,000] LMCache INFO: Retrieved 512 out of 512 required tokens (from 600 total tokens). size: 1 gb\n"
	}
	for in, want := range map[string]int{
		line("Worker_TP0") + line("Worker_TP1"):                                                           512,
		line("EngineCore_DP0") + line("EngineCore_DP1"):                                                   1024,
		line("EngineCore_DP0") + line("EngineCore_DP0"):                                                   1024,
		line("Worker_DP0_TP0") + line("Worker_DP0_TP1") + line("Worker_DP1_TP0") + line("Worker_DP1_TP1"): 1024,
		line("VllmWorker rank=0") + line("VllmWorker rank=1"):                                             512,
	} {
		if ev := summarize(t, "lmcache", []byte(in)); *ev.MaterializedTokens != want {
			t.Errorf("%s\n%d tokens, want %d", in, *ev.MaterializedTokens, want)
		}
	}
}

// endless repeats a block up to a size without holding it.
type endless struct {
	block []byte
	at    int
	left  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), e.left)], e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	e.left -= n
	return n, nil
}

// Memory depends on distinct requests, not on the size of the log.
func TestMemory(t *testing.T) {
	size := 1 << 30
	if testing.Short() || raceEnabled {
		size = 64 << 20
	}
	block := busyLog(20_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	src := &endless{block: block, left: size}
	start := time.Now()
	if _, err := Summarize("vllm", src, Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	t.Logf("%d MB in %v, heap obtained from the system %d MB", size>>20, time.Since(start), (after.HeapSys-before.HeapSys)>>20)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 60<<20 {
		t.Errorf("heap grew by %d MB", grown>>20)
	}
}

// Ten times the bytes may take some ten times the time, on the inputs that invite worse.
func TestNoQuadraticTime(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("timing is for the plain build")
	}
	for name, unit := range map[string]string{
		"one long line":    "x",
		"carriage returns": "a\r",
		"parts":            "2031-05-01T10:00:00.1Z stdout P x\n",
		"open brackets":    "[",
		"pretty":           "[\n",
		"labels":           "(A pid=1) ",
		"lost colours":     "[0m",
		"braces":           "{\"a\":",
		"percent bars":     "1%|",
		"fields":           "SemBlend materialized request_id= ",
	} {
		run := func(n int) time.Duration {
			data := []byte(strings.Repeat(unit, n))
			start := time.Now()
			for range 3 {
				summarize(t, "auto", data)
			}
			return time.Since(start)
		}
		run(1000)
		small, large := run(20_000), run(400_000)
		if large > 20*8*small+2*time.Second {
			t.Errorf("%s: %v for 20 k, %v for 400 k", name, small, large)
		}
	}
}
