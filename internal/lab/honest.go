package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sembench"
	"sembench/internal/sim"
)

// jitters are the spreads of service time that an honest engine may have; the first alone is used over HTTP, where the machine adds its own.
// A spread of 5 % needs twice the items for the band of 10 % that controls have to stay in. Heavier tails than these (one request in fifty up
// to twice as long) leave a mean undecided at any size that a self-test has time for: the gates then say inconclusive, as they should.
var jitters = []struct {
	model string
	sd    float64
	large bool
}{{"lognormal", 0.01, false}, {"lognormal", 0.03, false}, {"lognormal", 0.05, true}, {"drift", 0.02, false}, {"heavytail", 0.01, false}, {"heavytail", 0.005, false}}

// honest runs engines without a fault, of every voice and jitter.
func (l *lab) honest() error {
	seeds := seedsPerKind
	if l.Quick || !l.all {
		seeds = quickSeedsPerKind
	}
	var settings []setting
	for _, voice := range sim.Voices() {
		for i, jitter := range jitters {
			if (l.Quick || !l.all) && i%3 != 0 {
				continue
			}
			for seed := range seeds {
				c := l.slim[(seed+i)%len(l.slim)]
				if jitter.large {
					c = l.double
				}
				settings = append(settings, setting{as: voice, seed: uint64(100*i + seed + 1), jitter: jitter.sd, jitterModel: jitter.model, corpus: c})
			}
		}
	}
	return each(l, "honest runs", processors(), settings, func(s setting) (*trial, error) { return s.try(l.ctx, l.Dir) }, l.acquit)
}

// acquit notes an honest run.
func (l *lab) acquit(s setting, t *trial) {
	kind, transport := fmt.Sprintf("%s, %s %g", s.as, s.jitterModel, s.jitter), "virtual"
	if s.http {
		kind, transport = s.as, "http"
	}
	i := slices.IndexFunc(l.out.Honest, func(h sembench.SelftestHonest) bool { return h.Kind == kind && h.Transport == transport })
	if i < 0 {
		i = len(l.out.Honest)
		l.out.Honest = append(l.out.Honest, sembench.SelftestHonest{Kind: kind, Transport: transport, Alarms: []string{}})
	}
	h := &l.out.Honest[i]
	h.Runs++
	l.out.HonestRuns++
	failed, undecided := failing(t.verdict)
	switch {
	case t.refused != "":
		failed = []string{"refused: " + t.refused}
		fallthrough
	case len(failed) > 0:
		h.FalseAlarms++
		l.out.FalseAlarms++
		h.Alarms = append(h.Alarms, failed...)
		l.problem("an honest run was accused (%s over %s, seed %d): %v", kind, transport, s.seed, failed)
	case len(undecided) > 0 && t.http && t.busy(0.9):
		h.Busy++ // the gates say so themselves: this machine resolves nothing just now
		h.Alarms = append(h.Alarms, undecided...)
	case len(undecided) > 0:
		h.Inconclusive++
		l.out.Inconclusive++
		h.Alarms = append(h.Alarms, undecided...)
	}
	if t.refused == "" {
		compared, wrong, _ := t.tokens()
		l.out.TokensCompared, l.out.TokensWrong = l.out.TokensCompared+compared, l.out.TokensWrong+wrong
	}
}

// http repeats part of it over real connections: faults, and honest runs of items drawn from a population whose truth is known.
func (l *lab) http(faults []sim.Fault) error {
	type one struct {
		setting
		fault *sim.Fault
		truth float64
	}
	var list []one
	for i := range faults {
		if slices.Contains(overHTTP, faults[i].Name) && (!l.Quick || len(list) < 4) {
			list = append(list, one{setting: setting{seed: faultSeed, jitter: honestJitter, faults: []string{faults[i].Name}, corpus: l.slim[0]}, fault: &faults[i]})
		}
	}
	for v, voice := range sim.Voices() {
		if !l.all {
			break
		}
		p := l.known
		if l.Quick { // the truth of a voice costs as much as twenty runs
			list = append(list, one{setting: setting{as: voice, seed: uint64(v + 1), jitter: honestJitter, corpus: l.slim[v%len(l.slim)]}, truth: math.NaN()})
			continue
		}
		if voice != "vllm" {
			var err error
			if p, err = l.population(voice); err != nil {
				return err
			}
		}
		for run := range httpPerVoice {
			random := rand.New(rand.NewPCG(uint64(v), uint64(run)))
			list = append(list, one{setting: setting{as: voice, seed: uint64(run + 1), jitter: honestJitter, corpus: p.draw(random, controlItems, otherItems)}, truth: p.mean(statisticMean)})
		}
	}
	covered, judged := 0, 0
	err := each(l, "over HTTP", httpAtOnce, list, func(o one) (*trial, error) {
		o.http, o.calibrationPairs = true, 30
		return o.try(l.ctx, l.Dir)
	}, func(o one, t *trial) {
		o.http = true
		if o.fault == nil {
			l.acquit(o.setting, t)
			if t.refused == "" && !math.IsNaN(o.truth) && !t.busy(0.5) {
				judged++
				if covers(t.result.Paired.BlendedTTFTSpeedupMeanCI, o.truth) {
					covered++
				}
			}
			return
		}
		outcome, _ := t.outcome(o.fault.Check)
		fine := outcome == sembench.Fail
		if o.fault.Check == "" {
			failed, _ := failing(t.verdict)
			fine = t.refused == "" && len(failed) == 0 && t.untrue() == ""
		}
		i := slices.IndexFunc(l.out.Faults, func(f sembench.SelftestFault) bool { return f.Name == o.fault.Name })
		if l.out.Faults[i].HTTP = &fine; !fine {
			failed, undecided := failing(t.verdict)
			l.problem("fault %s was missed over HTTP: %s; %v %v", o.fault.Name, t.refused, failed, undecided)
		}
	})
	if err == nil && judged > 0 {
		l.covered("over HTTP, all voices, 24 items", statisticMean, judged, covered, 0, leastCoverageHTTP)
	}
	return err
}
