package stat

import (
	"math"
	"math/rand/v2"
	"sort"
)

// A population of ratios whose mean, median, geometric mean and pseudomedian are known, so that an interval can be seen to cover
// the truth or not.
//
// log ratio = sigma Z + [hit] ln(speedup) + [stall] ±E, with Z normal, or Student's t with 3 degrees of freedom, and E
// exponential: an arm that stalls multiplies the ratio by a Pareto factor (its mean is finite above tail 1, its variance above 2).
// A grid rounds the ratio to multiples of it, as a coarse timer does, and so makes ties.
type population struct {
	name    string
	sigma   float64
	student bool
	hitRate float64
	speedup float64
	stall   float64 // probability; either arm is as likely
	tail    float64 // Pareto exponent of a stall
	grid    float64
}

func (p population) draw(r *rand.Rand, n int) (ratios []float64, hits []bool) {
	ratios = make([]float64, n)
	hits = make([]bool, n)
	for i := range ratios {
		l := p.sigma * r.NormFloat64()
		if p.student {
			chi := math.Sqrt((sq(r.NormFloat64()) + sq(r.NormFloat64()) + sq(r.NormFloat64())) / 3)
			l /= chi
		}
		if r.Float64() < p.hitRate {
			l += math.Log(p.speedup)
			hits[i] = true
		}
		if p.stall > 0 && r.Float64() < p.stall {
			e := r.ExpFloat64() / p.tail
			if r.IntN(2) == 0 {
				e = -e
			}
			l += e
		}
		ratios[i] = p.onGrid(math.Exp(l))
	}
	return ratios, hits
}

func sq(v float64) float64 { return v * v }

func (p population) onGrid(ratio float64) float64 {
	if p.grid == 0 {
		return ratio
	}
	return max(1, math.Round(ratio/p.grid)) * p.grid
}

// cdf of the log ratio before the grid.
func (p population) cdf(l float64) float64 {
	noise := func(l float64) float64 {
		if !p.student {
			return normal.CDF(l / p.sigma)
		}
		return studentCDF3(l / p.sigma)
	}
	stalled := func(l float64) float64 {
		if p.stall == 0 {
			return noise(l)
		}
		const steps = 200
		var s float64
		for i := range steps {
			e := -math.Log(1-(float64(i)+0.5)/steps) / p.tail
			s += (noise(l-e) + noise(l+e)) / 2
		}
		return (1-p.stall)*noise(l) + p.stall*s/steps
	}
	if p.hitRate == 0 {
		return stalled(l)
	}
	return (1-p.hitRate)*stalled(l) + p.hitRate*stalled(l-math.Log(p.speedup))
}

// studentCDF3 in closed form (Johnson, Kotz and Balakrishnan 1995, chapter 28).
func studentCDF3(t float64) float64 {
	u := t / math.Sqrt(3)
	return 0.5 + (u/(1+u*u)+math.Atan(u))/math.Pi
}

// quantile of the log ratio, on the grid if there is one.
func (p population) quantile(q float64) float64 {
	lo, hi := -60.0, 60.0
	for range 80 {
		if mid := (lo + hi) / 2; p.cdf(mid) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Log(p.onGrid(math.Exp(hi)))
}

// truths of the four estimates; NaN for a mean that does not exist.
func (p population) truths() (mean, median, geomean, pseudomedian float64) {
	median = math.Exp(p.quantile(0.5))
	const steps = 1000
	q := make([]float64, steps)
	for i := range q {
		q[i] = p.quantile((float64(i) + 0.5) / steps)
	}
	if p.grid > 0 {
		mean, geomean = p.onGridMeans()
	} else {
		mean = math.Exp(p.sigma*p.sigma/2) * (1 + p.hitRate*(p.speedup-1))
		if p.stall > 0 {
			mean *= 1 - p.stall + p.stall/2*(p.tail/(p.tail-1)+p.tail/(p.tail+1))
		}
		if p.student {
			mean = math.NaN()
		}
		geomean = math.Exp(p.hitRate * math.Log(max(p.speedup, 1)))
	}
	return mean, median, geomean, math.Exp(p.pseudomedian(q))
}

// onGridMeans sums over the cells of the grid.
func (p population) onGridMeans() (mean, geomean float64) {
	below := 0.0
	for k := 1.0; k*p.grid < 1e4; k++ {
		upTo := p.cdf(math.Log((k + 0.5) * p.grid))
		mean += (upTo - below) * k * p.grid
		geomean += (upTo - below) * math.Log(k*p.grid)
		if below = upTo; upTo > 1-1e-15 {
			break
		}
	}
	return mean, math.Exp(geomean)
}

// pseudomedian of the log ratio: the median of (X+Y)/2, from a fine grid of quantiles of X and Y.
func (p population) pseudomedian(q []float64) float64 {
	lo, hi := q[0], q[len(q)-1]
	for range 60 {
		mid := (lo + hi) / 2
		var below int
		for _, u := range q {
			below += sort.SearchFloat64s(q, 2*mid-u)
		}
		if float64(below) < float64(len(q))*float64(len(q))/2 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// populations of the coverage study.
func populations() []population {
	var all []population
	for _, s := range []float64{0.1, 0.3, 0.5, 1} {
		all = append(all, population{name: "log-normal", sigma: s})
	}
	for _, h := range []float64{0.1, 0.3, 0.6} {
		for _, k := range []float64{2, 4, 10} {
			for _, s := range []float64{0.1, 0.3} {
				all = append(all, population{name: "hits", sigma: s, hitRate: h, speedup: k})
			}
		}
	}
	all = append(all,
		population{name: "hits", sigma: 0.1, hitRate: 0.85, speedup: 4},
		population{name: "hits", sigma: 0.3, hitRate: 0.85, speedup: 4},
		population{name: "stalls 5 %, Pareto 2.5", sigma: 0.1, stall: 0.05, tail: 2.5},
		population{name: "stalls 5 %, Pareto 1.5", sigma: 0.1, stall: 0.05, tail: 1.5},
		population{name: "stalls 5 %, Pareto 2.5, hits", sigma: 0.1, stall: 0.05, tail: 2.5, hitRate: 0.3, speedup: 4},
		population{name: "Student t3 logs", sigma: 0.2, student: true},
		population{name: "Student t3 logs, hits", sigma: 0.2, student: true, hitRate: 0.3, speedup: 4},
		population{name: "ties 0.1", sigma: 0.3, grid: 0.1},
		population{name: "ties 0.5", sigma: 0.3, grid: 0.5},
		population{name: "ties 0.5, hits", sigma: 0.3, grid: 0.5, hitRate: 0.3, speedup: 4},
	)
	return all
}
