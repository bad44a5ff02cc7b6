package workload

import (
	"fmt"
	"math"
	"sort"

	"sembench"
)

// A stream workload is traffic: requests in arrival order, most of which come back to a document or a conversation that
// an earlier one brought. Items have no donors of their own; metadata.donor_item_id names the latest earlier item that
// shares the text, donor_gap_requests how many others came between, so that eviction and routing matter.

// Traffic classes of a stream: metadata.traffic_class, and the parameter of the transform stream@class.
const (
	classFresh    = "fresh"    // nothing shared beyond the tenant's instruction
	classDocument = "document" // a new question about a document seen before
	classFollowup = "followup" // the next turn of a conversation
)

// The shape of generated traffic: choices, in the range of what public traces of chat services show.
const (
	streamRequests = 200
	streamTenants  = 4
	streamPerDoc   = 6    // requests per document on average
	zipfExponent   = 1.1  // popularity of the k-th document is k^-1.1
	followupChance = 0.35 // that a request goes on with a conversation
	freshChance    = 0.15 // that a document is asked about once and never again
	meanGapMS      = 500.0
	longestTurns   = 5
	recentSessions = 12 // conversations that may go on
)

var streamBands = []string{"2k", "4k"}

// streamDoc is a document of the pool.
type streamDoc struct {
	document
	tenant, instruction string
	unasked             []int // facts nobody asked about yet
	last                int   // latest request that held it, -1
}

type session struct {
	id   string
	doc  *streamDoc
	chat *conversation
	last int
	turn int
}

// stream makes n requests.
func (g *generator) stream(n int, bands []string) ([]sembench.Item, error) {
	o := g.options
	r := drawsFor(o.Seed, "stream")
	var docs []*streamDoc
	for i := range max(4, n/streamPerDoc) {
		docs = append(docs, g.streamDoc(i, r, bands))
	}
	popularity := zipf(len(docs), zipfExponent)
	var open []*session
	var items []sembench.Item
	clock := 0.0
	for i := range n {
		clock += float64(r.ExpFloat64() * meanGapMS) // rounded before it is added, on every processor
		var s *session
		class := classDocument
		if len(open) > 0 && r.chance(followupChance) {
			s, class = pick(r, open), classFollowup
		} else {
			s = &session{id: fmt.Sprintf("session-%04d", i), last: -1}
			if r.chance(freshChance) {
				s.doc, class = g.streamDoc(len(docs)+i, r, bands), classFresh
			} else {
				s.doc = docs[sort.SearchFloat64s(popularity, r.Float64())]
			}
			open = append(open, s)
			if len(open) > recentSessions {
				open = open[1:]
			}
		}
		if class == classDocument && s.doc.last < 0 {
			class = classFresh
		}
		it, err := g.request(i, s, class, clock, items)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
		if s.turn >= longestTurns || len(s.doc.unasked) == 0 {
			open = without(open, s)
		}
	}
	return items, nil
}

func without(open []*session, s *session) (kept []*session) {
	for _, o := range open {
		if o != s {
			kept = append(kept, o)
		}
	}
	return kept
}

// zipf is the running sum of k^-exponent, scaled to end at 1.
func zipf(n int, exponent float64) []float64 {
	sums := make([]float64, n)
	total := 0.0
	for k := range sums {
		total += math.Pow(float64(k+1), -exponent)
		sums[k] = total
	}
	for k := range sums {
		sums[k] /= total
	}
	return sums
}

// streamDoc is a document whose facts are all told in the wording that carries the question's words, because any may be
// asked about. It shares no run with earlier ones.
func (g *generator) streamDoc(i int, r draws, bands []string) *streamDoc {
	d := g.domains[i%len(g.domains)]
	source := fmt.Sprintf("stream-%s-%04d", d.name, i)
	target, _ := bandTokens(bands[i%len(bands)])
	w := newWorld(d, drawsFor(g.options.Seed, source))
	w.canonical = true
	w.clashes = g.looking(1)
	g.grow(w, target*9/10)
	doc := document{dataset: "sembench-stream", source: source, domain: d.name, language: d.language, license: "CC0-1.0", world: w, chunks: w.chunks()}
	tenant := r.IntN(streamTenants)
	for _, h := range runs(g.options.Tokenizer, g.options.BlockSize, evidence(doc.chunks, numbered), nil) {
		g.seen.add(h)
	}
	return &streamDoc{document: doc, tenant: fmt.Sprintf("tenant-%d", tenant), instruction: instructions[tenant], unasked: r.Perm(len(w.facts)), last: -1}
}

// request is one item of a stream.
func (g *generator) request(i int, s *session, class string, clock float64, earlier []sembench.Item) (sembench.Item, error) {
	f := s.doc.world.facts[s.doc.unasked[0]]
	s.doc.unasked = s.doc.unasked[1:]
	q := question{text: s.doc.world.ask(f), answers: []string{f.value()}, fact: f}
	donor := s.doc.last
	if class == classFollowup {
		donor = s.last
		s.chat.say("user", nil, own(q.text))
	} else {
		s.chat = new(conversation)
		s.chat.say("user", nil, shared(s.doc.instruction), own("\n\n"+evidence(s.doc.chunks, numbered)+"\n\n"+q.text))
	}
	sent := s.chat.copy()
	s.chat.say("assistant", nil, own(s.doc.reply(q)))
	s.doc.last, s.last = i, i
	s.turn++
	it := draft{recipient: &sent.prompt, asked: q, metadata: map[string]any{
		"messages": sent.messages, "arrival_ms": int(clock), "tenant": s.doc.tenant, "session_id": s.id,
		"stream_position": i, "traffic_class": class,
	}}.item(s.doc.document, "stream@"+class)
	it.ItemID = sembench.DefaultItemID(it.Dataset, fmt.Sprint(it.SourceID, "#", i), it.Transform)
	it.Metadata["length_band"] = nearestBand(len(g.options.Tokenizer.Encode(nil, it.RecipientPrompt)))
	if donor >= 0 {
		it.Metadata["donor_item_id"] = earlier[donor].ItemID
		it.Metadata["donor_gap_requests"] = i - donor - 1
	}
	return it, nil
}
