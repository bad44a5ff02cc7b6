package judge

import (
	"fmt"
	"slices"
	"strings"

	"sembench"
)

// shownDifferences bounds the list; configurations have some hundred settings.
const shownDifferences = 500

// differences lists settings that two results do not share. Those that decide what was measured block a comparison.
func differences(a, b sembench.Result) (out []sembench.Difference) {
	add := func(path string, x, y any, blocks bool) {
		if fmt.Sprint(x) != fmt.Sprint(y) && len(out) < shownDifferences {
			out = append(out, sembench.Difference{Path: path, A: x, B: y, Blocks: blocks})
		}
	}
	add("run.manifest_sha256", a.Run.ManifestSHA256, b.Run.ManifestSHA256, true)
	add("run.simulated", a.Run.Simulated, b.Run.Simulated, true)
	add("block_size", a.BlockSize, b.BlockSize, true)
	engine := func(r sembench.Result) sembench.EngineInfo {
		if r.Engine == nil {
			return sembench.EngineInfo{}
		}
		return *r.Engine
	}
	x, y := engine(a), engine(b)
	add("engine.model", x.Model, y.Model, true)
	add("engine.kind", x.Kind, y.Kind, false)
	add("engine.version", nullable(x.Version), nullable(y.Version), false)
	protocol := func(r sembench.Result) sembench.Protocol {
		if r.Protocol == nil {
			return sembench.Protocol{}
		}
		return *r.Protocol
	}
	p, q := protocol(a), protocol(b)
	add("protocol.concurrency", p.Concurrency, q.Concurrency, true)
	add("protocol.max_tokens", p.MaxTokens, q.MaxTokens, true)
	add("protocol.temperature", p.Temperature, q.Temperature, true)
	add("protocol.endpoint", p.Endpoint, q.Endpoint, true)
	add("protocol.tokenizer", p.Tokenizer, q.Tokenizer, true)
	add("protocol.arm_order", p.ArmOrder, q.ArmOrder, false)
	add("protocol.engine_flags_sha256", nullable(p.EngineFlagsSHA256), nullable(q.EngineFlagsSHA256), false)
	add("environment.host", a.Environment.Host, b.Environment.Host, false)
	add("environment.cpu", a.Environment.CPU, b.Environment.CPU, false)
	add("environment.serve_line", nullable(a.Environment.ServeLine), nullable(b.Environment.ServeLine), false)
	left, right := map[string]any{}, map[string]any{}
	flatten("config", a.Config, left)
	flatten("config", b.Config, right)
	paths := slices.Concat(sortedKeys(left), sortedKeys(right))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		add(path, left[path], right[path], false)
	}
	return out
}

// flatten lists the leaves of a configuration by path; a list is one leaf.
func flatten(path string, v any, into map[string]any) {
	m, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			into[path] = v
		}
		return
	}
	for key, inner := range m {
		flatten(strings.TrimPrefix(path+"."+key, "."), inner, into)
	}
}

func nullable(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}
