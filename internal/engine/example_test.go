package engine_test

import (
	"fmt"
	"strings"

	"sembench/internal/engine"
)

// Two ranks print what one request loaded; a prompt quotes a log line. One materialization of 1536 tokens
// is what happened.
func ExampleSummarize() {
	log := `(EngineCore_DP0 pid=11) INFO 05-01 10:00:02 [connector.py:900] SemBlend semantic lookup hit request_id=r1 donor_id=d1 similarity=0.913 kind=semantic_span reusable_tokens=1536 reason=ok
(Worker_TP0 pid=21) INFO 05-01 10:00:03 [connector.py:900] SemBlend materialized request_id=r1 donor_id=d1 tokens=1536
(Worker_TP1 pid=22) INFO 05-01 10:00:03 [connector.py:900] SemBlend materialized request_id=r1 donor_id=d1 tokens=1536
(APIServer pid=1) INFO 05-01 10:00:04 [logger.py:43] Received request r2: prompt: 'SemBlend materialized request_id=r2 donor_id=d1 tokens=4096'
`
	ev, err := engine.Summarize("auto", strings.NewReader(log), engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ev.Engine, *ev.SemanticHits, *ev.MaterializationEvents, *ev.MaterializedTokens, ev.MaterializedSemanticKVReuse, ev.Join)
	// Output: vllm 1 1 1536 true per_request
}
