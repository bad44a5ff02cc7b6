package workload

import (
	"errors"
	"fmt"
	"slices"

	"sembench"
)

// generator makes items from the grammar. It remembers every run of a block's length that it has used, so that no two
// documents share one.
type generator struct {
	options Options
	domains []*domain
	seen    map[uint64]struct{}
	redrawn int
}

func newGenerator(o Options, names []string) *generator {
	g := &generator{options: o, seen: map[uint64]struct{}{}}
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

var errShared = errors.New("every draft shared a run with an earlier document: the corpus is too small")

func (g *generator) item(i int, w wanted) (sembench.Item, error) {
	o := g.options
	for attempt := range maxRedraws {
		it, err := g.draft(i, attempt, w)
		if err != nil {
			return it, err
		}
		fresh := runs(o.Tokenizer, o.BlockSize, it.RecipientPrompt, declaredOf(it.Metadata))
		clash := g.clashes(fresh)
		for _, d := range it.DonorPrompts {
			donor := runs(o.Tokenizer, o.BlockSize, d.Text, declaredOf(d.Metadata))
			clash = clash || g.clashes(donor) || it.NegativeControl && overlap(fresh, donor) > 0
			fresh = union(fresh, donor)
		}
		if clash {
			g.redrawn++
			continue
		}
		for _, h := range fresh {
			g.seen[h] = struct{}{}
		}
		return it, nil
	}
	return sembench.Item{}, errShared
}

func (g *generator) clashes(fresh []uint64) bool {
	return slices.ContainsFunc(fresh, func(h uint64) bool { _, used := g.seen[h]; return used })
}

// bandTolerance is how far a recipient may be off its band.
const bandTolerance = 0.02

func within(tokens, target int) bool {
	return float64(max(tokens-target, target-tokens)) <= bandTolerance*float64(target)
}

// maxFits bounds the attempts to fit a band. Each adds or takes sentences; where one sentence is longer than the band is
// wide, other sentences are drawn until one fits.
const maxFits = 100

// draft makes an item whose recipient fits its band.
func (g *generator) draft(i, attempt int, w wanted) (sembench.Item, error) {
	o := g.options
	target, _ := bandTokens(w.band)
	d := g.domains[i%len(g.domains)]
	source := fmt.Sprintf("%s-%s-%04d", o.Profile, d.name, i)
	world := newWorld(d, drawsFor(o.Seed, source, attempt))
	g.grow(world, target*9/10)
	doc := document{
		dataset: "sembench-" + o.Profile, source: source, domain: d.name, language: d.language, license: "CC0-1.0", world: world,
	}
	last := world.choose(&doc)
	k := &kit{unrelated: func() (document, error) { return g.unrelated(i, attempt, source, d, target), nil }}
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
func (g *generator) unrelated(i, attempt int, source string, not *domain, target int) document {
	source += "-unrelated"
	r := drawsFor(g.options.Seed, source, attempt)
	others := slices.DeleteFunc(slices.Clone(g.domains), func(d *domain) bool { return d == not })
	d := pick(r, others)
	world := newWorld(d, r)
	g.grow(world, target*9/10)
	doc := document{source: source, domain: d.name, language: d.language, world: world}
	world.choose(&doc)
	doc.chunks = world.chunks()
	return doc
}
