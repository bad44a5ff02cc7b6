package workload

import (
	"fmt"
	"slices"

	"sembench"
)

// wanted is one item to be made.
type wanted struct {
	transform transform
	band      string
}

// profile says how many items of each transform a generated manifest has, per band.
type profile struct {
	// bands and how often each occurs per transform.
	bands []string
	// perBand is how many items one occurrence of a band gives, by transform name; "" for the others.
	perBand map[string]int
	// domains allowed; nil for all.
	domains []string
}

// profiles. Smoke: 24 items of one band; reuse beyond the prefix in ten of the sixteen that are no control. The larger
// ones name 8k and above more often, where reuse pays.
var profiles = map[string]profile{
	"smoke": {
		bands: []string{"1k"},
		perBand: map[string]int{
			"exact_repeat": 3, "instruction_variant": 2, "same_evidence_new_task": 2, "leading_evidence_new_task": 3,
			"rag_reorder": 2, "multi_donor_composite": 2, "fuzzy_edit": 2, "negative_control": 8,
		},
		domains: []string{"clinical", "contract", "incident", "minutes", "spec", "support"},
	},
	"dev":  {bands: []string{"1k", "2k", "4k", "8k", "8k"}, perBand: map[string]int{"": 1, "negative_control": 3}},
	"test": {bands: []string{"1k", "2k", "4k", "8k", "8k", "16k", "16k", "32k", "32k"}, perBand: map[string]int{"": 1, "negative_control": 3}},
	"live": {bands: []string{"1k", "2k", "4k", "8k", "8k", "16k"}, perBand: map[string]int{"": 1, "negative_control": 3}},
}

// Build makes a generated manifest and its audit. Items come in an order drawn from the seed, so that no transform has
// a time of its own in a run. A broken guard is an error: generated text has no excuse. Same options, same bytes.
func Build(o Options) ([]sembench.Item, sembench.BuildReport, error) {
	o, err := o.filled()
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	switch {
	case o.Split == "" || o.Split == o.Profile:
	case o.Profile == "smoke": // the default: the split says which profile is meant
		o.Profile = o.Split
	default:
		return nil, sembench.BuildReport{}, fmt.Errorf("building manifest: profile %s and split %s exclude each other: name one", o.Profile, o.Split)
	}
	if o.Profile == "stream" {
		return o.stream()
	}
	plan, known := profiles[o.Profile]
	if !known {
		return nil, sembench.BuildReport{}, fmt.Errorf("building manifest: profile %q is unknown: use smoke, dev, test, live or stream", o.Profile)
	}
	list, err := plan.list(o)
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	g := newGenerator(o, plan.domains)
	items, err := g.items(list)
	if err != nil {
		return nil, sembench.BuildReport{}, err
	}
	items = shuffled(drawsFor(o.Seed, o.Profile, "order"), items)
	report := sembench.BuildReport{Recipe: o.recipe(), Redrawn: g.redrawn}
	return o.finish(items, report)
}

// stream is a stream workload of MaxItems requests (200 when 0). A sample of a stream would be no stream.
func (o Options) stream() ([]sembench.Item, sembench.BuildReport, error) {
	if len(o.Transforms) > 0 {
		return nil, sembench.BuildReport{}, fmt.Errorf("building manifest: profile stream has traffic classes of its own: leave transforms out")
	}
	n, named := o.MaxItems, o.Bands
	if n == 0 {
		n = streamRequests
	}
	if len(named) == 0 {
		named = streamBands
	}
	items, err := newGenerator(o, nil).stream(n, named)
	if err != nil {
		return nil, sembench.BuildReport{}, fmt.Errorf("building manifest: %w", err)
	}
	return o.finish(items, sembench.BuildReport{Recipe: o.recipe()})
}

// list is every item that a profile asks for, transforms in the table's order.
func (p profile) list(o Options) (list []wanted, err error) {
	chosen, err := selected(o.Transforms)
	if err != nil {
		return nil, err
	}
	named := p.bands
	if len(o.Bands) > 0 {
		named = o.Bands
	}
	for _, t := range chosen {
		n, given := p.perBand[t.base()]
		if !given {
			n = p.perBand[""]
		}
		if n == 0 && len(o.Transforms) > 0 {
			n = 1
		}
		for _, band := range named {
			if tokens, _ := bandTokens(band); tokens < t.room {
				continue
			}
			for range n {
				list = append(list, wanted{t, band})
			}
		}
	}
	return list, nil
}

// finish samples, audits and reports.
func (o Options) finish(items []sembench.Item, report sembench.BuildReport) ([]sembench.Item, sembench.BuildReport, error) {
	switch {
	case o.Head > 0:
		items = Head(items, o.Head)
	case o.MaxItems > 0 && !isStream(items):
		items = Sample(items, o.MaxItems, o.Seed)
	}
	report.Items = len(items)
	report.Audit = Audit(items, AuditOptions{Tokenizer: o.Tokenizer, BlockSize: o.BlockSize})
	report.Recipe.ManifestSHA256 = identity(items)
	report.Audit.ManifestSHA256 = &report.Recipe.ManifestSHA256
	if !report.Audit.Passed && (report.Recipe.Profile != "from" || o.Strict) {
		return items, report, fmt.Errorf("building manifest: %w", &GuardError{report.Audit})
	}
	return items, report, nil
}

func isStream(items []sembench.Item) bool {
	return len(items) > 0 && items[0].TransformName() == "stream"
}

// identity is the SHA-256 of the manifest that WriteManifest makes of items.
func identity(items []sembench.Item) string {
	sum := newSum()
	_ = sembench.WriteManifest(sum, slices.Values(items)) // a hash never fails to write
	return sum.hex()
}

func (o Options) recipe() sembench.FreezeRecipe {
	return sembench.FreezeRecipe{
		Profile: o.Profile, Seed: o.Seed, Transforms: append([]string{}, o.Transforms...), Bands: append([]string{}, o.Bands...),
		Tokenizer: o.TokenizerSpec, TokenizerName: o.Tokenizer.Name(), BlockSize: o.BlockSize,
		MaxItems: o.MaxItems, Head: o.Head, Split: o.Split, License: o.License, Dataset: o.Dataset,
	}
}
