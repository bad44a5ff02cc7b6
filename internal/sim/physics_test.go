package sim

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A prompt serves as donor only after the settle delay, counted from its last token.
func TestDonorsSettle(t *testing.T) {
	document := prose(5, 300)
	for gap, want := range map[time.Duration]bool{9 * time.Millisecond: false, 11 * time.Millisecond: true} {
		e, err := New(Config{Tokenizer: "regex", Semantic: true, BaseMS: 5, DonorSettleMS: 10})
		if err != nil {
			t.Fatal(err)
		}
		truth, err := e.Play(t.Context(), []Arrival{
			{Prompt: "One. " + document, MaxTokens: 1},
			{At: 5*time.Millisecond + gap, Prompt: "Quite another one. " + document, MaxTokens: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := truth[1].SemanticTokens > 0; got != want {
			t.Errorf("%v after the donor: hit %v, want %v", gap, got, want)
		}
	}
}

// What the first tier evicts the second one keeps and serves: A, then B that fills the cache, then A again.
func TestOffloadTierServesWhatWasEvicted(t *testing.T) {
	e, err := New(Config{Tokenizer: "regex", CapacityBlocks: 20, OffloadBlocks: 100, PrefillUSPerToken: 10, OffloadUSPerToken: 1})
	if err != nil {
		t.Fatal(err)
	}
	// 320 tokens each: words and full stops.
	a, b := strings.Repeat("alpha beta ", 160), strings.Repeat("gamma delta ", 160)
	truth, err := e.Play(t.Context(), []Arrival{{Prompt: a}, {At: time.Second, Prompt: b}, {At: 2 * time.Second, Prompt: a}})
	if err != nil {
		t.Fatal(err)
	}
	last := truth[2]
	if last.PrefixTokens != 0 || last.ExternalTokens != 304 || last.LoadNS != 304_000 || last.PrefillNS != 160_000 {
		t.Errorf("%+v", last)
	}
}

// Under load each request that runs beside another lengthens its inter-token time.
func TestBatchSlope(t *testing.T) {
	e, err := New(Config{Tokenizer: "regex", ITLMS: 1, BatchSlope: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*job
	for range 3 {
		j := &job{ids: []uint32{1}, limit: 9, arrival: e.boot.started, out: output{chunks: []string{"a", "b", "c"}, tokens: 3, reason: "stop"}}
		jobs = append(jobs, j)
		e.enqueue(j)
	}
	for i, want := range []time.Duration{1000 * time.Microsecond, 1500 * time.Microsecond, 2000 * time.Microsecond} {
		if jobs[i].itl != want {
			t.Errorf("request %d: %v between tokens, want %v", i, jobs[i].itl, want)
		}
	}
}

// Many clients at once, some of which leave early: every request ends, nothing is left running, and later requests are
// served. Time is testing/synctest's.
func TestConcurrencyAndClientsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		c := law()
		c.MaxRunning, c.PrefillSlots, c.ITLMS, c.Clock = 3, 1, 5, NewTimerClock()
		e, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- e.Serve(ctx, m.Listener()) }()
		client := &http.Client{Transport: &http.Transport{DialContext: m.Dial, DisableCompression: true, MaxIdleConnsPerHost: 30}}
		var wait sync.WaitGroup
		for i := range 24 {
			wait.Go(func() {
				time.Sleep(time.Duration(i) * 3 * time.Millisecond)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%4 == 3 {
					time.AfterFunc(time.Duration(1+i)*time.Millisecond, cancel)
				}
				body := strings.NewReader(fmt.Sprintf(`{"prompt":"Request %d. %s","max_tokens":9,"stream":true}`, i, prose(uint64(i%3), 100)))
				req, _ := http.NewRequestWithContext(ctx, "POST", "http://sim/v1/completions", body)
				res, err := client.Do(req)
				if err != nil {
					return
				}
				defer res.Body.Close()
				buf := make([]byte, 512)
				for err == nil {
					_, err = res.Body.Read(buf)
				}
			})
		}
		wait.Wait()
		time.Sleep(time.Second)
		e.mu.Lock()
		e.advance(e.cfg.Clock.Now())
		if e.sched.running != 0 || len(e.sched.queue) != 0 || len(e.sched.events) != 0 {
			t.Errorf("%d running, %d waiting, %d events left", e.sched.running, len(e.sched.queue), len(e.sched.events))
		}
		e.mu.Unlock()
		aborted, queued := 0, int64(0)
		truth := e.Truth()
		for _, r := range truth {
			if r.Extra["aborted"] == true {
				aborted++
			} else if queued += r.QueueNS; r.EmittedFirstNS != r.LawTTFTNS {
				t.Errorf("not on time: %+v", r)
			}
		}
		if len(truth) != 24 || aborted == 0 || aborted > 6 || queued == 0 {
			t.Errorf("%d records, %d aborted, %d ns queued", len(truth), aborted, queued)
		}
		client.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A client that leaves frees its slot at once: who waits starts then, and its first token is on time.
func TestLeavingFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Tokenizer: "regex", BaseMS: 5, ITLMS: 100, MaxRunning: 1, Clock: NewTimerClock()})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		request := func(ctx context.Context) *job {
			j := &job{ids: []uint32{1}, limit: 9, arrival: time.Now(), out: output{chunks: make([]string, 9), tokens: 9, reason: "stop"}}
			if err := e.submit(ctx, j); err != nil {
				t.Error(err)
			}
			return j
		}
		ctx, leave := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			j := request(ctx)
			if e.cfg.Clock.SleepUntil(ctx, j.finish) == nil {
				t.Error("the client did not leave")
			}
			e.drop(j)
		})
		for range 2 { // the first to wait, and one behind it
			time.Sleep(10 * time.Millisecond)
			wait.Go(func() { request(t.Context()) })
		}
		time.Sleep(30 * time.Millisecond)
		leave()
		synctest.Wait()
		if got := time.Since(began); got != 50*time.Millisecond {
			t.Fatalf("%v passed", got)
		}
		e.mu.Lock()
		running, waiting := e.sched.running, len(e.sched.queue)
		e.mu.Unlock()
		if running != 1 || waiting != 1 {
			t.Errorf("%d running, %d waiting", running, waiting)
		}
		wait.Wait()
		// The second one starts when the first one's nine tokens are out, 5 ms and 8 x 100 ms later.
		if got := time.Since(began); got != 50*time.Millisecond+805*time.Millisecond {
			t.Errorf("the last one started after %v", got)
		}
	})
}
