package sim

import (
	"context"
	"strconv"

	"sembench/internal/plan"
)

// donor is a finished prompt whose KV the semantic layer holds.
type donor struct {
	key       string // the planner's name for it: a number, so that no request id reaches a decision
	requestID string
	salt      string
	ids       []uint32
	text      string
}

// donorStore is the semantic layer: donors with a capacity in tokens, and the planner over them.
type donorStore struct {
	planner plan.Planner
	most    int
	tokens  int
	next    int
	order   []*donor // oldest first
	byKey   map[string]*donor
}

func newDonorStore(p plan.Planner, most int) *donorStore {
	return &donorStore{planner: p, most: most, byKey: map[string]*donor{}}
}

// add registers a donor and drops the oldest beyond the capacity.
func (s *donorStore) add(d *donor) error {
	d.key = strconv.Itoa(s.next)
	s.next++
	if err := s.planner.Register(plan.Donor{ID: d.key, Tokens: d.ids, Text: d.text}); err != nil {
		return err
	}
	s.order, s.byKey[d.key] = append(s.order, d), d
	s.tokens += len(d.ids)
	for s.tokens > s.most && len(s.order) > 1 {
		old := s.order[0]
		s.order[0] = nil
		s.order = s.order[1:]
		s.tokens -= len(old.ids)
		delete(s.byKey, old.key)
		if f, ok := s.planner.(plan.Forgetter); ok {
			if err := f.Forget(old.key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *donorStore) clear() error {
	clear(s.byKey)
	s.order, s.tokens = nil, 0
	return s.planner.Reset()
}

// piece is a run of whole target blocks that one donor holds in order.
type piece struct {
	targetStart, donorStart, length int
	donor                           *donor
}

// find plans for the tokens of ids from position from on, which must be a block boundary, and returns the whole blocks
// below limit that one donor holds contiguously. Spans of a donor that the store no longer holds are left out.
func (s *donorStore) find(ids []uint32, text string, from, limit, block int) ([]piece, error) {
	p := s.planner.Plan(context.Background(), plan.Target{Tokens: ids[from:], Text: text})
	if p.Error != nil {
		return nil, planError(*p.Error)
	}
	var out []piece
	for _, span := range p.Spans {
		start := from + span.TargetStart
		end := min(start+span.Length, limit)
		first := (start + block - 1) / block * block
		last := end / block * block
		d := s.byKey[span.DonorID]
		if d == nil || last <= first {
			continue
		}
		out = append(out, piece{targetStart: first, donorStart: span.DonorStart + first - start, length: last - first, donor: d})
	}
	return out, nil
}

type planError string

func (e planError) Error() string { return "planning: " + string(e) }
