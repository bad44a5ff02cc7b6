package lab

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"sembench"
	"sembench/internal/judge"
	"sembench/internal/ordered"
	"sembench/internal/sim"
)

// Options of a self-test. The zero value of everything but Dir is the whole of it.
type Options struct {
	// Dir takes journals while they are needed.
	Dir string
	// Faults names the only faults to try, with as many honest runs as stand beside them; empty is everything.
	Faults []string
	// Quick leaves most honest runs, pairs of faults and the long coverage out.
	Quick bool
	// Tell hears of every finished run of a part; nil for nobody.
	Tell func(part string, done, total int)
}

// How much of each part there is. Fault runs, honest runs and pairs cost a fifth of a second each, judged runs a hundredth; runs over HTTP
// take six seconds and wait most of it.
const (
	seedsPerKind, quickSeedsPerKind   = 6, 1
	judgedPerSetting, quickPerSetting = 250, 25
	pairsOfFaults                     = 200
	httpPerVoice, quickHTTPPerVoice   = 10, 1
	httpAtOnce                        = 10
	faultSeed                         = 3
	honestJitter                      = 0.01
	leastCoverage                     = 0.90 // of 95 % intervals from a dozen bimodal ratios
	leastCoverageHTTP                 = 0.86 // 43 of 50: three standard errors below 0.95
	mostInconclusive                  = 0.05
	measuredThrough                   = "measured through"
	lawTolerance                      = 0.02
	// A run over HTTP whose client was late by more than a twentieth of a cold TTFT met a machine that has no time for it.
	busyShare = 0.05
)

// overHTTP are the faults that are also met over a real connection: one for each kind of evidence.
var overHTTP = []string{"noop_reset", "donor_store_survives", "reset_fails_before_warm", "hit_not_materialized", "cached_tokens_zero",
	"ranks_counted_twice", "counter_reset", "log_lost", "audit_lost", "status_503", "controls_fire", "role_chunk_early", "own_twin_donor", "usage_twice"}

// Run is the self-test. The error is for what kept it from being one; faults missed and honest runs accused stand in the document.
func Run(ctx context.Context, o Options) (sembench.Selftest, error) {
	began := time.Now()
	faults, err := chosen(o.Faults)
	if err != nil {
		return sembench.Selftest{}, err
	}
	l := &lab{Options: o, ctx: ctx, all: len(o.Faults) == 0}
	l.out = sembench.Selftest{Quick: o.Quick, Problems: []string{}, Faults: []sembench.SelftestFault{}, Honest: []sembench.SelftestHonest{},
		CoverageTable: []sembench.SelftestCoverage{}, Mutation: []sembench.SelftestMutation{}}
	for _, part := range []func() error{
		func() error { return l.prepare() },
		func() error { return l.faults(faults) },
		func() error { return l.mutate() },
		func() error { return l.honest() },
		func() error { return l.pairs(faults) },
		func() error { return l.coverage() },
		func() error { return l.http(faults) },
	} {
		if err := part(); err != nil {
			return l.out, err
		}
		if err := ctx.Err(); err != nil {
			return l.out, err
		}
	}
	l.conclude()
	l.out.Seconds = math.Round(time.Since(began).Seconds()*10) / 10
	return l.out, nil
}

// stockBlends is a fault of how engines are set up and not of one engine, so that the lab has it and the embedded engine has not.
const stockBlends = "stock_blends"

// table is the fault table of the embedded engine, and the lab's own fault.
func table() []sim.Fault {
	return append(sim.Faults(), sim.Fault{
		Name: stockBlends, Family: "setup", Does: "The engine of the exact arm, which should be a stock one, has the semantic layer too.",
		Check: "exact_arm_is_stock", Naive: "what prefix caching alone gives is too high, the gain over it too low",
	})
}

func chosen(names []string) ([]sim.Fault, error) {
	if _, err := sim.ParseFaults(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == stockBlends })); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return table(), nil
	}
	var out []sim.Fault
	for _, f := range table() {
		if slices.Contains(names, f.Name) {
			out = append(out, f)
		}
	}
	if len(out) != len(names) {
		return nil, fmt.Errorf("choosing faults: give each name once and without a value")
	}
	return out, nil
}

