package engine

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// rankName says which copy of a record a line is. Lines of one group that differ only in rank repeat the
// same fact (tensor and pipeline parallelism); different groups (data parallelism) are different facts.
type rankName struct{ group, rank string }

// String is like "DP0 TP1"; empty for a process that is no rank.
func (n rankName) String() string {
	if n.group == "" {
		return n.rank
	}
	return strings.TrimSpace("DP" + n.group + " " + n.rank)
}

// maxRanks bounds the table; beyond it all labels share one entry. Eight nodes of sixteen with data
// parallelism stay well below.
const maxRanks = 1024

// rankTable numbers the ranks and process labels met. Entry 0 is "no label".
type rankTable struct {
	names  []rankName
	index  map[rankName]int
	labels map[string]origin
	seen   map[string]struct{} // process names, for the report
	full   bool
}

func newRankTable() *rankTable {
	return &rankTable{
		names:  []rankName{{}},
		index:  map[rankName]int{{}: 0},
		labels: map[string]origin{},
		seen:   map[string]struct{}{},
	}
}

// origin is where a line comes from: its rank, and its process by name and by label; label 0 is none.
type origin struct {
	rank    int
	process string
	label   int
}

func (t *rankTable) add(label, process string, n rankName) origin {
	i, ok := t.index[n]
	if !ok {
		if len(t.names) >= maxRanks {
			t.full = true
			return origin{rank: maxRanks - 1, process: process}
		}
		i = len(t.names)
		t.names = append(t.names, n)
		t.index[n] = i
	}
	o := origin{rank: i, process: process}
	if len(t.labels) < 4*maxRanks {
		o.label = len(t.labels) + 1
		t.labels[label] = o
	}
	return o
}

// process is the rank of a label such as "EngineCore_DP0 pid=9", "Worker_TP1 pid=22",
// "VllmWorker rank=4 engine_index=0 pid=9" or "RayWorkerWrapper pid=9, ip=A". A worker that names no rank
// is told apart by its pid; a process that is no worker (EngineCore, APIServer) has no rank.
func (t *rankTable) process(label []byte) origin {
	if o, ok := t.labels[string(label)]; ok {
		return o
	}
	var n rankName
	var process, pid, ip string
	words := bytes.FieldsFunc(label, func(r rune) bool { return r == ' ' || r == ',' })
	for i, w := range words {
		k, v, assigned := bytes.Cut(w, []byte("="))
		switch {
		case i == 0:
			process = string(w)
			if len(t.seen) < 64 {
				t.seen[string(w)] = struct{}{}
			}
			for j, part := range bytes.Split(w, []byte("_")) {
				if j > 0 {
					n.place(part)
				}
			}
		case !assigned:
			n.place(w)
		case string(k) == "rank":
			n.rank += "rank=" + string(v)
		case string(k) == "engine_index":
			n.group = string(v)
		case string(k) == "pid":
			pid = string(v)
		case string(k) == "ip":
			ip = string(v)
		}
	}
	if n.rank == "" && len(words) > 0 && bytes.Contains(words[0], []byte("Worker")) {
		n.rank = "pid=" + pid
		if ip != "" {
			n.rank += "@" + ip
		}
	}
	return t.add(string(label), process, n)
}

// place sorts a part of a label: DP0 is a group; TP, PP, EP, CP ranks number copies within it.
func (n *rankName) place(part []byte) {
	if len(part) < 3 || !digit(part[len(part)-1]) {
		if len(part) > 0 && digit(part[0]) { // EngineCore_0
			n.group = string(part)
		}
		return
	}
	switch string(part[:2]) {
	case "DP":
		n.group = string(part[2:])
	case "TP", "PP", "EP", "CP":
		if n.rank != "" {
			n.rank += " "
		}
		n.rank += string(part)
	}
}

// sglang is the rank of an SGLang bracket such as "DP0 PP0 TP1" or "gpu_id=1".
func (t *rankTable) sglang(label []byte) int {
	if o, ok := t.labels[string(label)]; ok {
		return o.rank
	}
	var n rankName
	for _, w := range bytes.Fields(label) {
		if bytes.HasPrefix(w, []byte("gpu_id=")) {
			n.rank = string(w)
			continue
		}
		n.place(w)
	}
	return t.add(string(label), "", n).rank
}

// kind is what a tally counts.
type kind uint8

