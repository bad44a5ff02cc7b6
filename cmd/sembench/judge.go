package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/judge"
	"sembench/internal/replay"
	"sembench/internal/scenario"
)

func judgeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "judge RUN_DIR",
		Short: "Judge a run again from what it left behind",
		Long: `Recomputes result, verdict and report from the journal, the offline rows and the raw evidence of a run directory; nothing is sent. Every
number of a result can be checked this way, and an old run judged by a newer sembench.`,
		Example: "  sembench judge results/20261201-113007.443 --min-blended-ttft-speedup 1.5",
		Args:    cobra.ExactArgs(1),
	}
	s := settings(c, slices.Concat(gateFlags, []string{"max-requests"})...)
	own := c.Flags().Bool("default-gates", true, "also the gates that bench chooses by itself")
	c.RunE = func(c *cobra.Command, args []string) error {
		p := &protocol{c: c, s: s, dir: runDir(args[0])}
		if err := p.reopen(); err != nil {
			return err
		}
		result, evidence, err := p.judge()
		if err != nil {
			return err
		}
		o := gateOptions(s)
		o.Bench = *own
		return p.conclude(result, evidence, o)
	}
	return c
}

// reopen reads a finished run's settings and items. Gates that were typed now are kept.
func (p *protocol) reopen() error {
	file, err := os.Open(p.dir.config())
	if err != nil {
		return usage(fmt.Errorf("judging %s: %w", p.dir, err), "give a run directory of bench or run-live")
	}
	defer file.Close()
	if err := p.s.Read(file, p.dir.config(), func(string) bool { return false }); err != nil {
		return usage(err, "")
	}
	text, err := os.ReadFile(p.dir.config())
	if err == nil {
		p.settings, p.configSHA, err = p.s.Written(text)
	}
	if err != nil {
		return usage(err, "")
	}
	return p.takeUp()
}

// judge joins everything that the run directory holds into a result, and writes it. It reads files alone, so that a run judged again from them
// gives the same numbers.
func (p *protocol) judge() (sembench.Result, *sembench.Evidence, error) {
	var none sembench.Result
	if err := sembench.ReadDocument(p.dir.preflight(), &p.flight); err != nil {
		return none, nil, usage(err, "the run ended before its pre-flight did")
	}
	head, observations, err := readJournal(p.dir.observations())
	if err != nil {
		return none, nil, err
	}
	in := judge.Inputs{
		Run: p.run(), Head: head, Items: p.items, Observations: observations, ExactElsewhere: p.flight.ExactEndpoint != nil,
		ConnectorKind: p.s.ConnectorKind, Repeats: p.s.Repeats, EngineBlockSize: p.flight.EngineBlockSize, Protocol: p.terms(),
		Engine:      &sembench.EngineInfo{Kind: p.flight.Engine, Model: p.flight.Model, BaseURL: p.flight.Endpoint, Version: p.flight.EngineVersion, BootID: p.flight.BootID},
		Environment: p.environment(), Producer: sembench.Producer{Name: "sembench", Version: toolVersion()}, CreatedAtUTC: now(),
		Config: p.settings, ConfigSHA256: p.configSHA, Options: judgeOptions(p.s),
	}
	if in.Offline, err = readRows(p.dir.offline()); err != nil {
		return none, nil, err
	}
	var calibration sembench.Calibration
	switch err := sembench.ReadDocument(p.dir.calibration(), &calibration); {
	case err == nil:
		in.Calibration = &calibration
	case !errors.Is(err, fs.ErrNotExist):
		return none, nil, usage(err, "")
	}
	if err := p.evidence(&in); err != nil {
		return none, nil, err
	}
	result, err := judge.Build(in)
	if err != nil {
		return none, nil, usage(err, "")
	}
	return result, in.Evidence, sembench.WriteDocument(p.dir.result(), result)
}