type lab struct {
	Options
	ctx  context.Context
	all  bool // every fault, and so every check has to have one
	out  sembench.Selftest
	slim []*corpus // one seed each
	// double is two seeds, wide three.
	double, wide *corpus
	// known is the population of the vLLM voice.
	known *population
	// judged are the trials of faults, for mutation.
	judged []*trial
}

func (l *lab) problem(format string, args ...any) {
	l.out.Problems = append(l.out.Problems, fmt.Sprintf(format, args...))
}

func (l *lab) tell(part string, done, total int) {
	if l.Tell != nil {
		l.Tell(part, done, total)
	}
}

// each runs f over inputs, several at once, and takes the results in order.
func each[In, Out any](l *lab, part string, workers int, in []In, f func(In) (Out, error), take func(In, Out)) error {
	source := iter.Seq2[In, error](func(yield func(In, error) bool) {
		for _, v := range in {
			if !yield(v, l.ctx.Err()) {
				return
			}
		}
	})
	i := 0
	for out, err := range ordered.Map(source, workers, func() (struct{}, error) { return struct{}{}, nil }, func(_ struct{}, v In) (Out, error) { return f(v) }) {
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		take(in[i], out)
		i++
		l.tell(part, i, len(in))
	}
	return nil
}

func processors() int { return runtime.GOMAXPROCS(0) }

func (l *lab) prepare() error {
	for seed := range uint64(4) {
		c, err := newCorpus(l.ctx, seed+1)
		if err != nil {
			return err
		}
		l.slim = append(l.slim, c)
	}
	join := func(parts []*corpus) *corpus {
		out := &corpus{}
		for _, c := range parts {
			out.items, out.rows = append(out.items, c.items...), append(out.rows, c.rows...)
		}
		return out
	}
	l.double, l.wide = join(l.slim[:2]), join(l.slim[:3])
	return nil
}

// settingOf is the trial of a fault.
func settingOf(f sim.Fault, c *corpus) setting {
	s := setting{as: voiceOf(f), seed: faultSeed, jitter: honestJitter, faults: []string{f.Name}, corpus: c}
	if f.Name == stockBlends {
		s.faults, s.exact, s.blends = nil, true, true
	}
	return s
}

// voiceOf is the engine in whose log or responses a fault can be told apart: a SemBlend log names every load by request, so that one of another
// replica contradicts the other channels too; SGLang's does not.
func voiceOf(f sim.Fault) string {
	if f.Name == "log_elsewhere" {
		return "sglang"
	}
	return ""
}

// corpusOf gives the faults whose check needs many hits, or many pairs of each transform, three times the items.
func (l *lab) corpusOf(f sim.Fault) *corpus {
	if f.Check == "max-warm-vs-cold-rouge-drop" || f.Check == "order_effect" {
		return l.wide
	}
	return l.slim[0]
}

// faults tries every fault in virtual time.
func (l *lab) faults(faults []sim.Fault) error {
	honest := map[*corpus]*trial{}
	for _, c := range []*corpus{l.slim[0], l.wide} {
		t, err := setting{seed: faultSeed, jitter: honestJitter, corpus: c}.try(l.ctx, l.Dir)
		if err != nil {
			return err
		}
		honest[c] = t
	}
	type both struct {
		t   *trial
		out sembench.SelftestFault
	}
	return each(l, "faults", processors(), faults, func(f sim.Fault) (both, error) {
		c := l.corpusOf(f)
		t, err := settingOf(f, c).try(l.ctx, l.Dir)
		if err != nil {
			return both{}, fmt.Errorf("%s: %w", f.Name, err)
		}
		out, err := l.verdict(f, t, honest[c])
		return both{t, out}, err
	}, func(f sim.Fault, b both) {
		l.out.Faults = append(l.out.Faults, b.out)
		l.judged = append(l.judged, b.t)
		if !b.out.Caught {
			l.problem("fault %s was missed: %s", f.Name, b.out.Detail)
		}
		if !b.out.Corrupted {
			l.problem("fault %s corrupts no naive number: %s", f.Name, b.out.NaiveClaim)
		}
	})
}

