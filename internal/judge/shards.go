package judge

import (
	"fmt"
	"slices"
	"strings"

	"sembench"
)

// MergeShards joins the results of shards of one run (one manifest, each item in one shard) into one. Nothing
// is averaged: everything is computed anew from all rows. Shards of another manifest, arm, block size or model, a shard twice, and a
// pair in two shards are Refused. Pairs that a shard planned and has no row of stay in the total as unpaired.
func MergeShards(shards []sembench.Result, o MergeOptions) (sembench.Result, error) {
	if len(shards) == 0 {
		return sembench.Result{}, refuse("merging: no shards")
	}
	out := o.result(shards[0])
	if out.Calibration == nil {
		out.Calibration = shards[0].Calibration
	}
	m := &merging{transforms: map[string]string{}}
	home, seen := map[[2]string]int{}, map[string]bool{}
	var names, runs []string
	for i, shard := range shards {
		if err := sameRun(shards[0], shard, seen); err != nil {
			return sembench.Result{}, err
		}
		names, runs = append(names, fmt.Sprintf("shard %d", i+1)), append(runs, shard.Run.RunID)
		if err := m.shard(shard, i, home); err != nil {
			return sembench.Result{}, err
		}
	}
	slices.Sort(runs)
	out.Run.Shard, out.Run.RunID = nil, strings.Join(slices.Compact(runs), "+")
	if err := m.finish(&out, o, shards, names); err != nil {
		return sembench.Result{}, err
	}
	return out, nil
}

// shard adds the rows of one shard, and a place for each pair that it planned and has no row of. Home keeps where each pair
// and arm came from.
func (m *merging) shard(shard sembench.Result, i int, home map[[2]string]int) error {
	before := len(m.planned)
	for _, row := range shard.Requests {
		if row.PairID == nil || row.Arm == nil {
			return refuse("merging: shard %d: item %s names no pair or no arm", i+1, row.ItemID)
		}
		key := [2]string{*row.PairID, *row.Arm}
		if at, known := home[key]; known {
			return refuse("merging: pair %s, arm %s is in shard %d and in shard %d", key[0], key[1], at+1, i+1)
		}
		home[key] = i
		m.add(row)
	}
	if shard.Paired == nil {
		return nil
	}
	for n := range shard.Paired.PairsTotal - (len(m.planned) - before) {
		id := fmt.Sprintf("shard %d, missing pair %d", i+1, n+1)
		m.planned, m.transforms[id] = append(m.planned, id), ""
	}
	return nil
}

// sameRun refuses a shard that belongs to another run, and one that is there already.
func sameRun(first, shard sembench.Result, seen map[string]bool) error {
	differ := func(what string, a, b any) error {
		return refuse("merging: shards differ in %s: %v and %v", what, a, b)
	}
	name := "none"
	if shard.Run.Shard != nil {
		name = *shard.Run.Shard
	}
	switch {
	case first.Run.ManifestSHA256 != shard.Run.ManifestSHA256:
		return differ("manifest", short(first.Run.ManifestSHA256), short(shard.Run.ManifestSHA256))
	case first.Run.Arm != shard.Run.Arm:
		return differ("arm", first.Run.Arm, shard.Run.Arm)
	case first.Run.Simulated != shard.Run.Simulated:
		return differ("simulated", first.Run.Simulated, shard.Run.Simulated)
	case first.BlockSize != shard.BlockSize:
		return differ("block size", first.BlockSize, shard.BlockSize)
	case first.Engine != nil && shard.Engine != nil && first.Engine.Model != shard.Engine.Model:
		return differ("model", first.Engine.Model, shard.Engine.Model)
	case shard.RowsFile != nil && len(shard.Requests) == 0:
		return refuse("merging: shard %s keeps its rows in %s: read them into the result first", name, *shard.RowsFile)
	case seen[name]:
		return refuse("merging: shard %s is there twice", name)
	}
	seen[name] = true
	return nil
}
