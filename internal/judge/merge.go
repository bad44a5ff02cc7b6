package judge

import (
	"strconv"

	"sembench"
)

// MergeOptions of MergeArms.
type MergeOptions struct {
	Options
	// AllowUnpaired waives rows that one side lacks, and nothing else.
	AllowUnpaired bool
	Calibration   *sembench.Calibration
	CreatedAtUTC  string
	Producer      sembench.Producer
}

// MergeArms joins a cold and a warm result that were run apart into a paired one: on item id, of one manifest. Everything that
// makes two rows the same item must agree (dataset, transform, negative_control, donor_count, total_blocks). Swapped labels,
// another manifest, model, protocol or block size, an item twice in a result, and rows that one side lacks are Refused.
//
// A step whose isolation no canary proved counts as started on a fresh process when both results name their engine process and
// the two differ.
func MergeArms(cold, warm sembench.Result, o MergeOptions) (sembench.Result, error) {
	if err := mergeable(cold, warm); err != nil {
		return sembench.Result{}, err
	}
	m, err := joinArms(cold, warm, o.AllowUnpaired)
	if err != nil {
		return sembench.Result{}, err
	}
	out := o.result(warm)
	out.Run.Arm, out.Run.RunID = "paired", cold.Run.RunID+"+"+warm.Run.RunID
	if err := m.finish(&out, o, []sembench.Result{cold, warm}, []string{"cold arm", "warm arm"}); err != nil {
		return sembench.Result{}, err
	}
	out.Warnings = append(out.Warnings, "the arms ran apart: drift between them is in the speedup, and no order effect can be tested")
	return out, nil
}

// result starts a merged document from one of its parts.
func (o MergeOptions) result(from sembench.Result) sembench.Result {
	return sembench.Result{
		ResultVersion: sembench.ResultVersion, CreatedAtUTC: o.CreatedAtUTC, Producer: o.Producer, Run: from.Run, Config: from.Config,
		ConfigSHA256: from.ConfigSHA256, BlockSize: from.BlockSize, Protocol: from.Protocol, Engine: from.Engine, Environment: from.Environment,
		Calibration: o.Calibration,
	}
}

// merging is the rows of several results on their way into one.
type merging struct {
	rows       []sembench.Row
	planned    []string
	transforms map[string]string
}

func (m *merging) add(row sembench.Row) {
	if _, known := m.transforms[*row.PairID]; !known {
		m.transforms[*row.PairID] = TransformName(row.Transform)
		m.planned = append(m.planned, *row.PairID)
	}
	m.rows = append(m.rows, row)
}

// finish computes the merged document from all rows; nothing is averaged. What the parts' own checks found stays.
func (m *merging) finish(out *sembench.Result, o MergeOptions, parts []sembench.Result, names []string) error {
	if out.BlockSize > 0 {
		o.BlockSize = out.BlockSize // the rows were counted with it
	}
	if out.Calibration != nil {
		in := Inputs{Run: out.Run, Engine: out.Engine}
		if out.Protocol != nil {
			in.Protocol = *out.Protocol
		}
		if err := in.fits(*out.Calibration); err != nil {
			return err
		}
	}
	pairs, err := fill(out, m.rows, m.planned, m.transforms, o.Options)
	if err != nil {
		return err
	}
	var checks [][]sembench.CheckResult
	for i, part := range parts {
		checks = append(checks, part.Checks)
		for _, text := range part.Contradictions {
			out.Contradictions = append(out.Contradictions, names[i]+": "+text)
		}
		for _, text := range part.Warnings {
			out.Warnings = append(out.Warnings, names[i]+": "+text)
		}
	}
	out.Checks = mergeChecks(checks, names, out, pairs, o.Options)
	return nil
}

// joinArms pairs the rows of two arms by item.
func joinArms(cold, warm sembench.Result, allowUnpaired bool) (*merging, error) {
	coldRows, err := recipients(cold, sembench.ArmCold)
	if err != nil {
		return nil, err
	}
	warmRows, err := recipients(warm, sembench.ArmWarm)
	if err != nil {
		return nil, err
	}
	apart := onTwoProcesses(cold.Engine, warm.Engine)
	m := &merging{transforms: map[string]string{}}
	add := func(row sembench.Row, arm string) {
		row.Arm, row.Order, row.PairID = &arm, nil, new(row.ItemID+"#0")
		if apart && !verified(row.Isolation) && !is(row.Isolation, sembench.IsolationFailed) {
			row.Isolation, row.IsolationMethod = new(sembench.IsolationFreshProcess), new(sembench.IsolationFreshProcess)
		}
		m.add(row)
	}
	twins := map[string]sembench.Row{}
	for _, row := range warmRows {
		twins[row.ItemID] = row
	}
	unpaired := 0
	for _, row := range coldRows {
		add(row, sembench.ArmCold)
		twin, ok := twins[row.ItemID]
		if !ok {
			unpaired++
			continue
		}
		if err := sameItem(row, twin); err != nil {
			return nil, err
		}
		add(twin, sembench.ArmWarm)
		delete(twins, row.ItemID)
	}
	for _, row := range warmRows {
		if _, left := twins[row.ItemID]; left {
			add(row, sembench.ArmWarm)
			unpaired++
		}
	}
	if unpaired > 0 && !allowUnpaired {
		return nil, refuse("merging: %d rows have no twin in the other result: allow unpaired rows to count them as unpaired", unpaired)
	}
	return m, nil
}

