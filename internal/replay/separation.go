package replay

import (
	"math"
	"time"
)

// minSeparation is when a TTFT canary counts (protocol.md, section 3).
const minSeparation = 4

// resetTrial is how long the pre-flight tries one reset address.
const resetTrial = 2 * time.Second

// separation is (mean cold - mean warm) / pooled standard deviation; nil below three of each or when both do not vary.
func separation(cold, warm []float64) *float64 {
	if len(cold) < 3 || len(warm) < 3 {
		return nil
	}
	meanCold, squaresCold := moments(cold)
	meanWarm, squaresWarm := moments(warm)
	pooled := math.Sqrt((squaresCold + squaresWarm) / float64(len(cold)+len(warm)-2))
	if pooled == 0 {
		return nil
	}
	return new((meanCold - meanWarm) / pooled)
}

// moments gives the mean and the sum of squared deviations.
func moments(x []float64) (mean, squares float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}
