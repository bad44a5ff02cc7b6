package replay

import (
	"context"
	"fmt"
	"math"
	"time"
)

// minSeparation is when a TTFT canary counts (protocol.md, section 3).
const minSeparation = 4

// resetTrial is how long the pre-flight tries one reset address.
const resetTrial = 2 * time.Second

// repeats is how often a prompt is sent cold and again, where reuse can only be seen in TTFT.
const repeats = 6

// separate measures how far TTFT alone tells a repeated prompt from a new one, at growing lengths: a fast engine needs long ones,
// and a server with a short context refuses them.
func (f *flight) separate(ctx context.Context, words int) {
	for _, times := range []int{1, 3, 8} {
		cold, warm := f.timed(ctx, words*times)
		d := separation(cold, warm)
		if d == nil {
			break
		}
		f.report.TTFTSeparation = d
		if *d >= minSeparation {
			meanCold, _ := moments(cold)
			meanWarm, _ := moments(warm)
			f.report.TTFTCanaryMS, f.report.CanaryWords = new((meanCold+meanWarm)/2), words*times
			f.cfg.CanaryWords = words * times
			f.check("ttft_canary", "pass", fmt.Sprintf("TTFT tells a repeated prompt of %d words from a new one: %.1f standard deviations", words*times, *d), "")
			return
		}
	}
	f.check("cold_provable", "fail", "neither cached tokens nor TTFT show reuse: no step can be proven cold, every pair will be contaminated", f.preset.cachedHint)
}

// timed sends new prompts, each twice, and gives the times of both.
func (f *flight) timed(ctx context.Context, words int) (cold, warm []float64) {
	for i := range repeats {
		name := fmt.Sprint("ttft", words, i)
		first, second := f.twice(ctx, f.words(name, words), f.ownSalt(name))
		if a, b := reuseTime(first), reuseTime(second); a != nil && b != nil {
			cold, warm = append(cold, *a), append(warm, *b)
		}
	}
	return cold, warm
}

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
