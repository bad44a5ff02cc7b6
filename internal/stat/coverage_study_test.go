package stat

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// cell is what many simulated samples of one population and size say about one method.
type cell struct {
	sims, computable, covered int
	below, above              int // truth below Lo, above Hi
	warned, calm, calmCovered int // with a coverage_warning; without one, and covering
	width                     float64
}

func (c *cell) add(iv Interval, truth float64) {
	c.sims++
	if !iv.Computable() {
		return
	}
	c.computable++
	c.width += iv.Hi - iv.Lo
	const rounding = 1e-9 // on a grid the truth is often exactly a bound
	in := iv.Lo <= truth+rounding && truth <= iv.Hi+rounding
	switch {
	case in:
		c.covered++
	case truth < iv.Lo:
		c.below++
	default:
		c.above++
	}
	if iv.CoverageWarned() {
		c.warned++
		return
	}
	c.calm++
	if in {
		c.calmCovered++
	}
}

func (c cell) coverage() float64 { return float64(c.covered) / float64(c.computable) }

type method struct {
	estimate, name string
	of             func([]float64, Options) Interval
	options        Options
}

// The defaults and what they were chosen from; the latter with fewer resamples, which changes their coverage by tenths of a per cent.
var studied = []method{
	{EstimateMean, MethodT, Mean, Options{Method: MethodT}},
	{EstimateMean, MethodPercentile, Mean, Options{Method: MethodPercentile, Resamples: 500}},
	{EstimateMean, MethodBCa, Mean, Options{Method: MethodBCa, Resamples: 500}},
	{EstimateMean, MethodBootstrapT, Mean, Options{Resamples: 1000}},
	{EstimateGeoMean, MethodTLog, GeoMean, Options{}},
	{EstimateMedian, MethodOrder, Median, Options{Method: MethodOrder}},
	{EstimateMedian, MethodOrderInterp, Median, Options{}},
	{EstimateHodgesLehmann, MethodWilcoxon, func(x []float64, o Options) Interval {
		l, _ := logs(x)
		return HodgesLehmann(l, o).Exp()
	}, Options{}},
}

// simulate returns one cell per studied method. The samples depend on n and the population only.
func simulate(p population, n, sims int, methods []method) []cell {
	mean, median, geomean, pseudomedian := p.truths()
	truth := map[string]float64{EstimateMean: mean, EstimateMedian: median, EstimateGeoMean: geomean, EstimateHodgesLehmann: pseudomedian}
	cells := make([]cell, len(methods))
	h := fnv.New64a()
	h.Write([]byte(p.label())) // its own stream: rows that shared their draws would err together
	r := rand.New(rand.NewPCG(uint64(n), h.Sum64()))
	for s := range sims {
		x, hits := p.draw(r, n)
		for i, m := range methods {
			if math.IsNaN(truth[m.estimate]) {
				continue
			}
			o := m.options
			o.Seed = uint64(s)
			if p.hitRate > 0 {
				o.Hits = hits
			} else {
				o.Uniform = true
			}
			cells[i].add(m.of(x, o), truth[m.estimate])
		}
	}
	return cells
}

// expectedOfRarerKind is what the study calls "hits and misses each >= 5"; a population of one kind has no rarer one.
func expectedOfRarerKind(p population, n int) float64 {
	if p.hitRate == 0 {
		return math.Inf(1)
	}
	return float64(n) * min(p.hitRate, 1-p.hitRate)
}

// A short study at each run: the defaults of geometric mean and median keep their promise, the mean does where it does not warn.
func TestCoverageOfDefaults(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates")
	}
	const sims = 1000
	var defaults []method
	for _, m := range studied {
		if m.options.Method == "" && m.estimate != EstimateHodgesLehmann {
			m.options.Resamples = 500
			defaults = append(defaults, m)
		}
	}
	slack := 3 * math.Sqrt(0.95*0.05/sims)
	for _, p := range []population{
		{name: "log-normal", sigma: 0.3},
		{name: "hits", sigma: 0.1, hitRate: 0.3, speedup: 4},
	} {
		for i, c := range simulate(p, 50, sims, defaults) {
			m := defaults[i]
			if got := c.coverage(); got < 0.95-slack || got > 0.97+slack {
				t.Errorf("%s by %s covers %s %.3f of the time", m.estimate, m.name, p.name, got)
			}
		}
	}
	c := simulate(population{sigma: 0.3, hitRate: 0.1, speedup: 4}, 20, sims, defaults[:1])[0]
	if c.coverage() > 0.93 || float64(c.warned) < 0.8*sims {
		t.Errorf("mean of 20 with 2 expected hits: covers %.3f, warned %d of %d", c.coverage(), c.warned, sims)
	}
}

