package replay

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sembench"
	"sembench/internal/wire"
)

// Plan is what a run is going to send, for --dry-run and for the budget guard. Token counts are those of the counter that
// it was given, without chat templates.
type Plan struct {
	Pairs      int `json:"pairs"`
	Recipients int `json:"recipients"`
	Donors     int `json:"donors"`
	// Canaries, gap fillers and warm-up requests. Probes are not known before the engine was asked and are short.
	Canaries     int `json:"canaries"`
	Fillers      int `json:"fillers"`
	Warmups      int `json:"warmups"`
	PromptTokens int `json:"prompt_tokens"`
	// OutputTokens is the most that may come back.
	OutputTokens int `json:"output_tokens"`
	// SettleSeconds is the waiting after donors.
	SettleSeconds float64 `json:"settle_seconds"`
}

// Requests is how many requests that makes.
func (p Plan) Requests() int { return p.Recipients + p.Donors + p.Canaries + p.Fillers + p.Warmups }

// Seconds is how long the plan takes one request after the other, at so many seconds a prompt token and an output token.
func (p Plan) Seconds(prompt, output float64) float64 {
	return p.SettleSeconds + prompt*float64(p.PromptTokens) + output*float64(p.OutputTokens)
}

// Estimate tells what Run will send, by the same seeded order that Run uses; canary passes after odd resets come on top. tokens
// counts the tokens of a text.
func Estimate(cfg Config, items []sembench.Item, tokens func(string) int) Plan {
	cfg = cfg.withDefaults()
	r := &runner{cfg: cfg, phase: phaseReplay}
	plans := arrange(items, cfg.Arms, cfg.Repeats, cfg.Seed)
	r.know(plans)
	bases := len(r.bases())
	canary := tokens(randomWords(rng(0, "estimate"), cfg.canaryWords()))
	p := Plan{Pairs: len(plans), Warmups: cfg.Warmup * bases}
	p.PromptTokens = p.Warmups * canary
	p.OutputTokens = p.Warmups * cfg.MaxTokens
	settles := 0
	for _, plan := range plans {
		for _, arm := range plan.arms {
			donors, fillers := r.donorsOf(plan.item, arm), r.fillers(plan.item, arm)
			p.Recipients++
			p.Donors += len(donors)
			p.Fillers += fillers
			p.PromptTokens += tokens(recipient(plan.item).text) + fillers*canary
			p.OutputTokens += r.limit(plan.item) + (len(donors)+fillers)*cfg.DonorMaxTokens
			for _, d := range donors {
				p.PromptTokens += tokens(d.text)
			}
			if len(donors) > 0 {
				settles++
			}
		}
	}
	p.SettleSeconds = (time.Duration(settles) * cfg.PostDonorDelay).Seconds()
	if cfg.Isolation != None && cfg.Isolation != Fresh && len(plans) > 0 {
		passes := 2
		draw := canaryPlaces(cfg)
		for i, plan := range plans {
			if draw(i, plan) && cfg.Concurrency == 1 {
				passes++
			}
		}
		p.Canaries = 6 * passes * bases
		shift := tokens(randomWords(rng(0, "estimate"), canaryShift))
		p.PromptTokens += p.Canaries*canary + 2*passes*bases*shift
		p.OutputTokens += p.Canaries
	}
	return p
}

// canaryPlaces tells ahead of which pairs a canary pass stands: seeded, one draw a pair, so that it does not depend on what
// happened before. Never ahead of the first, which has a pass anyway.
func canaryPlaces(cfg Config) func(i int, p pairPlan) bool {
	random := rng(cfg.Seed, "canary places")
	return func(i int, p pairPlan) bool {
		chance := random.Float64()
		return i > 0 && cfg.CanaryEvery > 0 && chance < float64(len(p.arms))/float64(cfg.CanaryEvery)
	}
}

// CheckLengths tells whether every prompt with its output fits the model. tokens counts without the chat template, for which
// a margin of 64 tokens is kept. Skipped where the server does not tell its limit.
func CheckLengths(report Report, cfg Config, items []sembench.Item, tokens func(string) int) Check {
	const margin = 64
	if report.MaxModelLen == nil {
		return Check{"max_model_len", "skipped", "the server does not tell its limit", ""}
	}
	cfg = cfg.withDefaults()
	r := &runner{cfg: cfg}
	longest, whose, over := 0, "", 0
	for _, item := range items {
		need := tokens(recipient(item).text) + r.limit(item)
		for _, d := range item.DonorPrompts {
			need = max(need, tokens(donor(item, d).text)+cfg.DonorMaxTokens)
		}
		if need += margin; need > longest {
			longest, whose = need, item.ItemID
		}
		if need > *report.MaxModelLen {
			over++
		}
	}
	detail := fmt.Sprintf("the longest item (%s) needs %d of %d tokens", whose, longest, *report.MaxModelLen)
	if over > 0 {
		return Check{"max_model_len", "fail", fmt.Sprintf("%d of %d items are too long: %s", over, len(items), detail),
			"serve with a larger --max-model-len, or build the manifest with shorter items"}
	}
	return Check{"max_model_len", "pass", detail, ""}
}

// agreementTexts is how many texts are counted on both sides, and longestAgreement how much of each, in bytes: a wrong tokenizer
// shows in the first sentences.
const (
	agreementTexts   = 8
	longestAgreement = 8 << 10
)

// CheckTokenizer compares a local tokenizer with the engine's /tokenize on the first texts of a manifest. Skipped where the engine
// has no such endpoint.
func CheckTokenizer(ctx context.Context, cfg Config, items []sembench.Item, tokens func(string) int) Check {
	cfg = cfg.withDefaults()
	client := cfg.client()
	defer client.Close()
	checked, wrong, first := 0, 0, ""
	for _, item := range items[:min(len(items), agreementTexts)] {
		text := strings.ToValidUTF8(item.RecipientPrompt[:min(len(item.RecipientPrompt), longestAgreement)], "")
		n, ok := tokenize(ctx, client, cfg, text)
		if !ok {
			return Check{"tokenizer", "skipped", "the engine has no /tokenize", ""}
		}
		checked++
		if local := tokens(text); local != n {
			if wrong++; first == "" {
				first = fmt.Sprintf("item %s has %d tokens here and %d in the engine", item.ItemID, local, n)
			}
		}
	}
	if wrong > 0 {
		return Check{"tokenizer", "warn", fmt.Sprintf("%d of %d texts differ: %s", wrong, checked, first),
			"give the model's tokenizer.json with --tokenizer: offline blocks are not the engine's otherwise"}
	}
	return Check{"tokenizer", "pass", fmt.Sprintf("%d texts have as many tokens here as in the engine", checked), ""}
}

// tokenize asks an engine for a text's length. vLLM and SGLang read prompt, llama.cpp content.
func tokenize(ctx context.Context, client *wire.Client, cfg Config, text string) (int, bool) {
	body := sembench.Marshal(map[string]any{"model": cfg.Model, "prompt": text, "content": text, "add_special_tokens": false, "add_special": false})
	answer, failure := client.Call(ctx, http.MethodPost, wire.Join(cfg.BaseURL, "/tokenize"), body, maxScrape)
	if failure != nil || !answer.OK() || bytes.HasPrefix(bytes.TrimSpace(answer.Body), []byte("<")) {
		return 0, false
	}
	object := answer.Object()
	if n, ok := number(object["count"]); ok {
		return int(n), true
	}
	list, ok := object["tokens"].([]any)
	return len(list), ok
}
