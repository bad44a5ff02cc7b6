package replay

import (
	"context"
	"slices"
	"sync"

	"sembench"
)

// stream hands out items in order, as far as gaps allow: an item that is seeded by earlier items is due only when those, and
// then a number of further requests, have completed. Counted in completed requests, a gap is the same at any concurrency.
// When nothing is under way and nothing is due, the first waiting item goes ahead with its gap unhonoured.
type stream struct {
	mu        sync.Mutex
	change    *sync.Cond
	items     []sembench.Item
	known     map[string]bool
	waiting   []int // indices not handed out, in order
	completed int
	when      map[string]int // item id → value of completed when it was done
	underWay  int
	minGap    int
}

func newStream(items []sembench.Item, minGap int) *stream {
	s := &stream{items: items, known: map[string]bool{}, when: map[string]int{}, minGap: minGap}
	s.change = sync.NewCond(&s.mu)
	for i, item := range items {
		s.known[item.ItemID] = true
		s.waiting = append(s.waiting, i)
	}
	return s
}

// seeds are the earlier items that seed an item, and how many completed requests are to lie between.
func seeds(item sembench.Item, minGap int) (ids []string, gap int) {
	if id := item.Text("donor_item_id"); id != "" {
		ids = append(ids, id)
	}
	list, _ := item.Metadata["donor_item_ids"].([]any)
	for _, value := range list {
		if id, ok := value.(string); ok && id != "" {
			ids = append(ids, id)
		}
	}
	gap = minGap
	if n := item.Int("donor_gap_requests"); n != nil {
		gap = max(gap, *n)
	}
	return ids, gap
}

// deficit is how many completed requests are missing until an item is due; 0 for one that is. Seeds that are not in the
// stream can never come: they are not waited for.
func (s *stream) deficit(item sembench.Item) int {
	ids, gap := seeds(item, s.minGap)
	worst := 0
	for _, id := range ids {
		done, ok := s.when[id]
		switch {
		case ok:
			worst = max(worst, gap-(s.completed-done))
		case s.known[id]:
			worst = max(worst, gap+1)
		}
	}
	return worst
}

// next waits for an item that may go and tells its index and how many requests its gap is short of. Not ok when there are no
// more, or ctx ended.
func (s *stream) next(ctx context.Context) (index, short int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 && ctx.Err() == nil {
		for at, i := range s.waiting {
			if s.deficit(s.items[i]) == 0 {
				return s.take(at, 0)
			}
		}
		if s.underWay == 0 {
			return s.take(0, s.deficit(s.items[s.waiting[0]]))
		}
		s.change.Wait()
	}
	return 0, 0, false
}

// claim takes an item whatever its gap: an open loop does not wait.
func (s *stream) claim(index int) (short int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay++
	return s.deficit(s.items[index])
}

func (s *stream) take(at, short int) (int, int, bool) {
	i := s.waiting[at]
	if at == 0 {
		s.waiting = s.waiting[1:]
	} else {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.underWay++
	return i, short, true
}

// finish notes that an item's request is done.
func (s *stream) finish(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
	s.completed++
	s.when[s.items[index].ItemID] = s.completed
	s.change.Broadcast()
}

// wake makes waiters look at their context again.
func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change.Broadcast()
}
