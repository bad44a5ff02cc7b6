package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sembench"
)

// pipes is a network without sockets, for fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serial is an engine that serves one request at a time, each for service.
func serial(service time.Duration) http.Handler {
	slots := sync.OnceValue(func() chan struct{} { return make(chan struct{}, 1) }) // made where time is fake
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		slot := slots()
		slot <- struct{}{}
		time.Sleep(service)
		<-slot
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
}

// loaded offers load in fake time.
func loaded(t *testing.T, handler http.Handler, cfg Config, traffic Traffic, items []sembench.Item) (summary LoadSummary, lines []sembench.Observation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		server := &http.Server{Handler: handler}
		go server.Serve(network)
		cfg.RunID, cfg.BaseURL, cfg.Model, cfg.Isolation, cfg.Dial = "run-1", "http://engine.test", "m", None, network.dial
		j := openTestJournal(t, false, "")
		var err error
		if summary, err = Load(t.Context(), cfg, traffic, items, j, nil); err != nil {
			t.Fatal(err)
		}
		lines = readBack(t, j)
		server.Close()
		time.Sleep(time.Minute)
	})
	return summary, lines
}

func bare(n int) []sembench.Item {
	items := someItems(n)
	for i := range items {
		items[i].DonorPrompts = nil
	}
	return items
}

// A server that serves 10 requests a second is offered 20: the k-th request has waited k times 50 ms when it is served, and the
// open loop says so. A closed loop on the same server would show 100 ms for every one: coordinated omission.
func TestOpenLoopShowsTheQueue(t *testing.T) {
	summary, lines := loaded(t, serial(100*time.Millisecond), Config{}, Traffic{Rate: 20, Process: Constant}, bare(10))
	if summary.OK != 10 || *summary.ScheduleLagP99MS != 0 || summary.ClientLimited || math.Abs(*summary.OfferedRate-20) > 1e-6 {
		t.Errorf("%+v, lag %v ms, rate %v", summary, *summary.ScheduleLagP99MS, *summary.OfferedRate)
	}
	if math.Abs(summary.WallSeconds-1) > 1e-9 || summary.IdleSeconds != 0 {
		t.Errorf("wall %v s, idle %v s, want 1 and 0", summary.WallSeconds, summary.IdleSeconds)
	}
	for _, o := range recipients(lines) {
		want := int64(o.Position+1)*100 - int64(o.Position)*50
		if got := (*o.Stamps.FirstOutput - *o.Stamps.Scheduled) / 1e6; got != want {
			t.Errorf("request %d: %d ms from its scheduled time, want %d", o.Position, got, want)
		}
	}
	_, lines = loaded(t, serial(100*time.Millisecond), Config{Concurrency: 1}, Traffic{}, bare(10))
	for _, o := range recipients(lines) {
		if o.Stamps.Scheduled != nil || *o.TTFT() != 100 {
			t.Errorf("closed loop: ttft %v ms, scheduled %v", *o.TTFT(), o.Stamps.Scheduled)
		}
	}
}

func TestDurationEndsTheSending(t *testing.T) {
	for name, traffic := range map[string]Traffic{"open": {Rate: 10, Process: Constant, Duration: 450 * time.Millisecond}, "closed": {Duration: 450 * time.Millisecond}} {
		summary, lines := loaded(t, serial(100*time.Millisecond), Config{}, traffic, bare(20))
		if summary.OK != 5 || summary.NotSent != 15 || summary.Drained || len(recipients(lines)) != 20 {
			t.Errorf("%s: %+v, want 5 sent of 20", name, summary)
		}
		for _, o := range recipients(lines)[5:] {
			if o.Status != sembench.StatusNotSent || *o.Reason != ReasonDuration {
				t.Errorf("%s: %s is %s", name, o.ItemID, o.Status)
			}
		}
	}
}

func TestLoadStopsItself(t *testing.T) {
	for name, traffic := range map[string]Traffic{"open": {Rate: 1000}, "closed": {}} {
		e := newEngine(t)
		cfg := e.config()
		cfg.MaxTotalTokens = 3000 // canaries and about ten recipients of 81 tokens
		j := openTestJournal(t, false, "")
		summary, err := Load(t.Context(), cfg, traffic, bare(60), j, nil)
		if err != nil || summary.Aborted != ReasonBudget || summary.OK == 0 || summary.NotSent == 0 || summary.OK+summary.NotSent != 60 || len(recipients(readBack(t, j))) != 60 {
			t.Errorf("%s: %+v, %v, want an end by budget", name, summary, err)
		}
		cfg = Config{RunID: "run-1", BaseURL: "http://127.0.0.1:1", Model: "m", Isolation: None}
		j = openTestJournal(t, false, "")
		summary, err = Load(t.Context(), cfg, traffic, bare(60), j, nil)
		if err != nil || summary.Aborted != ReasonUnreachable || summary.Failed+summary.NotSent != 60 {
			t.Errorf("%s: %+v, %v, want an end because nobody is there", name, summary, err)
		}
	}
}

