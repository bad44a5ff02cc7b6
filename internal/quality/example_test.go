package quality_test

import (
	"fmt"

	"sembench/internal/quality"
)

func ExampleScore() {
	r := quality.Score("It was signed in Paris, in 1951.", []string{"Paris 1951", "London"}, 0.60)
	fmt.Printf("pass %v, recall %.2f, F1 %.2f\n", r.Pass, r.Recall, r.F1)
	fmt.Println("leak:", quality.Leak("It was signed in Paris, in 1951.", "London"))
	// Output:
	// pass true, recall 1.00, F1 0.44
	// leak: false
}
