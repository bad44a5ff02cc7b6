package plan

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sembench"
	"sembench/internal/block"
)

// semblend plans as the Python package of that name does (planner.md, section 1; what was observed and
// where the two differ is in docs/semblend-parity.md). Exact and fuzzy chunks of several donors come
// first; only when they copy too little is one donor aligned as a whole. Whatever was found stands only if
// enough of the target is copied in runs that an engine could consume.
type semblend struct {
	o Options
	c int // chunk size = block size

	donors []*chunked // order of registration, which is also recency
	byID   map[string]*chunked
	index  map[block.Hash][]place
	tokens int
	embed  *tfidf // nil with embedder jaccard

	poolFrom int // more donors than this are looked up in pool

	// Buffers of one plan.
	words  vocabulary
	target []int32
	multi  multiDonor
	pool   poolIndex
	single aligner
}

// chunked is a registered donor.
type chunked struct {
	id     string
	tokens []uint32
	bag    bag // nil with embedder jaccard
	hashes []block.Hash
	dense  []int32 // tokens in the vocabulary of the plan at hand
	fresh  bool    // dense belongs to the plan at hand
	words  int     // distinct tokens; 0 until asked for
}

// vocabulary returns the number of distinct tokens.
func (k *chunked) vocabulary() int {
	if k.words == 0 {
		k.words = len(bagOfTokens(k.tokens))
	}
	return k.words
}

// place is one full chunk of one donor.
type place struct {
	donor *chunked
	chunk int
}

// What the package uses and does not depend on the chunk size.
const (
	multiOverlap    = 0.70 // least multiset overlap of a fuzzy chunk among several donors
	singleOverlap   = 0.90 // the same when one donor is aligned
	exemptOverlap   = 0.95 // a fuzzy chunk this close needs no matched neighbour when one donor is aligned
	fuzzyOnlyRatio  = 0.30 // least copied share of a plan without any exact chunk
	consumableRun   = 16   // shortest run of copied tokens that counts as consumable
	fallbackDonors  = 20   // most recent donors that are aligned one by one
	fallbackTokens  = 2048 // longest target for which that is tried
	quickHits       = 3    // exact chunks from which on the package calls a plan of several donors fully similar
	exactRunTokens  = 64   // shortest run at any offset
	exactRunMax     = 8    // runs taken per donor
	exactRunPlaces  = 64   // donor positions tried per target position
	exactRunEnough  = 0.50 // copied share at which exact runs end the search
	editTokens      = 4096 // longest sequence that is aligned by edit distance
	chunkWindow     = 16   // chunks to either side that a fuzzy chunk looks for its donor chunk
	bagCosine       = 0.94 // least cosine of token counts of a fuzzy chunk
	bagCosineSlope  = 0.04 // added per unit of a known global similarity
	offsetDecay     = 128  // tokens over which the confidence of moved pairs falls to 1/e
	verifiedReuse   = 0.80 // least confidence of a fuzzy chunk that is copied
	sharedTokens    = 10   // least distinct tokens that a donor chunk must share with a target chunk
	bestPerChunk    = 5    // donor chunks looked at per target chunk
	jaccardDonors   = 20   // donors looked at when no chunk shares enough tokens
	embeddingDonors = 5    // donors looked at by embedding
	jaccardSimilar  = 0.15 // their least Jaccard similarity
)

func newSemblend(o Options) *semblend {
	s := &semblend{o: o, c: o.BlockSize, byID: map[string]*chunked{}, index: map[block.Hash][]place{}, poolFrom: poolDonors}
	if o.Embedder == "tfidf" {
		s.embed = &tfidf{}
	}
	return s
}

func (s *semblend) Name() string { return "semblend" }

func (s *semblend) Close() error { return nil }

func (s *semblend) Reset() error {
	clear(s.donors)
	s.donors, s.tokens = s.donors[:0], 0
	clear(s.byID)
	clear(s.index)
	s.pool = poolIndex{}
	if s.embed != nil {
		*s.embed = tfidf{}
	}
	return nil
}

