package judge

import (
	"fmt"
	"math"
	"slices"

	"sembench"
	"sembench/internal/stat"
)

// estimator makes intervals under one set of options. Every estimate is resampled with the run's seed.
type estimator struct{ o stat.Options }

func newEstimator(o Options) estimator {
	return estimator{stat.Options{Level: o.level(), Resamples: o.Resamples, Seed: o.Seed}}
}

// ci writes an interval as a record: pairs are the units unless said otherwise. Null without values.
func ci(iv stat.Interval, unit string) *sembench.CI {
	if iv.N == 0 {
		return nil
	}
	out := &sembench.CI{Point: finite(iv.Point), Level: iv.Level, Method: iv.Method, N: iv.N, Resamples: iv.Resamples, Seed: iv.Seed,
		Unit: unit, Warnings: iv.Warnings}
	if iv.Computable() {
		out.Lo, out.Hi = finite(iv.Lo), finite(iv.Hi)
	}
	return out
}

// point is an interval's estimate; null when there is none.
func point(c *sembench.CI) *float64 {
	if c == nil {
		return nil
	}
	return c.Point
}

// kinds of values, which decide how well an interval covers: hits marks each value, uniform values are of one kind by
// construction (controls, A/A), and nothing is known of the others.
type kinds struct {
	hits    []bool
	uniform bool
}

func (e estimator) with(k kinds) stat.Options {
	o := e.o
	o.Hits, o.Uniform = k.hits, k.uniform
	return o
}

// three makes the three readings of a speedup that stand together (contract, section 7).
func (e estimator) three(x []float64, k kinds) (mean, median, geomean *sembench.CI) {
	o := e.with(k)
	return doubt(aboveZero(ci(stat.Mean(x, o), "pair"))), doubt(ci(stat.Median(x, o), "pair")), doubt(ci(stat.GeoMean(x, o), "pair"))
}

// doubtfulWidth is from which ratio of its bounds on an interval of ratios is no statement about any engine: a few values that scatter over
// orders of magnitude, for which no method's coverage was measured.
const doubtfulWidth = 100.0

// doubt marks an interval that is wider than that, or that reaches down to 0. Its bounds stay as they are.
func doubt(c *sembench.CI) *sembench.CI {
	if c == nil || c.Lo == nil || c.Hi == nil || *c.Hi <= doubtfulWidth**c.Lo || coverageWarning(c) != "" {
		return c
	}
	c.Warnings = append(slices.Clone(c.Warnings), fmt.Sprintf("%s: the bounds are %.3g and %.3g, more than a factor of %g apart", stat.WarnCoverage, *c.Lo, *c.Hi, doubtfulWidth))
	return c
}

// aboveZero ends an interval of a mean of ratios at 0: a symmetric interval over few pairs may reach below what a ratio can be, and cutting
// that off changes no coverage.
func aboveZero(c *sembench.CI) *sembench.CI {
	if c != nil && c.Lo != nil && *c.Lo < 0 {
		c.Lo = new(0.0)
	}
	return c
}

func (e estimator) hodgesLehmann(ratios []float64, k kinds) *sembench.CI {
	return doubt(ci(stat.HodgesLehmann(logs(ratios), e.with(k)).Exp(), "pair"))
}

func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}

// average is the mean; null without values.
func average(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return finite(sum / float64(len(x)))
}

// quantile is the p-quantile (type 7) of values in any order; null below least values.
func quantile(x []float64, p float64, least int) *float64 {
	if len(x) < max(1, least) {
		return nil
	}
	return finite(stat.Quantile(sorted(x), p))
}
