package offline

import (
	"context"
	"fmt"
	"iter"

	"sembench"
	"sembench/internal/block"
	"sembench/internal/plan"
)

// streamRows counts each recipient against every earlier request of the same tenant (--pool stream): an item's own donors count
// as requests that came just before it. Order matters, so one goroutine does it all.
func streamRows(ctx context.Context, items iter.Seq2[sembench.Item, error], o Options) iter.Seq2[sembench.Row, error] {
	return func(yield func(sembench.Row, error) bool) {
		s := newStream(o)
		defer s.close()
		for it, err := range items {
			var row sembench.Row
			if err == nil {
				var x counted
				if x, err = s.item(ctx, it); err == nil {
					row = x.row(o)
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

type stream struct {
	o Options
	// keep lists the donors of every recipient, which costs time in the square of the stream's length.
	keep    bool
	exact   *block.Pool
	tenants map[string]*tenant
}

func newStream(o Options) *stream {
	return &stream{o: o, exact: block.NewPool(o.BlockSize, o.CapacityBlocks), tenants: map[string]*tenant{}}
}

// tenant is one tenant's planners and the requests that they know as donors, oldest first.
type tenant struct {
	*counter
	name string
	held []*request
	next int
}

// request is an earlier request. Blocks is how many of its leading blocks were resident when the planners were last told.
type request struct {
	plan.Donor
	blocks int
}

func (s *stream) close() {
	for _, t := range s.tenants {
		closeAll(t.planners)
	}
}

func (s *stream) tenant(name string) (*tenant, error) {
	if t, ok := s.tenants[name]; ok {
		return t, nil
	}
	c, err := newCounter(s.o)
	if err != nil {
		return nil, err
	}
	s.tenants[name] = &tenant{counter: c, name: name}
	return s.tenants[name], nil
}

func (s *stream) item(ctx context.Context, it sembench.Item) (counted, error) {
	out := counted{it: it}
	t, err := s.tenant(it.Tenant())
	if err != nil {
		return out, err
	}
	for _, d := range it.DonorPrompts {
		ids, text, err := s.o.donor(ctx, it, d)
		if err == nil {
			t.hits, _ = s.exact.Visit(t.hits, t.name, ids)
			err = s.register(t, d.DonorID, ids, text)
		}
		if err != nil {
			return out, fmt.Errorf("counting item %s: donor %s: %w", it.ItemID, d.DonorID, err)
		}
	}
	if out.ids, out.text, err = s.o.recipient(ctx, it); err != nil {
		return out, fmt.Errorf("counting item %s: recipient: %w", it.ItemID, err)
	}
	if err := s.trim(t); err != nil {
		return out, fmt.Errorf("counting item %s: %w", it.ItemID, err)
	}
	for _, p := range t.planners {
		made := p.Plan(ctx, plan.Target{ItemID: it.ItemID, Tokens: out.ids, Text: out.text})
		if s.o.CapacityBlocks > 0 {
			made = plan.Clip(made, t.resident(s.o.BlockSize))
		}
		out.plans = append(out.plans, made)
	}
	if s.keep {
		for _, r := range t.held {
			out.donors = append(out.donors, r.donor(s.o.BlockSize))
		}
	}
	t.hits, out.prefix = s.exact.Visit(t.hits, t.name, out.ids)
	out.hits = t.hits
	if err := s.register(t, it.ItemID, out.ids, out.text); err != nil {
		return out, fmt.Errorf("counting item %s: %w", it.ItemID, err)
	}
	return out, nil
}

// register makes a request a donor under a name of its own: ids of donors may repeat over a stream. An unbounded pool forgets nothing and
// needs no list of its own.
func (s *stream) register(t *tenant, name string, ids []uint32, text string) error {
	t.next++
	r := &request{plan.Donor{ID: fmt.Sprintf("%s@%d", name, t.next), Tokens: ids, Text: text}, block.Count(len(ids), s.o.BlockSize)}
	if s.keep || s.o.CapacityBlocks > 0 {
		t.held = append(t.held, r)
	}
	return t.tell(r)
}

// tell registers what is resident of a request with every planner.
func (t *tenant) tell(r *request) error {
	for _, p := range t.planners {
		if err := p.Register(r.donor(t.o.BlockSize)); err != nil {
			return err
		}
	}
	return nil
}

// donor is the request as far as it is resident: all of it, partial last block included, when no block of it was evicted.
func (r *request) donor(size int) plan.Donor {
	d := r.Donor
	if r.blocks < block.Count(len(d.Tokens), size) {
		d.Tokens, d.Text = d.Tokens[:r.blocks*size], ""
	}
	return d
}

// trim tells the planners what the capacity evicted since they last planned, so that they choose among the same blocks as the exact
// baseline: a request of which nothing is left is forgotten, one of which a head is left is registered again as that head.
//
// What the newest requests hold is surely resident as long as it fits the capacity all together, so only those before are looked up.
func (s *stream) trim(t *tenant) error {
	if s.o.CapacityBlocks <= 0 {
		return nil
	}
	old, blocks := len(t.held), 0
	for old > 0 {
		if blocks += block.Count(len(t.held[old-1].Tokens), s.o.BlockSize); blocks > s.o.CapacityBlocks {
			break
		}
		old--
	}
	kept := t.held[:0]
	for i, r := range t.held {
		if i >= old {
			kept = append(kept, r)
			continue
		}
		left := min(s.exact.Resident(t.name, r.Tokens), r.blocks)
		switch changed := left != r.blocks; {
		case left == 0:
			for _, p := range t.planners {
				if f, ok := p.(plan.Forgetter); ok {
					if err := f.Forget(r.ID); err != nil {
						return err
					}
				}
			}
			continue
		case changed:
			r.blocks = left
			if err := t.tell(r); err != nil {
				return err
			}
		}
		kept = append(kept, r)
	}
	clear(t.held[len(kept):])
	t.held = kept
	return nil
}

// resident says how many leading tokens of a donor are resident: planners that cannot forget are clipped by it.
func (t *tenant) resident(size int) func(string) int {
	left := map[string]int{}
	for _, r := range t.held {
		left[r.ID] = len(r.donor(size).Tokens)
	}
	return func(id string) int { return left[id] }
}
