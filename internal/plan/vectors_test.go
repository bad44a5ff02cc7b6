package plan

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"sembench/internal/block"
)

// vectorsFile holds what semblend==0.3.25 planned, written by bench/semblend_vectors.py alone.
const vectorsFile = "../../bench/semblend_vectors.json.gz"

// vectorClasses is in the order that seeds depend on.
var vectorClasses = []string{"aligned", "shifted", "reordered", "edited", "multi_donor", "repeated", "short", "real_text", "isolated"}

// vectorRandom is the script's SplitMix64.
type vectorRandom uint64

func (r *vectorRandom) below(n int) int {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func (r *vectorRandom) tokens(n, vocabulary int) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(r.below(vocabulary))
	}
	return ids
}

func shuffle[T any](r *vectorRandom, items []T) []T {
	for i := len(items) - 1; i > 0; i-- {
		j := r.below(i + 1)
		items[i], items[j] = items[j], items[i]
	}
	return items
}

func (r *vectorRandom) edited(ids []uint32, every, vocabulary int) []uint32 {
	out := []uint32{}
	for i := 0; i < len(ids); i++ {
		if r.below(every) != 0 {
			out = append(out, ids[i])
			continue
		}
		switch kind := r.below(6); {
		case kind < 3:
			out = append(out, uint32(r.below(vocabulary)))
		case kind == 3:
		case kind == 4:
			out = append(out, ids[i], uint32(r.below(vocabulary)))
		case i+1 < len(ids):
			out = append(out, ids[i+1], ids[i])
			i++
		}
	}
	return out
}

func head(ids []uint32, n int) []uint32 { return ids[:min(n, len(ids))] }

