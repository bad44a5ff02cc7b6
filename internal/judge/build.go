package judge

import (
	"fmt"
	"math"

	"sembench"
	"sembench/internal/stat"
)

// Build makes the result of a run: rows, aggregates, the paired block where the run has cold and warm arms, the ladder,
// checks and contradictions. Inputs that do not belong together are Refused.
func Build(in Inputs) (sembench.Result, error) {
	joined, err := Join(in)
	if err != nil {
		return sembench.Result{}, err
	}
	out := sembench.Result{
		ResultVersion: sembench.ResultVersion, CreatedAtUTC: in.CreatedAtUTC, Producer: in.Producer, Run: in.Run, Config: in.Config,
		ConfigSHA256: in.ConfigSHA256, BlockSize: in.blockSize(), Protocol: &in.Protocol, Engine: in.Engine, Environment: in.Environment,
		Calibration: in.Calibration,
	}
	pairs, err := fill(&out, joined.Rows, joined.Planned, joined.transforms, in.Options)
	if err != nil {
		return sembench.Result{}, err
	}
	if in.Load != nil {
		if out.Throughput, err = Throughput(in.Observations, *in.Load); err != nil {
			return sembench.Result{}, err
		}
	}
	f := facts{in: in, joined: joined, result: &out, pairs: pairs}
	f.compareChannels()
	out.Checks = f.check()
	out.Contradictions = f.contradictions
	out.Warnings = append(out.Warnings, f.warnings()...)
	return out, nil
}

// fill computes everything that follows from rows alone: classes of pairs, aggregates, the paired block, groups, ladder.
// Transforms names the group of each planned pair.
// Pairs is null for a run of one arm.
func fill(out *sembench.Result, rows []sembench.Row, planned []string, transforms map[string]string, o Options) ([]*pair, error) {
	out.Requests = rows
	if !hasPairs(rows) && out.Run.Arm != "paired" {
		return nil, single(out, rows, o)
	}
	f, err := chooseFloor(out.Calibration, o.NoiseFloor)
	if err != nil {
		return nil, err
	}
	pairs := pairUp(rows, planned)
	discredit(pairs)
	grouping := pairing{pairs: pairs, est: newEstimator(o), blockSize: o.blockSize(), floor: f,
		transform: func(p *pair) string { return transforms[p.id] }}
	if out.Calibration != nil {
		grouping.aa = out.Calibration.TTFTAA
	}
	for _, p := range pairs {
		p.compareTokens()
		p.annotate(o.blockSize())
	}
	warm, cold := cleanRows(pairs)
	out.Aggregate = Aggregate(warm, o)
	out.Cold = new(Aggregate(cold, o))
	out.Paired = grouping.summarize()
	out.Ladder = ladder(warm, pairs, o.blockSize())
	out.ByTransform = grouping.groups(grouping.transform, o)
	out.ByLength = grouping.groups(func(p *pair) string {
		for _, row := range []*sembench.Row{p.cold, p.warm} {
			if row != nil {
				return band(row)
			}
		}
		return ""
	}, o)
	return pairs, nil
}

// groups repeats aggregate and paired block for each group, with a test of each group's speedup that is corrected for their
// number (Holm): of eight transforms without any effect one in three runs would otherwise show one at 5 %.
func (g pairing) groups(of func(*pair) string, o Options) map[string]sembench.Group {
	members := map[string][]*pair{}
	for _, p := range g.pairs {
		if name := of(p); name != "" {
			members[name] = append(members[name], p)
		}
	}
	out := map[string]sembench.Group{}
	names := sortedKeys(members)
	tests := make([]float64, len(names))
	for i, name := range names {
		part := g
		part.pairs, part.aa = members[name], nil // the run's A/A is not this group's
		warm, _ := cleanRows(part.pairs)
		one := sembench.Group{Aggregate: Aggregate(warm, o), Paired: part.summarize()}
		tests[i] = math.NaN()
		if x := logs(ratios(part.of(classUsed))); len(x) > 0 {
			_, tests[i] = stat.WilcoxonSignedRank(x)
		}
		one.PValue = finite(tests[i])
		out[name] = one
	}
	for i, p := range stat.Holm(tests) {
		one := out[names[i]]
		one.PAdjusted = finite(p)
		out[names[i]] = one
	}
	return out
}

// single fills a result of one arm: live keys over its rows that finished and did not start dirty.
func single(out *sembench.Result, rows []sembench.Row, o Options) error {
	var clean []sembench.Row
	groups, bands := map[string][]sembench.Row{}, map[string][]sembench.Row{}
	for i := range rows {
		row := &rows[i]
		if row.Status != nil && !is(row.Status, sembench.StatusOK) || row.Error != nil || is(row.Isolation, sembench.IsolationFailed) {
			continue
		}
		clean = append(clean, *row)
		name := TransformName(row.Transform)
		groups[name] = append(groups[name], *row)
		bands[band(row)] = append(bands[band(row)], *row)
	}
	out.Aggregate = Aggregate(clean, o)
	out.Ladder = ladder(clean, nil, o.blockSize())
	out.ByTransform, out.ByLength = map[string]sembench.Group{}, map[string]sembench.Group{}
	for name, members := range groups {
		out.ByTransform[name] = sembench.Group{Aggregate: Aggregate(members, o)}
	}
	for name, members := range bands {
		out.ByLength[name] = sembench.Group{Aggregate: Aggregate(members, o)}
	}
	if dropped := len(rows) - len(clean); dropped > 0 {
		out.Warnings = append(out.Warnings, droppedRows(dropped, len(rows)))
	}
	return nil
}

func droppedRows(dropped, of int) string {
	return fmt.Sprintf("%d of %d rows failed or started dirty and are in no aggregate", dropped, of)
}

// hasPairs tells that rows of both a cold and a warm arm are there.
func hasPairs(rows []sembench.Row) bool {
	cold, warm := false, false
	for i := range rows {
		cold, warm = cold || is(rows[i].Arm, sembench.ArmCold), warm || is(rows[i].Arm, sembench.ArmWarm)
	}
	return cold && warm
}

// cleanRows gives the warm and the cold rows of clean pairs.
func cleanRows(pairs []*pair) (warm, cold []sembench.Row) {
	for _, p := range pairs {
		if p.clean() {
			warm, cold = append(warm, *p.warm), append(cold, *p.cold)
		}
	}
	return warm, cold
}
