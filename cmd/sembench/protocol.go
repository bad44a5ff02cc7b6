package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
	"sembench/internal/judge"
	"sembench/internal/offline"
	"sembench/internal/plan"
	"sembench/internal/replay"
	"sembench/internal/report"
	"sembench/internal/scenario"
	"sembench/internal/token"
	"sembench/internal/wire"
)

// protocol is one run from items to verdict, step by step. Each step writes what it made into the run directory before the next one
// begins, so that a killed run can go on from there.
type protocol struct {
	c   *cobra.Command
	s   *scenario.Scenario
	dir runDir

	runID, manifestSHA, configSHA string
	settings                      map[string]any // as asked for: the embedded engine's address is not in them
	items                         []sembench.Item
	rows                          []sembench.Row
	cfg                           replay.Config
	flight                        replay.Report
	calibration                   *sembench.Calibration
	kept                          []keeper
	drained                       bool
}

// start checks the settings, loads the items and makes the run directory. Done is true when that was all that was asked for (--dry-run).
func (p *protocol) start(c *cobra.Command) (done bool, err error) {
	if err := checkSettings(p.s); err != nil {
		return false, err
	}
	part, err := parseShard(p.s.Shard)
	if err != nil {
		return false, err
	}
	var whole []sembench.Item
	if !p.s.Resume {
		if whole, err = p.load(); err != nil {
			return false, err
		}
		if p.items, err = part.of(whole); err != nil {
			return false, err
		}
		if done, err := p.planned(c.OutOrStdout()); done || err != nil {
			return done, err
		}
	}
	return false, p.begin(whole)
}

// begin makes the run directory with configuration and manifest, whole even for a shard: it is what shards have in common. Or it takes up an
// interrupted run.
func (p *protocol) begin(whole []sembench.Item) (err error) {
	p.runID = p.s.RunID
	if p.runID == "" {
		p.runID = newRunID(time.Now())
	}
	if !plainName.MatchString(p.runID) {
		return usage(fmt.Errorf("--run-id is %q", p.runID), "want letters, digits, '.', '_' and '-'")
	}
	p.settings, p.configSHA = p.s.Effective(), p.s.SHA256()
	if p.dir, err = openRunDir(p.s.Output, p.runID, p.s.Resume); err != nil {
		return err
	}
	if p.s.Resume {
		if err := p.sameSettings(); err != nil {
			return err
		}
		return p.takeUp()
	}
	if err := writeManifest(p.c, p.dir.manifest(), whole); err != nil {
		return err
	}
	if err := sembench.WriteFile(p.dir.config(), p.s.WriteYAML); err != nil {
		return err
	}
	text, err := os.ReadFile(p.dir.manifest())
	if err != nil {
		return err
	}
	p.manifestSHA = sembench.SHA256(text)
	return nil
}

// plainName is what a run may be called: its name becomes a folder's.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// load gives the items of --manifest, of --from, or of the built-in profile.
func (p *protocol) load() ([]sembench.Item, error) {
	if p.s.Manifest != "" {
		items, _, err := loadManifest(p.c, p.s.Manifest)
		if err != nil {
			return nil, err
		}
		return sampled(items, p.s), nil
	}
	items, _, err := buildItems(p.c, p.s)
	return items, err
}

// takeUp reads what an interrupted run left.
func (p *protocol) takeUp() (err error) {
	if p.items, p.manifestSHA, err = loadManifest(p.c, p.dir.manifest()); err != nil {
		return err
	}
	part, err := parseShard(p.s.Shard)
	if err != nil {
		return err
	}
	if p.items, err = part.of(p.items); err != nil {
		return err
	}
	head, _, err := readJournal(p.dir.observations())
	if err == nil && head == nil {
		head, _, err = readJournal(p.dir.calibrationJournal())
	}
	if err != nil {
		return usage(err, "the journal is damaged beyond its last line; start the run anew")
	}
	if head != nil {
		p.runID = head.RunID
	}
	return nil
}

// sameSettings refuses to go on with a run under other settings, by the names of those that differ, before anything is sent or written.
func (p *protocol) sameSettings() error {
	file, err := os.Open(p.dir.config())
	if err != nil {
		return usage(fmt.Errorf("reading the run's settings: %w", err), "")
	}
	defer file.Close()
	before := scenario.Default()
	if err := before.Read(file, p.dir.config(), func(string) bool { return false }); err != nil {
		return usage(err, "")
	}
	if before.SHA256() == p.configSHA {
		return nil
	}
	was, differ := before.Effective(), []string{}
	for name, value := range p.settings {
		if old := was[name]; !bytes.Equal(sembench.AppendJSON(nil, old, 0), sembench.AppendJSON(nil, value, 0)) {
			differ = append(differ, fmt.Sprintf("%s was %s, is %s", name, sembench.AppendJSON(nil, old, 0), sembench.AppendJSON(nil, value, 0)))
		}
	}
	slices.Sort(differ)
	return usage(fmt.Errorf("resuming %s under another configuration: %s", p.dir, strings.Join(differ, "; ")), "resume with the flags of the first start, or begin a new run")
}

