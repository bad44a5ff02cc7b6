package judge

import (
	"cmp"
	"slices"

	"sembench"
	"sembench/internal/engine"
)

// step is one arm of one pair: its recipient line and the donors that were sent for it.
type step struct {
	recipient sembench.Observation
	seqs      [2]int64 // first and last line of the step
}

// journal is the observations, superseded lines left out, with the ids by which engines know them.
type journal struct {
	lines []sembench.Observation // by seq
	steps map[[2]string]*step    // by pair id and arm
	ids   map[string]int         // every id of a line → its index in lines
	dup   []string               // pair and arm with two recipient lines
	// armsOf each engine process, and how many recipients of an item it served.
	armsOf map[string]map[string]bool
	served map[[2]string]int
}

func newJournal(observations []sembench.Observation) *journal {
	j := &journal{steps: map[[2]string]*step{}, ids: map[string]int{}, armsOf: map[string]map[string]bool{}, served: map[[2]string]int{}}
	for _, o := range observations {
		if !o.Superseded {
			j.lines = append(j.lines, o)
		}
	}
	slices.SortStableFunc(j.lines, func(a, b sembench.Observation) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, o := range j.lines {
		for _, id := range []*string{&o.RequestID, o.EngineResponseID, o.EngineRequestID} {
			if id != nil && *id != "" {
				j.ids[*id] = i
			}
		}
		if o.PairID == "" {
			continue
		}
		key := [2]string{o.PairID, o.Arm}
		s := j.steps[key]
		if s == nil {
			s = &step{seqs: [2]int64{o.Seq, o.Seq}}
			j.steps[key] = s
		}
		s.seqs[0], s.seqs[1] = min(s.seqs[0], o.Seq), max(s.seqs[1], o.Seq)
		if o.Role == sembench.RoleRecipient {
			if s.recipient.PairID != "" {
				j.dup = append(j.dup, o.PairID+" "+o.Arm)
			}
			s.recipient = o
		}
	}
	for key, s := range j.steps {
		if s.recipient.PairID == "" {
			delete(j.steps, key) // a killed step: its recipient never came
			continue
		}
		o := s.recipient
		name := process(o)
		if j.armsOf[name] == nil {
			j.armsOf[name] = map[string]bool{}
		}
		j.armsOf[name][o.Arm] = true
		j.served[[2]string{name, o.ItemID}]++
	}
	return j
}

// find gives the line that an engine's id stands for; null when it is foreign to this run, or could stand for two.
func (j *journal) find(id string) (line *sembench.Observation, ambiguous bool) {
	if i, ok := j.ids[id]; ok {
		return &j.lines[i], false
	}
	found := -1
	for _, form := range engine.IDForms(id) {
		i, ok := j.ids[form]
		switch {
		case !ok || i == found: // one line is known by several ids
		case found >= 0:
			return nil, true
		default:
			found = i
		}
	}
	if found < 0 {
		return nil, false
	}
	return &j.lines[found], false
}

// sortedSteps gives the steps in the order of their recipients' lines.
func (j *journal) sortedSteps() []*step {
	out := make([]*step, 0, len(j.steps))
	for _, s := range j.steps {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *step) int {
		x, y := a.recipient, b.recipient
		return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.PairID, y.PairID), cmp.Compare(x.Arm, y.Arm))
	})
	return out
}