func TestIdleTime(t *testing.T) {
	summary, _ := loaded(t, serial(100*time.Millisecond), Config{}, Traffic{Rate: 4, Process: Constant}, bare(5))
	// Requests at 0, 250, … 1000 ms, each 100 ms: 4 gaps of 150 ms.
	if math.Abs(summary.WallSeconds-1.1) > 1e-9 || math.Abs(summary.IdleSeconds-0.6) > 1e-9 {
		t.Errorf("wall %v s, idle %v s, want 1.1 and 0.6", summary.WallSeconds, summary.IdleSeconds)
	}
}

func TestTraceTimes(t *testing.T) {
	items := bare(4)
	for i, ms := range []string{"1000", "1500", "1250", "3000"} {
		items[i].Metadata["arrival_ms"] = json.Number(ms)
	}
	_, lines := loaded(t, serial(time.Millisecond), Config{}, Traffic{Replay: true, Speed: 2}, items)
	sent := map[string]int64{}
	var first int64 = math.MaxInt64
	for _, o := range recipients(lines) {
		sent[o.ItemID] = *o.Stamps.WriteStart
		first = min(first, *o.Stamps.WriteStart)
	}
	for i, want := range []int64{0, 250, 125, 1000} {
		if got := (sent[items[i].ItemID] - first) / 1e6; got != want {
			t.Errorf("item %d left after %d ms, want %d", i, got, want)
		}
	}
	items[2].Metadata["arrival_ms"] = nil
	if _, err := (Traffic{Replay: true}).schedule(items, 1); err == nil || !strings.Contains(err.Error(), items[2].ItemID) {
		t.Errorf("%v, want the item without a time", err)
	}
}

// Arrivals have the rate and the spread that their process promises: the coefficient of variation of the gaps is 0, 1, and
// 1/sqrt(shape).
func TestArrivalProcesses(t *testing.T) {
	items := make([]sembench.Item, 20001)
	for _, c := range []struct {
		traffic Traffic
		cv      float64
	}{{Traffic{Rate: 50, Process: Constant}, 0}, {Traffic{Rate: 50}, 1}, {Traffic{Rate: 50, Process: Gamma, Shape: 0.25}, 2}, {Traffic{Rate: 50, Process: Gamma, Shape: 4}, 0.5}} {
		due, err := c.traffic.schedule(items, 7)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(len(due) - 1)
		mean := due[len(due)-1].Seconds() / n
		var squares float64
		for i := 1; i < len(due); i++ {
			d := (due[i] - due[i-1]).Seconds() - mean
			squares += d * d
		}
		cv := math.Sqrt(squares/n) / mean
		// Both have a relative standard error of about cv/sqrt(n), some more for the spread.
		if math.Abs(mean*50-1) > 5*c.cv/math.Sqrt(n)+1e-6 || math.Abs(cv-c.cv) > 0.1*c.cv+1e-6 {
			t.Errorf("%+v: mean gap %v s, cv %v, want 0.02 and %v", c.traffic, mean, cv, c.cv)
		}
		again, _ := c.traffic.schedule(items, 7)
		if !slices.Equal(due, again) {
			t.Error("arrivals are not a function of the seed")
		}
	}
}

// Gaps are counted in completed requests, so they come out the same at any concurrency.
func TestGaps(t *testing.T) {
	for _, concurrency := range []int{1, 3, 8} {
		items := bare(30)
		items[1].Metadata["donor_item_id"], items[1].Metadata["donor_gap_requests"] = items[0].ItemID, json.Number("5")
		items[29].Metadata["donor_item_ids"], items[29].Metadata["donor_gap_requests"] = []any{items[0].ItemID, items[28].ItemID}, json.Number("4")
		summary, lines := loaded(t, serial(10*time.Millisecond), Config{Concurrency: concurrency}, Traffic{}, items)
		ended, begun := map[string]int64{}, map[string]int64{}
		var ends []int64
		for _, o := range recipients(lines) {
			ended[o.ItemID], begun[o.ItemID] = *o.Stamps.Done, *o.Stamps.WriteStart
			ends = append(ends, *o.Stamps.Done)
		}
		between := 0
		for _, end := range ends {
			if end > ended[items[0].ItemID] && end <= begun[items[1].ItemID] {
				between++
			}
		}
		if between < 5 {
			t.Errorf("concurrency %d: %d requests completed in the gap, want 5", concurrency, between)
		}
		if summary.GapsUnhonoured != 1 { // the last item's seed is the one before it
			t.Errorf("concurrency %d: %d gaps unhonoured, want 1", concurrency, summary.GapsUnhonoured)
		}
		for _, o := range recipients(lines) {
			if _, short := o.Extra[gapKey]; short != (o.ItemID == items[29].ItemID) {
				t.Errorf("concurrency %d: %s has %v", concurrency, o.ItemID, o.Extra)
			}
		}
	}
}

