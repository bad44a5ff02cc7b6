package main

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/scenario"
)

// source is the items of a manifest, one at a time, or those of a built workload.
type source struct {
	items iter.Seq2[sembench.Item, error]
	// total is how many items come; 0 when the input is read only once and nobody knows yet.
	total int
	// sha256 is the manifest's identity, known once items were read to their end; "" for a built workload.
	sha256 func() string
}

// openSource checks a manifest and gives its items without holding them: a file is read twice, so that every problem is told before anything is
// counted. Standard input and pipes are read once and stop at their first problem.
func openSource(c *cobra.Command, s *scenario.Scenario) (*source, error) {
	none := func() string { return "" }
	if s.Manifest == "" {
		items, _, err := buildItems(c, s)
		return &source{seq(items), len(items), none}, err
	}
	info, err := os.Stat(s.Manifest)
	if s.Manifest == "-" || err == nil && !info.Mode().IsRegular() {
		return pipedSource(c, s)
	}
	var chosen []sembench.Item
	var bad sembench.Problems
	total, digest, err := throughManifest(c, s.Manifest, func(it sembench.Item, err error) bool {
		bad.Add(err)
		if s.MaxItems > 0 { // what a sample is drawn by, without the texts
			chosen = append(chosen, sembench.Item{ItemID: it.ItemID, SourceID: it.SourceID, Transform: it.Transform, NegativeControl: it.NegativeControl})
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if err := bad.Err(); err != nil {
		return nil, usage(err, "nothing was sent; formats.md section 1 lists the fields")
	}
	wanted := map[string]bool{}
	if s.Head > 0 {
		total = min(total, s.Head)
	} else if s.MaxItems > 0 {
		for _, it := range sampled(chosen, s) {
			wanted[it.ItemID] = true
		}
		total = len(wanted)
	}
	return &source{total: total, sha256: func() string { return digest }, items: func(yield func(sembench.Item, error) bool) {
		taken, more := 0, true
		_, again, err := throughManifest(c, s.Manifest, func(it sembench.Item, err error) bool {
			if err == nil && len(wanted) > 0 && !wanted[it.ItemID] {
				return true
			}
			taken++
			more = yield(it, err)
			return more && (s.Head <= 0 || taken < s.Head)
		})
		if more && err == nil && again != digest && (s.Head <= 0 || taken < s.Head) {
			err = fmt.Errorf("reading %s: it changed while it was read", s.Manifest)
		}
		if more && err != nil {
			yield(sembench.Item{}, err)
		}
	}}, nil
}

// throughManifest gives every item of a manifest file to each, until that gives false. It counts them and digests what was read.
func throughManifest(c *cobra.Command, path string, each func(sembench.Item, error) bool) (count int, digest string, err error) {
	in, err := open(c, path)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	sum := sembench.NewDigest(in)
	for it, err := range sembench.ReadManifest(sum, path) {
		count++
		if !each(it, err) {
			break
		}
	}
	return count, sum.Sum(), nil
}

// pipedSource reads an input that can be read only once. A sample needs all of it.
func pipedSource(c *cobra.Command, s *scenario.Scenario) (*source, error) {
	if s.MaxItems > 0 && s.Head <= 0 {
		items, digest, err := loadManifest(c, s.Manifest)
		items = sampled(items, s)
		return &source{seq(items), len(items), func() string { return digest }}, err
	}
	in, err := open(c, s.Manifest)
	if err != nil {
		return nil, err
	}
	sum := sembench.NewDigest(in)
	return &source{sha256: sum.Sum, items: func(yield func(sembench.Item, error) bool) {
		defer in.Close()
		taken := 0
		for it, err := range sembench.ReadManifest(sum, s.Manifest) {
			if !yield(it, err) || err != nil {
				return
			}
			if taken++; taken == s.Head {
				return
			}
		}
	}}, nil
}

// rowsPath is where the rows of a large result stand: beside its document. The error is a document that has no place beside it.
func rowsPath(output, format string) (string, error) {
	if format != "jsonl" && format != "parquet" {
		return "", usage(fmt.Errorf("--rows is %q", format), "want jsonl or parquet")
	}
	if output == "" || output == "-" {
		return "", nil
	}
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		return "", usage(fmt.Errorf("--output %s is a folder", output), "want the name of the result document")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", usage(err, "")
	}
	return withoutExt(output) + ".rows." + format, nil
}
