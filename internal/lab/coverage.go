package lab

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sembench"
	"sembench/internal/judge"
)

// Statistics whose intervals are held against the truth.
const (
	statisticMean    = "mean"
	statisticGeomean = "geomean"
)

// A drawn run has as many items of each kind as the smoke workload.
const controlItems, otherItems = 8, 16

// population is a workload many times as large as a run, measured once without jitter: the truth that runs of a part of it estimate.
type population struct {
	trial    *trial
	controls []int // places in the corpus
	others   []int
	ratio    map[string]float64 // of item: what the law charged cold over warm
	lines    map[string][]sembench.Observation
	canaries []sembench.Observation
}

const populationSeeds = 8

// population measures a population of one voice.
func (l *lab) population(voice string) (*population, error) {
	var seeds []uint64
	for i := range uint64(populationSeeds) {
		seeds = append(seeds, 11+i)
	}
	c, err := newCorpus(l.ctx, seeds...)
	if err != nil {
		return nil, err
	}
	t, err := setting{as: voice, seed: faultSeed, corpus: c, calibrationPairs: 4}.try(l.ctx, l.Dir)
	if err != nil {
		return nil, err
	}
	if t.refused != "" {
		return nil, fmt.Errorf("measuring the population of %s: %s", voice, t.refused)
	}
	p := &population{trial: t, ratio: map[string]float64{}, lines: map[string][]sembench.Observation{}}
	for i, it := range c.items {
		if it.NegativeControl {
			p.controls = append(p.controls, i)
		} else {
			p.others = append(p.others, i)
		}
	}
	law := map[string]float64{}
	items := map[string]bool{}
	for _, it := range c.items {
		items[it.ItemID] = true
	}
	for _, o := range t.inputs.Observations {
		if !items[o.ItemID] {
			p.canaries = append(p.canaries, o)
			continue
		}
		p.lines[o.ItemID] = append(p.lines[o.ItemID], o)
		if o.Role == sembench.RoleRecipient {
			law[o.ItemID+o.Arm] = float64(t.truth[o.RequestID].LawTTFTNS)
		}
	}
	for _, it := range c.items {
		p.ratio[it.ItemID] = law[it.ItemID+sembench.ArmCold] / law[it.ItemID+sembench.ArmWarm]
	}
	return p, nil
}

// mean is the truth of a statistic over all items that are no controls.
func (p *population) mean(statistic string) float64 {
	sum := 0.0
	for _, i := range p.others {
		ratio := p.ratio[p.trial.corpus.items[i].ItemID]
		if statistic == statisticGeomean {
			ratio = math.Log(ratio)
		}
		sum += ratio
	}
	sum /= float64(len(p.others))
	if statistic == statisticGeomean {
		return math.Exp(sum)
	}
	return sum
}

// draw is a random part of the population.
func (p *population) draw(random *rand.Rand, controls, others int) *corpus {
	out := &corpus{}
	add := func(from []int, n int) {
		for _, i := range random.Perm(len(from))[:n] {
			at := from[i]
			out.items, out.rows = append(out.items, p.trial.corpus.items[at]), append(out.rows, p.trial.corpus.rows[at])
		}
	}
	add(p.controls, controls)
	add(p.others, others)
	return out
}

// rejudge is the judgement of a run that drew these items and met this jitter: the population's own observations, with the times of recipients
// stretched. Isolation makes steps independent, so that leaving others out changes nothing.
func (p *population) rejudge(c *corpus, random *rand.Rand, jitter float64, seed uint64) (*trial, error) {
	t := &trial{setting: p.trial.setting, inputs: p.trial.inputs, truth: p.trial.truth}
	t.inputs.Items, t.inputs.Offline, t.inputs.Window = c.items, c.rows, nil
	t.inputs.Options = judge.Options{Resamples: 1000, Seed: seed}
	t.inputs.Observations = append([]sembench.Observation{}, p.canaries...)
	variance := math.Log1p(jitter * jitter)
	for _, it := range c.items {
		for _, o := range p.lines[it.ItemID] {
			if o.Role == sembench.RoleRecipient {
				f := stretch(random, variance)
				first := *o.Stamps.WriteStart + int64(f*float64(*o.Stamps.FirstOutput-*o.Stamps.WriteStart))
				last := first + (*o.Stamps.LastOutput - *o.Stamps.FirstOutput)
				o.Stamps.FirstOutput, o.Stamps.FirstEvent, o.Stamps.LastOutput, o.Stamps.Done = &first, &first, &last, &last
			}
			t.inputs.Observations = append(t.inputs.Observations, o)
		}
	}
	var err error
	t.result, err = judge.Build(t.inputs)
	return t, err
}