func (s *semblend) Register(d Donor) error {
	if err := s.Forget(d.ID); err != nil {
		return err
	}
	k := &chunked{id: d.ID, tokens: d.Tokens}
	if s.embed != nil {
		k.bag = bagOfTokens(d.Tokens)
		s.embed.add(k.bag, 1)
	}
	for i := range block.Count(len(d.Tokens), s.c) {
		h := block.Of(d.Tokens[i*s.c : (i+1)*s.c])
		k.hashes = append(k.hashes, h)
		s.index[h] = append(s.index[h], place{k, i})
	}
	s.donors = append(s.donors, k)
	s.byID[d.ID] = k
	s.tokens += len(d.Tokens)
	for s.o.MaxTokens > 0 && s.tokens > s.o.MaxTokens && len(s.donors) > 1 {
		if err := s.Forget(s.donors[0].id); err != nil {
			return err
		}
	}
	return nil
}

func (s *semblend) Forget(donorID string) error {
	k := s.byID[donorID]
	if k == nil {
		return nil
	}
	for _, h := range k.hashes {
		left := slices.DeleteFunc(s.index[h], func(p place) bool { return p.donor == k })
		if len(left) == 0 {
			delete(s.index, h)
		} else {
			s.index[h] = left
		}
	}
	i := slices.Index(s.donors, k)
	s.pool.forget(k, i)
	s.donors = slices.Delete(s.donors, i, i+1)
	if s.embed != nil {
		s.embed.add(k.bag, -1)
	}
	delete(s.byID, donorID)
	s.tokens -= len(k.tokens)
	return nil
}

// Plan follows the package's order: several donors, one donor, then the gate on consumable runs.
func (s *semblend) Plan(ctx context.Context, t Target) sembench.Plan {
	p := started(s.Name(), s.c, t)
	if err := ctx.Err(); err != nil {
		return failed(p, err)
	}
	start := time.Now()
	found := s.search(t)
	if found.similarity != nil {
		p.Similarity = found.similarity
	}
	if found.reason == "" && found.consumable(len(t.Tokens)) < s.o.MinReuseRatio {
		found.reason = "low_consumable_coverage"
	}
	if found.reason != "" {
		p.RejectionReason = &found.reason
	} else {
		p.Spans = found.spans
	}
	return finished(p, time.Since(start))
}

// proposal is a plan before the last gate. hidden leaves pairs that keep their position out of the
// consumable coverage, as the package's map of moved positions does when one donor is aligned.
type proposal struct {
	spans      []sembench.Span
	similarity *float64
	reason     string
	hidden     bool
}

func (s *semblend) search(t Target) proposal {
	if len(t.Tokens) == 0 || len(s.donors) == 0 {
		return proposal{reason: "no_donor_match"}
	}
	s.target = s.words.learn(s.target, t.Tokens)
	for _, d := range s.donors {
		d.fresh = false
	}
	if spans := s.multi.plan(s, t.Tokens); copied(spans) >= s.o.MinReuseRatio*float64(len(t.Tokens)) && len(spans) > 0 {
		similarity := copied(spans) / float64(len(t.Tokens))
		if s.multi.known >= quickHits && len(t.Tokens) <= fallbackTokens {
			similarity = 1
		}
		return proposal{spans: spans, similarity: &similarity}
	}
	if s.embed != nil {
		if p := s.byEmbedding(t.Tokens); p.reason == "" {
			return p
		}
	}
	return s.byOverlap(t.Tokens)
}

