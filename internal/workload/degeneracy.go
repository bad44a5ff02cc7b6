package workload

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strings"

	"sembench"
	"sembench/internal/block"
)

// The limits of workloads.md: how much a document may repeat itself.
const (
	leastDistinct = 0.90
	gzipProse     = 5.0
	gzipLines     = 8.0
	gzipLevel     = 6
)

// degeneracy describes recipients by domain and band.
type degeneracy map[[2]string]*sembench.Degeneracy

func (t degeneracy) add(it sembench.Item, e examined) {
	key := [2]string{it.Text("domain"), it.Text("length_band")}
	row := t[key]
	if row == nil {
		row = &sembench.Degeneracy{Domain: key[0], LengthBand: key[1], DistinctBlockShareMin: 1, GzipLimit: gzipLimit(it)}
		t[key] = row
	}
	row.Documents++
	row.DistinctBlockShareMin = min(row.DistinctBlockShareMin, e.distinct)
	row.DistinctBlockShareMean += e.distinct // a sum until rows divides it
	row.GzipRatioMax = max(row.GzipRatioMax, e.gzip)
	row.GzipRatioMean += e.gzip
}

// rows are the table by domain and band, ascending.
func (t degeneracy) rows() []sembench.Degeneracy {
	out := make([]sembench.Degeneracy, 0, len(t))
	for _, row := range t {
		r := *row
		r.DistinctBlockShareMean /= float64(r.Documents)
		r.GzipRatioMean /= float64(r.Documents)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b sembench.Degeneracy) int {
		x, _ := bandTokens(a.LengthBand)
		y, _ := bandTokens(b.LengthBand)
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(x, y), cmp.Compare(a.LengthBand, b.LengthBand))
	})
	return out
}

func gzipLimit(it sembench.Item) float64 {
	if kind := it.Text("template"); kind == "lines" || kind == "table" {
		return gzipLines
	}
	return gzipProse
}

// distinctShare is distinct full blocks over full blocks; 1 without any.
func distinctShare(ids []uint32, size int) float64 {
	n := block.Count(len(ids), size)
	if n == 0 {
		return 1
	}
	distinct := map[block.Hash]struct{}{}
	for b := range n {
		distinct[block.Of(ids[b*size:(b+1)*size])] = struct{}{}
	}
	return float64(len(distinct)) / float64(n)
}

// gzipRatio is bytes over bytes after gzip -6.
func gzipRatio(text string) float64 {
	var out counter
	w, _ := gzip.NewWriterLevel(&out, gzipLevel) // the level is valid
	_, _ = strings.NewReader(text).WriteTo(w)    // a counter never fails
	_ = w.Close()
	return float64(len(text)) / float64(out)
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// sum is a SHA-256 being computed.
type sum struct{ hash.Hash }

func newSum() sum         { return sum{sha256.New()} }
func (s sum) hex() string { return hex.EncodeToString(s.Sum(nil)) }
