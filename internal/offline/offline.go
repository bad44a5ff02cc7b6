// Package offline turns manifest items into rows that say what could be reused: exact blocks, planner candidates, and
// candidates that an engine could load as blocks (contract, sections 1 to 3). No server is involved.
//
// It assumes that items were validated. Rates and groups are judge's; a planner's failure is an error in its
// columns of that row, never a zero.
package offline

import (
	"context"
	"fmt"
	"iter"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/ordered"
	"sembench/internal/plan"
	"sembench/internal/token"
)

// Seed is the planner that fills the contract's seed keys.
const Seed = "semblend"

// Options say how items are counted.
type Options struct {
	Tokenizer token.Tokenizer
	// BlockSize in tokens, at least 1.
	BlockSize int
	// Planners in the order of --planner; each gets columns of its own.
	Planners []string
	// Plan holds the planners' parameters; its BlockSize is set from BlockSize.
	Plan plan.Options
	// Render gives the text that an engine would tokenize for a chat; nil joins the contents with an empty line (chat
	// template none). See ChatTemplate.
	Render func(messages []any, tools any) (string, error)
	// Raw counts prompts as a completions endpoint gets them: system prompt, empty line, text, behind the ids that the model puts
	// in front of every raw prompt. Render is not used.
	Raw bool
	// Stream makes every earlier request of the same tenant a donor (--pool stream), under CapacityBlocks (0: unbounded).
	Stream         bool
	CapacityBlocks int
	Workers        int
}

// Check says what is wrong with the options; nil when they can be used.
func (o Options) Check() error {
	switch {
	case o.Tokenizer == nil:
		return fmt.Errorf("counting blocks: no tokenizer")
	case o.BlockSize < 1:
		return fmt.Errorf("counting blocks: --block-size is %d: want 1 or more", o.BlockSize)
	case len(o.Planners) == 0:
		return fmt.Errorf("counting blocks: no planner: want --planner semblend, span or exec:COMMAND")
	}
	return nil
}

// Rows yields one row per item, in order. An item that cannot be counted (a tokenizer server that fails) is an error in
// its place.
func Rows(ctx context.Context, items iter.Seq2[sembench.Item, error], o Options) iter.Seq2[sembench.Row, error] {
	if err := o.Check(); err != nil {
		return func(yield func(sembench.Row, error) bool) { yield(sembench.Row{}, err) }
	}
	if o.Stream {
		return streamRows(ctx, items, o)
	}
	var planners [][]plan.Planner // one set a worker, closed at the end
	made := make(chan []plan.Planner, max(o.Workers, 1))
	rows := ordered.Map(items, o.Workers,
		func() (*counter, error) {
			c, err := newCounter(o)
			if err == nil {
				made <- c.planners
			}
			return c, err
		},
		func(c *counter, it sembench.Item) (sembench.Row, error) {
			x, err := c.item(ctx, it)
			if err != nil {
				return sembench.Row{}, err
			}
			return x.row(o), nil
		})
	return func(yield func(sembench.Row, error) bool) {
		defer func() {
			close(made)
			for set := range made {
				planners = append(planners, set)
			}
			for _, set := range planners {
				closeAll(set)
			}
		}()
		rows(yield)
	}
}

func closeAll(planners []plan.Planner) {
	for _, p := range planners {
		p.Close()
	}
}

// counter is one worker's planners and buffers.
type counter struct {
	o        Options
	planners []plan.Planner
	index    *block.Index
	hits     []bool
}

func newCounter(o Options) (*counter, error) {
	c := &counter{o: o, index: block.NewIndex(o.BlockSize)}
	o.Plan.BlockSize = o.BlockSize
	for _, spec := range o.Planners {
		p, err := plan.Open(spec, o.Plan)
		if err != nil {
			closeAll(c.planners)
			return nil, err
		}
		c.planners = append(c.planners, p)
	}
	return c, nil
}

// counted is one recipient as counted: what its row and its strip are made from.
type counted struct {
	it     sembench.Item
	ids    []uint32
	text   string
	hits   []bool // one a full block: exact hit
	prefix int    // leading blocks that continue one donor
	plans  []sembench.Plan
	donors []plan.Donor // what exact baseline and planners chose from, oldest first; of a stream only when it keeps requests
}

func (x counted) row(o Options) sembench.Row {
	row := newRow(x.it, len(x.ids), o)
	exact(&row, x.hits, x.prefix, o.BlockSize)
	for i, made := range x.plans {
		addPlan(&row, o.Planners[i], made, x.hits, o.BlockSize)
	}
	return row
}

// item counts one recipient against the donors of its own item (--pool item).
func (c *counter) item(ctx context.Context, it sembench.Item) (counted, error) {
	c.index.Reset()
	failed := make([]error, len(c.planners))
	for i, p := range c.planners {
		failed[i] = p.Reset()
	}
	out := counted{it: it}
	for _, d := range it.DonorPrompts {
		ids, text, err := c.o.donor(ctx, it, d)
		if err != nil {
			return out, fmt.Errorf("counting item %s: donor %s: %w", it.ItemID, d.DonorID, err)
		}
		made := plan.Donor{ID: d.DonorID, Tokens: ids, Text: text}
		out.donors = append(out.donors, made)
		c.index.Add(d.DonorID, ids)
		for i, p := range c.planners {
			if failed[i] == nil {
				failed[i] = p.Register(made)
			}
		}
	}
	var err error
	if out.ids, out.text, err = c.o.recipient(ctx, it); err != nil {
		return out, fmt.Errorf("counting item %s: recipient: %w", it.ItemID, err)
	}
	c.hits = c.index.Hits(c.hits, out.ids)
	out.hits, out.prefix = c.hits, c.index.PrefixBlocks(out.ids)
	for i, p := range c.planners {
		made := sembench.Plan{Error: new("registering donors: " + fmt.Sprint(failed[i]))}
		if failed[i] == nil {
			made = p.Plan(ctx, plan.Target{ItemID: it.ItemID, Tokens: out.ids, Text: out.text})
		}
		out.plans = append(out.plans, made)
	}
	return out, nil
}
