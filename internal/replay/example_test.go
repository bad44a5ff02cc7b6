package replay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sembench"
	"sembench/internal/replay"
	"sembench/internal/sim"
)

// One item, cold and warm, on the embedded engine in virtual time. The prompt has 43 tokens with its template, at 1 ms each
// behind 10 ms; warm, two blocks of 16 are cached.
func Example() {
	world := sim.NewMemory()
	engine, err := sim.New(sim.Config{Clock: world.Clock(), Tokenizer: "regex", BaseMS: 10, PrefillUSPerToken: 1000})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- engine.Serve(ctx, world.Listener()) }()

	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	journal, err := replay.OpenJournal(filepath.Join(dir, "observations.jsonl"), sembench.JournalHead{RunID: "r"}, false)
	if err != nil {
		panic(err)
	}
	text := "The lake is 7 m deep. The hill behind it is green in spring and brown in autumn, and nobody lives there any more. How deep is the lake?"
	item := sembench.Item{ItemID: "i", RecipientPrompt: text, DonorPrompts: []sembench.Donor{{DonorID: "d", Text: text}}}
	summary, err := replay.Run(ctx, replay.Config{RunID: "r", BaseURL: "http://engine", Dial: world.Dial, Clock: world, Sleep: world.Sleep},
		[]sembench.Item{item}, journal, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(summary.Planned, "planned,", summary.OK, "ok, simulated:", summary.Simulated, "canaries passed:", summary.CanariesPassed)

	file, err := os.Open(filepath.Join(dir, "observations.jsonl"))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	_, lines, err := sembench.ReadJournal(file, "observations.jsonl")
	if err != nil {
		panic(err)
	}
	ttft := map[string]float64{}
	for o := range lines {
		if o.Role == sembench.RoleRecipient {
			ttft[o.Arm] = *o.TTFT()
		}
	}
	fmt.Printf("cold %.0f ms, warm %.0f ms\n", ttft["cold"], ttft["warm"])
	cancel()
	<-done
	// Output:
	// 2 planned, 2 ok, simulated: true canaries passed: 2
	// cold 53 ms, warm 21 ms
}
