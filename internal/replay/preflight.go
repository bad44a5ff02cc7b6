package replay

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sembench"
	"sembench/internal/stat"
	"sembench/internal/wire"
)

// Check is one question that a pre-flight asked. Outcome is pass, warn, fail or skipped.
type Check struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`
	// Hint says what to change, most often a server flag; "" when nothing is to be changed.
	Hint string `json:"hint"`
}

// Report is what a pre-flight found out about an endpoint. Pointers are null where it could not be found out.
type Report struct {
	Schema        string   `json:"schema"`
	Endpoint      string   `json:"endpoint"`
	ExactEndpoint *string  `json:"exact_endpoint"`
	Engine        string   `json:"engine"`
	EngineVersion *string  `json:"engine_version"`
	Model         string   `json:"model"`
	Models        []string `json:"models"`
	// MaxModelLen is the longest prompt with output that the server takes, in tokens.
	MaxModelLen *int `json:"max_model_len"`
	// EngineBlockSize is the granularity of the engine's cache in tokens.
	EngineBlockSize *int `json:"engine_block_size"`
	// Simulated: responses carry the embedded engine's mark.
	Simulated   bool    `json:"simulated"`
	BootID      *string `json:"boot_id"`
	ExactBootID *string `json:"exact_boot_id"`
	// Isolation and SaltKind are what a run will use; ResetURLs what it will reset, as it may be shown: without credentials.
	Isolation      string   `json:"isolation"`
	SaltKind       string   `json:"salt_kind"`
	ResetURLs      []string `json:"reset_urls"`
	ExactResetURLs []string `json:"exact_reset_urls"`
	// CachedTokensReported: a repeated prompt came back with cached_tokens; ExternalSplit: also with the external part.
	CachedTokensReported bool `json:"cached_tokens_reported"`
	ExternalSplit        bool `json:"external_split"`
	// ZeroOmitted: the engine leaves cached_tokens out where it is 0, so that absent means 0 on this engine.
	ZeroOmitted bool `json:"zero_omitted"`
	// SaltHonoured: the salt of SaltKind sets requests apart in every tier that was seen to hit; null when not tried.
	SaltHonoured *bool `json:"salt_honoured"`
	// TTFTSeparation is (cold - warm) / pooled standard deviation of TTFT on a repeated prompt, measured only without
	// cached-token reporting; from 4 on a TTFT canary counts.
	TTFTSeparation *float64 `json:"ttft_separation"`
	// TTFTCanaryMS is half way between the two: a canary below it was reused; null where TTFT does not tell.
	TTFTCanaryMS *float64 `json:"ttft_canary_ms"`
	// CanaryWords is the length of canaries: long enough for the engine's blocks, and for time to tell; 0 for the usual.
	CanaryWords int `json:"canary_words"`
	// FirstEventGapMS is the median time from the first event to the first output: what a client that takes the role chunk
	// for output would be wrong by.
	FirstEventGapMS *float64 `json:"first_event_gap_ms"`
	// StreamCoalescing is output tokens a chunk: 1 is one token an event.
	StreamCoalescing *float64 `json:"stream_coalescing"`
	Checks           []Check  `json:"checks"`

	// The addresses themselves, for Apply.
	resets, exactResets []string
}

// PreflightSchema is the schema of Report.
const PreflightSchema = "sembench.preflight.v1"

// Apply gives the configuration with what was found out filled in where it was left open.
func (p Report) Apply(c Config) Config {
	c.Model, c.Isolation, c.SaltKind, c.Engine = p.Model, p.Isolation, p.SaltKind, p.Engine
	c.ResetURLs, c.ExactResetURLs, c.TTFTCanaryMS = p.resets, p.exactResets, p.TTFTCanaryMS
	c.CanaryWords = p.CanaryWords
	return c
}

// flight is a pre-flight under way.
type flight struct {
	cfg    Config
	client *wire.Client
	report Report
	preset preset
	nonce  string // sets this flight's prompts apart from those of any other
	seen   []sembench.Observation
}

// Preflight finds out whether and how an endpoint can be measured: reachability, model, engine, generation, cached-token
// reporting, resets, salts, first-token behaviour. The error is *EndpointError when it cannot; the report then holds what was
// found until there.
func Preflight(ctx context.Context, cfg Config) (Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	f := &flight{cfg: cfg, client: cfg.client(), nonce: rand.Text(), report: Report{
		Schema: PreflightSchema, Endpoint: wire.CleanURL(cfg.BaseURL), Model: cfg.Model, Engine: cfg.Engine,
		Isolation: cfg.Isolation, SaltKind: cfg.SaltKind, resets: cfg.ResetURLs, exactResets: cfg.ExactResetURLs,
	}}
	defer f.client.Close()
	for _, part := range []func(context.Context) error{f.reach, f.generate, f.resets, f.reuse, f.exact, f.isolation} {
		if err := part(ctx); err != nil {
			return f.finish(), err
		}
	}
	f.firstToken()
	return f.finish(), nil
}

// finish gives the report with addresses as they may be shown.
func (f *flight) finish() Report {
	f.report.ResetURLs, f.report.ExactResetURLs = f.shown(f.report.resets), f.shown(f.report.exactResets)
	return f.report
}

// shown gives addresses without user and password, and without secrets in their query.
func (f *flight) shown(urls []string) []string {
	list := make([]string, 0, len(urls))
	for _, address := range urls {
		clean := "invalid-url"
		if u, err := url.Parse(address); err == nil {
			u.User = nil
			clean = f.client.Clean(u.String())
		}
		list = append(list, clean)
	}
	return list
}

func (f *flight) check(name, outcome, detail, hint string) {
	f.report.Checks = append(f.report.Checks, Check{name, outcome, f.client.Clean(detail), hint})
}

func (f *flight) refuse(problem, detail, hint string) error {
	f.check(problem, "fail", detail, hint)
	return &EndpointError{f.cfg.BaseURL, problem, f.client.Clean(detail), hint}
}

// reach asks for the model list.
func (f *flight) reach(ctx context.Context) error {
	answer, failure := f.client.Call(ctx, http.MethodGet, wire.Join(f.cfg.BaseURL, "/v1/models"), nil, maxScrape)
	list, isList := answer.Object()["data"].([]any)
	switch {
	case failure != nil && failure.Class == sembench.ErrorTLS:
		return f.refuse(ProblemTLS, failure.Message, "check the scheme of the address, or give the server's CA with --ca-cert")
	case failure != nil:
		return f.refuse(ProblemUnreachable, failure.Message, "check that the server is up and the address and port are right")
	case answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden:
		return f.refuse(ProblemUnauthorized, fmt.Sprintf("the server answered %d", answer.Status), "give an API key with --api-key-env NAME or SEMBENCH_API_KEY")
	case isHTML(answer):
		return f.refuse(ProblemNotAnAPI, "the server answers with a web page: "+string(answer.Body[:min(len(answer.Body), 80)]),
			"this is no OpenAI-compatible API: check port and path, the base URL ends before /v1")
	case !isList && answer.OK():
		return f.refuse(ProblemNotAnAPI, "the model list is no model list: "+string(answer.Body[:min(len(answer.Body), 80)]),
			"this is no OpenAI-compatible API: check port and path")
	case !isList && f.cfg.Model == "":
		return f.refuse(ProblemNotAnAPI, fmt.Sprintf("the server has no model list (status %d)", answer.Status), "name the model with --model")
	case !isList:
		f.check("model", "warn", fmt.Sprintf("the server has no model list (status %d)", answer.Status), "")
	}
	f.report.Simulated = answer.Header.Get(wire.SimulatedHeader) != ""
	if err := f.readModels(list); err != nil {
		return err
	}
	f.identify(ctx)
	return nil
}

func isHTML(answer wire.Answer) bool {
	return strings.Contains(answer.Header.Get("Content-Type"), "html") || strings.HasPrefix(strings.TrimSpace(string(answer.Body)), "<")
}

// readModels finds the model, its length limit and who serves it.
func (f *flight) readModels(list []any) error {
	owner, found := "", false
	for _, m := range list {
		model, _ := m.(map[string]any)
		id, _ := model["id"].(string)
		f.report.Models = append(f.report.Models, f.client.Clean(id))
		if f.cfg.Model == "" && len(list) == 1 {
			f.cfg.Model, f.report.Model = id, id
		}
		if id != f.cfg.Model && id != f.cfg.Model+":latest" { // Ollama's short name
			continue
		}
		found = true
		owner, _ = model["owned_by"].(string)
		var n int
		if _, err := fmt.Sscan(fmt.Sprint(model["max_model_len"]), &n); err == nil {
			f.report.MaxModelLen = &n
		}
	}
	switch {
	case len(list) > 0 && !found:
		what := fmt.Sprintf("model %q is not served here", f.cfg.Model)
		if f.cfg.Model == "" {
			what = "several models are served here and none is named"
		}
		return f.refuse(ProblemModelMissing, what, "served: "+strings.Join(f.report.Models[:min(len(f.report.Models), 8)], ", "))
	case len(list) > 0:
		f.check("model", "pass", f.cfg.Model, "")
	}
	if known, ok := owners[strings.ToLower(owner)]; ok && f.cfg.Engine == Auto {
		f.cfg.Engine, f.report.Engine = known, known
	}
	f.preset = presets[f.cfg.Engine]
	return nil
}

// identify reads version and boot id.
func (f *flight) identify(ctx context.Context) {
	answer, failure := f.client.Call(ctx, http.MethodGet, wire.Join(f.cfg.BaseURL, "/version"), nil, 64<<10)
	if version, ok := answer.Object()["version"].(string); ok && failure == nil {
		version = f.client.Clean(version)
		f.report.EngineVersion = &version
	}
	process := readProcess(ctx, f.client, f.cfg.Engine, f.cfg.BaseURL)
	f.report.BootID, f.report.EngineBlockSize = process.boot, process.blockSize
	if n := process.blockSize; n != nil {
		f.cfg.CanaryWords = max(f.cfg.CanaryWords, 5*(*n)/2) // a word has two tokens and more: five blocks
		f.report.CanaryWords = f.cfg.CanaryWords
		if *n != f.cfg.BlockSize {
			f.check("block_size", "warn", fmt.Sprintf("the engine's blocks have %d tokens, this run counts in blocks of %d", *n, f.cfg.BlockSize),
				fmt.Sprintf("count as the engine does with --block-size %d", *n))
		}
	}
	if f.report.BootID == nil {
		f.check("boot_id", "warn", "the engine's /metrics has no process_start_time_seconds: a restart inside a pair would go unseen", f.preset.metricsHint)
	} else {
		f.check("boot_id", "pass", *f.report.BootID, "")
	}
}

// words gives a text of n random words that no other pre-flight or run has.
func (f *flight) words(name string, n int) string { return randomWords(rng(0, f.nonce, name), n) }

func (f *flight) ask(ctx context.Context, base, text string, s salt, maxTokens int) sembench.Observation {
	id := sembench.RequestID(f.cfg.RunID, "preflight", f.nonce, "probe", len(f.seen))
	o := f.client.Do(ctx, f.cfg.request(base, id, plain(text), s, maxTokens))
	f.seen = append(f.seen, o)
	f.report.Simulated = f.report.Simulated || o.Headers["x-sembench-simulated"] != ""
	return o
}

// generate asks for a few tokens: the endpoint must stream.
func (f *flight) generate(ctx context.Context) error {
	for range 3 {
		o := f.ask(ctx, f.cfg.BaseURL, "Count from one to five in words.", salt{}, 8)
		if wait, again := retryDonor(o); again && f.cfg.Sleep(ctx, wait) == nil { // nothing is measured yet: a busy server gets a second chance
			o = f.ask(ctx, f.cfg.BaseURL, "Count from one to five in words.", salt{}, 8)
		}
		if o.Error == nil {
			continue
		}
		hint := ""
		switch {
		case o.Error.Class == sembench.ErrorHTTPStatus && *o.HTTPStatus == http.StatusNotFound:
			hint = "the model or the endpoint is not there: check --model and the API"
		case o.Error.Class == sembench.ErrorHTTPStatus && (*o.HTTPStatus == 401 || *o.HTTPStatus == 403):
			hint = "give an API key with --api-key-env NAME or SEMBENCH_API_KEY"
		case o.Error.Class == sembench.ErrorHTTPStatus && *o.HTTPStatus == 400:
			hint = "the server refuses a field of the request: try --engine openai, or remove one with --extra-body '{\"seed\": null}'"
		}
		return f.refuse(ProblemGeneration, "a small request failed: "+o.Error.Class+": "+o.Error.Message, hint)
	}
	f.check("generation", "pass", "a small request streams", "")
	return nil
}

// resets finds addresses that reset and say so.
func (f *flight) resets(ctx context.Context) error {
	if f.cfg.Isolation != Auto && f.cfg.Isolation != Reset {
		return nil
	}
	urls, detail := f.workingResets(ctx, f.cfg.BaseURL, f.cfg.ResetURLs)
	f.report.resets = urls
	switch {
	case urls != nil:
		f.check("reset", "pass", "works: "+strings.Join(f.shown(urls), ", "), "")
	case f.cfg.Isolation == Reset || len(f.cfg.ResetURLs) > 0:
		return f.refuse(ProblemReset, "no reset works: "+detail, f.preset.resetHint)
	default:
		f.check("reset", "warn", "no reset works: "+detail, f.preset.resetHint)
	}
	return nil
}

// workingResets tries what was named, else the preset's addresses in order; nil when none says that it reset.
func (f *flight) workingResets(ctx context.Context, base string, named []string) ([]string, string) {
	candidates := [][]string{named}
	if len(named) == 0 {
		candidates = nil
		for _, path := range f.preset.resets {
			var fleet []string
			for _, address := range f.fleet(base) {
				fleet = append(fleet, wire.Join(address, path))
			}
			candidates = append(candidates, fleet)
		}
	}
	var details []string
	for _, urls := range candidates {
		// A reset that only says busy may be one that can never succeed here: its turn is short.
		result := resetter{f.client, f.cfg.Sleep, min(f.cfg.ResetTimeout, resetTrial)}.all(ctx, urls)
		if result.done {
			return urls, ""
		}
		details = append(details, result.detail)
	}
	if len(details) == 0 {
		details = []string{"none is known for this engine"}
	}
	return nil, strings.Join(details, "; ")
}

// fleet is what holds the caches behind a base URL: the workers where they are known, for a gateway has none.
func (f *flight) fleet(base string) []string {
	if base == f.cfg.BaseURL && len(f.cfg.DonorURLs) > 0 {
		return f.cfg.DonorURLs
	}
	return []string{base}
}

// reuse sends one long prompt twice: does the engine reuse it, and does it say so?
func (f *flight) reuse(ctx context.Context) error {
	n := f.cfg.canaryWords()
	first, second := f.twice(ctx, f.words("reuse", n), f.ownSalt("reuse"))
	if first.Error != nil && !prefilled(first) {
		return f.refuse(ProblemGeneration, "a long request failed: "+first.Error.Class+": "+first.Error.Message, "")
	}
	cached := second.CachedTokens()
	f.report.ExternalSplit = second.ExternalCachedTokens() != nil
	f.report.ZeroOmitted = cached != nil && *cached > 0 && first.CachedTokens() == nil
	switch {
	case cached != nil && *cached > 0:
		f.report.CachedTokensReported = true
		f.check("cached_tokens", "pass", fmt.Sprintf("a repeated prompt reports %d cached tokens", *cached), "")
		return nil
	case cached != nil:
		f.check("cached_tokens", "warn", "a repeated prompt reports 0 cached tokens: prefix caching is off, or the field is always 0", f.preset.cachedHint)
	default:
		f.check("cached_tokens", "warn", "cached tokens are not reported", f.preset.cachedHint)
	}
	f.separate(ctx, n)
	return nil
}

func (f *flight) ownSalt(name string) salt {
	if f.cfg.Isolation == Salt && f.cfg.SaltKind != "" {
		return newSalt(f.cfg.SaltKind, f.nonce, name)
	}
	return salt{}
}

func (f *flight) twice(ctx context.Context, text string, s salt) (first, second sembench.Observation) {
	first = f.ask(ctx, f.cfg.BaseURL, text, s, 1)
	_ = f.cfg.Sleep(ctx, f.cfg.PostDonorDelay)
	return first, f.ask(ctx, f.cfg.BaseURL, text, s, 1)
}

// exact checks the stock engine.
func (f *flight) exact(ctx context.Context) error {
	base := f.cfg.ExactBaseURL
	if base == "" || base == f.cfg.BaseURL {
		return nil
	}
	clean := wire.CleanURL(base)
	f.report.ExactEndpoint = &clean
	o := f.ask(ctx, base, "Count from one to five in words.", salt{}, 8)
	if o.Error != nil {
		return &EndpointError{base, ProblemGeneration, "a small request to the stock engine failed: " + o.Error.Class + ": " + o.Error.Message, ""}
	}
	f.report.ExactBootID = readProcess(ctx, f.client, f.cfg.Engine, base).boot
	if sameStart(f.report.BootID, f.report.ExactBootID) {
		return &EndpointError{base, ProblemSameEngine, "the stock engine started at the same instant as the engine under test: it is the same process at another address",
			"start a second engine without the semantic layer, and give its address to --exact-arm"}
	}
	if f.report.resets == nil {
		return nil
	}
	urls, detail := f.workingResets(ctx, base, f.cfg.ExactResetURLs)
	if urls == nil {
		return &EndpointError{base, ProblemReset, "no reset works on the stock engine: " + detail, f.preset.resetHint}
	}
	f.report.exactResets = urls
	return nil
}

// sameStart tells that two boot ids name one process: their start times agree, whatever the addresses. Ids that nobody gave are no sign.
func sameStart(a, b *string) bool {
	if a == nil || b == nil {
		return false
	}
	return (*a)[strings.LastIndexByte(*a, '@')+1:] == (*b)[strings.LastIndexByte(*b, '@')+1:]
}

// isolation decides how steps are isolated where that was left open, and proves salts.
func (f *flight) isolation(ctx context.Context) error {
	switch f.cfg.Isolation {
	case Auto:
		if f.report.resets != nil {
			f.report.Isolation = Reset
			if f.cfg.Concurrency > 1 {
				f.report.Isolation = Salt // a reset would hit the pairs that run beside
			}
		} else {
			f.report.Isolation = Salt
		}
	default:
		f.report.Isolation = f.cfg.Isolation
	}
	if f.report.Isolation == Reset {
		// What the pre-flight left behind is gone before anything is measured.
		resetter{f.client, f.cfg.Sleep, f.cfg.ResetTimeout}.all(ctx, f.report.resets)
		return nil
	}
	if f.report.Isolation == Salt {
		f.salts(ctx)
	}
	return nil
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func median(x []float64) float64 { return stat.Quantile(slices.Sorted(slices.Values(x)), 0.5) }

// firstToken reports what careless clients would get wrong here.
func (f *flight) firstToken() {
	var gaps, coalescing []float64
	proxy := ""
	for _, o := range f.seen {
		proxy = o.Headers["via"]
		if o.Stamps.FirstEvent != nil && o.Stamps.FirstOutput != nil {
			gaps = append(gaps, float64(*o.Stamps.FirstOutput-*o.Stamps.FirstEvent)/1e6)
		}
		if n := o.OutputTokens(); n != nil && len(o.Chunks) > 1 {
			coalescing = append(coalescing, float64(*n)/float64(len(o.Chunks)))
		}
	}
	if proxy != "" {
		f.check("proxy", "warn", "a proxy answers for the engine: via "+proxy, "measure the engine directly, or switch response buffering off in the proxy")
	}
	if len(gaps) > 0 {
		gap := median(gaps)
		f.report.FirstEventGapMS = &gap
		if gap > 5 {
			f.check("first_event", "warn", fmt.Sprintf("the first event comes %.0f ms before the first output: clients that take the role chunk for a token report TTFT too low here", gap), "")
		}
	}
	if len(coalescing) > 0 {
		ratio := median(coalescing)
		f.report.StreamCoalescing = &ratio
		if ratio > 1.5 {
			f.check("stream_coalescing", "warn", fmt.Sprintf("%.1f tokens a chunk: something buffers the stream, or the engine sends several tokens at once", ratio), "")
		}
	}
}
