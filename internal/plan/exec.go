package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sembench"
)

// execPlanner asks a long-lived child process that speaks JSON lines (planner.md, section 3). Nothing the
// child says is believed: spans must lie inside registered donors and copy equal tokens. After a crash, a
// hang or noise the child is started afresh for the next target, with the donors registered again.
type execPlanner struct {
	o     Options
	name  string
	argv  []string
	child *child // nil until needed and after a failure

	donors []Donor
	byID   map[string]int // position in donors
	sent   int            // donors that the running child knows
	failed int            // failures in a row
}

const (
	// execGiveUp ends restarts: a child that fails this often in a row will fail again, at a timeout each.
	execGiveUp = 3
	// execLineBase and execLinePerToken bound an answer: one slot action takes about 100 bytes.
	execLineBase     = 1 << 20
	execLinePerToken = 256
)

func openExec(command string, o Options) (Planner, error) {
	argv, err := splitWords(command)
	if err != nil {
		return nil, fmt.Errorf("opening planner exec: %w", err)
	}
	return &execPlanner{o: o, name: "exec:" + command, argv: argv, byID: map[string]int{}}, nil
}

func (e *execPlanner) Name() string { return e.name }

// Reset forgets all donors. The child hears of it with the next plan.
func (e *execPlanner) Reset() error {
	e.donors, e.sent = nil, 0
	clear(e.byID)
	if e.child != nil {
		e.child.queue(execRequest{Op: "reset"})
	}
	return nil
}

// Register makes a donor known. The child hears of it with the next plan, so that a child that does not
// read fails a row, not the run.
func (e *execPlanner) Register(d Donor) error {
	if at, ok := e.byID[d.ID]; ok {
		// The protocol has no way to forget one donor: start over with the others.
		rest := slices.Delete(slices.Clone(e.donors), at, at+1)
		if err := e.Reset(); err != nil {
			return err
		}
		for _, o := range rest {
			e.byID[o.ID] = len(e.donors)
			e.donors = append(e.donors, o)
		}
	}
	e.byID[d.ID] = len(e.donors)
	e.donors = append(e.donors, d)
	return nil
}

// Close ends the child.
func (e *execPlanner) Close() error {
	if e.child != nil {
		e.child.kill()
		e.child = nil
	}
	return nil
}

// execRequest is one line to the child.
type execRequest struct {
	Op        string   `json:"op"`
	DonorID   string   `json:"donor_id,omitempty"`
	TokenIDs  []uint32 `json:"token_ids,omitempty"`
	Text      string   `json:"text,omitempty"`
	BlockSize int      `json:"block_size,omitempty"`
}

// execAnswer is one line from the child. One of Spans and SlotActions must be there, even if empty: an
// answer that says nothing is not a plan of nothing.
type execAnswer struct {
	Spans           *[]sembench.Span  `json:"spans"`
	SlotActions     *[]execSlotAction `json:"slot_actions"`
	Similarity      *float64          `json:"similarity"`
	RejectionReason *string           `json:"rejection_reason"`
	Error           *string           `json:"error"`
}

// execSlotAction is SemBlend's own shape: what happens to one target token.
type execSlotAction struct {
	Action    string  `json:"action"`
	TargetPos int     `json:"targetPos"`
	DonorPos  *int    `json:"donorPos"`
	DonorID   *string `json:"donorId"`
}

// Plan asks the child. LatencyMS is the round trip, donors not sent before included.
func (e *execPlanner) Plan(ctx context.Context, t Target) sembench.Plan {
	p := started(e.name, e.o.BlockSize, t)
	if e.failed >= execGiveUp {
		return failed(p, fmt.Errorf("planner child failed %d times in a row: not started again", e.failed))
	}
	start := time.Now()
	answer, err := e.ask(ctx, t)
	took := time.Since(start)
	if err == nil {
		p, err = e.believe(p, t, answer)
	}
	if err == nil {
		e.failed = 0
		return finished(p, took)
	}
	if e.child == nil && ctx.Err() == nil { // a child that answers wrongly still works
		e.failed++
	}
	return finished(failed(p, err), took)
}