// coverage judges many runs and counts how often intervals cover.
func (l *lab) coverage() error {
	if l.Quick || !l.all {
		return nil
	}
	p, err := l.population("vllm")
	if err != nil {
		return err
	}
	l.known = p
	const runs = judgedPerSetting
	type one struct {
		controls, others int
		jitter           float64
		seed             uint64
	}
	all, allCovered := 0, 0
	for _, size := range []struct{ controls, others int }{{controlItems, otherItems}, {2 * controlItems, 3 * otherItems}} {
		for _, jitter := range []float64{0.01, 0.05, 0.1, 0.2} {
			var list []one
			for run := range runs {
				list = append(list, one{size.controls, size.others, jitter, uint64(run)})
			}
			covered := map[string]int{}
			// The mean of a ratio of two jittered times is above the ratio of their means by the square of the jitter.
			truth := map[string]float64{statisticMean: p.mean(statisticMean) * (1 + jitter*jitter), statisticGeomean: p.mean(statisticGeomean)}
			err := each(l, "judged runs", processors(), list, func(o one) (*trial, error) {
				random := rand.New(rand.NewPCG(o.seed, uint64(1000*o.jitter)+uint64(o.others)<<16))
				return p.rejudge(p.draw(random, o.controls, o.others), random, o.jitter, o.seed)
			}, func(_ one, t *trial) {
				if covers(t.result.Paired.BlendedTTFTSpeedupMeanCI, truth[statisticMean]) {
					covered[statisticMean]++
				}
				if covers(t.result.Paired.BlendedTTFTSpeedupGeomeanCI, truth[statisticGeomean]) {
					covered[statisticGeomean]++
				}
				compared, wrong, _ := t.tokens()
				l.out.TokensCompared, l.out.TokensWrong = l.out.TokensCompared+compared, l.out.TokensWrong+wrong
			})
			if err != nil {
				return err
			}
			for _, statistic := range []string{statisticMean, statisticGeomean} {
				l.covered(fmt.Sprintf("%d items and %d controls, jitter %g", size.others, size.controls, jitter), statistic, runs, covered[statistic], truth[statistic], 0)
				all, allCovered = all+runs, allCovered+covered[statistic]
			}
		}
	}
	share := float64(allCovered) / float64(all)
	l.out.Coverage = &share
	if share < leastCoverage {
		l.problem("intervals of 95 %% covered the truth in %.3f of %d judged runs", share, all)
	}
	return nil
}

// covered notes a row of the coverage table; least above 0 is the share that it must reach.
func (l *lab) covered(setting, statistic string, runs, covered int, truth, least float64) {
	share := float64(covered) / float64(runs)
	l.out.CoverageTable = append(l.out.CoverageTable, sembench.SelftestCoverage{Setting: setting, Statistic: statistic, Runs: runs, Covered: covered, Share: share, Truth: truth})
	if share < least {
		l.problem("intervals of 95 %% covered the truth in %d of %d runs %s", covered, runs, setting)
	}
}

func covers(ci *sembench.CI, truth float64) bool {
	return ci != nil && ci.Lo != nil && ci.Hi != nil && *ci.Lo <= truth && truth <= *ci.Hi
}

// stretch is a lognormal factor of mean 1; 1 without variance.
func stretch(random *rand.Rand, variance float64) float64 {
	if variance == 0 {
		return 1
	}
	return math.Exp(math.Sqrt(variance)*random.NormFloat64() - variance/2)
}
