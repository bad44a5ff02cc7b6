package lab

import (
	"context"
	"fmt"

	"sembench"
	"sembench/internal/offline"
	"sembench/internal/token"
	"sembench/internal/workload"
)

// tokenizerSpec counts words: the engine and the workload use the same one, and it costs next to nothing.
const tokenizerSpec = "regex"

// corpus is a workload with its offline rows.
type corpus struct {
	items []sembench.Item
	rows  []sembench.Row
}

// newCorpus is the smoke workload of several seeds, one after the other.
func newCorpus(ctx context.Context, seeds ...uint64) (*corpus, error) {
	tok, err := token.Open(tokenizerSpec)
	if err != nil {
		return nil, err
	}
	c := &corpus{}
	for _, seed := range seeds {
		items, _, err := workload.Build(workload.Options{Profile: "smoke", Seed: seed, Tokenizer: tok, TokenizerSpec: tokenizerSpec})
		if err != nil {
			return nil, fmt.Errorf("building the lab's workload, seed %d: %w", seed, err)
		}
		for i := range items {
			items[i].ItemID = fmt.Sprintf("%s-%d", items[i].ItemID, seed) // one source may stand under several seeds
		}
		c.items = append(c.items, items...)
	}
	list := func(yield func(sembench.Item, error) bool) {
		for _, it := range c.items {
			if !yield(it, nil) {
				return
			}
		}
	}
	for row, err := range offline.Rows(ctx, list, offline.Options{Tokenizer: tok, BlockSize: 16, Planners: []string{"semblend"}, Workers: 1}) {
		if err != nil {
			return nil, err
		}
		c.rows = append(c.rows, row)
	}
	return c, nil
}
