package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"sembench"
)

// LLMDVersion is the revision of llm-d's benchmark report that LLMD writes.
const LLMDVersion = "0.2.1"

// LLMD writes a result as a benchmark report of llm-d, schema 0.2.1 (llm-d/llm-d-benchmark, benchmark-report), as JSON, which
// is YAML too. Its request statistics describe one arm, so they are of the warm recipients: their mean where the result has
// nothing else, the percentiles of the load where it has those. What the schema has no place for (pairs, controls, the
// verdict) stands under results.profiling.sembench, where the schema is open. The engine is a generic component: the schema's
// inference_engine demands accelerator details that a client cannot know, and nothing here is invented.
func LLMD(w io.Writer, in Input) error {
	r := in.Result
	doc := map[string]any{
		"version": LLMDVersion,
		"run":     llmdRun(r),
		"scenario": map[string]any{
			"stack": llmdStack(r),
			"load":  llmdLoad(r),
		},
		"results": map[string]any{
			"request_performance": map[string]any{"aggregate": llmdRequests(r)},
			"profiling":           map[string]any{"sembench": llmdSembench(in)},
		},
	}
	text := sembench.MarshalIndent(doc)
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing a benchmark report for llm-d: %w", err)
	}
	return nil
}

func llmdRun(r *sembench.Result) map[string]any {
	run := map[string]any{"uid": cmp.Or(r.Run.RunID, "unnamed"), "keywords": []any{"sembench", "kv-cache-reuse"}}
	if r.Run.Simulated {
		run["keywords"] = []any{"sembench", "kv-cache-reuse", "simulated"}
		run["description"] = "SIMULATED: made on sembench's embedded engine"
	}
	if r.CreatedAtUTC != "" {
		run["time"] = map[string]any{"end": r.CreatedAtUTC}
	}
	return run
}

func llmdStack(r *sembench.Result) []any {
	if r.Engine == nil {
		return nil
	}
	native := map[string]any{}
	if r.Environment.ServeLine != nil {
		native["config"] = map[string]any{"serve_line": *r.Environment.ServeLine}
	}
	return []any{map[string]any{
		"metadata":     map[string]any{"label": "engine", "cfg_id": engineConfig(r), "description": "as its endpoint tells of itself"},
		"standardized": map[string]any{"kind": "generic", "tool": r.Engine.Kind, "tool_version": cmp.Or(text(r.Engine.Version), "unknown"), "model": map[string]any{"name": r.Engine.Model}},
		"native":       native,
	}}
}

// engineConfig identifies the engine's settings: the hash of its flags where known.
func engineConfig(r *sembench.Result) string {
	if r.Protocol != nil && r.Protocol.EngineFlagsSHA256 != nil {
		return *r.Protocol.EngineFlagsSHA256
	}
	return "unknown"
}

func llmdLoad(r *sembench.Result) map[string]any {
	lengths := map[string]any{"distribution": "other", "value": 0}
	if n := r.Aggregate.RequestCount; n > 0 {
		lengths["value"] = float64(r.Aggregate.PromptTokens) / float64(n)
	}
	standard := map[string]any{"tool": "sembench", "tool_version": cmp.Or(r.Run.SembenchVersion, "unknown"), "source": "sampled", "input_seq_len": lengths}
	if r.Protocol != nil && r.Protocol.Concurrency > 0 {
		standard["concurrency"] = r.Protocol.Concurrency
	}
	return map[string]any{"metadata": map[string]any{"cfg_id": cmp.Or(r.ConfigSHA256, "unknown"), "description": "manifest " + r.Run.ManifestSHA256}, "standardized": standard,
		"native": map[string]any{"config": r.Config}}
}

func llmdRequests(r *sembench.Result) map[string]any {
	total, failed := 0, 0
	for _, row := range r.Requests {
		if arm := text(row.Arm); arm != sembench.ArmWarm && arm != sembench.ArmSingle && arm != "" || text(row.Status) == sembench.StatusNotSent {
			continue
		}
		total++
		if row.ErrorClass != nil {
			failed++
		}
	}
	requests := map[string]any{"total": max(total, r.Aggregate.RequestCount)}
	if len(r.Requests) > 0 {
		requests["failures"] = failed
	}
	latency := map[string]any{}
	if mean := r.Aggregate.MeanTTFTMS; mean != nil {
		latency["time_to_first_token"] = map[string]any{"units": "ms", "mean": *mean}
	}
	out := map[string]any{"requests": requests}
	if t := r.Throughput; t != nil {
		requests["total"], requests["failures"] = t.Requests, t.Errors
		for name, p := range map[string]sembench.Percentiles{"time_to_first_token": t.RecipientTTFTMS, "request_latency": t.RecipientLatencyMS} {
			if s := llmdStatistics(p, "ms"); s != nil {
				latency[name] = s
			}
		}
		if s := llmdStatistics(t.ITLMS, "ms/token"); s != nil {
			latency["inter_token_latency"] = s
		}
		rates := map[string]any{}
		if t.RequestsPerSecond != nil {
			rates["request_rate"] = map[string]any{"units": "queries/s", "mean": *t.RequestsPerSecond}
		}
		if t.OutputTokensPerSecond != nil {
			rates["output_token_rate"] = map[string]any{"units": "tokens/s", "mean": *t.OutputTokensPerSecond}
		}
		if len(rates) > 0 {
			out["throughput"] = rates
		}
	}
	if len(latency) > 0 {
		out["latency"] = latency
	}
	return out
}

// llmdStatistics is nil without a mean, which the schema demands.
func llmdStatistics(p sembench.Percentiles, units string) map[string]any {
	if p.Mean == nil {
		return nil
	}
	out := map[string]any{"units": units, "mean": *p.Mean}
	for name, x := range map[string]*float64{"p50": p.P50, "p90": p.P90, "p99": p.P99} {
		if x != nil {
			out[name] = *x
		}
	}
	return out
}

// llmdSembench is what the schema has no place for, under the names of the result.
func llmdSembench(in Input) map[string]any {
	r := in.Result
	out := map[string]any{"result_version": r.ResultVersion, "simulated": r.Run.Simulated, "block_size": r.BlockSize, "ladder": r.Ladder, "warnings": r.Warnings,
		"checks": r.Checks, "aggregate": r.Aggregate, "paired": r.Paired, "transforms": slices.Sorted(maps.Keys(r.ByTransform))}
	if v := in.Verdict; v != nil {
		out["verdict"] = map[string]any{"passed": v.Passed, "exit_code": v.ExitCode, "failures": v.Failures, "result_sha256": v.ResultSHA256}
	}
	return out
}