const (
	kindDonor kind = iota
	kindHit
	kindHitOther // the same proposal worded by another component
	kindDrop
	kindAdvert
	kindMaterialized
	kindSegment         // SGLang: a segmented phase
	kindSegmentRealized // SGLang: the summary line of those phases
	kindMaterializing
	kindRetrieved
	kindRequired // what a retrieve was asked for, kindTotal of how many
	kindTotal
	kindChunks
	kindInjected
	kindStoredChunks
	kindEmptyRetrieve
	kindRetrieveFailed
	kindStoreStart
	kindStored
	kindLMCHit
	kindPrefill
	kindFuzzyPrefill
)

// cell is one rank's tally of one kind for one request.
type cell struct {
	tokens int64
	rank   uint16
	kind   kind
	lines  uint32
}

// request is what the text said about one request id.
type request struct {
	id     string
	cells  []cell
	exact  bool // its plan was an exact prefix: not semantic
	lookup *lookup
}

// ledger keeps tallies by request and rank. The entry "" holds what names no request, and what names one
// beyond the limit.
type ledger struct {
	ranks    *rankTable
	requests map[string]*request
	none     *request
	limit    int
	overflow int // records whose request was not kept
}

func newLedger(ranks *rankTable, limit int) *ledger {
	return &ledger{ranks: ranks, requests: map[string]*request{}, none: &request{}, limit: limit}
}

// get is the entry of a request id.
func (l *ledger) get(id []byte) *request {
	if len(id) == 0 {
		return l.none
	}
	if r, ok := l.requests[string(id)]; ok {
		return r
	}
	if len(l.requests) >= l.limit || len(id) > maxID {
		l.overflow++
		return l.none
	}
	r := &request{id: string(id)}
	l.requests[r.id] = r
	return r
}

// maxID bounds a request id; engines' own are below 100 bytes.
const maxID = 512

// tally adds one line of a kind.
func (q *request) tally(k kind, rank, tokens int) {
	for i := range q.cells {
		if c := &q.cells[i]; c.kind == k && int(c.rank) == rank {
			c.lines++
			c.tokens += int64(tokens)
			return
		}
	}
	q.cells = append(q.cells, cell{tokens: int64(tokens), rank: uint16(rank), kind: k, lines: 1})
}

// folded is the logical value of a kind: per group the maximum over ranks, summed over groups.
type folded struct {
	events, tokens int
	lines          int // before folding
	disagree       bool
	ranks          []int
}

// measured is the token sum, null when no line was seen.
func (f folded) measured() *int {
	if f.lines == 0 {
		return nil
	}
	return &f.tokens
}

// fold reduces one request's cells of a kind to logical values.
func (q *request) fold(k kind, names []rankName) folded {
	var f folded
	var groups []cell // kind is not used, rank is the first rank of the group
	for _, c := range q.cells {
		if c.kind != k {
			continue
		}
		f.lines += int(c.lines)
		f.ranks = append(f.ranks, int(c.rank))
		i := slices.IndexFunc(groups, func(g cell) bool { return names[g.rank].group == names[c.rank].group })
		if i < 0 {
			groups = append(groups, c)
			continue
		}
		g := &groups[i]
		f.disagree = f.disagree || g.tokens != c.tokens || g.lines != c.lines
		g.tokens, g.lines = max(g.tokens, c.tokens), max(g.lines, c.lines)
	}
	for _, g := range groups {
		f.events += int(g.lines)
		f.tokens += int(g.tokens)
	}
	return f
}

// total folds a kind over all requests.
func (l *ledger) total(k kind) folded {
	sum := l.none.fold(k, l.ranks.names)
	ranks := map[int]struct{}{}
	for _, r := range sum.ranks {
		ranks[r] = struct{}{}
	}
	for _, q := range l.requests { // sums and unions: order does not matter
		f := q.fold(k, l.ranks.names)
		sum.events += f.events
		sum.tokens += f.tokens
		sum.lines += f.lines
		sum.disagree = sum.disagree || f.disagree
		for _, r := range f.ranks {
			ranks[r] = struct{}{}
		}
	}
	sum.ranks = sum.ranks[:0]
	for r := range ranks {
		sum.ranks = append(sum.ranks, r)
	}
	slices.SortFunc(sum.ranks, cmp.Compare)
	return sum
}
