package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/judge"
)

// shard is part k of n of a run's items, k from 0 to n-1: the items whose place in the manifest (after --head or --max-items) leaves k when
// divided by n. It counts from 0 because an indexed Kubernetes Job does, which then needs no shell. The zero shard is the whole run.
type shard struct{ k, n int }

// parseShard reads "k/n"; "" is the whole.
func parseShard(text string) (shard, error) {
	if text == "" {
		return shard{}, nil
	}
	left, right, _ := strings.Cut(text, "/")
	k, errK := strconv.ParseUint(left, 10, 31)
	n, errN := strconv.ParseUint(right, 10, 31)
	switch {
	case errK != nil || errN != nil || n == 0:
		return shard{}, usage(fmt.Errorf("--shard is %q", text), "want k/n with k from 0, like 0/3, 1/3 and 2/3")
	case k >= n:
		return shard{}, usage(fmt.Errorf("--shard is %q", text), fmt.Sprintf("k counts from 0: the last of %d shards is %d/%d", n, n-1, n))
	}
	return shard{int(k), int(n)}, nil
}

// has tells whether the item at this place belongs to the shard.
func (s shard) has(place int) bool { return s.n == 0 || place%s.n == s.k }

// size is how many of total items belong to the shard.
func (s shard) size(total int) int {
	if s.n == 0 {
		return total
	}
	return (total + s.n - 1 - s.k) / s.n
}

// of gives the shard's items. A shard without any is refused: there would be nothing to measure.
func (s shard) of(items []sembench.Item) ([]sembench.Item, error) {
	if s.n == 0 {
		return items, nil
	}
	var out []sembench.Item
	for i, it := range items {
		if s.has(i) {
			out = append(out, it)
		}
	}
	if len(out) == 0 {
		return nil, usage(fmt.Errorf("shard %d/%d is empty: there are %d items", s.k, s.n, len(items)), "ask for fewer shards")
	}
	return out, nil
}

// source narrows a source to the shard. Its identity stays that of the whole input.
func (s shard) source(in *source) *source {
	if s.n == 0 {
		return in
	}
	return &source{total: s.size(in.total), sha256: in.sha256, items: func(yield func(sembench.Item, error) bool) {
		place := 0
		for it, err := range in.items {
			if err != nil || s.has(place) {
				if !yield(it, err) {
					return
				}
			}
			place++
		}
	}}
}

// inOrder sorts shards by k, and refuses a set that is not whole: a merged number must be of all items. Results that name no shard are left to
// the merge.
func inOrder(parts []sembench.Result) ([]sembench.Result, error) {
	var at []shard
	for _, part := range parts {
		if part.Run.Shard == nil {
			if len(at) > 0 {
				return nil, usage(errors.New("merging: some results name their shard and some do not"), "")
			}
			continue
		}
		s, err := parseShard(*part.Run.Shard)
		if err != nil {
			return nil, err
		}
		at = append(at, s)
	}
	if len(at) == 0 {
		return parts, nil
	}
	if len(at) < len(parts) {
		return nil, usage(errors.New("merging: some results name their shard and some do not"), "")
	}
	out, have := make([]sembench.Result, at[0].n), make([]bool, at[0].n)
	for i, s := range at {
		switch {
		case s.n != at[0].n:
			return nil, usage(fmt.Errorf("merging: shards %s and %s are of two divisions", *parts[0].Run.Shard, *parts[i].Run.Shard), "")
		case have[s.k]:
			return nil, usage(fmt.Errorf("merging: shard %d/%d is there twice", s.k, s.n), "")
		}
		out[s.k], have[s.k] = parts[i], true
	}
	if missing := slices.Index(have, false); missing >= 0 {
		return nil, usage(fmt.Errorf("merging: shard %d/%d is missing", missing, len(have)), "numbers of a part of the items would pass for those of all")
	}
	return out, nil
}

// undivided gives the merged document the configuration that one run would have had, and names what else the shards were asked differently.
func undivided(merged *sembench.Result, parts []sembench.Result) (differing []string) {
	for _, part := range parts {
		for name := range merged.Config {
			if name != "shard" && !reflect.DeepEqual(part.Config[name], merged.Config[name]) && !slices.Contains(differing, name) {
				differing = append(differing, name)
			}
		}
	}
	merged.Run.Shard = nil
	if _, named := merged.Config["shard"]; named {
		merged.Config = maps.Clone(merged.Config)
		merged.Config["shard"] = ""
		merged.ConfigSHA256 = sembench.SHA256(sembench.Marshal(map[string]any(merged.Config)))
	}
	slices.Sort(differing)
	return differing
}

