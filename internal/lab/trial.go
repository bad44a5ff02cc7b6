package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/judge"
	"sembench/internal/replay"
)

// trial is one run of the protocol and everything that is known about it.
type trial struct {
	setting
	inputs  judge.Inputs
	result  sembench.Result
	verdict sembench.Verdict
	// refused says why the harness did not get as far as a result; "" when it did. That is no accusation and no pass.
	refused string
	// log and audit of the measured run, as written; before and after are the engine's counters around it.
	log, audit    []byte
	before, after *engine.Metrics
	// truth is what really happened to each request of the run, by request id of the harness.
	truth map[string]sembench.SimTruth
}

const runID = "lab-run"

// try runs the whole protocol in a setting. Dir takes the journals; they are removed again.
func (s setting) try(ctx context.Context, dir string) (t *trial, err error) {
	w, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	t = &trial{setting: s, truth: map[string]sembench.SimTruth{}}
	flight, err := replay.Preflight(ctx, w.config)
	if err != nil {
		t.refused = err.Error()
		return t, nil
	}
	cfg := flight.Apply(w.config)
	head := sembench.JournalHead{RunID: runID, ManifestSHA256: "lab", ConfigSHA256: "lab", EngineBootID: flight.BootID}
	calibration, _, err := s.record(ctx, dir, head, cfg, runID+"-calibration", replay.Calibrate)
	if err != nil {
		t.refused = err.Error()
		return t, nil
	}
	opts := judge.Options{Resamples: 1000, Seed: s.seed}
	terms := sembench.Protocol{ArmOrder: "counterbalanced", Concurrency: 1, MaxTokens: 64, Endpoint: "chat", Tokenizer: tokenizerSpec}
	floor := judge.Calibrate(judge.CalibrationInputs{Items: s.corpus.items, Observations: calibration, Protocol: terms, Model: flight.Model,
		Engine: flight.Engine, EngineVersion: flight.EngineVersion, Simulated: flight.Simulated, Options: opts})
	w.log.take()
	w.audit.take()
	earlier := len(w.engine.Truth())
	if t.before, err = w.counters(ctx, flight.Engine); err != nil {
		return nil, err
	}
	observations, found, err := s.record(ctx, dir, head, cfg, runID, replay.Run)
	if err != nil {
		t.refused = err.Error()
		return t, nil
	}
	if t.after, err = w.counters(ctx, flight.Engine); err != nil {
		return nil, err
	}
	t.log, t.audit = w.log.take(), w.audit.take()
	for _, truth := range w.engine.Truth()[earlier:] {
		t.truth[ownID(truth.RequestID)] = truth
	}
	t.inputs = judge.Inputs{
		Run:  sembench.Run{RunID: runID, ManifestSHA256: "lab", Arm: "paired", Engine: &flight.Engine, Simulated: flight.Simulated},
		Head: &found, Items: s.corpus.items, Offline: s.corpus.rows, Observations: observations, Repeats: 1, Protocol: terms,
		Calibration: &floor, ConfigSHA256: "lab", Options: opts, ExactElsewhere: s.exact,
		Engine: &sembench.EngineInfo{Kind: flight.Engine, Model: flight.Model, Version: flight.EngineVersion},
	}
	if err := t.evidence(w.boot); err != nil {
		return nil, err
	}
	return t, t.judge()
}

// ownID is the harness's part of an engine's request id.
func ownID(id string) string {
	if i := strings.Index(id, "sembench-"); i >= 0 {
		return id[i:]
	}
	return id
}

// record runs one phase of the protocol into a journal and reads it back.
func (s setting) record(ctx context.Context, dir string, head sembench.JournalHead, cfg replay.Config, id string,
	phase func(context.Context, replay.Config, []sembench.Item, *replay.Journal, replay.Progress) (replay.Summary, error),
) ([]sembench.Observation, sembench.JournalHead, error) {
	file, err := os.CreateTemp(dir, "journal-*.jsonl")
	if err != nil {
		return nil, head, err
	}
	path := file.Name()
	if err := errors.Join(file.Close(), os.Remove(path)); err != nil {
		return nil, head, err
	}
	defer os.Remove(path)
	cfg.RunID, head.RunID = id, id
	journal, err := replay.OpenJournal(path, head, false)
	if err != nil {
		return nil, head, err
	}
	_, err = phase(ctx, cfg, s.corpus.items, journal, nil)
	if err := errors.Join(err, journal.Close()); err != nil {
		return nil, head, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, head, err
	}
	head, seq, err := sembench.ReadJournal(bytes.NewReader(text), path)
	if err != nil {
		return nil, head, err
	}
	var out []sembench.Observation
	for o, err := range seq {
		if err != nil {
			return nil, head, err
		}
		out = append(out, o)
	}
	return out, head, nil
}

// evidence reads log, audit and counters as the commands do.
func (t *trial) evidence(boot []byte) error {
	kind := t.inputs.Engine.Kind
	var err error
	if t.inputs.Evidence, err = engine.Summarize(kind, bytes.NewReader(append(bytes.Clone(boot), t.log...)), engine.Options{}); err != nil {
		return fmt.Errorf("reading the engine's log: %w", err)
	}
	if len(t.audit) > 0 {
		audit, err := engine.ReadAudit(bytes.NewReader(t.audit))
		if err != nil {
			return fmt.Errorf("reading the connector audit: %w", err)
		}
		t.inputs.Audit = audit
	}
	if t.before != nil && t.after != nil {
		t.inputs.Window = new(engine.Window([]*engine.Metrics{t.before}, []*engine.Metrics{t.after}))
	}
	return nil
}

// judge makes result and verdict from what the run left behind.
func (t *trial) judge() error {
	var err error
	if t.result, err = judge.Build(t.inputs); err != nil {
		return err
	}
	t.verdict, err = t.gate()
	return err
}

// gate judges the result with the gates that bench asks for, with some checks switched off.
func (t *trial) gate(off ...string) (sembench.Verdict, error) {
	return judge.Gate(t.result, judge.GateOptions{Bench: true, AllowSimulated: true, AcceptChecks: off, Evidence: []sembench.Evidence{*t.inputs.Evidence}})
}

// outcome is how a check or gate came out; "" where the verdict has none of that name.
func (t *trial) outcome(name string) (outcome, detail string) {
	for _, g := range t.verdict.Gates {
		if g.Name == name {
			return g.Outcome, g.Detail
		}
	}
	return "", ""
}

// failing lists the checks and gates that did not pass, with those that could not be decided apart.
func failing(v sembench.Verdict) (failed, undecided []string) {
	for _, g := range v.Gates {
		switch g.Outcome {
		case sembench.Fail, sembench.Missing:
			failed = append(failed, g.Name)
		case sembench.Inconclusive:
			undecided = append(undecided, g.Name)
		}
	}
	return failed, undecided
}

// recipients are the finished recipients of an arm; an empty arm means every arm.
func (t *trial) recipients(arm string) (out []sembench.Observation) {
	for _, o := range t.inputs.Observations {
		if o.Role == sembench.RoleRecipient && (arm == "" || o.Arm == arm) && o.Status == sembench.StatusOK {
			out = append(out, o)
		}
	}
	return out
}