func (e *execPlanner) ask(ctx context.Context, t Target) (answer execAnswer, err error) {
	if e.child == nil {
		if e.child, err = startChild(e.argv, e.o.ExecEnv); err != nil {
			return answer, err
		}
		e.sent = 0
	}
	for _, d := range e.donors[e.sent:] {
		e.child.queue(execRequest{Op: "register", DonorID: d.ID, TokenIDs: d.Tokens, Text: d.Text})
	}
	e.sent = len(e.donors)
	e.child.queue(execRequest{Op: "plan", TokenIDs: t.Tokens, Text: t.Text, BlockSize: e.o.BlockSize})
	line, err := e.child.exchange(ctx, e.o.ExecTimeout, execLineBase+execLinePerToken*len(t.Tokens))
	if err == nil {
		answer, err = parseAnswer(line)
	}
	if err != nil { // out of step: what comes next could be taken for another target's answer
		e.child.kill()
		e.child = nil
	}
	return answer, err
}

func parseAnswer(line []byte) (answer execAnswer, err error) {
	if err := json.Unmarshal(line, &answer); err != nil {
		return answer, fmt.Errorf("reading planner child's answer: %w: %q", err, line[:min(len(line), 80)])
	}
	return answer, nil
}

// believe turns an answer into a plan, or says what is wrong with it.
func (e *execPlanner) believe(p sembench.Plan, t Target, a execAnswer) (sembench.Plan, error) {
	switch {
	case a.Error != nil:
		return p, fmt.Errorf("planner child: %s", *a.Error)
	case a.Spans != nil:
		p.Spans = *a.Spans
	case a.SlotActions != nil:
		spans, err := e.join(*a.SlotActions)
		if err != nil {
			return p, err
		}
		p.Spans = spans
	default:
		return p, errors.New("planner child answered neither spans nor slot_actions")
	}
	if a.Similarity != nil && !(*a.Similarity >= -1 && *a.Similarity <= 1.000001) {
		return p, fmt.Errorf("planner child: similarity %v is not in [-1, 1]", *a.Similarity)
	}
	for i := range p.Spans {
		if p.Spans[i].Class == "" {
			p.Spans[i].Class = sembench.IdenticalContiguous
		}
	}
	if err := Validate(p); err != nil {
		return p, fmt.Errorf("planner child: %w", err)
	}
	for i, s := range p.Spans {
		if err := e.check(s, t.Tokens); err != nil {
			return p, fmt.Errorf("planner child: spans[%d]: %w", i, err)
		}
	}
	p.Similarity, p.RejectionReason = a.Similarity, a.RejectionReason
	return p, nil
}

// check compares a valid span with its donor.
func (e *execPlanner) check(s sembench.Span, target []uint32) error {
	at, ok := e.byID[s.DonorID]
	if !ok {
		return fmt.Errorf("donor %q is not registered", s.DonorID)
	}
	donor := e.donors[at].Tokens
	if s.DonorStart > len(donor)-s.Length {
		return fmt.Errorf("donor tokens [%d, +%d) lie outside the %d of %q", s.DonorStart, s.Length, len(donor), s.DonorID)
	}
	if s.Class == sembench.Approximate {
		return nil
	}
	for k := range s.Length {
		if target[s.TargetStart+k] != donor[s.DonorStart+k] {
			return fmt.Errorf("target token %d differs from token %d of donor %q", s.TargetStart+k, s.DonorStart+k, s.DonorID)
		}
	}
	return nil
}

// join turns slot actions in any order into spans. Runs of at least a block are contiguous, shorter ones
// scattered. A target position copied twice is left for Validate to refuse.
func (e *execPlanner) join(actions []execSlotAction) ([]sembench.Span, error) {
	var copies []sembench.Span
	for i, a := range actions {
		switch {
		case a.Action == "recompute":
		case a.Action != "copy_from_donor":
			return nil, fmt.Errorf("planner child: slot_actions[%d]: action %q is unknown", i, a.Action)
		case a.DonorPos == nil || a.DonorID == nil:
			return nil, fmt.Errorf("planner child: slot_actions[%d]: donorPos or donorId is missing", i)
		default:
			copies = append(copies, sembench.Span{TargetStart: a.TargetPos, Length: 1, DonorID: *a.DonorID, DonorStart: *a.DonorPos, Class: sembench.IdenticalScattered})
		}
	}
	slices.SortStableFunc(copies, func(a, b sembench.Span) int { return a.TargetStart - b.TargetStart })
	spans := []sembench.Span{}
	for _, c := range copies {
		spans = extended(spans, c)
	}
	for i := range spans {
		if spans[i].Length >= e.o.BlockSize {
			spans[i].Class = sembench.IdenticalContiguous
		}
	}
	return spans, nil
}
