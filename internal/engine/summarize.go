package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sembench"
)

// Options bound what a summary keeps. The zero value works.
type Options struct {
	// MaxRequests caps the distinct request ids with evidence that are kept apart; 0 is 100,000, about
	// 30 MB. Beyond it records still count, but no longer join by request, and a warning says so.
	MaxRequests int
	// MaxEvents caps the events kept of each kind; 0 is 1,000.
	MaxEvents int
	// MaxErrors caps the error texts kept; 0 is 50. All are counted.
	MaxErrors int
}

func (o Options) withDefaults() Options {
	if o.MaxRequests <= 0 {
		o.MaxRequests = 100_000
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = 1000
	}
	if o.MaxErrors <= 0 {
		o.MaxErrors = 50
	}
	return o
}

// Names are the engines that Summarize accepts, aliases left out.
var Names = []string{"vllm", "sglang", "trtllm", "lmcache", "llamacpp", "ollama", "openai", "auto"}

// ErrUnknownEngine is wrapped by Canonical for a name that is none of Names or their aliases.
var ErrUnknownEngine = errors.New("unknown engine")

// Canonical is the engine's own name: trimmed, lower case, underscores as dashes, aliases resolved.
func Canonical(name string) (string, error) {
	n := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	switch n {
	case "trt-llm", "tensorrt-llm":
		return "trtllm", nil
	case "llama.cpp", "llama-cpp", "llama-server":
		return "llamacpp", nil
	}
	if slices.Contains(Names, n) {
		return n, nil
	}
	return "", fmt.Errorf("choosing engine: %w %q, want one of %s", ErrUnknownEngine, name, strings.Join(Names, " "))
}

// Summarize is the evidence in one engine's log, audit or statistics, read once and streamed. Bad bytes and
// torn lines are counted in Input, never fatal; an unknown engine name and a failing reader are errors.
// Every format that can stand in one file is read whatever the name (LMCache prints into vLLM's log); the
// name decides which of them fills the base keys.
func Summarize(name string, r io.Reader, o Options) (*sembench.Evidence, error) {
	engine, err := Canonical(name)
	if err != nil {
		return nil, err
	}
	c := newCollector(engine, o.withDefaults())
	if err := c.read(r); err != nil {
		return nil, err
	}
	return c.evidence(), nil
}

// collector gathers what a stream says. Parsers of the formats are its methods, one file each.
type collector struct {
	engine  string
	opts    Options
	lines   *lineReader
	count   int
	unwrap  unwrapper
	ranks   *rankTable
	ledger  *ledger
	faults  faults
	sources map[string]struct{}
	loggers [loggerPlain + 1]bool
	events  map[string][]map[string]any
	dropped map[string]int
	damaged int
	bare    int // evidence lines without a logger header
	ray     int // lines that Ray folded
	shapes  shapes
	pretty  pretty

	semblend semblendText
	stats    vllmStats
	lmcache  lmcacheText
	sglang   sglangText
	trt      trtAudit
	iters    iterations
	audit    *Audit
	slots    slotCache
	router   routerText
	usage    usageText
	kv       *KVState
}

func newCollector(engine string, o Options) *collector {
	c := &collector{
		engine:  engine,
		opts:    o,
		ranks:   newRankTable(),
		sources: map[string]struct{}{},
		events:  map[string][]map[string]any{},
		dropped: map[string]int{},
	}
	c.ledger = newLedger(c.ranks, o.MaxRequests)
	c.faults.errors.limit, c.faults.warnings.limit = o.MaxErrors, o.MaxErrors
	c.unwrap = unwrapper{ranks: c.ranks, sink: c.record}
	return c
}

func (c *collector) read(r io.Reader) error {
	c.lines = newLineReader(r)
	for {
		line, err := c.lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		c.count++
		if c.count == 1 {
			line = trimBOM(line)
		}
		c.unwrap.line(line)
	}
	c.unwrap.flush()
	c.endPretty()
	return nil
}

func trimBOM(b []byte) []byte {
	if len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF {
		return b[3:]
	}
	return b
}

// record takes one unwrapped record to the parsers. Markers count only at the start of the message.
func (c *collector) record(r *record) {
	if c.prettyLine(r) {
		return
	}
	if r.object != nil && !r.header {
		c.object(r)
		return
	}
	if len(r.msg) == 0 {
		return
	}
	c.loggers[r.logger] = true
	if c.faults.record(r) {
		return
	}
	if last := r.msg[len(r.msg)-1]; (last == ']' || last == ')') && r.label != 0 && bytes.Contains(r.msg, []byte("x across cluster]")) {
		c.ray++
	}
	switch taken := c.message(r); {
	case r.header:
	case taken:
		c.bare++
	case !c.kvText(r.text):
		c.shapes.bare(r.text)
	}
}

// message tries the parsers that know a message with this first byte.
func (c *collector) message(r *record) bool {
	switch r.msg[0] {
	case 'S':
		return c.semblendMessage(r) || c.lmcacheMessage(r) || c.sglangMessage(r) || c.routerMessage(r) || c.vllmMessage(r)
	case '[':
		return c.bracketMessage(r)
	case 'P':
		return c.sglangMessage(r) || c.vllmMessage(r) || c.lmcacheMessage(r)
	case 'D', 'F':
		return c.sglangMessage(r) || c.routerMessage(r) || c.vllmMessage(r)
	case 'E', 'A', 'K', 'n', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return c.vllmMessage(r) || c.sglangMessage(r)
	case 'R', 'H', 'L', 'I', 'T', 'N':
		return c.lmcacheMessage(r) || c.semblendMessage(r)
	case 'd', 'C':
		return c.semblendMessage(r) || c.sglangMessage(r) || c.lmcacheMessage(r)
	case 'l', 's', 'r', 'W', 'c', 'f', 'm', 'p', 'u':
		return c.slotMessage(r) || c.routerMessage(r) || c.sglangMessage(r) || c.lmcacheMessage(r)
	}
	return false
}

// saw notes that a kind of source is present.
func (c *collector) saw(source string) {
	if _, ok := c.sources[source]; !ok {
		c.sources[source] = struct{}{}
	}
}

// keep says whether an event of this kind is still kept, and counts those that are not.
func (c *collector) keep(kind string) bool {
	if len(c.events[kind]) < c.opts.MaxEvents {
		return true
	}
	c.dropped[kind]++
	return false
}

// event keeps one event; a rank's copy says whose it is.
func (c *collector) event(r *record, kind string, e map[string]any) {
	if r != nil && r.rank != 0 {
		if name := c.ranks.names[r.rank].String(); name != "" {
			e["rank"] = name
		}
	}
	c.events[kind] = append(c.events[kind], e)
}

// torn counts a line that began like evidence and could not be read.
func (c *collector) torn() bool {
	c.damaged++
	return true
}