// environment is this machine, with what its client adds to a time where that was measured.
func (p *protocol) environment() sembench.Environment {
	e := thisMachine()
	if p.s.ServeLine != "" {
		e.ServeLine = &p.s.ServeLine
	}
	var found replay.Instrument
	if err := sembench.ReadDocument(p.dir.instrument(), &found); err == nil {
		e.ClientOverheadP50MS, e.ClientOverheadP99MS = &found.AddedTTFTP50MS, &found.AddedTTFTP99MS
	}
	return e
}

func readRows(path string) ([]sembench.Row, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows := []sembench.Row{} // none at all is no analysis either, but of a file that was there
	for row, err := range sembench.ReadLines[sembench.Row](file, path) {
		if err != nil {
			return nil, usage(err, "")
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// maxEvents is how many events of each kind are kept for joining to requests: about 100 MB at most.
const maxEvents = 200_000

// evidence reads what the run directory keeps of the engine's log, audit and counters; what is absent stays null.
func (p *protocol) evidence(in *judge.Inputs) error {
	before, err := p.snapshot("before")
	if err != nil {
		return err
	}
	after, err := p.snapshot("after")
	if err != nil {
		return err
	}
	if before != nil && after != nil {
		in.Window = new(engine.Window([]*engine.Metrics{before}, []*engine.Metrics{after}))
	}
	if text, err := os.Open(p.dir.engineLog()); err == nil {
		defer text.Close()
		if in.Evidence, err = engine.Summarize(p.flight.Engine, text, engine.Options{MaxRequests: p.s.MaxRequests, MaxEvents: maxEvents}); err != nil {
			return usage(fmt.Errorf("reading %s: %w", p.dir.engineLog(), err), "")
		}
		var earlier sembench.Evidence
		if err := sembench.ReadDocument(p.dir.earlier(), &earlier); err == nil && in.Evidence.Provider == nil {
			in.Evidence.Provider = earlier.Provider
		}
		if err := sembench.WriteDocument(p.dir.evidence(), in.Evidence); err != nil {
			return err
		}
	}
	if text, err := os.Open(p.dir.audit()); err == nil {
		defer text.Close()
		audit, err := engine.ReadAudit(text)
		if err != nil {
			return usage(fmt.Errorf("reading %s: %w", p.dir.audit(), err), "")
		}
		in.Audit = audit
	}
	return nil
}

// snapshot reads one kept page of counters; nil when there is none.
func (p *protocol) snapshot(when string) (*engine.Metrics, error) {
	page, err := os.Open(p.dir.counters(when))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer page.Close()
	snapshot, err := engine.ParseMetrics(page)
	if err != nil {
		return nil, usage(fmt.Errorf("reading %s: %w", p.dir.counters(when), err), "")
	}
	snapshot.Endpoint = p.flight.Endpoint
	return snapshot, nil
}

func judgeOptions(s *scenario.Scenario) judge.Options {
	return judge.Options{BlockSize: s.BlockSize, QualityThreshold: s.QualityThreshold, NoiseFloor: s.NoiseFloor, Level: s.Level, Resamples: s.Resamples, Seed: uint64(s.Seed)}
}

func (p *protocol) run() sembench.Run {
	run := sembench.Run{
		RunID: p.runID, Engine: &p.flight.Engine, ManifestPath: p.dir.manifest(), ManifestSHA256: p.manifestSHA, Arm: "paired", EngineVersion: p.flight.EngineVersion,
		SembenchVersion: toolVersion(), TimestampUTC: now(), Seed: &p.s.Seed, Simulated: p.flight.Simulated,
	}
	if p.s.Arm != "" {
		run.Arm = p.s.Arm
	}
	for _, label := range []struct {
		given string
		to    **string
	}{{p.s.BackendID, &run.BackendID}, {p.s.BaselineID, &run.BaselineID}, {p.s.Shard, &run.Shard}} {
		if label.given != "" {
			*label.to = new(label.given)
		}
	}
	if run.EngineVersion == nil && p.s.EngineVersion != "" {
		run.EngineVersion = &p.s.EngineVersion
	}
	return run
}
