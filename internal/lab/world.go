package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/replay"
	"sembench/internal/sim"
)

// setting is one engine to put on trial. The zero value of everything but corpus and seed is the honest vLLM voice in virtual time.
type setting struct {
	as          string
	seed        uint64
	jitter      float64 // relative standard deviation of service times
	jitterModel string
	faults      []string
	// exact adds the exact arm on a stock twin, in virtual time only; blends is the fault of a twin that has the semantic layer all the same.
	exact, blends bool
	// http: over loopback and wall time instead of virtual time.
	http   bool
	corpus *corpus
	// calibrationPairs of each kind and band; 0 means 30.
	calibrationPairs int
}

// lines is a log in memory, one whole line a Write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take gives what was written since the last call.
func (l *lines) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := bytes.Clone(l.text.Bytes())
	l.text.Reset()
	return out
}

// world is a running engine and how a client reaches it.
type world struct {
	engine     *sim.Engine
	config     replay.Config // address, network and time
	client     *http.Client
	log, audit lines
	boot       []byte // what the log said before the first request
	stop       func() error
}

// open starts the engine of a setting.
func (s setting) open() (*world, error) {
	w := &world{}
	c := sim.Default()
	c.As, c.Seed, c.Jitter, c.JitterModel, c.Faults, c.Tokenizer = s.as, s.seed, s.jitter, s.jitterModel, s.faults, tokenizerSpec
	c.Log, c.Audit = &w.log, &w.audit
	// A prompt of a thousand tokens takes 80 ms and an answer 2 ms a token, so that times tell what they have to in virtual time.
	c.BaseMS, c.PrefillUSPerToken, c.LoadUSPerToken, c.LookupMS, c.ITLMS = 20, 60, 6, 2, 2
	w.config = replay.Config{RunID: runID, Seed: s.seed, CanaryEvery: 6, CalibrationPairs: s.calibrationPairs}
	var listener net.Listener
	if s.http {
		// The same law at three quarters of the time: ratios stay, and it still stands above loopback and scheduler.
		c.BaseMS, c.PrefillUSPerToken, c.LoadUSPerToken, c.LookupMS, c.ITLMS = 15, 45, 4.5, 1.5, 0.5
		var err error
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("opening a loopback socket: %w", err)
		}
		w.config.BaseURL = "http://" + listener.Addr().String()
		w.client = &http.Client{Transport: &http.Transport{}}
	} else {
		memory := sim.NewMemory()
		c.Clock, listener = memory.Clock(), memory.Listener()
		w.config.BaseURL = "http://engine.sim"
		w.config.Dial, w.config.Clock, w.config.Sleep = memory.Dial, memory, memory.Sleep
		w.client = &http.Client{Transport: &http.Transport{DialContext: memory.Dial}}
	}
	var err error
	if w.engine, err = sim.New(c); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	w.boot = w.log.take()
	handler := w.engine.Handler()
	if s.exact {
		// Two processes do not start at the same instant, and the pre-flight looks.
		if err := w.config.Sleep(context.Background(), 2*time.Second); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		twin := c
		twin.Semantic, twin.Faults, twin.Log, twin.Audit = s.blends, nil, nil, nil
		stock, err := sim.New(twin)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		w.config.ExactBaseURL, w.config.Arms = "http://stock.sim", []string{sembench.ArmCold, sembench.ArmWarm, sembench.ArmExact}
		handler = byHost(stock.Handler(), handler)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	w.stop = func() error {
		w.client.CloseIdleConnections()
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return errors.Join(err, w.engine.Err())
	}
	return w, nil
}

// byHost serves two engines on one network, which share its clock.
func byHost(stock, engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "stock.") {
			stock.ServeHTTP(w, r)
			return
		}
		engine.ServeHTTP(w, r)
	})
}

// counters reads the engine's metrics; nil where it has none.
func (w *world) counters(ctx context.Context, kind string) (*engine.Metrics, error) {
	address := replay.MetricsURL(kind, w.config.BaseURL)
	if address == "" {
		return nil, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading counters: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil
	}
	return engine.ParseMetrics(response.Body)
}