// onTwoProcesses tells that both engines name their process and the names differ.
func onTwoProcesses(a, b *sembench.EngineInfo) bool {
	return a != nil && b != nil && a.BootID != nil && b.BootID != nil && *a.BootID != *b.BootID
}

// mergeable refuses results that are no two arms of one run.
func mergeable(cold, warm sembench.Result) error {
	if cold.Run.Arm != sembench.ArmCold || warm.Run.Arm != sembench.ArmWarm {
		return refuse("merging: want a cold and a warm result, got %q and %q: are they swapped?", cold.Run.Arm, warm.Run.Arm)
	}
	differ := func(what string, a, b any) error {
		return refuse("merging: the results differ in %s: %v and %v", what, a, b)
	}
	switch {
	case cold.Run.ManifestSHA256 == "" || cold.Run.ManifestSHA256 != warm.Run.ManifestSHA256:
		return differ("manifest", short(cold.Run.ManifestSHA256), short(warm.Run.ManifestSHA256))
	case cold.BlockSize != warm.BlockSize:
		return differ("block size", cold.BlockSize, warm.BlockSize)
	case cold.Run.Simulated != warm.Run.Simulated:
		return differ("simulated", cold.Run.Simulated, warm.Run.Simulated)
	case (cold.Engine == nil) != (warm.Engine == nil):
		return refuse("merging: one result names its engine, the other does not")
	case cold.Engine != nil && cold.Engine.Model != warm.Engine.Model:
		return differ("model", cold.Engine.Model, warm.Engine.Model)
	}
	if p, q := cold.Protocol, warm.Protocol; p != nil && q != nil {
		switch {
		case p.MaxTokens != q.MaxTokens:
			return differ("max tokens", p.MaxTokens, q.MaxTokens)
		case p.Concurrency != q.Concurrency:
			return differ("concurrency", p.Concurrency, q.Concurrency)
		case p.Temperature != q.Temperature:
			return differ("temperature", p.Temperature, q.Temperature)
		case p.Endpoint != q.Endpoint:
			return differ("endpoint", p.Endpoint, q.Endpoint)
		}
	}
	return nil
}

// recipients gives a result's rows of one arm; an item twice is refused, since a join on items could not tell them apart.
func recipients(r sembench.Result, arm string) ([]sembench.Row, error) {
	if r.RowsFile != nil && len(r.Requests) == 0 {
		return nil, refuse("merging: the %s result keeps its rows in %s: read them into the result first", arm, *r.RowsFile)
	}
	seen := map[string]bool{}
	var out []sembench.Row
	for _, row := range r.Requests {
		if row.Arm != nil && *row.Arm != arm && *row.Arm != sembench.ArmSingle {
			return nil, refuse("merging: the %s result has a row of arm %q (item %s): are the labels swapped?", arm, *row.Arm, row.ItemID)
		}
		if arm == sembench.ArmCold && len(row.DonorStatus) > 0 {
			return nil, refuse("merging: item %s of the cold result was sent after %d donors: are the labels swapped?", row.ItemID, len(row.DonorStatus))
		}
		if seen[row.ItemID] {
			return nil, refuse("merging: item %s occurs twice in the %s result", row.ItemID, arm)
		}
		seen[row.ItemID] = true
		out = append(out, row)
	}
	return out, nil
}

func sameItem(a, b sembench.Row) error {
	differ := func(what, x, y string) error {
		return refuse("merging: item %s differs in %s: %s and %s", a.ItemID, what, x, y)
	}
	switch {
	case a.Dataset != b.Dataset:
		return differ("dataset", a.Dataset, b.Dataset)
	case a.Transform != b.Transform:
		return differ("transform", a.Transform, b.Transform)
	case a.NegativeControl != b.NegativeControl:
		return differ("negative_control", strconv.FormatBool(a.NegativeControl), strconv.FormatBool(b.NegativeControl))
	case a.DonorCount != b.DonorCount:
		return differ("donor_count", strconv.Itoa(a.DonorCount), strconv.Itoa(b.DonorCount))
	case a.TotalBlocks != b.TotalBlocks:
		return differ("total_blocks", strconv.Itoa(a.TotalBlocks), strconv.Itoa(b.TotalBlocks))
	}
	return nil
}

// mergeChecks keeps the worst of the parts' outcomes for checks that look at requests, and makes those on pairs anew.
func mergeChecks(parts [][]sembench.CheckResult, names []string, out *sembench.Result, pairs []*pair, o Options) (merged []sembench.CheckResult) {
	rank := map[string]int{sembench.NotJudged: 0, sembench.Pass: 1, sembench.Inconclusive: 2, sembench.Fail: 3}
	f := facts{in: Inputs{Options: o}, result: out, pairs: pairs}
	for _, c := range Checks() {
		r := sembench.CheckResult{Name: c.Name, Outcome: sembench.NotJudged}
		switch c.Name {
		case "controls_quiet", "order_effect", "pairs_valid", "aa_at_one", "exact_reuse_is_exact", "engine_time_agrees":
			c.run(&f, &r)
		default:
			for i, part := range parts {
				for _, own := range part {
					if own.Name == c.Name && (r.Detail == "" || rank[own.Outcome] > rank[r.Outcome]) {
						r = own
						r.Detail = names[i] + ": " + own.Detail
					}
				}
			}
		}
		merged = append(merged, r)
	}
	return merged
}
