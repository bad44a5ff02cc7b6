package trace_test

import (
	"fmt"
	"strings"

	"sembench/internal/trace"
)

// Two requests of 1,024 tokens in blocks of 512: the second shares the first block.
func Example() {
	const log = `{"timestamp": 0, "input_length": 1024, "output_length": 9, "hash_ids": [1, 2]}
{"timestamp": 40, "input_length": 1024, "output_length": 9, "hash_ids": [1, 3]}
`
	c, err := trace.Analyze(strings.NewReader(log), "log.jsonl", "", trace.Options{Capacities: []int{1, 10}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range c.LRU {
		fmt.Printf("%d blocks: %.2f of the tokens hit\n", p.CapacityBlocks, *p.TokenHitRate)
	}
	// Output:
	// 1 blocks: 0.25 of the tokens hit
	// 10 blocks: 0.25 of the tokens hit
}