// vectorCase repeats case() of the script.
func vectorCase(kind string, size, seed int, corpus [][][]uint32) (donors [][]uint32, target []uint32) {
	r := vectorRandom(seed*1000003 + size*31 + slices.Index(vectorClasses, kind))
	vocabulary := []int{60, 1000, 30000, 30000}[r.below(4)]
	chunks := 2 + r.below(map[int]int{16: 40, 64: 16, 128: 12, 256: 9}[size])
	n := chunks*size + r.below(size)
	donor := r.tokens(n, vocabulary)
	donors = [][]uint32{donor}
	switch kind {
	case "aligned":
		target = append(target, donor[:1+r.below(n)]...)
		target = append(target, r.tokens(r.below(n), vocabulary)...)
		for range r.below(3) {
			donors = append(donors, r.tokens(1+r.below(n), vocabulary))
		}
	case "shifted":
		start := r.below(n/2 + 1)
		target = r.tokens(1+r.below(2*size), vocabulary)
		target = append(target, head(donor[start:], 1+r.below(n))...)
		target = append(target, r.tokens(r.below(n/2+1), vocabulary)...)
		for range r.below(3) {
			donors = append(donors, r.tokens(1+r.below(2*n), vocabulary))
		}
	case "reordered":
		step := size
		if r.below(2) != 0 {
			step = 1 + r.below(2*size)
		}
		parts := shuffle(&r, slices.Collect(slices.Chunk(donor, step)))
		parts = parts[:1+r.below(len(parts))]
		if r.below(2) == 0 {
			for i, p := range parts {
				if r.below(4) == 0 {
					parts[i] = r.tokens(len(p), vocabulary)
				}
			}
		}
		target = slices.Concat(parts...)
	case "edited":
		target = r.edited(donor, []int{400, 100, 40, 16, 8}[r.below(5)], vocabulary)
		if r.below(3) == 0 {
			donors = append(donors, r.edited(donor, 30, vocabulary))
		}
	case "multi_donor":
		for range 1 + r.below(5) {
			donors = append(donors, r.tokens(size+r.below(n), vocabulary))
		}
		for range 1 + r.below(6) {
			d := donors[r.below(len(donors))]
			start := r.below(len(d))
			if r.below(3) > 0 {
				start -= start % size
				target = append(target, r.tokens((size-len(target)%size)%size, vocabulary)...)
			}
			part := head(d[start:], 1+r.below(3*size))
			if r.below(3) == 0 {
				part = r.edited(part, 40, vocabulary)
			}
			target = append(target, part...)
		}
	case "repeated":
		pool := make([][]uint32, 1+r.below(5))
		for i := range pool {
			pool[i] = r.tokens(size, vocabulary)
		}
		pick := func(n int) (ids []uint32) {
			for range n {
				ids = append(ids, pool[r.below(len(pool))]...)
			}
			return ids
		}
		donors = [][]uint32{pick(chunks)}
		for range r.below(3) {
			donors = append(donors, pick(1+r.below(4)))
		}
		lead := r.below(2)
		target = r.tokens(lead*r.below(size), vocabulary)
		for range 1 + r.below(chunks) {
			what := r.below(8)
			var part []uint32
			if what != 0 {
				part = pool[r.below(len(pool))]
			} else {
				part = r.tokens(size, vocabulary)
			}
			if what == 1 {
				part = r.edited(part, 12, vocabulary)
			}
			target = append(target, part...)
		}
	case "short":
		part := head(donor, 1+r.below(3*size))
		target = r.edited(part, []int{1000000, 60, 12}[r.below(3)], vocabulary)
		if r.below(2) == 0 {
			donors[0] = head(donor, 1+r.below(4*size))
		}
		if r.below(4) == 0 {
			target = append(r.tokens(r.below(5), vocabulary), target...)
		}
	case "isolated":
		k := r.below(chunks)
		lead := r.below(2)
		target = r.tokens(lead*size, vocabulary)
		part := donor[k*size : (k+1)*size]
		target = append(target, r.edited(part, []int{1000000, 100, 30}[r.below(3)], vocabulary)...)
		target = append(target, r.tokens(r.below(3*size), vocabulary)...)
		if r.below(2) == 0 {
			donors[0] = head(donor[k*size:], 2*size)
		}
	default:
		item := corpus[r.below(len(corpus))]
		order := make([]int, len(item))
		for i := range order {
			order[i] = i
		}
		order = shuffle(&r, order)
		join := func(which []int) (ids []uint32) {
			for _, p := range which {
				ids = append(ids, item[p]...)
			}
			return ids
		}
		cut := func(from, n int) []int { return order[min(from, len(order)):min(from+n, len(order))] }
		inOrder := r.below(2) != 0
		first := slices.Clone(cut(0, 2+r.below(5)))
		if inOrder {
			sort.Ints(first)
		}
		donors = nil
		step := 3 + r.below(3)
		for i := 0; i < min(len(order), 12); i += step {
			donors = append(donors, join(cut(i, 2+r.below(4))))
		}
		if r.below(2) == 0 {
			at := r.below(len(donors) + 1)
			donors = slices.Insert(donors, at, join(cut(0, 3+r.below(6))))
		}
		scale := r.below(3)
		target = append(r.tokens(scale*r.below(size), 50000), join(first)...)
		if r.below(3) == 0 {
			target = r.edited(target, []int{200, 50, 20}[r.below(3)], 50000)
		}
	}
	return donors, head(target, 4096)
}

// vectorWords is the script's tokenizer.
func vectorWords(text string) (ids []uint32) {
	alnum := func(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && alnum(text[end]) {
			end++
		}
		if end == at {
			end++
			if text[at] == ' ' {
				at = end
				continue
			}
		}
		h := uint32(2166136261)
		for ; at < end; at++ {
			h = (h ^ uint32(text[at])) * 16777619
		}
		ids = append(ids, h%50000)
	}
	return ids
}

