package workload_test

import (
	"fmt"

	"sembench/internal/workload"
)

// The smoke workload: what every transform already offers to a plain block cache.
func Example() {
	items, report, err := workload.Build(workload.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(items), "items, guards hold:", report.Audit.Passed)
	for _, name := range []string{"exact_repeat", "negative_control"} {
		fmt.Printf("%s: exact block hit rate %.2f\n", name, *report.Audit.ByTransform[name].ExactBlockHitRate)
	}
	// Output:
	// 24 items, guards hold: true
	// exact_repeat: exact block hit rate 1.00
	// negative_control: exact block hit rate 0.00
}
