package stat_test

import (
	"fmt"

	"sembench/internal/stat"
)

func ExampleGeoMean() {
	// Cold over warm TTFT of eight pairs: three hits, five misses.
	ratios := []float64{2.9, 3.1, 3.4, 0.98, 1.02, 1.01, 0.97, 1.05}
	iv := stat.GeoMean(ratios, stat.Options{})
	fmt.Printf("%.2f [%.2f, %.2f] by %s, n = %d\n", iv.Point, iv.Lo, iv.Hi, iv.Method, iv.N)
	fmt.Println(iv.Warnings)
	// Output:
	// 1.54 [0.94, 2.52] by t_log, n = 8
	// [coverage_warning: 8 values, fewer than 20]
}