// verdict says whether a fault was caught as its table entry says, and what a naive harness would have said.
func (l *lab) verdict(f sim.Fault, t, honest *trial) (sembench.SelftestFault, error) {
	out := sembench.SelftestFault{Name: f.Name, Family: f.Family, Check: f.Check, Failed: []string{}}
	c, known := claimOf(f.Name)
	if !known {
		return out, fmt.Errorf("fault %s has no naive number", f.Name)
	}
	if t.refused != "" {
		out.Detail = "the harness did not measure: " + t.refused
		return out, nil
	}
	naive, truth, err := c.both(l.ctx, t, honest, l.Dir)
	if err != nil {
		return out, fmt.Errorf("%s: %w", f.Name, err)
	}
	out.NaiveValue, out.TrueValue, out.Corrupted = finite(naive), finite(truth), corrupted(naive, truth)
	out.NaiveClaim = fmt.Sprintf("%s: %s instead of %s", c.what, short(naive), short(truth))
	failed, undecided := failing(t.verdict)
	out.Failed = append(out.Failed, failed...)
	if f.Check == "" {
		wrong := t.untrue()
		switch {
		case len(failed)+len(undecided) > 0:
			out.Detail = fmt.Sprintf("an engine that can be measured was accused: %v %v", failed, undecided)
		case wrong != "":
			out.Detail = wrong
		default:
			out.Caught, out.By, out.Detail = true, measuredThrough, "every time and every token equals the engine's own account"
		}
		return out, nil
	}
	outcome, detail := t.outcome(f.Check)
	out.Detail = detail
	if outcome == sembench.Fail {
		out.Caught, out.By = true, f.Check
	} else {
		out.Detail = fmt.Sprintf("%s is %q; failed: %v, undecided: %v", f.Check, outcome, failed, undecided)
	}
	return out, nil
}

// untrue says where rows differ from the engine's own account, in tokens or, in virtual time, in time; "" nowhere.
func (t *trial) untrue() string {
	if _, wrong, first := t.tokens(); wrong > 0 {
		return first
	}
	for _, o := range t.recipients("") {
		law := float64(t.truth[o.RequestID].LawTTFTNS) / 1e6
		if ms := o.TTFT(); ms == nil || !t.http && math.Abs(*ms-law) > lawTolerance*law {
			return fmt.Sprintf("request %s: TTFT %v ms, the law charged %.2f", o.RequestID, number(ms), law)
		}
	}
	return ""
}

// busy tells that the client of a run over HTTP was so late, at a quantile of its requests, that times say more of this machine than of the
// engine: the median moves ratios, one request in ten widens intervals.
func (t *trial) busy(quantile float64) bool {
	var late, cold []float64
	for _, o := range t.recipients("") {
		truth := t.truth[o.RequestID]
		if ms := o.TTFT(); ms != nil {
			late = append(late, *ms-float64(truth.LawTTFTNS)/1e6)
		}
		if o.Arm == sembench.ArmCold {
			cold = append(cold, float64(truth.LawTTFTNS)/1e6)
		}
	}
	if len(late) == 0 || len(cold) == 0 {
		return false
	}
	slices.Sort(late)
	slices.Sort(cold)
	return late[int(quantile*float64(len(late)))] > busyShare*cold[len(cold)/2]
}

// tokens holds confirmed semantic tokens against the truth, of every row that has them measured.
func (t *trial) tokens() (compared, wrong int, first string) {
	requests := map[string]string{} // pair and arm → request id
	for _, o := range t.recipients("") {
		requests[o.PairID+o.Arm] = o.RequestID
	}
	for _, row := range t.result.Requests {
		if row.SemanticConfirmedTokens == nil || row.PairID == nil {
			continue
		}
		truth, known := t.truth[requests[*row.PairID+*row.Arm]]
		if !known {
			continue
		}
		compared++
		if *row.SemanticConfirmedTokens != truth.SemanticTokens {
			if wrong++; first == "" {
				first = fmt.Sprintf("request %s: %d semantic tokens confirmed, %d in truth", truth.RequestID, *row.SemanticConfirmedTokens, truth.SemanticTokens)
			}
		}
	}
	return compared, wrong, first
}

func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

