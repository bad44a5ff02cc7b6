package judge

import (
	"sembench"
)

// Donor attributions: whose KV the evidence names (protocol.md, section 3).
const (
	OwnDonor  = "own_donor"  // a donor of this very step
	OwnTwin   = "own_twin"   // a request of this item in another step: its twin, or that step's donor
	OtherItem = "other_item" // a request of another item of this run
	Foreign   = "foreign"    // no request of this run
	Unknown   = "unknown"    // evidence names a donor that could stand for several requests
)

// attribution says whose KV a request reused; the worst of several donors. Null: no evidence names a donor.
func (s *sources) attribution(j *journal, o sembench.Observation, r reuse) *string {
	var donors []string
	if r.audit != nil {
		donors = r.audit.DonorIDs
	}
	if len(donors) == 0 && !s.elsewhere(o) {
		donors = s.log[o.RequestID].donors
	}
	worst := -1
	order := []string{OwnDonor, OtherItem, Unknown, OwnTwin, Foreign}
	for _, id := range donors {
		kind := s.whose(j, o, id)
		for i, name := range order {
			if name == kind {
				worst = max(worst, i)
			}
		}
	}
	if worst < 0 {
		return nil
	}
	return &order[worst]
}

func (s *sources) whose(j *journal, o sembench.Observation, donor string) string {
	for _, d := range o.Donors {
		if d.RequestID != "" && d.RequestID == donor {
			return OwnDonor
		}
	}
	from, ambiguous := j.find(donor)
	switch {
	case ambiguous:
		return Unknown
	case from == nil:
		return Foreign
	case from.ItemID != o.ItemID:
		return OtherItem
	case from.PairID == o.PairID && from.Arm == o.Arm:
		return OwnDonor // a donor of this step, or its probe
	}
	return OwnTwin
}