// byEmbedding aligns the donors closest to the target by embedding, closest first; the first that copies
// enough is taken.
func (s *semblend) byEmbedding(target []uint32) proposal {
	type rated struct {
		donor *chunked
		value float64
	}
	var list []rated
	b := bagOfTokens(target)
	for _, d := range s.donors {
		if v := s.embed.cosine(b, d.bag); v >= s.o.MinSimilarity {
			list = append(list, rated{d, v})
		}
	}
	slices.SortStableFunc(list, func(a, b rated) int { return cmp.Compare(b.value, a.value) })
	for _, r := range list[:min(len(list), embeddingDonors)] {
		a := s.single.align(s.target, s.denseOf(r.donor), s.c, s.words.n, r.value)
		if p := s.judge(a, r.donor, len(target), &r.value); p.reason == "" {
			return p
		}
	}
	return proposal{reason: "no_donor_match"}
}

// byOverlap aligns the most recent donors of similar length one by one; the best copied share wins, ties
// keep the earlier donor.
func (s *semblend) byOverlap(target []uint32) proposal {
	n := len(target)
	none := proposal{reason: "no_donor_match"}
	if n > fallbackTokens {
		return none
	}
	var best alignment
	var donor *chunked
	for _, d := range s.donors[max(0, len(s.donors)-fallbackDonors):] {
		if m := len(d.tokens); m < 2*s.c || 2*m < n || m > 2*n {
			continue
		}
		if a := s.single.align(s.target, s.denseOf(d), s.c, s.words.n, 0); a.copied > best.copied {
			best, donor = a, d
			best.pairs = slices.Clone(a.pairs)
		}
	}
	return s.judge(best, donor, n, nil)
}

// judge turns the alignment of one donor into a proposal.
func (s *semblend) judge(a alignment, donor *chunked, n int, similarity *float64) proposal {
	ratio := float64(a.copied) / float64(n)
	switch {
	case donor == nil || ratio < s.o.MinReuseRatio:
		return proposal{reason: "no_donor_match"}
	case a.exactChunks == 0 && a.fuzzyChunks > 0 && ratio < fuzzyOnlyRatio:
		return proposal{reason: "fuzzy_low_reuse"}
	}
	if similarity == nil {
		similarity = &ratio
	}
	return proposal{spans: spansOf(a.pairs, donor.id, a.class()), similarity: similarity, hidden: true}
}

func (s *semblend) denseOf(d *chunked) []int32 {
	if !d.fresh {
		d.dense, d.fresh = s.words.translate(d.dense, d.tokens), true
	}
	return d.dense
}

// consumable returns the share of n target tokens in runs of at least consumableRun copied tokens at
// consecutive positions on both sides. The donor's name plays no part, as in the package.
func (p proposal) consumable(n int) float64 {
	total, run := 0, 0
	end := sembench.Span{TargetStart: -1, DonorStart: -1}
	for _, s := range p.spans {
		if p.hidden && s.TargetStart == s.DonorStart {
			continue
		}
		if s.TargetStart != end.TargetStart || s.DonorStart != end.DonorStart {
			run = 0
		}
		before := run
		if run += s.Length; run >= consumableRun {
			if total += s.Length; before < consumableRun {
				total += before
			}
		}
		end = sembench.Span{TargetStart: s.TargetStart + s.Length, DonorStart: s.DonorStart + s.Length}
	}
	return float64(total) / float64(n)
}

func copied(spans []sembench.Span) float64 {
	n := 0
	for _, s := range spans {
		n += s.Length
	}
	return float64(n)
}

// spansOf joins pairs, ascending in the target, into maximal spans of one donor.
func spansOf(pairs []pair, donorID string, class sembench.Class) (spans []sembench.Span) {
	for _, p := range pairs {
		spans = extended(spans, sembench.Span{TargetStart: p.t, Length: 1, DonorID: donorID, DonorStart: p.d, Class: class})
	}
	return spans
}

// extended appends s to spans, joining it to the last where both continue it.
func extended(spans []sembench.Span, s sembench.Span) []sembench.Span {
	if n := len(spans); n > 0 {
		last := &spans[n-1]
		if last.DonorID == s.DonorID && last.Class == s.Class && last.TargetStart+last.Length == s.TargetStart && last.DonorStart+last.Length == s.DonorStart {
			last.Length += s.Length
			return spans
		}
	}
	return append(spans, s)
}