// TestCoverageStudy is `make coverage`: SEMBENCH_COVERAGE is the number of simulations per population and size (the documented
// table has 4,000). With SEMBENCH_COVERAGE_TABLE=docs/statistics.md, given from this directory, it rewrites the tables between the markers there.
func TestCoverageStudy(t *testing.T) {
	sims, _ := strconv.Atoi(os.Getenv("SEMBENCH_COVERAGE"))
	if sims == 0 {
		t.Skip("SEMBENCH_COVERAGE is not set: the study takes minutes")
	}
	sizes := []int{10, 20, 50, 200}
	ps := populations()
	results := make([][]cell, len(ps)*len(sizes))
	var wg sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for at := range work {
				results[at] = simulate(ps[at/len(sizes)], sizes[at%len(sizes)], sims, studied)
			}
		}()
	}
	for at := range results {
		work <- at
	}
	close(work)
	wg.Wait()

	slack := 2.5 * math.Sqrt(0.95*0.05/float64(sims))
	for at, cells := range results {
		p, n := ps[at/len(sizes)], sizes[at%len(sizes)]
		for i, c := range cells {
			m, got := studied[i], c.coverage()
			if m.options.Method != "" || c.sims == 0 {
				continue
			}
			low, high := got < 0.93-slack, got > 0.97+slack
			switch {
			case m.estimate == EstimateMedian && (low || high && p.grid == 0),
				m.estimate == EstimateGeoMean && n >= 20 && expectedOfRarerKind(p, n) >= 6 && (low || high):
				t.Errorf("%s of %d from %s covers %.3f", m.estimate, n, p.label(), got)
			case m.estimate == EstimateMean && low && p.stall == 0 && float64(c.warned) < 0.75*float64(c.computable):
				t.Errorf("mean of %d from %s covers %.3f but warned only %.2f", n, p.label(), got, float64(c.warned)/float64(c.computable))
			}
		}
	}
	var out bytes.Buffer
	writeTables(&out, sims, ps, sizes, results)
	studyRates(&out, sims)
	studyDrops(&out, sims)
	path := os.Getenv("SEMBENCH_COVERAGE_TABLE")
	if path == "" {
		t.Log("\n" + out.String())
		return
	}
	if err := replaceBetweenMarkers(path, out.String()); err != nil {
		t.Fatal(err)
	}
}

func (p population) label() string {
	s := fmt.Sprintf("%s, σ %.1f", p.name, p.sigma)
	if p.hitRate > 0 {
		s += fmt.Sprintf(", %.0f %% at %.0fx", 100*p.hitRate, p.speedup)
	}
	return s
}

func writeTables(out *bytes.Buffer, sims int, ps []population, sizes []int, results [][]cell) {
	rows := func(row func(c []cell) string) {
		for at, cells := range results {
			if line := row(cells); line != "" {
				fmt.Fprintf(out, "| %s | %d | %s |\n", ps[at/len(sizes)].label(), sizes[at%len(sizes)], line)
			}
		}
	}
	fmt.Fprintf(out, "%d simulations per row, 1,000 resamples (percentile and bca 500), nominal 95 %%; coverage in per cent.\n\n### Mean\n\n", sims)
	out.WriteString("| population | n | t | percentile | bca | **bootstrap_t** | truth below / above | width, to t's | warned | covers when not warned |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	rows(func(c []cell) string {
		b := c[3]
		if b.sims == 0 {
			return ""
		}
		return fmt.Sprintf("%s | %s | %s | **%s** | %s / %s | %.2f | %s | %s",
			percent(c[0].covered, c[0].computable), percent(c[1].covered, c[1].computable), percent(c[2].covered, c[2].computable),
			percent(b.covered, b.computable), percent(b.below, b.computable), percent(b.above, b.computable),
			b.width/float64(b.computable)/(c[0].width/float64(c[0].computable)), percent(b.warned, b.computable), percent(b.calmCovered, b.calm))
	})
	out.WriteString("\n### Geometric mean, median, Hodges-Lehmann\n\n")
	out.WriteString("| population | n | **geomean t_log** | width | warned | covers when not warned | median order_statistic | **median interpolated** | width | **Hodges-Lehmann** | width | warned |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	rows(func(c []cell) string {
		width := func(c cell) string { return fmt.Sprintf("%.2f", c.width/float64(c.computable)) }
		return fmt.Sprintf("**%s** | %s | %s | %s | %s | **%s** | %s | **%s** | %s | %s",
			percent(c[4].covered, c[4].computable), width(c[4]), percent(c[4].warned, c[4].computable), percent(c[4].calmCovered, c[4].calm),
			percent(c[5].covered, c[5].computable), percent(c[6].covered, c[6].computable), width(c[6]),
			percent(c[7].covered, c[7].computable), width(c[7]), percent(c[7].warned, c[7].computable))
	})
}