// countOffline writes the rows that say what could be reused.
func (p *protocol) countOffline(ctx context.Context) error {
	o, err := offlineOptions(p.s)
	if err != nil {
		return err
	}
	bar := newProgress("counting blocks", len(p.items), p.s.Quiet)
	defer bar.end()
	p.rows = nil
	for row, err := range offline.Rows(ctx, seq(p.items), o) {
		if err != nil {
			return usage(err, "")
		}
		p.rows = append(p.rows, row)
		bar.set(len(p.rows), 0)
	}
	return sembench.WriteFile(p.dir.offline(), func(w io.Writer) error {
		for _, row := range p.rows {
			if _, err := w.Write(append(sembench.Marshal(row), '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

func seq(items []sembench.Item) func(func(sembench.Item, error) bool) {
	return func(yield func(sembench.Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// offlineOptions says how items are counted.
func offlineOptions(s *scenario.Scenario) (offline.Options, error) {
	tk, err := token.Open(s.Tokenizer)
	if err != nil {
		return offline.Options{}, usage(err, "")
	}
	o := offline.Options{
		Tokenizer: tk, BlockSize: s.BlockSize, Planners: s.Planner, Stream: s.Pool == "stream", CapacityBlocks: s.CapacityBlocks, Workers: s.Workers,
		Plan: plan.Options{MinSpan: s.MinSpan, MinReuseRatio: s.MinReuseRatio, MinSimilarity: s.MinSimilarity, Embedder: s.Embedder, Approximate: s.Approximate, Seed: uint64(s.Seed), ExecEnv: os.Environ()},
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Pool != "item" && s.Pool != "stream" {
		return o, usage(fmt.Errorf("--pool is %q", s.Pool), "want item or stream")
	}
	if err := setPrompts(&o, s); err != nil {
		return o, err
	}
	return o, usage(o.Check(), "")
}

// live does what needs the server: pre-flight, calibration, replay.
func (p *protocol) live(ctx context.Context) error {
	log := newKeeper(p.s.EngineLog, p.dir.engineLog())
	for _, k := range []keeper{log, newKeeper(p.s.ConnectorAudit, p.dir.audit())} {
		if k.from != "" {
			p.kept = append(p.kept, k)
		}
	}
	if earlier, err := log.before(p.s.Engine, engine.Options{MaxRequests: p.s.MaxRequests}); err == nil && earlier != nil {
		if err := sembench.WriteDocument(p.dir.earlier(), earlier); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{p.instrument, p.preflight, p.calibrate, p.measure} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// instrument measures what this client itself adds to a time on this machine.
func (p *protocol) instrument(ctx context.Context) error {
	if p.s.Resume {
		if _, err := os.Stat(p.dir.instrument()); err == nil {
			return nil
		}
	}
	found, err := replay.Measure(ctx)
	if err != nil {
		return fmt.Errorf("measuring this client itself: %w", err)
	}
	return sembench.WriteDocument(p.dir.instrument(), found)
}

// preflight finds out whether and how the endpoint can be measured.
func (p *protocol) preflight(ctx context.Context) error {
	var err error
	if p.cfg, err = replayConfig(p.s, p.runID); err != nil {
		return err
	}
	if err := p.cfg.Validate(); err != nil {
		return usage(err, "")
	}
	p.flight, err = replay.Preflight(ctx, p.cfg)
	if err != nil {
		return endpointError(err)
	}
	p.cfg = p.flight.Apply(p.cfg)
	count, err := tokenCounter(p.s)
	if err != nil {
		return err
	}
	p.flight.Checks = append(p.flight.Checks, replay.CheckTokenizer(ctx, p.cfg, p.items, count), replay.CheckLengths(p.flight, p.cfg, p.items, count))
	if !p.s.Quiet {
		for _, check := range p.flight.Checks {
			if check.Hint != "" {
				note(p.c, "pre-flight: %s: %s\nhint: %s", check.Name, check.Detail, check.Hint)
			}
		}
	}
	return sembench.WriteDocument(p.dir.preflight(), p.flight)
}

// tokenCounter counts the tokens of a text with the run's tokenizer.
func tokenCounter(s *scenario.Scenario) (func(string) int, error) {
	tk, err := token.Open(s.Tokenizer)
	if err != nil {
		return nil, usage(err, "")
	}
	return func(text string) int { return len(tk.Encode(nil, text)) }, nil
}

// endpointError gives a pre-flight's refusal its exit code and hint.
func endpointError(err error) error {
	var refused *replay.EndpointError
	if errors.As(err, &refused) {
		return endpoint(err, refused.Hint)
	}
	return err
}

// replayConfig is the protocol that the settings describe.
func replayConfig(s *scenario.Scenario, runID string) (replay.Config, error) {
	headers, err := headerMap(s.Headers)
	if err != nil {
		return replay.Config{}, err
	}
	secure, err := tlsConfig(s)
	if err != nil {
		return replay.Config{}, err
	}
	c := replay.Config{
		TLS: secure, MinDonorGap: s.MinDonorGapRequests,
		RunID: runID, Seed: uint64(s.Seed), Arms: arms(s), API: wire.API(s.API), Engine: s.Engine, BaseURL: s.BaseURL, ExactBaseURL: s.ExactArm, Model: s.Model,
		Isolation: s.Isolation, ResetURLs: s.ResetURL, CanaryEvery: s.CanaryEvery, BlockSize: s.BlockSize,
		MaxTokens: s.RecipientMaxTokens, DonorMaxTokens: s.DonorMaxTokens, Timeout: time.Duration(s.TimeoutSeconds * float64(time.Second)),
		PostDonorDelay: time.Duration(s.PostDonorDelayMS) * time.Millisecond, Repeats: s.Repeats, Warmup: s.Warmup, Concurrency: s.Concurrency,
		CalibrationPairs: s.CalibrationPairs, IncludeText: s.IncludeText, APIKey: apiKey(s), Header: headers, UseProxy: s.UseProxy,
	}
	if s.Salt != "auto" {
		c.SaltKind = s.Salt
	}
	if !s.Yes {
		c.MaxTotalTokens = s.MaxTotalTokens
	}
	if s.AwaitDonors {
		c.AwaitDonors = awaitDonors(s)
	}
	if s.DonorURL != "" {
		c.DonorURLs = []string{s.DonorURL}
	}
	c.DonorURLs = append(c.DonorURLs, s.WorkerURL...)
	if len(s.ResetURL) > 0 && s.Isolation == "auto" {
		c.Isolation = replay.Reset
	}
	if s.ExtraBody != "" {
		tree, err := sembench.ParseJSON([]byte(s.ExtraBody))
		object, isObject := tree.(map[string]any)
		if err != nil || !isObject {
			return c, usage(fmt.Errorf("--extra-body is no JSON object: %v", err), `want --extra-body '{"top_k": 1}'`)
		}
		c.ExtraBody = object
	}
	return c, nil
}

// arms are the arms of every pair.
func arms(s *scenario.Scenario) []string {
	if s.Arm != "" {
		return []string{s.Arm}
	}
	out := []string{sembench.ArmCold, sembench.ArmWarm}
	for _, more := range []struct {
		asked bool
		arm   string
	}{{s.ExactArm != "", sembench.ArmExact}, {s.ShamDonors, sembench.ArmSham}, {s.AA, sembench.ArmAA}} {
		if more.asked {
			out = append(out, more.arm)
		}
	}
	return out
}

// journal opens one of the run's two journals.
func (p *protocol) journal(path string) (*replay.Journal, error) {
	head := sembench.JournalHead{
		Schema: sembench.ObservationsSchema, RunID: p.runID, ManifestSHA256: p.manifestSHA, ConfigSHA256: p.configSHA,
		StartedAtUTC: time.Now().UTC().Format(time.RFC3339Nano), EngineBootID: p.flight.BootID, ToolVersion: toolVersion(),
	}
	if p.s.Shard != "" {
		head.Shard = &p.s.Shard
	}
	j, err := replay.OpenJournal(path, head, p.s.Resume)
	return j, usage(err, "")
}

// drive runs one phase of the replay with a progress bar.
func (p *protocol) drive(ctx context.Context, name, path string, cfg replay.Config, phase func(context.Context, replay.Config, []sembench.Item, *replay.Journal, replay.Progress) (replay.Summary, error)) error {
	journal, err := p.journal(path)
	if err != nil {
		return err
	}
	bar := newProgress(name, 1, p.s.Quiet)
	summary, err := phase(ctx, cfg, p.items, journal, func(_ string, done, total int) { bar.set(done, total) })
	bar.end()
	if err = errors.Join(err, journal.Close()); err != nil {
		return endpointError(err)
	}
	p.drained = p.drained || summary.Drained
	if summary.Aborted != "" {
		note(p.c, "sembench: %s stopped itself: %s", name, summary.Aborted)
	}
	return nil
}

// calibrationSuffix sets the ids of a calibration apart from those of its run.
const calibrationSuffix = "-calibration"

// calibrate measures the noise floor, or reads the one that was given.
func (p *protocol) calibrate(ctx context.Context) error {
	if p.s.NoiseFloorFile != "" {
		p.calibration = &sembench.Calibration{}
		if err := sembench.ReadDocument(p.s.NoiseFloorFile, p.calibration); err != nil {
			return usage(err, "calibrations are written by: sembench calibrate-noise-floor")
		}
		return sembench.WriteDocument(p.dir.calibration(), p.calibration)
	}
	if p.s.CalibrationPairs == 0 {
		return nil
	}
	// Ids and salts of the calibration are its own: evidence of one phase must never join to a request of the other.
	cfg := p.cfg
	cfg.RunID += calibrationSuffix
	if err := p.drive(ctx, "calibrating", p.dir.calibrationJournal(), cfg, replay.Calibrate); err != nil {
		return err
	}
	_, observations, err := readJournal(p.dir.calibrationJournal())
	if err != nil {
		return err
	}
	made := judge.Calibrate(judge.CalibrationInputs{
		Items: p.items, Observations: observations, Protocol: p.terms(), Model: p.flight.Model, Engine: p.flight.Engine,
		EngineVersion: p.flight.EngineVersion, Simulated: p.flight.Simulated, CreatedAtUTC: now(), Options: judgeOptions(p.s),
	})
	p.calibration = &made
	return sembench.WriteDocument(p.dir.calibration(), made)
}

// terms is what calibration and run must share.
func (p *protocol) terms() sembench.Protocol {
	return sembench.Protocol{
		ArmOrder: "counterbalanced", Concurrency: max(p.s.Concurrency, 1), MaxTokens: p.s.RecipientMaxTokens, Seed: new(int64(0)), Endpoint: p.s.API, Tokenizer: p.s.Tokenizer,
	}
}

// measure replays the items, with the engine's counters read right before and right after, and keeps what the engine logged meanwhile.
func (p *protocol) measure(ctx context.Context) error {
	if err := p.counters(ctx, "before"); err != nil {
		return err
	}
	if err := p.drive(ctx, "measuring", p.dir.observations(), p.cfg, replay.Run); err != nil {
		return err
	}
	if err := p.counters(context.WithoutCancel(ctx), "after"); err != nil {
		return err
	}
	for _, k := range p.kept {
		if err := k.keep(); err != nil {
			return err
		}
	}
	return nil
}

// counters reads the engine's counters and keeps the page verbatim, where the engine serves one. A window that a resumed run would span is not
// read, and an old one is dropped: nobody counted while the run was down.
func (p *protocol) counters(ctx context.Context, when string) error {
	if p.s.Resume {
		if err := os.Remove(p.dir.counters(when)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	url, err := metricsURL(p.s)
	if err != nil {
		return err
	}
	client, err := plainClient(p.s)
	if err != nil {
		return err
	}
	defer client.Close()
	_, page, err := scrape(ctx, client, url)
	if err != nil {
		note(p.c, "no counters: %v", err)
		return nil
	}
	return sembench.WriteFile(p.dir.counters(when), func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	})
}

// conclude gates a result, writes verdict and report, prints the summary, and gives the verdict's exit code as an error.
func (p *protocol) conclude(result sembench.Result, evidence *sembench.Evidence, o judge.GateOptions) error {
	text, err := os.ReadFile(p.dir.result())
	if err != nil {
		return err
	}
	o.ResultSHA256 = sembench.SHA256(text)
	if evidence != nil {
		o.Evidence = append(slices.Clone(o.Evidence), *evidence)
	}
	verdict, err := judge.Gate(result, o)
	if err != nil {
		return usage(err, "")
	}
	if err := sembench.WriteDocument(p.dir.verdict(), verdict); err != nil {
		return err
	}
	shown := report.Input{Result: &result, Verdict: &verdict, RunDir: string(p.dir), ReportPath: p.dir.report(), Canaries: canariesOf(p.dir)}
	if err := sembench.WriteFile(p.dir.report(), func(w io.Writer) error { return report.HTML(w, shown) }); err != nil {
		return err
	}
	var screen bytes.Buffer
	if err := report.Text(&screen, shown, 100, colour(p.c.OutOrStdout())); err != nil {
		return err
	}
	if _, err := p.c.OutOrStdout().Write(screen.Bytes()); err != nil {
		return err
	}
	switch {
	case p.drained:
		return invalid(errors.New("the run was interrupted: the result covers what was measured until then"), "go on with it: --resume --output "+string(p.dir))
	case verdict.ExitCode == exitInvalid:
		return invalid(errors.New("the measurement is not valid"), "")
	case !verdict.Passed:
		return fail(exitGate, fmt.Errorf("%d of the gates and checks do not hold", len(verdict.Failures)), "")
	}
	return nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// colour reports whether w is a terminal that wants colours.
func colour(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