func short(f float64) string {
	if math.Abs(f) >= 1000 {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.3g", f)
}

// mutate switches off each check in turn.
func (l *lab) mutate() error {
	checks := map[string]bool{}
	for _, c := range judge.Checks() {
		checks[c.Name] = true
	}
	for _, c := range judge.Checks() {
		m := sembench.SelftestMutation{Check: c.Name, Named: []string{}, Only: []string{}, Pass: []string{}}
		for i, f := range l.out.Faults {
			t := l.judged[i]
			if f.Check == c.Name {
				m.Named = append(m.Named, f.Name)
			}
			if t.refused != "" {
				continue
			}
			if f.Caught && slices.DeleteFunc(slices.Clone(f.Failed), func(name string) bool { return !checks[name] || name == c.Name }) != nil {
				others := slices.ContainsFunc(f.Failed, func(name string) bool { return checks[name] && name != c.Name })
				if slices.Contains(f.Failed, c.Name) && !others {
					m.Only = append(m.Only, f.Name)
				}
			}
			v, err := t.gate(c.Name)
			if err != nil {
				return err
			}
			if v.Passed && !t.verdict.Passed {
				m.Pass = append(m.Pass, f.Name)
			}
			if t.verdict.Passed && f.Check != "" {
				l.problem("fault %s passes with every check on", f.Name)
			}
		}
		if l.all && len(m.Only) == 0 {
			l.problem("check %s has no fault that it alone sees", c.Name)
		}
		if len(m.Named) > 0 || l.all {
			l.out.Mutation = append(l.out.Mutation, m)
		}
	}
	return nil
}

// pairs tries random pairs of faults.
func (l *lab) pairs(faults []sim.Fault) error {
	if l.Quick || !l.all {
		return nil
	}
	var named []sim.Fault
	for _, f := range faults {
		if f.Check != "" && f.Name != stockBlends {
			named = append(named, f)
		}
	}
	random := rand.New(rand.NewPCG(faultSeed, 2))
	var chosen [][2]sim.Fault
	for range pairsOfFaults {
		order := random.Perm(len(named))
		chosen = append(chosen, [2]sim.Fault{named[order[0]], named[order[1]]})
	}
	sum := sembench.SelftestPairs{Hidden: []string{}}
	err := each(l, "pairs of faults", processors(), chosen, func(p [2]sim.Fault) (*trial, error) {
		c := l.corpusOf(p[0])
		if c == l.slim[0] {
			c = l.corpusOf(p[1])
		}
		return setting{seed: faultSeed, jitter: honestJitter, faults: []string{p[0].Name, p[1].Name}, corpus: c}.try(l.ctx, l.Dir)
	}, func(p [2]sim.Fault, t *trial) {
		sum.Runs++
		a, _ := t.outcome(p[0].Check)
		b, _ := t.outcome(p[1].Check)
		switch {
		case t.refused != "":
			sum.Refused++
		case a == sembench.Fail && b == sembench.Fail:
			sum.Both++
		case (a == sembench.Fail || b == sembench.Fail) && !t.verdict.Passed:
			sum.One++
		case failsAny(t.verdict):
			sum.Other++
		default:
			failed, undecided := failing(t.verdict)
			sum.Hidden = append(sum.Hidden, fmt.Sprintf("%s with %s: failed %v, undecided %v", p[0].Name, p[1].Name, failed, undecided))
		}
	})
	l.out.Pairs = &sum
	for _, text := range sum.Hidden {
		l.problem("two faults hide each other: %s", text)
	}
	return err
}

func failsAny(v sembench.Verdict) bool {
	failed, _ := failing(v)
	return len(failed) > 0
}

// conclude sums up.
func (l *lab) conclude() {
	if n := l.out.HonestRuns; n > 0 && float64(l.out.Inconclusive) > mostInconclusive*float64(n) {
		l.problem("%d of %d honest runs were inconclusive, more than one in twenty", l.out.Inconclusive, n)
	}
	if l.out.TokensWrong > 0 {
		l.problem("%d of %d recipients have confirmed tokens that differ from the truth", l.out.TokensWrong, l.out.TokensCompared)
	}
	l.out.Passed = len(l.out.Problems) == 0
}
