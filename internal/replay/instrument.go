package replay

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"sembench/internal/stat"
	"sembench/internal/wire"
)

// Instrument is what the client itself does to a measurement on this machine, measured on a paced server of its own
// over loopback. Differences below these are not resolved.
type Instrument struct {
	// AddedTTFT is first output as stamped minus the server's stamp just before its write, in milliseconds.
	AddedTTFTP50MS float64 `json:"added_ttft_p50_ms"`
	AddedTTFTP99MS float64 `json:"added_ttft_p99_ms"`
	Streams        int     `json:"streams"`
	// StreamsPerSecond is how many answers of eight chunks the client takes when the server does not wait; server and client
	// share the machine.
	StreamsPerSecond float64 `json:"streams_per_second"`
	// ClockStepNS is the smallest step of the clock that was seen, SleepLateP99MS how late a sleep of 1 ms ends.
	ClockStepNS    int64   `json:"clock_step_ns"`
	SleepLateP99MS float64 `json:"sleep_late_p99_ms"`
}

// Shape of the calibrated load: 64 streams at a time, first token after 50 ms, then one each 10 ms, as in protocol.md's claim.
const (
	instrumentStreams = 64
	instrumentRounds  = 3
	instrumentFirst   = 50 * time.Millisecond
	instrumentGap     = 10 * time.Millisecond
	instrumentChunks  = 8
	instrumentRate    = 300 * time.Millisecond // how long the rate is measured
)

// Measure measures the instrument: about 0.8 s. It sends to 127.0.0.1 only.
func Measure(ctx context.Context) (Instrument, error) {
	clock := wire.NewClock(0)
	server := &pacedServer{clock: clock, wrote: map[string]int64{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Instrument{}, fmt.Errorf("measuring the instrument: %w", err)
	}
	http1 := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	var served sync.WaitGroup
	served.Go(func() { _ = http1.Serve(listener) }) // ends with Close
	defer served.Wait()
	defer http1.Close()
	client := wire.New(wire.Options{Clock: clock, Conns: instrumentStreams, Total: 30 * time.Second})
	defer client.Close()
	base := "http://" + listener.Addr().String()
	if failure := client.Warm(ctx, base+"/v1/models", instrumentStreams); failure != nil {
		return Instrument{}, fmt.Errorf("measuring the instrument: %s", failure.Message)
	}
	result := Instrument{Streams: instrumentStreams, ClockStepNS: clockStep(clock), SleepLateP99MS: sleepLate(ctx, clock)}
	added, err := server.added(ctx, client, base)
	if err != nil {
		return Instrument{}, fmt.Errorf("measuring the instrument: %w", err)
	}
	result.AddedTTFTP50MS, result.AddedTTFTP99MS = stat.Quantile(added, 0.5), stat.Quantile(added, 0.99)
	result.StreamsPerSecond = streamRate(ctx, client, base)
	return result, nil
}

// pacedServer streams at known times and notes when it wrote.
type pacedServer struct {
	clock wire.Clock
	mu    sync.Mutex
	wrote map[string]int64 // by request id
}

func (s *pacedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		io.WriteString(w, `{"data":[]}`)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	id := r.Header.Get("X-Request-Id")
	wait := instrumentFirst
	for i := range instrumentChunks {
		if id != "" {
			if sleep(r.Context(), wait) != nil {
				return
			}
			wait = instrumentGap
		}
		if i == 0 && id != "" {
			now := s.clock.Now()
			s.mu.Lock()
			s.wrote[id] = now
			s.mu.Unlock()
		}
		io.WriteString(w, `data: {"id":"chatcmpl-instrument","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}`+"\n\n")
		_ = control.Flush() // a client that is gone ends the handler at its next sleep
	}
	io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// added gives the sorted milliseconds that the client's stamps lie behind the server's.
func (s *pacedServer) added(ctx context.Context, client *wire.Client, base string) ([]float64, error) {
	var mu sync.Mutex
	var added []float64
	var failed error
	for round := range instrumentRounds {
		var group sync.WaitGroup
		for i := range instrumentStreams {
			group.Go(func() {
				id := strconv.Itoa(round*instrumentStreams + i)
				o := client.Do(ctx, wire.Request{BaseURL: base, Model: "m", RequestID: id, Messages: []any{userTurn("x")}})
				mu.Lock()
				defer mu.Unlock()
				if o.Error != nil {
					failed = fmt.Errorf("%s: %s", o.Error.Class, o.Error.Message)
					return
				}
				s.mu.Lock()
				added = append(added, float64(*o.Stamps.FirstOutput-s.wrote[id])/1e6)
				s.mu.Unlock()
			})
		}
		group.Wait()
	}
	slices.Sort(added)
	return added, failed
}

// streamRate is answers a second from a server that does not wait.
func streamRate(ctx context.Context, client *wire.Client, base string) float64 {
	var mu sync.Mutex
	var group sync.WaitGroup
	done := 0
	begun := client.Clock().Now()
	for range instrumentStreams {
		group.Go(func() {
			for client.Clock().Now()-begun < int64(instrumentRate) {
				if o := client.Do(ctx, wire.Request{BaseURL: base, Model: "m", Messages: []any{userTurn("x")}}); o.Error != nil {
					return
				}
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return float64(done) / (float64(client.Clock().Now()-begun) / 1e9)
}

// clockStep is the smallest difference above 0 between two readings.
func clockStep(clock wire.Clock) int64 {
	least := int64(time.Second)
	last := clock.Now()
	for range 10000 {
		now := clock.Now()
		if step := now - last; step > 0 {
			least = min(least, step)
		}
		last = now
	}
	return least
}

// sleepLate is the p99 of what sleeps of 1 ms take too long, in milliseconds.
func sleepLate(ctx context.Context, clock wire.Clock) float64 {
	late := make([]float64, 100)
	for i := range late {
		begun := clock.Now()
		if sleep(ctx, time.Millisecond) != nil {
			break
		}
		late[i] = float64(clock.Now()-begun-int64(time.Millisecond)) / 1e6
	}
	slices.Sort(late)
	return stat.Quantile(late, 0.99)
}
