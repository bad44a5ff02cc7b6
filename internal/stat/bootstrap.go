package stat

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

var normal = distuv.UnitNormal

// newRand returns the resampling stream of a seed. The second word only tells our stream from other uses of the
// same seed ("sembench" in ASCII).
func newRand(seed uint64) *rand.PCG { return rand.NewPCG(seed, 0x73656d62656e6368) }

// draw fills idx with uniform choices from [0, n).
func draw(r *rand.PCG, idx []int, n int) {
	rr := rand.New(r)
	for i := range idx {
		idx[i] = rr.IntN(n)
	}
}

// Bootstrap returns f over all n units and a percentile (the default) or bca interval from f over resampled
// indices. f must not keep or change idx, and depends only on which units idx names, not on their order.
// f that is NaN on a resample (a ratio whose resampled denominator is zero) leaves that resample out; more than
// one in a hundred such resamples, and the bounds are not computable.
// bca calls f n more times for the jackknife (Efron and Tibshirani 1993, section 14.3).
func Bootstrap(n int, o Options, f func(idx []int) float64) Interval {
	iv := newInterval(max(n, 0), o.method(MethodPercentile), o)
	if n <= 0 {
		iv.warn(WarnNotComputable, "no values")
		return iv
	}
	if iv.Method != MethodPercentile && iv.Method != MethodBCa {
		iv.unknownMethod()
		return iv
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if iv.Point = f(all); math.IsInf(iv.Point, 0) {
		iv.Point = math.NaN()
	}
	if !iv.boundable(math.NaN()) {
		return iv
	}
	r, idx := newRand(o.Seed), make([]int, n)
	reps := make([]float64, 0, o.resamples())
	for range o.resamples() {
		draw(r, idx, n)
		if v := f(idx); !math.IsNaN(v) {
			reps = append(reps, v)
		}
	}
	iv.Resamples, iv.Seed = o.resamples(), o.Seed
	if len(reps)*100 < iv.Resamples*99 {
		iv.warn(WarnNotComputable, "the estimate does not exist on %d of %d resamples", iv.Resamples-len(reps), iv.Resamples)
		return iv
	}
	var accel float64
	if iv.Method == MethodBCa {
		accel = jackknifeAcceleration(all, f)
	}
	iv.fromReplicates(reps, accel)
	if iv.Computable() && reps[0] == reps[len(reps)-1] {
		iv.warn(WarnNoVariation, "all resamples give the same value")
	}
	return iv
}

// BootstrapT returns f's estimate over all n units and a bootstrap_t interval; f returns the estimate and its
// standard error over the units that idx names. With method bootstrap_t_log the interval is made for the estimate's
// logarithm, whose standard error is se/estimate; it needs positive estimates.
func BootstrapT(n int, o Options, f func(idx []int) (estimate, se float64)) Interval {
	iv := newInterval(max(n, 0), o.method(MethodBootstrapT), o)
	if n <= 0 {
		iv.warn(WarnNotComputable, "no values")
		return iv
	}
	if iv.Method != MethodBootstrapT && iv.Method != MethodBootstrapTLog {
		iv.unknownMethod()
		return iv
	}
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	var se float64
	iv.Point, se = f(idx)
	if !iv.boundable(se) {
		return iv
	}
	r := newRand(o.Seed)
	ests, ses := make([]float64, o.resamples()), make([]float64, o.resamples())
	for b := range ests {
		draw(r, idx, n)
		ests[b], ses[b] = f(idx)
	}
	iv.Resamples, iv.Seed = o.resamples(), o.Seed
	iv.studentized(se, ests, ses)
	return iv
}

// jackknifeAcceleration returns BCa's a from leaving each unit out.
func jackknifeAcceleration(all []int, f func([]int) float64) float64 {
	n := len(all)
	left, idx := make([]float64, n), make([]int, n-1)
	for i := range all {
		copy(idx, all[:i])
		copy(idx[i:], all[i+1:])
		left[i] = f(idx)
	}
	m := mean(left)
	var s2, s3 float64
	for _, v := range left {
		d := m - v
		s2 += d * d
		s3 += d * d * d
	}
	if s2 == 0 {
		return 0
	}
	return s3 / (6 * math.Pow(s2, 1.5))
}

// fromReplicates sorts reps and sets percentile or bca bounds.
func (iv *Interval) fromReplicates(reps []float64, accel float64) {
	slices.Sort(reps)
	tail := (1 - iv.Level) / 2
	pLo, pHi := tail, 1-tail
	if iv.Method == MethodBCa {
		pLo, pHi = bcaProbabilities(reps, iv.Point, tail, accel)
	}
	iv.bound(Quantile(reps, pLo), Quantile(reps, pHi))
}

// bcaProbabilities returns the quantiles that BCa reads instead of tail and 1-tail (Efron 1987, equation 2.3).
// Replicates that equal the estimate count half below it, so that ties do not read as bias.
func bcaProbabilities(sorted []float64, point, tail, accel float64) (lo, hi float64) {
	below, _ := slices.BinarySearch(sorted, point)
	upTo := below
	for upTo < len(sorted) && sorted[upTo] == point {
		upTo++
	}
	z0 := normal.Quantile((float64(below) + float64(upTo)) / 2 / float64(len(sorted)))
	adjusted := func(z float64) float64 {
		return normal.CDF(z0 + (z0+z)/(1-accel*(z0+z)))
	}
	z := normal.Quantile(1 - tail)
	return adjusted(-z), adjusted(z)
}

// studentized sets bootstrap_t bounds around iv.Point with standard error se from the resamples' estimates and
// standard errors: point - t*(1-tail) se, point - t*(tail) se (Efron and Tibshirani 1993, equation 12.22).
// A resample without variation has t = 0 when it hits the point and an infinite t otherwise; the bounds do not
// exist when so many are infinite that a needed quantile is.
func (iv *Interval) studentized(se float64, ests, ses []float64) {
	onLog := iv.Method == MethodBootstrapTLog
	if onLog && iv.Point <= 0 {
		iv.warn(WarnNotComputable, "%s needs a positive estimate", iv.Method)
		return
	}
	t := make([]float64, len(ests))
	for b, e := range ests {
		d, s := e-iv.Point, ses[b]
		if onLog {
			d, s = math.Log(e/iv.Point), s/e
		}
		switch {
		case math.IsNaN(d) || math.IsNaN(s):
			t[b] = math.Inf(1 - 2*(b%2)) // unknown: a half on either side widens, and never narrows
		case d == 0:
			t[b] = 0
		default:
			t[b] = d / s
		}
	}
	slices.Sort(t)
	tail := (1 - iv.Level) / 2
	tLo, tHi := Quantile(t, tail), Quantile(t, 1-tail)
	if onLog {
		s := se / iv.Point
		iv.bound(iv.Point*math.Exp(-tHi*s), iv.Point*math.Exp(-tLo*s))
		return
	}
	iv.bound(iv.Point-tHi*se, iv.Point-tLo*se)
}