func TestLoadWithDonors(t *testing.T) {
	for name, traffic := range map[string]Traffic{"closed": {}, "open": {Rate: 500}} {
		e := newEngine(t)
		cfg := e.config()
		cfg.Concurrency = 4
		cfg.Arms = []string{"warm"}
		j := openTestJournal(t, false, "")
		summary, err := Load(t.Context(), cfg, traffic, someItems(30), j, nil)
		if err != nil || summary.OK != 30 || e.resets < 2 || summary.CanariesFailed != 0 {
			t.Fatalf("%s: %+v, %v", name, summary, err)
		}
		for _, o := range recipients(readBack(t, j)) {
			if len(o.Donors) != 1 || (*o.CachedTokens() == 0) != (o.Position%3 == 0) {
				t.Errorf("%s: %s has donors %v and %d cached tokens", name, o.ItemID, o.Donors, *o.CachedTokens())
			}
		}
		e = newEngine(t)
		cfg.BaseURL = e.server.URL
		traffic.Cold = true
		cfg.Arms = []string{"cold"}
		j = openTestJournal(t, false, "")
		if _, err := Load(t.Context(), cfg, traffic, append(someItems(10), someItems(1)...), j, nil); err != nil {
			t.Fatal(err)
		}
		for _, o := range recipients(readBack(t, j)) {
			if *o.CachedTokens() != 0 { // the prompt that comes twice included
				t.Errorf("%s: cold request %d has %d cached tokens", name, o.Position, *o.CachedTokens())
			}
		}
	}
}

// More than ten thousand requests at concurrency 512 leave neither goroutines nor sockets nor memory behind.
func TestNothingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 requests")
	}
	open := map[net.Conn]bool{}
	var mu sync.Mutex
	closed := sync.NewCond(&mu)
	server := &http.Server{Handler: serialFree(), ConnState: func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		defer closed.Broadcast()
		if s == http.StateNew {
			open[c] = true
		} else if s == http.StateClosed {
			delete(open, c)
		}
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	defer server.Close()
	items := make([]sembench.Item, 3500)
	for i := range items {
		items[i] = sembench.Item{ItemID: fmt.Sprint(i), RecipientPrompt: "a few words", Metadata: map[string]any{}}
	}
	cfg := Config{RunID: "run-1", BaseURL: "http://" + listener.Addr().String(), Model: "m", Isolation: None, Concurrency: 512, IncludeText: "none"}
	measure := func() (goroutines int, heap uint64) {
		j := openTestJournal(t, false, "")
		summary, err := Load(t.Context(), cfg, Traffic{}, items, j, nil)
		if err != nil || summary.OK != 3500 {
			t.Fatalf("%+v, %v", summary, err)
		}
		j.Close()
		mu.Lock()
		for len(open) > 0 { // connections end a moment after they are closed; one that does not hangs the test
			closed.Wait()
		}
		mu.Unlock()
		for range 3 { // pools empty after two
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	measure() // what is made once
	goroutines, heap := measure()
	goroutines2, heap2 := measure()
	if goroutines2 > goroutines+5 || heap2 > heap+2<<20 {
		t.Errorf("goroutines %d → %d, heap %d → %d KiB", goroutines, goroutines2, heap>>10, heap2>>10)
	}
	t.Logf("goroutines %d → %d, heap %d → %d KiB", goroutines, goroutines2, heap>>10, heap2>>10)
}

// serialFree answers at once.
func serialFree() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
}

// BenchmarkScheduleLag is how late requests leave at 1,000 a second: the p99 that a document states.
func BenchmarkScheduleLag(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: serialFree()}
	go server.Serve(listener)
	defer server.Close()
	items := make([]sembench.Item, 2000)
	for i := range items {
		items[i] = sembench.Item{ItemID: fmt.Sprint(i), RecipientPrompt: "a few words", Metadata: map[string]any{}}
	}
	cfg := Config{RunID: "run-1", BaseURL: "http://" + listener.Addr().String(), Model: "m", Isolation: None}
	var p50, p99 float64
	n := 0
	for b.Loop() {
		summary, err := Load(b.Context(), cfg, Traffic{Rate: 1000}, items, openTestJournal(b, false, ""), nil)
		if err != nil {
			b.Fatal(err)
		}
		p50, p99 = p50+*summary.ScheduleLagP50MS, p99+*summary.ScheduleLagP99MS
		n++
	}
	b.ReportMetric(p50/float64(n), "ms-lag-p50")
	b.ReportMetric(p99/float64(n), "ms-lag-p99")
}
