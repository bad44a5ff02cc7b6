package workload

import (
	"context"
	"fmt"
	"slices"

	"sembench"
	"sembench/internal/plan"
	"sembench/internal/workload/dataset"
)

// Logs and chats of your own become a stream workload: the requests as they were sent, each with the earlier request that
// shares most with it, found by the span planner (workloads.md, section 3).

// logged is one request of a log.
type logged struct {
	dataset.Request
	id, session, tenant string
	arrival             *float64
}

// replayTokens bounds the earlier prompts that donors are looked for in.
const replayTokens = 20_000_000

// requestsOf gives the requests of a record.
func requestsOf(record dataset.Record) (found []logged) {
	id := record.ID
	if id == "" {
		id = fmt.Sprintf("record-%05d", record.Number)
	}
	for i, r := range record.Requests() {
		name := id
		if i > 0 {
			name = fmt.Sprintf("%s-turn-%d", id, i+1)
		}
		session := record.Session
		if session == "" && len(record.Messages) > 0 {
			session = id
		}
		found = append(found, logged{r, name, session, record.Tenant, record.ArrivalMS})
	}
	return found
}

// stream makes items of logged requests, in arrival order where all have a time.
func (s *source) stream(name string) ([]sembench.Item, error) {
	o := s.options
	if !slices.ContainsFunc(s.log, func(l logged) bool { return l.arrival == nil }) {
		slices.SortStableFunc(s.log, func(a, b logged) int {
			switch {
			case *a.arrival < *b.arrival:
				return -1
			case *a.arrival > *b.arrival:
				return 1
			}
			return 0
		})
	}
	if o.MaxItems > 0 {
		s.log = s.log[:min(o.MaxItems, len(s.log))]
	}
	tenants := map[string]plan.Planner{}
	position := map[string]int{}
	seen := map[string]bool{}
	var items []sembench.Item
	for _, l := range s.log {
		if l.Text == "" || seen[l.id] {
			s.exclude(reasonDuplicate, l.id)
			continue
		}
		seen[l.id] = true
		p := tenants[l.tenant]
		if p == nil {
			var err error
			if p, err = plan.Open("span", plan.Options{BlockSize: o.BlockSize, MaxTokens: replayTokens}); err != nil {
				return nil, fmt.Errorf("building manifest: %w", err)
			}
			defer p.Close()
			tenants[l.tenant] = p
		}
		ids := o.Tokenizer.Encode(nil, l.Text)
		it := s.replayed(l, name, len(items), len(ids))
		donor, shared, err := mostShared(p, ids)
		if err != nil {
			return nil, err
		}
		class := classFresh
		if donor != "" {
			at := position[donor]
			it.Metadata["donor_item_id"], it.Metadata["donor_gap_requests"] = items[at].ItemID, len(items)-at-1
			it.Metadata["expected_supplied_tokens"] = shared
			class = classDocument
			if l.session != "" && items[at].Text("session_id") == l.session {
				class = classFollowup
			}
		}
		it.Metadata["traffic_class"], it.Transform = class, "stream@"+class
		it.ItemID = sembench.DefaultItemID(it.Dataset, it.SourceID, it.Transform)
		position[l.id] = len(items)
		items = append(items, it)
		if err := p.Register(plan.Donor{ID: l.id, Tokens: ids}); err != nil {
			return nil, fmt.Errorf("building manifest: %w", err)
		}
	}
	return items, nil
}

// mostShared names the donor that supplies most tokens of a plan for ids, and how many; "" when nothing is shared.
func mostShared(p plan.Planner, ids []uint32) (donor string, tokens int, err error) {
	found := p.Plan(context.Background(), plan.Target{Tokens: ids})
	if found.Error != nil {
		return "", 0, fmt.Errorf("building manifest: finding donors: %s", *found.Error)
	}
	supplied := map[string]int{}
	for _, s := range found.Spans {
		supplied[s.DonorID] += s.Length
		if n := supplied[s.DonorID]; n > tokens || n == tokens && s.DonorID > donor {
			donor, tokens = s.DonorID, n
		}
	}
	return donor, tokens, nil
}

func (s *source) replayed(l logged, name string, at, tokens int) sembench.Item {
	it := sembench.Item{
		Dataset: s.options.datasetOf(name), SourceID: l.id, RecipientPrompt: l.Text, Answers: []string{},
		DonorPrompts: []sembench.Donor{}, BenchmarkVersion: sembench.ManifestVersion,
		Metadata: map[string]any{"stream_position": at, "license": s.options.license()},
	}
	if l.Messages != nil {
		it.Metadata["messages"] = l.Messages
	}
	if l.arrival != nil {
		it.Metadata["arrival_ms"] = int(*l.arrival)
	}
	for key, value := range map[string]string{"tenant": l.tenant, "session_id": l.session, "length_band": nearestBand(tokens)} {
		if value != "" {
			it.Metadata[key] = value
		}
	}
	return it
}
