package workload

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// degeneracy describes recipients by domain and band, and reports generated ones beyond the limits.
func degeneracy(items []sembench.Item, o AuditOptions, report func(sembench.Item, string)) []sembench.Degeneracy {
	table := map[[2]string]*sembench.Degeneracy{}
	for _, it := range items {
		key := [2]string{it.Text("domain"), it.Text("length_band")}
		e := table[key]
		if e == nil {
			e = &sembench.Degeneracy{Domain: key[0], LengthBand: key[1], DistinctBlockShareMin: 1, GzipLimit: gzipLimit(it)}
			table[key] = e
		}
		share, gz := distinctShare(o, it.RecipientPrompt), gzipRatio(it.RecipientPrompt)
		if generated(it) && (share < leastDistinct || gz > e.GzipLimit) {
			report(it, fmt.Sprintf("%.3f of its blocks are distinct, gzip makes it %.2f times smaller (limits %.2f, %.0f)", share, gz, leastDistinct, e.GzipLimit))
		}
		e.Documents++
		e.DistinctBlockShareMin = min(e.DistinctBlockShareMin, share)
		e.DistinctBlockShareMean += share
		e.GzipRatioMax = max(e.GzipRatioMax, gz)
		e.GzipRatioMean += gz
	}
	out := make([]sembench.Degeneracy, 0, len(table))
	for _, e := range table {
		e.DistinctBlockShareMean /= float64(e.Documents)
		e.GzipRatioMean /= float64(e.Documents)
		out = append(out, *e)
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
func distinctShare(o AuditOptions, text string) float64 {
	ids := o.Tokenizer.Encode(nil, text)
	n := block.Count(len(ids), o.BlockSize)
	if n == 0 {
		return 1
	}
	distinct := map[block.Hash]struct{}{}
	for b := range n {
		distinct[block.Of(ids[b*o.BlockSize:(b+1)*o.BlockSize])] = struct{}{}
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
