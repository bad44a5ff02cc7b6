package sim

import "time"

// job is one request on its way through the engine. The fields of the first group are set before it is submitted and
// then only read; the others belong to the engine's lock.
type job struct {
	id       string // the engine's request id: prefix and the client's id
	endpoint string
	ids      []uint32
	hashes   []blockHash
	text     string // the prompt as it was tokenized
	question string
	salt     string
	limit    int // most output tokens
	fill     bool
	arrival  time.Time

	index    int // place in the order of arrival
	state    state
	turn     chan struct{} // receives when the job has become the head of the queue or was started
	decision decision
	charge   charge
	claims   claims
	out      output
	delivery delivery
	start    time.Time
	first    time.Time // deadline of the first output
	finish   time.Time // deadline of the last
	itl      time.Duration
	resets   int
	emitted  time.Time
	acted    []string
	trail    trail
}

type state int

const (
	waiting state = iota + 1
	running
	finished
	aborted
)

// due is the deadline of output chunk i.
func (j *job) due(i int) time.Time { return j.first.Add(time.Duration(i) * j.itl) }

// act notes that a fault touched this job.
func (j *job) act(fault string) {
	for _, name := range j.acted {
		if name == fault {
			return
		}
	}
	j.acted = append(j.acted, fault)
}

// claims is what the engine says about a job, channel by channel. Honest channels agree.
type claims struct {
	usage, log, audit, counters claim
}

// claim is one channel's account.
type claim struct {
	prefix   int // tokens from the local prefix cache
	external int // tokens from elsewhere: the offload tier and donors
	// A semantic lookup: hit, what it found and in which donor, and how much was then loaded. materialized is nil
	// when nothing was loaded after a hit, layers how many layers a load wrote.
	hit          bool
	found        int
	donorID      string
	advertised   *int
	allocated    *int
	materialized *int
	layers       int
	declined     bool // the engine says that it gave the load up
	// materializedFor is the request that a load is written down for, copies how often.
	materializedFor string
	copies          int
}

// honest is the account that agrees with what happened.
func (j *job) honest() claim {
	d := &j.decision
	c := claim{prefix: d.prefix, external: d.offload + d.semantic, materializedFor: j.id, copies: 1}
	if d.donor != nil {
		c.hit, c.found, c.donorID, c.layers = true, d.found, d.donor.requestID, d.layers
	}
	if d.semantic > 0 {
		c.advertised, c.allocated, c.materialized = &d.semantic, &d.semantic, &d.semantic
	}
	return c
}

// all is every channel, for a fault that corrupts all alike.
func (a *claims) all() []*claim { return []*claim{&a.usage, &a.log, &a.audit, &a.counters} }