func readCorpus(t testing.TB) [][][]uint32 {
	data, err := os.ReadFile("../../../shared/data/musique/musique_s.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var items []struct{ Ctxs []struct{ Text string } }
	if err == nil {
		err = json.Unmarshal(data, &items)
	}
	if err != nil {
		t.Fatal(err)
	}
	corpus := make([][][]uint32, len(items))
	for i, item := range items {
		for _, c := range item.Ctxs {
			corpus[i] = append(corpus[i], vectorWords(c.Text))
		}
	}
	return corpus
}

func vectorChecksum(donors [][]uint32, target []uint32) string {
	h := sha256.New()
	for _, ids := range append(slices.Clone(donors), target) {
		_ = binary.Write(h, binary.LittleEndian, uint32(len(ids))) // a hash never fails
		_ = binary.Write(h, binary.LittleEndian, ids)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// vector is one recorded line.
type vector struct {
	kind                        string
	size, seed                  int
	sum                         string
	candidate, eligible, copied *int
	reason                      *string
}

func readVectors(t testing.TB) (header map[string]any, rows []vector) {
	t.Helper()
	path := vectorsFile
	if p := os.Getenv("SEMBENCH_SEMBLEND_VECTORS"); p != "" {
		path = p
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if header == nil {
			if err := json.Unmarshal(lines.Bytes(), &header); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &[]any{&v.kind, &v.size, &v.seed, &v.sum, &v.candidate, &v.eligible, &v.copied, &v.reason}); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, v)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return header, rows
}

// TestSemblendParity asks for equal candidate and eligible counts on 97 % of each class and 99 % overall,
// counted where the package returned (issue 2).
func TestSemblendParity(t *testing.T) {
	header, rows := readVectors(t)
	if header["package"] != "semblend" || header["version"] != "0.3.25" {
		t.Fatalf("vectors come from %v %v", header["package"], header["version"])
	}
	corpus := readCorpus(t)
	total, equal, copies := map[string]int{}, map[string]int{}, 0
	for _, v := range rows {
		if v.kind == "real_text" && corpus == nil || v.candidate == nil {
			continue
		}
		donors, target := vectorCase(v.kind, v.size, v.seed, corpus)
		if sum := vectorChecksum(donors, target); sum != v.sum {
			t.Fatalf("%s/%d/%d: generated tokens differ from the script's: %s, want %s", v.kind, v.size, v.seed, sum, v.sum)
		}
		p := mustOpen(t, "semblend", Options{BlockSize: v.size})
		var names []string
		for i, d := range donors {
			names = append(names, fmt.Sprintf("d%d", i))
			mustRegister(t, p, names[i], d)
		}
		plan := p.Plan(context.Background(), Target{Tokens: target})
		for _, s := range plan.Spans {
			d := donors[slices.Index(names, s.DonorID)]
			if !slices.Equal(target[s.TargetStart:s.TargetStart+s.Length], d[s.DonorStart:s.DonorStart+s.Length]) {
				t.Fatalf("%s/%d/%d: %+v does not copy equal tokens", v.kind, v.size, v.seed, s)
			}
		}
		c, err := Count(plan, make([]bool, block.Count(len(target), v.size)))
		if err != nil {
			t.Fatal(err)
		}
		total[v.kind]++
		if c.CopiedTokens == *v.copied {
			copies++
		} else {
			t.Logf("%s/%d/%d: %d of %d copied", v.kind, v.size, v.seed, c.CopiedTokens, *v.copied)
		}
		if c.Candidate == *v.candidate && c.Eligible == *v.eligible {
			equal[v.kind]++
		} else {
			why := func(s *string) string {
				if s == nil {
					return "found"
				}
				return *s
			}
			t.Logf("%s/%d/%d: %d of %d candidate, %d of %d eligible, %d of %d copied, %s for %s", v.kind, v.size, v.seed,
				c.Candidate, *v.candidate, c.Eligible, *v.eligible, c.CopiedTokens, *v.copied, why(plan.RejectionReason), why(v.reason))
		}
	}
	all, same := 0, 0
	var report strings.Builder
	for _, kind := range vectorClasses {
		n, e := total[kind], equal[kind]
		if kind == "real_text" && corpus == nil {
			t.Log("../shared/data/musique is absent: real_text not compared")
			continue
		}
		fmt.Fprintf(&report, " %s %d/%d", kind, e, n)
		if e*100 < n*97 {
			t.Errorf("%s: %d of %d equal, want 97 %%", kind, e, n)
		}
		all, same = all+n, same+e
	}
	t.Logf("%d of %d equal, %d with equal copied tokens:%s", same, all, copies, report.String())
	if same*100 < all*99 {
		t.Errorf("%d of %d equal, want 99 %%", same, all)
	}
	// On the recorded cases nothing may be lost: blocks agree on all, tokens but on 4 (docs/semblend-parity.md).
	if os.Getenv("SEMBENCH_SEMBLEND_VECTORS") == "" && (same < all || copies < all-4) {
		t.Errorf("%d of %d equal, %d with equal copied tokens: fewer than before", same, all, copies)
	}
}
