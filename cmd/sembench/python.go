package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sembench"
)

// fromPython gives a result that the public Python sembench wrote in the shapes of ours; it is told by naming no producer and the Python that it ran
// on. Every other text comes back as it is. What is the same fact in another form is converted; what that program writes as 0 or false where
// it measured nothing becomes null. docs/migrating.md lists each case.
func fromPython(text []byte) []byte {
	tree, err := sembench.ParseJSON(text)
	doc, ok := tree.(map[string]any)
	if err != nil || !ok || doc["producer"] != nil {
		return text
	}
	environment, _ := doc["environment"].(map[string]any)
	if environment["python"] == nil {
		return text
	}
	doc["result_version"] = "sembench.result.v1" // of a program that knows no checks
	config, _ := doc["config"].(map[string]any)
	if _, has := doc["block_size"]; !has && config != nil && config["block_size"] != nil {
		doc["block_size"] = config["block_size"]
	}
	if v, has := doc["run"]; has && v == nil {
		delete(doc, "run")
	}
	if run, ok := doc["run"].(map[string]any); ok && run["simulated"] == nil {
		run["simulated"] = false // it has no embedded engine
	}
	rows, _ := doc["requests"].([]any)
	planned := false
	for _, v := range rows {
		if row, ok := v.(map[string]any); ok {
			planned = planned || isTrue(row["semblend_found"]) || positive(row["semblend_latency_ms"]) ||
				positive(row["semantic_candidate_blocks"]) || positive(row["semantic_eligible_blocks"])
			otherRow(row)
		}
	}
	aggregate, _ := doc["aggregate"].(map[string]any)
	otherAggregate(aggregate)
	if len(rows) > 0 && !planned {
		for _, v := range rows {
			if row, ok := v.(map[string]any); ok {
				unmeasured(row, "semantic_candidate_", "semantic_eligible_", "semblend_")
			}
		}
		unmeasured(aggregate, "semantic_candidate_", "semantic_eligible_", "semblend_", "negative_control_semantic_eligible_")
	}
	groups, _ := doc["by_transform"].(map[string]any)
	for name, v := range groups {
		if flat, ok := v.(map[string]any); ok && flat["aggregate"] == nil {
			otherAggregate(flat)
			groups[name] = map[string]any{"aggregate": flat, "paired": nil}
		}
	}
	if paired, ok := doc["paired"].(map[string]any); ok {
		otherPaired(paired, rows)
	}
	return sembench.AppendJSON(nil, doc, 0)
}

// otherRow converts one row.
func otherRow(row map[string]any) {
	// Whether something was materialized is said as yes or no there; how much stands in external_confirmed_tokens.
	if yes, is := row["audit_materialized"].(bool); is {
		row["audit_materialized"] = any(nil)
		if !yes {
			row["audit_materialized"] = json.Number("0")
		} else if row["external_confirmed_tokens_source"] == "connector_audit" {
			row["audit_materialized"] = row["external_confirmed_tokens"]
		}
	}
	if yes, is := row["audit_load_allocated"].(bool); is {
		row["audit_load_allocated"] = any(nil)
		if !yes {
			row["audit_load_allocated"] = json.Number("0")
		}
	}
	if row["fuzzy_confirmed_tokens_source"] == nil && !positive(row["fuzzy_confirmed_tokens"]) {
		row["fuzzy_confirmed_tokens"] = nil // 0 is its default, not a measurement
	}
	positions, _ := row["output_top_logprobs"].([]any)
	for i, position := range positions {
		if list, ok := position.([]any); ok {
			out := map[string]any{}
			for _, entry := range list {
				if pair, ok := entry.([]any); ok && len(pair) == 2 {
					out[fmt.Sprint(pair[0])] = pair[1]
				}
			}
			positions[i] = out
		}
	}
}

// otherAggregate makes rates of nothing null.
func otherAggregate(a map[string]any) {
	if a == nil {
		return
	}
	if outcomes, ok := a["route_outcomes"].(map[string]any); ok && len(outcomes) == 0 {
		for _, key := range []string{"semantic_placements", "semantic_placement_rate_by_request", "negative_control_semantic_placements", "negative_control_semantic_placement_rate"} {
			a[key] = nil
		}
	}
	if !positive(a["negative_control_blocks"]) {
		for _, key := range []string{"negative_control_backend_confirmed_blocks", "negative_control_backend_confirmed_rate", "negative_control_semantic_eligible_blocks", "negative_control_semantic_eligible_rate",
			"negative_control_semantic_placements", "negative_control_semantic_placement_rate"} {
			a[key] = nil
		}
	}
}

// otherPaired converts the block of pairs. A document that does not say how its steps were isolated leaves every pair's isolation unknown, and
// contamination unjudged: its count of contaminated pairs only tells of resets that failed.
func otherPaired(paired map[string]any, rows []any) {
	if names, ok := paired["semantic_mechanisms"].([]any); ok {
		counts, _ := paired["reuse_mechanisms"].(map[string]any)
		of := map[string]any{}
		for _, name := range names {
			if text, ok := name.(string); ok && counts[text] != nil {
				of[text] = counts[text]
			}
		}
		paired["semantic_mechanisms"] = of
	}
	if ci, has := paired["warm_vs_cold_output_rouge_l_ci"]; has {
		paired["warm_vs_cold_output_rouge_l_mean_ci"] = ci
	}
	if _, says := paired["contamination_judged"]; says {
		return
	}
	// Its pairs_used counts the controls, which ours judge apart.
	used, is := paired["pairs_used"].(json.Number)
	controls, are := paired["negative_control_pairs"].(json.Number)
	if is && are {
		n, errN := used.Int64()
		c, errC := controls.Int64()
		if errN == nil && errC == nil && c > 0 && n >= c {
			paired["pairs_used"] = json.Number(strconv.FormatInt(n-c, 10))
		}
	}
	unknown := map[string]bool{}
	for _, v := range rows {
		if row, ok := v.(map[string]any); ok && row["isolation"] == nil {
			unknown[fmt.Sprint(row["item_id"])] = true
		}
	}
	paired["contamination_judged"], paired["pairs_isolation_unknown"] = false, json.Number(strconv.Itoa(len(unknown)))
}

func unmeasured(of map[string]any, prefixes ...string) {
	for key := range of {
		for _, prefix := range prefixes {
			if strings.HasPrefix(key, prefix) {
				of[key] = nil
			}
		}
	}
}

func isTrue(v any) bool { b, _ := v.(bool); return b }

// positive tells that v is a number above zero.
func positive(v any) bool {
	literal, ok := v.(json.Number)
	if !ok {
		return false
	}
	x, err := literal.Float64()
	return err == nil && x > 0
}
