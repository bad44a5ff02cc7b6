// Package scenario is the one definition of what a run is asked to do: command-line flags, sembench.yaml, the effective
// configuration written beside a result, and its hash are all made from the Scenario struct. A key of the file is the
// flag's name without the dashes in front.
//
// It only holds and converts settings; what they mean is in the packages that use them.
package scenario

// Scenario is every setting of every verb. The tags give flag name, default and help text; hash:"-" keeps a setting that
// cannot change a number out of the configuration's hash. Pointers are settings that were not asked for when nil.
type Scenario struct {
	// Workload.
	Manifest   string   `flag:"manifest" help:"manifest to read: JSONL, one item a line (- is standard input)" hash:"-"`
	Input      string   `flag:"input" help:"file or folder to read (- is standard input; a bare argument is the same)" hash:"-"`
	From       string   `flag:"from" help:"build the workload from a file of your own (RAG contexts, LongBench, ShareGPT, prompt logs, …)"`
	Format     string   `flag:"format" help:"force the format of --from or --input instead of recognising it"`
	Profile    string   `flag:"profile" default:"smoke" help:"built-in workload: smoke, dev, test, live or stream"`
	Split      string   `flag:"split" help:"split to build where a profile has several"`
	Transforms []string `flag:"transforms" help:"only these transforms, comma-separated"`
	Lengths    []string `flag:"lengths" help:"length bands: 1k, 2k, 4k, 8k, 16k, 32k"`
	Seed       int64    `flag:"seed" default:"1" help:"seed of every random choice"`
	MaxItems   int      `flag:"max-items" default:"0" help:"at most this many items, a seeded sample stratified by transform (0: all)"`
	Head       int      `flag:"head" default:"0" help:"the first N items instead of a sample (0: all)"`
	Strict     bool     `flag:"strict" help:"make violations in data of your own fail the command"`

	// Counting.
	BlockSize      int      `flag:"block-size" default:"16" help:"tokens in a KV block"`
	Tokenizer      string   `flag:"tokenizer" default:"o200k" help:"o200k, cl100k, regex, a tokenizer.json, or http://server (its /tokenize)"`
	Planner        []string `flag:"planner" default:"semblend" help:"planners, comma-separated: semblend, span, exec:COMMAND (last: a command takes the rest; repeat the flag for another)"`
	Pool           string   `flag:"pool" default:"item" help:"donors of an item: item (its own) or stream (every earlier request)"`
	CapacityBlocks int      `flag:"capacity-blocks" default:"0" help:"cache capacity of --pool stream, in blocks (0: unbounded)"`
	Capacities     []int    `flag:"capacities" help:"cache sizes in blocks at which a trace curve is printed"`
	MinSpan        int      `flag:"min-span" default:"0" help:"shortest run that span copies, in tokens (0: twice the block size)"`
	MinReuseRatio  float64  `flag:"min-reuse-ratio" default:"0.25" help:"least copied share at which a semblend plan stands"`
	MinSimilarity  float64  `flag:"min-similarity" default:"0.6" help:"least embedding similarity of a semblend donor"`
	Embedder       string   `flag:"embedder" default:"jaccard" help:"how planners compare whole prompts: jaccard or tfidf"`
	Approximate    bool     `flag:"approximate" help:"let span add segments whose tokens differ but whose text is close; they are counted apart"`
	ChatTemplate   string   `flag:"chat-template" default:"none" help:"render chats before counting: none, auto (beside the tokenizer) or a template file"`
	Explain        string   `flag:"explain" help:"show the blocks of the item with this id as a strip: prefix, exact, span, scattered, recompute; HTML with --output x.html" hash:"-"`
	KVEvents       string   `flag:"kv-events" help:"recorded KV events: --explain then shows what the engine holds of the item, and where that stops" hash:"-"`
	Rows           string   `flag:"rows" default:"jsonl" help:"form of the rows beside a document that has more than 5,000 of them: jsonl or parquet" hash:"-"`
	Workers        int      `flag:"workers" default:"0" help:"parallel workers for offline work (0: one a processor)" hash:"-"`

	// Endpoint.
	BaseURL        string   `flag:"base-url" help:"server to measure, like http://127.0.0.1:8000 (none: the embedded engine)"`
	GatewayURL     string   `flag:"gateway-url" help:"gateway that routes recipients"`
	DonorURL       string   `flag:"donor-url" help:"server that receives the donors"`
	WorkerURL      []string `flag:"worker-url" help:"worker behind the gateway that receives donors (repeatable)"`
	Model          string   `flag:"model" help:"model name as the server lists it (default: its only one)"`
	Engine         string   `flag:"engine" default:"auto" help:"vllm, sglang, trtllm, lmcache, llamacpp, ollama, openai or auto"`
	EngineVersion  string   `flag:"engine-version" help:"version to record where the server tells none"`
	API            string   `flag:"api" default:"chat" help:"chat, completions or generate (SGLang native)"`
	Headers        []string `flag:"header" help:"extra request header, Name: value (repeatable; values are not written to files)" hash:"-"`
	ExtraBody      string   `flag:"extra-body" help:"JSON object merged into every request"`
	CACert         string   `flag:"ca-cert" help:"PEM file of a certificate authority to trust" hash:"-"`
	ClientCert     string   `flag:"client-cert" help:"PEM file with client certificate and key" hash:"-"`
	APIKeyEnv      string   `flag:"api-key-env" help:"environment variable that holds the API key (default SEMBENCH_API_KEY)" hash:"-"`
	UseProxy       bool     `flag:"use-proxy" help:"honour the proxy variables of the environment"`
	TimeoutSeconds float64  `flag:"timeout-seconds" default:"120" help:"longest time for one request"`
	MetricsURL     string   `flag:"metrics-url" help:"counters of the engine (default: /metrics of --base-url)"`

	// Protocol.
	Paired              bool     `flag:"paired" default:"true" help:"measure cold and warm twins of every item"`
	Arm                 string   `flag:"arm" help:"one arm alone, for arms that run apart: cold, warm, exact, sham, aa"`
	ResetURL            []string `flag:"reset-url" help:"endpoint to POST to before each step (repeatable; known for the engines of --engine)"`
	Isolation           string   `flag:"isolation" default:"auto" help:"how a step is made to start cold: auto, reset, salt, fresh or none"`
	Salt                string   `flag:"salt" default:"auto" help:"how a salt is sent: auto (proved by the pre-flight), cache_salt or text"`
	ExactArm            string   `flag:"exact-arm" help:"base URL of the stock engine, without its semantic layer: what prefix caching alone gives"`
	ShamDonors          bool     `flag:"sham-donors" help:"add an arm whose donors are unrelated"`
	AA                  bool     `flag:"aa" help:"run the cold arm twice"`
	Repeats             int      `flag:"repeats" default:"1" help:"times that every item is run"`
	Warmup              int      `flag:"warmup" default:"2" help:"declared, disjoint prompts before the first step"`
	Concurrency         int      `flag:"concurrency" default:"1" help:"steps in flight; resets need 1"`
	DonorMaxTokens      int      `flag:"donor-max-tokens" default:"1" help:"output limit of donors"`
	RecipientMaxTokens  int      `flag:"recipient-max-tokens" default:"64" help:"output limit of recipients, equal in all arms"`
	PostDonorDelayMS    int      `flag:"post-donor-delay-ms" default:"0" help:"settle time between donors and recipient, outside any latency"`
	AwaitDonors         bool     `flag:"await-donors" help:"wait until the engine's own evidence shows the donors"`
	MinDonorGapRequests int      `flag:"min-donor-gap-requests" default:"0" help:"requests between a donor and its recipient in streams"`
	CanaryEvery         int      `flag:"canary-every" default:"16" help:"steps between two canary passes, on average"`
	Resume              bool     `flag:"resume" help:"go on with an interrupted run in --output" hash:"-"`
	RunID               string   `flag:"run-id" help:"name of the run (default: made from the time)" hash:"-"`
	BackendID           string   `flag:"backend-id" help:"label of what was measured" hash:"-"`
	BaselineID          string   `flag:"baseline-id" help:"label of what it is compared with" hash:"-"`
	Shard               string   `flag:"shard" help:"k/n, k from 0: only every n-th item from the k-th on; join the results with merge-results"`
	MaxTotalTokens      int      `flag:"max-total-tokens" default:"0" help:"refuse a run that would send more tokens, unless --yes (0: no limit)" hash:"-"`
	Yes                 bool     `flag:"yes" help:"send even above --max-total-tokens" hash:"-"`
	Rate                float64  `flag:"rate" default:"0" help:"open-loop load: requests a second"`
	Arrivals            string   `flag:"arrivals" default:"poisson" help:"open-loop arrivals: constant, poisson or gamma"`
	Replay              string   `flag:"replay" help:"send at the trace's own times, scaled: 1x, 2x, 0.5x"`
	Duration            float64  `flag:"duration-seconds" default:"0" help:"how long a load runs (0: every item once)"`
	SLO                 string   `flag:"slo" help:"service level for goodput, like ttft_ms<200"`
	CalibrationPairs    int      `flag:"calibration-pairs" default:"30" help:"pairs of each kind in the noise floor"`

	// Evidence.
	ConnectorAudit string   `flag:"connector-audit" help:"audit JSONL of the engine's KV connector" hash:"-"`
	EngineLog      string   `flag:"engine-log" help:"log of the engine, read after the run" hash:"-"`
	EngineSummary  []string `flag:"engine-summary" help:"document of summarize-engine-events (repeatable)" hash:"-"`
	ConnectorKind  string   `flag:"connector-kind" help:"semantic: declare that the connector's external KV is semantic (the serve line must name it)"`
	ServeLine      string   `flag:"serve-line" help:"the engine's serve command line, or a file that holds it: vllm serve … (keys in it are not kept)"`
	MaxRequests    int      `flag:"max-requests" default:"100000" help:"requests with evidence that are kept in memory"`
	RequirePhase0  bool     `flag:"require-phase0-flags" help:"exit 3 when the serve line lacks a flag that evidence needs"`

	// Judgement.
	QualityThreshold float64 `flag:"quality-threshold" default:"0.6" help:"answer-token recall at which an answer passes"`
	NoiseFloorFile   string  `flag:"noise-floor-calibration" help:"calibration to judge answers against" hash:"-"`
	NoiseFloor       string  `flag:"noise-floor" help:"floor to use: cold_cold or exact_prefix (default: exact_prefix when measured)"`
	Level            float64 `flag:"level" default:"0.95" help:"confidence of intervals"`
	Resamples        int     `flag:"resamples" default:"2000" help:"bootstrap resamples"`

	// Gates. Nil: not asked for.
	MinBlendedSpeedup     *float64 `flag:"min-blended-ttft-speedup" help:"gate: least headline speedup" hash:"-"`
	MaxControlDeviation   *float64 `flag:"max-negative-control-speedup-deviation" help:"gate: most that the controls' speedup may differ from 1" hash:"-"`
	MaxControlConfirmed   *float64 `flag:"max-negative-control-confirmed-rate" help:"gate: most confirmed reuse on negative controls" hash:"-"`
	MaxControlPlacement   *float64 `flag:"max-negative-control-semantic-placement-rate" help:"gate: most semantic placements of negative controls" hash:"-"`
	MaxRougeDrop          *float64 `flag:"max-warm-vs-cold-rouge-drop" help:"gate: most that answers on hits may fall below the noise floor" hash:"-"`
	MinQualityPassRate    *float64 `flag:"min-quality-pass-rate" help:"gate: least share of answers that pass" hash:"-"`
	MinPlacementRate      *float64 `flag:"min-semantic-placement-rate" help:"gate: least share of semantic placements" hash:"-"`
	MinConfirmedBlockRate *float64 `flag:"min-backend-confirmed-block-rate" help:"gate: least confirmed block rate" hash:"-"`
	MinMaterializations   *float64 `flag:"min-materialization-events" help:"gate: least materialization events in the evidence" hash:"-"`
	MinMaterializedTokens *float64 `flag:"min-materialized-tokens" help:"gate: least materialized tokens in the evidence" hash:"-"`
	MinMaterializedUnits  *float64 `flag:"min-materialized-units" help:"gate: least materialized units (TensorRT-LLM)" hash:"-"`
	RequireMaterialized   bool     `flag:"require-materialized-reuse" help:"gate: a semantic hit must have been materialized" hash:"-"`
	RequireNoEngineErrors bool     `flag:"require-no-engine-errors" help:"gate: no error in the engine's evidence" hash:"-"`
	RequireContamination  bool     `flag:"require-contamination-check" help:"gate: contamination was judged and no pair is contaminated" hash:"-"`
	MinPairsUsed          *float64 `flag:"min-pairs-used" help:"gate: least pairs in the headline" hash:"-"`
	GateOn                string   `flag:"gate-on" default:"ci" help:"compare the bound that hurts (ci) or the estimate (point)" hash:"-"`
	GateStatistic         string   `flag:"gate-statistic" default:"mean" help:"statistic of speedup gates: mean, median or geomean" hash:"-"`
	AllowMissing          bool     `flag:"allow-missing" help:"a gate whose metric is absent does not fail (recorded)" hash:"-"`
	AllowInconclusive     bool     `flag:"allow-inconclusive" help:"a gate whose interval straddles the threshold does not fail (recorded)" hash:"-"`
	AllowSimulated        bool     `flag:"allow-simulated" help:"judge a result of the embedded engine (recorded)" hash:"-"`
	AllowUnpaired         bool     `flag:"allow-unpaired" help:"merge arms whose items differ" hash:"-"`
	AcceptChecks          []string `flag:"accept-check" help:"let this named check fail (repeatable, recorded in the verdict)" hash:"-"`

	// Output.
	Output      string `flag:"output" help:"run directory, or file for single documents" hash:"-"`
	IncludeText string `flag:"include-text" default:"full" help:"prompt and output text in files: none, hash or full"`
	Quiet       bool   `flag:"quiet" help:"no progress" hash:"-"`
	DryRun      bool   `flag:"dry-run" help:"print the plan, request counts, tokens and estimated time; send nothing" hash:"-"`

	// The embedded engine.
	Listen            string   `flag:"listen" default:"127.0.0.1:0" help:"address of the embedded engine; loopback unless you say otherwise" hash:"-"`
	As                string   `flag:"as" default:"vllm" help:"engine whose voice the embedded engine speaks"`
	Faults            []string `flag:"faults" help:"scripted faults of the embedded engine, comma-separated"`
	BaseMS            float64  `flag:"base-ms" default:"30" help:"embedded engine: fixed part of TTFT"`
	PrefillUSPerToken float64  `flag:"prefill-us-per-token" default:"100" help:"embedded engine: prefill time of a token that is computed"`
	LoadUSPerToken    float64  `flag:"load-us-per-token" default:"6" help:"embedded engine: load time of a token that is reused from a donor"`
	LookupMS          float64  `flag:"lookup-ms" default:"2" help:"embedded engine: time of a semantic lookup"`
	ITLMS             float64  `flag:"itl-ms" default:"1" help:"embedded engine: time between output tokens"`
	Jitter            float64  `flag:"jitter" default:"0.01" help:"embedded engine: relative standard deviation of its times"`
	SimCapacityBlocks int      `flag:"sim-capacity-blocks" default:"65536" help:"embedded engine: prefix cache size in blocks"`
	JitterModel       string   `flag:"jitter-model" default:"lognormal" help:"embedded engine: lognormal, heavytail or drift"`
	BatchSlope        float64  `flag:"batch-slope" default:"0" help:"embedded engine: share by which each other running request lengthens the time between tokens"`
	OffloadBlocks     int      `flag:"offload-blocks" default:"0" help:"embedded engine: size of a second, exact tier that takes what the first evicts"`
	OffloadUSPerToken float64  `flag:"offload-us-per-token" default:"8" help:"embedded engine: load time of a token from that tier"`
	DonorSettleMS     float64  `flag:"donor-settle-ms" default:"0" help:"embedded engine: time until a finished request can serve as a donor"`
	MaxRunning        int      `flag:"max-running" default:"256" help:"embedded engine: requests that run at once, the others wait"`
	PrefillSlots      int      `flag:"prefill-slots" default:"1" help:"embedded engine: requests that prefill at once (0: any number)"`
	Ranks             int      `flag:"ranks" default:"1" help:"embedded engine: tensor parallel size"`
	SimWorkers        int      `flag:"sim-workers" default:"3" help:"embedded engine: workers behind the gateway voice"`
	RouteFamily       string   `flag:"route-family" default:"x-synapse-route" help:"embedded engine: header family in which the gateway tells its routing"`
	SimPlanner        string   `flag:"sim-planner" default:"span" help:"embedded engine: planner of its donor store"`
	KVEventsEndpoint  string   `flag:"kv-events-endpoint" help:"embedded engine: publish KV events over ZMQ here, like tcp://127.0.0.1:5557" hash:"-"`
	Stock             bool     `flag:"stock" help:"embedded engine: no semantic layer, prefix cache only"`
}