func percent(a, b int) string {
	if b < 50 { // of fewer samples a percentage says nothing
		return "–"
	}
	return fmt.Sprintf("%.1f", 100*float64(a)/float64(b))
}

// studyRates writes the table of sums over sums: log-normal sizes (sigma 0.8), a share of rows with 50 to 100 % of their size in the
// numerator, the others with none.
func studyRates(out *bytes.Buffer, sims int) {
	out.WriteString("\n### Sum over sum\n\n| rows with a numerator | n | percentile | bca | **bootstrap_t** | warned | covers when not warned |\n|--:|--:|--:|--:|--:|--:|--:|\n")
	methods := []string{MethodPercentile, MethodBCa, ""}
	for _, share := range []float64{0.1, 0.3, 0.6, 0.9} {
		for _, n := range []int{10, 20, 50, 200} {
			r := rand.New(rand.NewPCG(uint64(n), 21))
			cells := make([]cell, len(methods))
			for s := range sims {
				num, den := make([]float64, n), make([]float64, n)
				for i := range den {
					den[i] = 40 * math.Exp(0.8*r.NormFloat64())
					if r.Float64() < share {
						num[i] = den[i] * (0.5 + 0.5*r.Float64())
					}
				}
				for i, m := range methods {
					cells[i].add(RatioOfSums(num, den, Options{Method: m, Seed: uint64(s), Resamples: 500}), 0.75*share)
				}
			}
			c := cells[2]
			fmt.Fprintf(out, "| %.0f %% | %d | %s | %s | **%s** | %s | %s |\n", 100*share, n, percent(cells[0].covered, cells[0].computable),
				percent(cells[1].covered, cells[1].computable), percent(c.covered, c.computable), percent(c.warned, c.computable), percent(c.calmCovered, c.calm))
		}
	}
}

// studyDrops writes the table of drops that are 0 in truth: floor and run agree perfectly with the same probability, else by 0.3 to 1;
// three quarters of the run in one length band, the rest in one that agrees less; 30 floor values in each.
func studyDrops(out *bytes.Buffer, sims int) {
	out.WriteString("\n### Drop below a noise floor\n\n| perfect agreement | n | percentile | bootstrap_t | **bootstrap_se** | upper bound alone (97.5) |\n|--:|--:|--:|--:|--:|--:|\n")
	methods := []string{MethodPercentile, MethodBootstrapT, ""}
	for _, perfect := range []float64{0.9, 0.8, 0.5} {
		for _, n := range []int{20, 40, 100, 200} {
			r := rand.New(rand.NewPCG(uint64(n), 22))
			agreement := func(n int, perfect float64) []float64 {
				x := make([]float64, n)
				for i := range x {
					if x[i] = 1; r.Float64() > perfect {
						x[i] = 0.3 + 0.7*r.Float64()
					}
				}
				return x
			}
			cells := make([]cell, len(methods))
			for s := range sims {
				floor := [][]float64{agreement(30, perfect), agreement(30, perfect-0.3)}
				run := append(agreement(n*3/4, perfect), agreement(n-n*3/4, perfect-0.3)...)
				band := make([]int, n)
				for i := n * 3 / 4; i < n; i++ {
					band[i] = 1
				}
				for i, m := range methods {
					cells[i].add(Drop(floor, run, band, Options{Method: m, Seed: uint64(s), Resamples: 300}), 0)
				}
			}
			c := cells[2]
			fmt.Fprintf(out, "| %.0f %% | %d | %s | %s | **%s** | %s |\n", 100*perfect, n, percent(cells[0].covered, cells[0].computable),
				percent(cells[1].covered, cells[1].computable), percent(c.covered, c.computable), percent(c.computable-c.above, c.computable))
		}
	}
}

func replaceBetweenMarkers(path, text string) error {
	const begin, end = "<!-- coverage study: begin -->\n", "<!-- coverage study: end -->\n"
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("reading %s: the coverage study markers are missing", path)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
