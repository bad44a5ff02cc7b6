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
		s := stream{o: o, exact: block.NewPool(o.BlockSize, o.CapacityBlocks), tenants: map[string]*tenant{}}
		defer s.close()
		for it, err := range items {
			var row sembench.Row
			if err == nil {
				row, err = s.item(ctx, it)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

type stream struct {
	o       Options
	exact   *block.Pool
	tenants map[string]*tenant
}

// tenant is one tenant's planners and the ids of the requests that they hold, for clipping plans to what is still resident.
type tenant struct {
	*counter
	ids  map[string][]uint32
	next int
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
	s.tenants[name] = &tenant{counter: c, ids: map[string][]uint32{}}
	return s.tenants[name], nil
}

func (s *stream) item(ctx context.Context, it sembench.Item) (sembench.Row, error) {
	t, err := s.tenant(it.Tenant())
	if err != nil {
		return sembench.Row{}, err
	}
	for _, d := range it.DonorPrompts {
		ids, text, err := s.o.donor(ctx, it, d)
		if err != nil {
			return sembench.Row{}, fmt.Errorf("counting item %s: donor %s: %w", it.ItemID, d.DonorID, err)
		}
		t.hits, _ = s.exact.Visit(t.hits, it.Tenant(), ids)
		if err := t.register(d.DonorID, ids, text); err != nil {
			return sembench.Row{}, fmt.Errorf("counting item %s: donor %s: %w", it.ItemID, d.DonorID, err)
		}
	}
	ids, text, err := s.o.recipient(ctx, it)
	if err != nil {
		return sembench.Row{}, fmt.Errorf("counting item %s: recipient: %w", it.ItemID, err)
	}
	// Plans are clipped to what is resident before this request touches the pool.
	plans := make([]sembench.Plan, len(t.planners))
	for i, p := range t.planners {
		plans[i] = p.Plan(ctx, plan.Target{ItemID: it.ItemID, Tokens: ids, Text: text})
		if s.o.CapacityBlocks > 0 {
			plans[i] = plan.Clip(plans[i], func(donor string) int {
				return s.exact.Resident(it.Tenant(), t.ids[donor]) * s.o.BlockSize
			})
		}
	}
	var prefix int
	t.hits, prefix = s.exact.Visit(t.hits, it.Tenant(), ids)
	row := newRow(it, len(ids), s.o)
	exact(&row, t.hits, prefix, s.o.BlockSize)
	for i, made := range plans {
		addPlan(&row, s.o.Planners[i], made, t.hits, s.o.BlockSize)
	}
	if err := t.register(it.ItemID, ids, text); err != nil {
		return sembench.Row{}, fmt.Errorf("counting item %s: %w", it.ItemID, err)
	}
	s.forget(t, it.Tenant())
	return row, nil
}

// register makes a request a donor under a name of its own: ids of donors may repeat over a stream.
func (t *tenant) register(name string, ids []uint32, text string) error {
	t.next++
	name = fmt.Sprintf("%s@%d", name, t.next)
	t.ids[name] = ids
	for _, p := range t.planners {
		if err := p.Register(plan.Donor{ID: name, Tokens: ids, Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// forget drops donors of which nothing is resident any more, so that memory follows the capacity.
func (s *stream) forget(t *tenant, name string) {
	if s.o.CapacityBlocks <= 0 || t.next%64 != 0 {
		return
	}
	for donor, ids := range t.ids {
		if s.exact.Resident(name, ids) > 0 {
			continue
		}
		for _, p := range t.planners {
			if f, ok := p.(plan.Forgetter); ok {
				f.Forget(donor)
			}
		}
		delete(t.ids, donor)
	}
}
