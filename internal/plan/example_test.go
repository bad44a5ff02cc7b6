package plan_test

import (
	"context"
	"fmt"

	"sembench/internal/block"
	"sembench/internal/plan"
)

// A document that moved by three tokens: no exact block, yet most of it is there to copy.
func Example() {
	donor := make([]uint32, 64)
	for i := range donor {
		donor[i] = uint32(1000 + i)
	}
	target := append([]uint32{7, 8, 9}, donor...)

	exact := block.NewIndex(16)
	exact.Add("donor", donor)
	hits := exact.Hits(nil, target)

	p, err := plan.Open("span", plan.Options{BlockSize: 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	if err := p.Register(plan.Donor{ID: "donor", Tokens: donor}); err != nil {
		fmt.Println(err)
		return
	}
	proposed := p.Plan(context.Background(), plan.Target{ItemID: "item", Tokens: target})
	counts, err := plan.Count(proposed, hits)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hits)
	fmt.Printf("%+v\n", proposed.Spans)
	fmt.Println(counts.Candidate, counts.Eligible, counts.Novel, counts.CopiedTokens)
	// Output:
	// [false false false false]
	// [{TargetStart:3 Length:64 DonorID:donor DonorStart:0 Class:identical_contiguous}]
	// 3 3 3 64
}