// offlineShards tells that every part is a shard of run-offline.
func offlineShards(parts []sembench.Result) bool {
	for _, part := range parts {
		if part.Run.Shard == nil || part.Paired != nil || part.Protocol != nil || part.Run.Arm != sembench.ArmSingle {
			return false
		}
	}
	return len(parts) > 0
}

// mergeOffline joins the shards of a run-offline into the document that one run would have written: rows in the order of the manifest, totals
// counted anew from them. Rows that stand beside the shards' documents are read one at a time, and stand beside the merged one.
func mergeOffline(c *cobra.Command, parts []sembench.Result, paths map[string]string, output string, o judge.MergeOptions) error {
	first := parts[0]
	for _, part := range parts {
		if part.Run.ManifestSHA256 != first.Run.ManifestSHA256 {
			return usage(errors.New("merging: the shards are of different manifests"), "")
		}
	}
	head := sembench.Result{Config: first.Config, ConfigSHA256: first.ConfigSHA256, Run: first.Run}
	if differing := undivided(&head, parts); len(differing) > 0 {
		return usage(fmt.Errorf("merging: the shards were counted with different %s", strings.Join(differing, ", ")), "")
	}
	var pulls []func() (sembench.Row, error, bool)
	for _, part := range parts {
		next, stop := iter.Pull2(rowsOf(part, paths[*part.Run.Shard]))
		defer stop()
		pulls = append(pulls, next)
	}
	tally := judge.NewTally(judge.Options{BlockSize: first.BlockSize})
	turn := 0
	step := func() (sembench.Row, bool, error) {
		row, err, ok := pulls[turn]()
		if !ok {
			// Shards end one after the other: whoever still has rows now was not counted by the same division.
			for i := range pulls {
				if _, _, more := pulls[i](); more && i != turn {
					return row, false, usage(fmt.Errorf("merging: shard %d/%d has more rows than its place allows", i, len(pulls)), "were the shards made from the same input?")
				}
			}
			return row, false, nil
		}
		turn = (turn + 1) % len(pulls)
		if err == nil {
			tally.Add(&row)
		}
		return row, true, err
	}
	var rows []sembench.Row
	for len(rows) <= inlineRows {
		row, ok, err := step()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		rows = append(rows, row)
	}
	rowsFile, err := rowsPath(output, "jsonl")
	if err != nil {
		return err
	}
	many := len(rows) > inlineRows
	if many {
		if err := writeRows(rowsFile, "jsonl", rows, step); err != nil {
			return err
		}
	}
	merged := judge.OfflineTotals(judge.Inputs{Run: head.Run, Environment: first.Environment, Producer: o.Producer, CreatedAtUTC: o.CreatedAtUTC,
		Config: head.Config, ConfigSHA256: head.ConfigSHA256, Options: judge.Options{BlockSize: first.BlockSize}}, tally)
	switch {
	case !many:
		merged.Requests = rows
	case rowsFile != "":
		merged.RowsFile = new(filepath.Base(rowsFile))
	default:
		merged.Warnings = append(merged.Warnings, fmt.Sprintf("%d rows were left out: more than %d stand in a file beside the document, give it a name with --output", tally.Rows(), inlineRows))
	}
	return writeDocument(c, output, merged)
}

// rowsOf gives the rows of a result, from the document or from the JSONL file beside it.
func rowsOf(part sembench.Result, path string) iter.Seq2[sembench.Row, error] {
	return func(yield func(sembench.Row, error) bool) {
		for _, row := range part.Requests {
			if !yield(row, nil) {
				return
			}
		}
		if part.RowsFile == nil {
			return
		}
		beside := filepath.Join(filepath.Dir(path), filepath.Base(*part.RowsFile))
		if filepath.Ext(beside) == ".parquet" {
			yield(sembench.Row{}, usage(fmt.Errorf("merging: the rows of %s are Parquet", path), "count the shards with --rows jsonl"))
			return
		}
		file, err := os.Open(beside)
		if err != nil {
			yield(sembench.Row{}, usage(fmt.Errorf("merging: the rows of %s: %w", path, err), "keep the file of rows beside its document"))
			return
		}
		defer file.Close()
		for row, err := range sembench.ReadLines[sembench.Row](io.Reader(file), beside) {
			if !yield(row, err) {
				return
			}
		}
	}
}
