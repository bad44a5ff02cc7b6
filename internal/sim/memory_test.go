package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"testing"
	"time"

	"sembench"
)

// inMemory serves an engine in a Memory and returns a client for it.
func inMemory(t *testing.T, c Config) (*Engine, *Memory, *http.Client) {
	t.Helper()
	m := NewMemory()
	c.Clock = m.Clock()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx, m.Listener()) }()
	client := &http.Client{Transport: &http.Transport{DialContext: m.Dial, DisableCompression: true}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return e, m, client
}

// ask sends one streamed chat and returns the client's time from sending to the first byte of the body.
func send(t *testing.T, client *http.Client, url string, now func() int64, text string) time.Duration {
	t.Helper()
	body := chatBody(text)
	body["stream"] = true
	raw, _ := json.Marshal(body)
	began := now()
	res, err := client.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	took := now() - began
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return time.Duration(took)
}

// shifted is a stream of prompts with exact, shifted and no reuse.
func shifted(i int) string {
	return fmt.Sprintf("%sHeader %d.\n%s", prose(uint64(i), 3*(i%4)), i%3, prose(uint64(i%4), 120))
}

// The same requests, once over TCP in wall time, once in memory: equal truth but for the moment of writing.
func TestVirtualAndWallTimeGiveTheSameTruth(t *testing.T) {
	c := law()
	c.Jitter, c.CapacityBlocks = 0.1, 40
	wall := start(t, c)
	e, m, client := inMemory(t, c)
	for i := range 20 {
		send(t, http.DefaultClient, wall.url, func() int64 { return time.Now().UnixNano() }, shifted(i))
		got := send(t, client, "http://sim", m.Now, shifted(i))
		truth := e.Truth()
		if want := time.Duration(truth[i].LawTTFTNS); got != want {
			t.Errorf("request %d: the client measured %v, the law charged %v", i, got, want)
		}
	}
	a, b := wall.e.Truth(), e.Truth()
	semantic := 0
	for i := range a {
		semantic += b[i].SemanticTokens
		if a[i].DonorRequestID == "" != (b[i].DonorRequestID == "") || b[i].EmittedFirstNS != b[i].LawTTFTNS {
			t.Errorf("request %d: %+v, %+v", i, a[i], b[i])
		}
		for _, x := range []*sembench.SimTruth{&a[i], &b[i]} {
			x.RequestID, x.DonorRequestID, x.EmittedFirstNS = "", "", 0
		}
		if !reflect.DeepEqual(a[i], b[i]) {
			t.Errorf("request %d\nwall    %+v\nvirtual %+v", i, a[i], b[i])
		}
	}
	if semantic == 0 {
		t.Error("nothing was reused: the test shows nothing")
	}
}

func TestTwoThousandRequestsInVirtualTime(t *testing.T) {
	c := Default()
	c.Tokenizer = "regex"
	e, m, client := inMemory(t, c)
	began := time.Now()
	for i := range 2000 {
		send(t, client, "http://sim", m.Now, shifted(i%20))
	}
	took := time.Since(began)
	t.Logf("%v for %v of the law's time", took, time.Duration(m.Now()))
	if len(e.Truth()) != 2000 {
		t.Errorf("%d truth records", len(e.Truth()))
	}
}

// Queueing by hand: requests start in order as soon as a slot and the lane are free. Costs: 3 ms base, 10 us a token
// hold the lane, then 1 ms a token of output holds the slot.
func TestTruthEqualsIndependentQueue(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 5))
		slots, lanes := 1+rng.IntN(4), 1+rng.IntN(2)
		e, err := New(Config{Tokenizer: "regex", BaseMS: 3, PrefillUSPerToken: 10, ITLMS: 1, MaxRunning: slots, PrefillSlots: lanes, CapacityBlocks: 1, BlockSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var stream []Arrival
		at := time.Duration(0)
		for i := range 60 {
			at += time.Duration(rng.IntN(8000)) * time.Microsecond
			stream = append(stream, Arrival{At: at, Prompt: prose(uint64(i), 1+rng.IntN(400)), MaxTokens: 1 + rng.IntN(8)})
		}
		truth, err := e.Play(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		free, lane := make([]time.Duration, slots), make([]time.Duration, lanes)
		earliest := func(list []time.Duration) *time.Duration {
			best := &list[0]
			for i := range list {
				if list[i] < *best {
					best = &list[i]
				}
			}
			return best
		}
		for i, a := range stream {
			slot, prefill := earliest(free), earliest(lane)
			begin := max(a.At, *slot, *prefill)
			out := e.cut(reply(a.Prompt, ask(a.Prompt)), a.MaxTokens, false)
			work := time.Duration(truth[i].PromptTokens) * 10 * time.Microsecond
			*prefill = begin + work
			*slot = begin + 3*time.Millisecond + work + time.Duration(len(out.chunks)-1)*time.Millisecond
			if got := time.Duration(truth[i].QueueNS); got != begin-a.At {
				t.Fatalf("seed %d request %d: queued %v, want %v", seed, i, got, begin-a.At)
			}
		}
	}
}
