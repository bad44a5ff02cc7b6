package judge

import (
	"fmt"

	"sembench"
)

// Options of a judgement; the zero value works.
type Options struct {
	// BlockSize in tokens; 0 means 16.
	BlockSize int
	// QualityThreshold is the answer recall that passes; 0 means 0.60.
	QualityThreshold float64
	// NoiseFloor is cold_cold or exact_prefix; empty takes exact_prefix where it was measured.
	NoiseFloor string
	// Level of intervals; 0 means 0.95. Resamples of a bootstrap; 0 means 2,000. Seed of the resampling.
	Level     float64
	Resamples int
	Seed      uint64
}

func (o Options) blockSize() int {
	if o.BlockSize <= 0 {
		return 16
	}
	return o.BlockSize
}

func (o Options) level() float64 {
	if o.Level == 0 {
		return 0.95
	}
	return o.Level
}

func (o Options) threshold() float64 {
	if o.QualityThreshold == 0 {
		return 0.60
	}
	return o.QualityThreshold
}

// Audit is a connector audit that was loaded (*engine.Audit). Resolve gives the record of a request id, nil when there is none,
// and how it was found: engine.MatchExact and its neighbours.
type Audit interface {
	Resolve(requestID string) (record *sembench.AuditRecord, how string)
}

// Inputs is everything a run left behind, already read.
type Inputs struct {
	Run  sembench.Run
	Head *sembench.JournalHead // null: the observations come from no journal
	// Items of the manifest as run (after sampling), and one offline row for each.
	Items        []sembench.Item
	Offline      []sembench.Row
	Observations []sembench.Observation
	// Evidence of the engine's log; Audit of its connector; Window of its counters around exactly the observations. Null:
	// there is no such source.
	Evidence *sembench.Evidence
	Audit    Audit
	Window   *sembench.MetricsWindow
	// ExactElsewhere: the exact arm ran on an engine whose log, audit and counters these are not.
	ExactElsewhere bool
	// ConnectorKind is "semantic" when the user declared so; it counts only with a serve line that names such a connector.
	ConnectorKind string
	// EngineBlockSize is the engine's own cache granularity in tokens; null when it does not tell.
	EngineBlockSize *int
	// Repeats of every item; 0 means 1.
	Repeats     int
	Calibration *sembench.Calibration
	Protocol    sembench.Protocol
	Engine      *sembench.EngineInfo
	Environment sembench.Environment
	// Load of a load run; null for any other.
	Load *Load

	Producer     sembench.Producer
	CreatedAtUTC string
	Config       sembench.Extra
	ConfigSHA256 string
	Options
}

// Refused is an error for inputs that do not belong together or that no judgement may be built on: exit code 2.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return "judging: " + e.Reason }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// check refuses inputs that do not belong together.
func (in Inputs) check() error {
	if h := in.Head; h != nil {
		switch {
		case in.Run.ManifestSHA256 != "" && h.ManifestSHA256 != in.Run.ManifestSHA256:
			return refuse("the observations belong to manifest %s, the run names %s", short(h.ManifestSHA256), short(in.Run.ManifestSHA256))
		case in.ConfigSHA256 != "" && h.ConfigSHA256 != in.ConfigSHA256:
			return refuse("the observations belong to configuration %s, the run names %s", short(h.ConfigSHA256), short(in.ConfigSHA256))
		case in.Run.RunID != "" && h.RunID != in.Run.RunID:
			return refuse("the observations belong to run %q, not to %q", h.RunID, in.Run.RunID)
		}
	}
	items := map[string]bool{}
	for _, it := range in.Items {
		items[it.ItemID] = true
	}
	if err := in.checkOffline(items); err != nil {
		return err
	}
	for _, o := range in.Observations {
		if o.Role != sembench.RoleRecipient || o.Superseded {
			continue
		}
		if !items[o.ItemID] {
			return refuse("observation %d is of item %q, which the manifest does not have", o.Seq, o.ItemID)
		}
		if o.Arm == sembench.ArmCold && len(o.Donors) > 0 {
			return refuse("observation %d: a cold step sent %d donors: are the arms swapped?", o.Seq, len(o.Donors))
		}
	}
	if in.Calibration != nil {
		return in.fits(*in.Calibration)
	}
	return nil
}

// fits refuses a calibration that was made under another model, engine or protocol: its floor says nothing of this run.
func (in Inputs) fits(c sembench.Calibration) error {
	differs := func(what string, a, b any) error {
		return refuse("the calibration was made with %s %v, this run with %v: it does not judge this run", what, a, b)
	}
	if c.Simulated != in.Run.Simulated {
		return differs("simulated", c.Simulated, in.Run.Simulated)
	}
	if e := in.Engine; e != nil {
		switch {
		case c.Model != e.Model:
			return differs("model", c.Model, e.Model)
		case c.Engine != "" && e.Kind != "" && c.Engine != e.Kind:
			return differs("engine", c.Engine, e.Kind)
		case c.EngineVersion != nil && e.Version != nil && *c.EngineVersion != *e.Version:
			return differs("engine version", *c.EngineVersion, *e.Version)
		}
	}
	p, q := c.Protocol, in.Protocol
	switch {
	case p.ArmOrder != q.ArmOrder:
		return differs("arm order", p.ArmOrder, q.ArmOrder)
	case p.Concurrency != q.Concurrency:
		return differs("concurrency", p.Concurrency, q.Concurrency)
	case p.MaxTokens != q.MaxTokens:
		return differs("max tokens", p.MaxTokens, q.MaxTokens)
	case p.Temperature != q.Temperature:
		return differs("temperature", p.Temperature, q.Temperature)
	case !equal(p.Seed, q.Seed):
		return differs("seed", show(p.Seed), show(q.Seed))
	case p.Endpoint != q.Endpoint:
		return differs("endpoint", p.Endpoint, q.Endpoint)
	case !equal(p.EngineFlagsSHA256, q.EngineFlagsSHA256):
		return differs("engine flags", show(p.EngineFlagsSHA256), show(q.EngineFlagsSHA256))
	case p.Tokenizer != q.Tokenizer:
		return differs("tokenizer", p.Tokenizer, q.Tokenizer)
	}
	return nil
}

// equal compares two nullable values; null equals only null.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func show[T any](p *T) any {
	if p == nil {
		return "unknown"
	}
	return *p
}

func short(sha string) string { return sha[:min(12, len(sha))] }
