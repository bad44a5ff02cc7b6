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
	first := shards[0]
	if o.BlockSize == 0 {
		o.BlockSize = first.BlockSize
	}
	out := sembench.Result{
		ResultVersion: sembench.ResultVersion, CreatedAtUTC: o.CreatedAtUTC, Producer: o.Producer, Run: first.Run, Config: first.Config,
		ConfigSHA256: first.ConfigSHA256, BlockSize: o.blockSize(), Protocol: first.Protocol, Engine: first.Engine, Environment: first.Environment,
		Calibration: o.Calibration,
	}
	if out.Calibration == nil {
		out.Calibration = first.Calibration
	}
	var rows []sembench.Row
	var planned, runs []string
	transforms := map[string]string{}
	home := map[string]int{}
	names := map[string]bool{}
	checks := [][]sembench.CheckResult{}
	for i, shard := range shards {
		if err := sameRun(first, shard, names); err != nil {
			return sembench.Result{}, err
		}
		runs = append(runs, shard.Run.RunID)
		before := len(planned)
		for _, row := range shard.Requests {
			if row.PairID == nil {
				return sembench.Result{}, refuse("merging: shard %d: item %s names no pair", i+1, row.ItemID)
			}
			if at, known := home[*row.PairID]; known && at != i {
				return sembench.Result{}, refuse("merging: pair %s is in shard %d and in shard %d", *row.PairID, at+1, i+1)
			} else if !known {
				planned = append(planned, *row.PairID)
			}
			home[*row.PairID] = i
			transforms[*row.PairID] = TransformName(row.Transform)
			rows = append(rows, row)
		}
		if shard.Paired != nil {
			for n := range shard.Paired.PairsTotal - (len(planned) - before) {
				id := fmt.Sprintf("shard %d, missing pair %d", i+1, n+1)
				planned = append(planned, id)
				transforms[id] = ""
			}
		}
		checks = append(checks, shard.Checks)
		for _, text := range shard.Contradictions {
			out.Contradictions = append(out.Contradictions, fmt.Sprintf("shard %d: %s", i+1, text))
		}
		for _, text := range shard.Warnings {
			out.Warnings = append(out.Warnings, fmt.Sprintf("shard %d: %s", i+1, text))
		}
	}
	slices.Sort(runs)
	out.Run.Shard, out.Run.RunID = nil, strings.Join(slices.Compact(runs), "+")
	pairs, err := fill(&out, rows, planned, transforms, o.Options)
	if err != nil {
		return sembench.Result{}, err
	}
	out.Checks = mergeChecks(checks, &out, pairs, o.Options)
	return out, nil
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
