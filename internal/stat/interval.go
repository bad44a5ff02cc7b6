package stat

import (
	"fmt"
	"math"
	"strings"
)

// Methods of making an interval. Options.Method takes the ones that an estimate documents.
const (
	MethodPercentile    = "percentile"             // Efron 1979: quantiles of the resampled estimates
	MethodBCa           = "bca"                    // Efron 1987: bias-corrected and accelerated
	MethodBootstrapT    = "bootstrap_t"            // Efron 1982, Hall 1988: studentized resamples
	MethodBootstrapTLog = "bootstrap_t_log"        // bootstrap_t of the estimate's logarithm
	MethodT             = "t"                      // Student
	MethodTLog          = "t_log"                  // Student on the logarithms
	MethodOrder         = "order_statistic"        // exact ranks, binomial
	MethodOrderInterp   = "order_statistic_interp" // Hettmansperger and Sheather 1986
	MethodWilcoxon      = "wilcoxon_inversion"     // the shifts that a signed-rank test does not reject
	MethodBootstrapSE   = "bootstrap_se"           // Student's quantile times the standard deviation of the resampled estimates
	MethodWelch         = "welch"                  // two samples, unequal variances
)

// Warnings start with one of these words, a colon and the reason.
const (
	// WarnCoverage: the measured coverage for such data is below 93 %; a gate on this interval is inconclusive.
	WarnCoverage = "coverage_warning"
	// WarnNoVariation: all values are equal, so the interval shows no sampling error.
	WarnNoVariation = "no_variation"
	// WarnOneKind: values that may be hits or misses were all one of them; the interval speaks for that kind only.
	WarnOneKind = "one_kind"
	// WarnNotComputable: the bounds (and perhaps the point) could not be computed.
	WarnNotComputable = "not_computable"
)

// Options of an estimate; the zero value works.
type Options struct {
	// Level is the confidence in (0,1); 0 means 0.95. A value outside makes the bounds not computable.
	Level float64
	// Resamples of a bootstrap; 0 means 2,000: at 95 % the bounds then rest on the 50 most extreme resamples.
	Resamples int
	// Seed of the resampling. The same seed gives the same interval.
	Seed uint64
	// Method of the interval; empty takes the estimate's default.
	Method string
	// Hits tells for each value whether it is a hit; nil when unknown. It changes no number, only how well coverage_warning
	// is judged: two kinds of values are no heavy tail.
	Hits []bool
	// Uniform: all values are of one kind by construction, as controls and A/A twins are. Likewise only for coverage_warning.
	Uniform bool
}

func (o Options) level() float64 {
	if o.Level == 0 {
		return 0.95
	}
	return o.Level
}

func (o Options) resamples() int {
	if o.Resamples <= 0 {
		return 2000
	}
	return o.Resamples
}

func (o Options) method(byDefault string) string {
	if o.Method == "" {
		return byDefault
	}
	return o.Method
}

// Interval is an estimate and how far it may be trusted.
type Interval struct {
	// Point is the estimate; NaN when it is not computable.
	Point float64
	// Lo and Hi bound the estimated quantity; NaN when not computable, both or neither.
	Lo, Hi float64
	// Level is the confidence that was asked for, in (0,1).
	Level float64
	// Method that made the bounds.
	Method string
	// N is the number of values, resampled units or pairs.
	N int
	// Resamples made; 0 when the method does not resample.
	Resamples int
	// Seed of the resamples.
	Seed uint64
	// Warnings, each "word: reason", in the order in which they arose.
	Warnings []string
}

// Computable reports whether both bounds exist.
func (iv Interval) Computable() bool { return !math.IsNaN(iv.Lo) && !math.IsNaN(iv.Hi) }

// CoverageWarned reports whether the interval carries a coverage_warning.
func (iv Interval) CoverageWarned() bool {
	for _, w := range iv.Warnings {
		if strings.HasPrefix(w, WarnCoverage) {
			return true
		}
	}
	return false
}

// Exp returns the interval of exp(quantity): a shift of log ratios becomes a ratio. Order keeps, so does coverage.
func (iv Interval) Exp() Interval {
	iv.Point, iv.Lo, iv.Hi = math.Exp(iv.Point), math.Exp(iv.Lo), math.Exp(iv.Hi)
	iv.Warnings = append([]string(nil), iv.Warnings...)
	return iv
}

// newInterval returns an interval without bounds.
func newInterval(n int, method string, o Options) Interval {
	return Interval{Point: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Level: o.level(), Method: method, N: n}
}

func (iv *Interval) warn(word, format string, args ...any) {
	iv.Warnings = append(iv.Warnings, word+": "+fmt.Sprintf(format, args...))
}

// begin returns an interval without bounds for x and whether the values allow a point estimate.
func begin(x []float64, method string, o Options) (Interval, bool) {
	iv := newInterval(len(x), method, o)
	if len(x) == 0 {
		iv.warn(WarnNotComputable, "no values")
		return iv, false
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			iv.warn(WarnNotComputable, "value %d is not finite", i)
			return iv, false
		}
	}
	if o.Hits != nil && len(o.Hits) != len(x) {
		iv.warn(WarnNotComputable, "%d hit marks for %d values", len(o.Hits), len(x))
		return iv, false
	}
	return iv, true
}

// boundable reports whether bounds may be made around iv.Point, and settles the trivial cases: a bad level, one
// value, values that are all equal.
func (iv *Interval) boundable(sd float64) bool {
	switch {
	case !(iv.Level > 0 && iv.Level < 1):
		iv.warn(WarnNotComputable, "level %v is not between 0 and 1", iv.Level)
	case math.IsNaN(iv.Point) || math.IsInf(iv.Point, 0):
		iv.warn(WarnNotComputable, "the estimate is not finite")
	case iv.N < 2:
		iv.warn(WarnNotComputable, "one value shows no variation")
	case sd == 0:
		iv.Lo, iv.Hi = iv.Point, iv.Point
		iv.warn(WarnNoVariation, "all %d values are equal", iv.N)
	default:
		return true
	}
	return false
}

// bound sets both bounds, or neither when one is not finite.
func (iv *Interval) bound(lo, hi float64) {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		iv.warn(WarnNotComputable, "%s has no finite bounds for these %d values", iv.Method, iv.N)
		return
	}
	iv.Lo, iv.Hi = lo, hi
}

func (iv *Interval) unknownMethod() {
	iv.warn(WarnNotComputable, "method %q does not belong to this estimate", iv.Method)
}
