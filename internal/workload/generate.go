package workload

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"sembench"
	"sembench/internal/ordered"
)

// generator makes items from the grammar. It remembers every run of a block's length that it has used, so that no two
// documents share one.
type generator struct {
	options Options
	domains []*domain
	seen    *hashSet
	redrawn int
}

func newGenerator(o Options, names []string) *generator {
	g := &generator{options: o, seen: newHashSet()}
	for _, d := range domains() {
		if names == nil || slices.Contains(names, d.name) {
			g.domains = append(g.domains, d)
		}
	}
	return g
}

// maxRedraws bounds the attempts at a document that shares nothing with the earlier ones. One in a hundred needs a
// second attempt; twenty failures mean that the corpus is at fault.
const maxRedraws = 20

var errShared = errors.New("every draft broke a guard or shared a run with an earlier item: the corpus is too small for that many")

// candidate is a first draft and the runs that it holds; errRedraw when it is no good by itself.
type candidate struct {
	item sembench.Item
	runs []uint64
	err  error
}

// candidate drafts an item that breaks no guard by itself.
func (g *generator) candidate(i, attempt int, w wanted) candidate {
	o := g.options
	it, err := g.draft(i, attempt, w)
	if err != nil {
		return candidate{err: err}
	}
	c := candidate{item: it, runs: runs(o.Tokenizer, o.BlockSize, it.RecipientPrompt, declaredOf(it.Metadata))}
	ids := o.Tokenizer.Encode(nil, it.RecipientPrompt)
	if distinctShare(ids, o.BlockSize) < leastDistinct || gzipRatio(it.RecipientPrompt) > gzipLimit(it) {
		return candidate{err: errRedraw}
	}
	target, _ := bandTokens(w.band)
	apart := it.NegativeControl || it.Transform == "paraphrase"
	recipient := c.runs
	for _, d := range it.DonorPrompts {
		if len(o.Tokenizer.Encode(nil, d.Text)) > donorLimit(target) {
			return candidate{err: errRedraw}
		}
		donor := runs(o.Tokenizer, o.BlockSize, d.Text, declaredOf(d.Metadata))
		if apart && overlap(recipient, donor) > 0 {
			return candidate{err: errRedraw}
		}
		c.runs = union(c.runs, donor)
	}
	return c
}

// items makes all items, drafts side by side, in order. A draft that shares a run with an item before it is drawn again.
func (g *generator) items(list []wanted) (items []sembench.Item, err error) {
	inputs := func(yield func(int, error) bool) {
		for i := range list {
			if !yield(i, nil) {
				return
			}
		}
	}
	drafts := ordered.Map(inputs, runtime.GOMAXPROCS(0), func() (struct{}, error) { return struct{}{}, nil },
		func(_ struct{}, i int) (candidate, error) { return g.candidate(i, 0, list[i]), nil })
	for c, err := range drafts {
		i := len(items)
		for attempt := 1; err == nil && (errors.Is(c.err, errRedraw) || g.clashes(c.runs)); attempt++ {
			if attempt == maxRedraws {
				c.err = errShared
				break
			}
			g.redrawn++
			c = g.candidate(i, attempt, list[i])
		}
		if err = cmp.Or(err, c.err); err != nil {
			return nil, fmt.Errorf("building manifest: item %d (%s, %s): %w", i+1, list[i].transform.name, list[i].band, err)
		}
		for _, h := range c.runs {
			g.seen.add(h)
		}
		items = append(items, c.item)
	}
	return items, nil
}

// looking is what a world needs to keep clear of earlier documents. First drafts are made side by side and do not look.
func (g *generator) looking(attempt int) func(string) bool {
	if attempt == 0 {
		return nil
	}
	return func(text string) bool { return g.clashes(runs(g.options.Tokenizer, g.options.BlockSize, text, nil)) }
}

func (g *generator) clashes(fresh []uint64) bool {
	return slices.ContainsFunc(fresh, g.seen.has)
}

