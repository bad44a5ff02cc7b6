package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkAllMeans is what a report of 10,000 pairs asks for: blended mean, its hits (40 %), geometric mean and median, and a tenth
// of controls, at 10,000 resamples. The project's limit is one second on one core.
func BenchmarkAllMeans(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 10_000)
	for i := range x {
		x[i] = math.Exp(0.2 * r.NormFloat64())
		if i < 4000 {
			x[i] *= 3
		}
	}
	o := Options{Resamples: 10_000}
	b.ResetTimer()
	for range b.N {
		Mean(x, o)
		Mean(x[:4000], o)
		Mean(x[9000:], o)
		GeoMean(x, o)
		Median(x, o)
	}
}

func BenchmarkHodgesLehmann(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 10_000)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	b.ResetTimer()
	for range b.N {
		HodgesLehmann(x, Options{})
	}
}

func BenchmarkRatioOfSums(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, 10_000), make([]float64, 10_000)
	for i := range x {
		x[i], y[i] = r.Float64(), 1+r.Float64()
	}
	b.ResetTimer()
	for range b.N {
		RatioOfSums(x, y, Options{})
	}
}
