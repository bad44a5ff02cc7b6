package block_test

import (
	"fmt"

	"sembench/internal/block"
)

func ExampleIndex() {
	x := block.NewIndex(2)
	x.Add("donor", []uint32{1, 2, 3, 4, 5, 6})
	target := []uint32{1, 2, 5, 6, 7, 8, 9}
	fmt.Println(block.Count(len(target), 2), x.Hits(nil, target), x.PrefixBlocks(target))
	// Output: 3 [true true false] 1
}