// bandTolerance is how far a recipient may be off its band.
const bandTolerance = 0.02

func within(tokens, target int) bool {
	return float64(max(tokens-target, target-tokens)) <= bandTolerance*float64(target)
}

// domainPatience is how many drafts of one domain are tried before the next domain takes its place.
const domainPatience = 6

// maxFits bounds the attempts to fit a band. Each adds or takes sentences; where one sentence is longer than the band is
// wide, other sentences are drawn until one fits.
const maxFits = 100

// draft makes an item whose recipient fits its band.
func (g *generator) draft(i, attempt int, w wanted) (sembench.Item, error) {
	o := g.options
	target, _ := bandTokens(w.band)
	d := g.domains[(i+attempt/domainPatience)%len(g.domains)]
	source := fmt.Sprintf("%s-%s-%04d", o.Profile, d.name, i)
	world := newWorld(d, drawsFor(o.Seed, source, attempt))
	world.clashes = g.looking(attempt)
	if w.transform.name == "paraphrase" {
		world.deal()
	}
	g.grow(world, (target-w.transform.lead)*9/10)
	doc := document{
		dataset: "sembench-" + o.Profile, source: source, domain: d.name, language: d.language, license: "CC0-1.0", world: world,
	}
	last := world.choose(&doc, w.transform.asks)
	if last < 0 {
		return sembench.Item{}, errRedraw
	}
	k := &kit{tokenizer: o.Tokenizer, blockSize: o.BlockSize, param: w.transform.param}
	k.unrelated = func(number int) (document, error) {
		return g.unrelated(fmt.Sprint(source, "-unrelated-", number), attempt, d, target), nil
	}
	n := 0
	for range maxFits {
		doc.chunks = world.chunks()
		k.doc, k.random = doc, drawsFor(o.Seed, source, attempt, "transform")
		draft, err := w.transform.make(k)
		if err != nil {
			return sembench.Item{}, err
		}
		n = len(o.Tokenizer.Encode(nil, draft.recipient.String()))
		if within(n, target) {
			it := draft.item(doc, w.transform.name)
			it.Metadata["length_band"] = w.band
			it.Metadata["template"] = d.kind
			it.Metadata["split"] = o.Profile
			return it, nil
		}
		if n < target {
			g.grow(world, target-n)
		} else {
			g.shrink(world, n-target, last+1)
		}
	}
	return sembench.Item{}, fmt.Errorf("no document of %s fits %s: the last had %d tokens", d.name, w.band, n)
}

// grow adds facts worth about so many tokens, at least one.
func (g *generator) grow(w *world, tokens int) {
	for added := 0; ; {
		w.grow()
		size := g.size(w)
		if added += size; added+size/2 >= tokens {
			return
		}
	}
}

// shrink takes back facts worth about so many tokens, at least one, but keeps the first ones.
func (g *generator) shrink(w *world, tokens, keep int) {
	for taken := 0; len(w.facts) > keep; {
		size := g.size(w)
		w.shrink()
		if taken += size; taken+size/2 >= tokens {
			return
		}
	}
}

// size is about the tokens of the last fact.
func (g *generator) size(w *world) int {
	return len(g.options.Tokenizer.Encode(nil, w.say(w.facts[len(w.facts)-1])))
}

// unrelated is a document of another domain, of about the same length.
func (g *generator) unrelated(source string, attempt int, not *domain, target int) document {
	r := drawsFor(g.options.Seed, source, attempt)
	others := slices.DeleteFunc(slices.Clone(g.domains), func(d *domain) bool { return d == not })
	d := pick(r, others)
	world := newWorld(d, r)
	world.clashes = g.looking(attempt)
	g.grow(world, target*9/10)
	doc := document{source: source, domain: d.name, language: d.language, world: world}
	world.choose(&doc, "")
	doc.chunks = world.chunks()
	return doc
}
