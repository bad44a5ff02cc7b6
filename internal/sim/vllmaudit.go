package sim

import (
	"strconv"
	"strings"

	"sembench"
)

// trail is how far the audit has told of a job: its next event at the scheduler.
type trail struct{ events int }

// connector writes one audit record of schema 2. Records about a job carry its id and sequence numbers; other fields of
// a record override those.
func (v *vllm) connector(role, event string, j *job, fields map[string]any) {
	record := map[string]any{
		"schema_version": 2, "source": "semblend_vllm_connector", "mode": "semantic_span", "event": event,
		"connector_id": role + "-" + v.e.boot.id, "time_unix_s": float64(v.e.cfg.Clock.Now().UnixMicro()) / 1e6,
	}
	if j != nil {
		record["request_id"] = j.id
		if strings.HasPrefix(role, "sched") {
			record["request_seq"], record["event_seq"] = j.index, j.trail.events
			j.trail.events++
		}
	}
	for k, value := range fields {
		record[k] = value
	}
	v.e.audit.write(sembench.AppendJSON(nil, record, 0))
}

// write is the audit's account of a job.
func (v *vllm) write(j *job) {
	c, d := j.claims.audit, &j.decision
	boundary := d.prefix + d.offload
	v.connector("sched", "request_first_seen", j, map[string]any{"prompt_tokens": d.prompt})
	switch {
	case d.skipped == "short_prompt":
		v.connector("sched", "lookup_skipped_short_prompt", j, map[string]any{"attempt": 0, "prompt_tokens": d.prompt, "min_prompt_tokens": v.e.cfg.MinSemanticTokens})
		return
	case d.skipped != "":
		v.connector("sched", "lookup_skipped_"+d.skipped, j, map[string]any{
			"attempt": 0, "prompt_tokens": d.prompt, "boundary": boundary, "remaining": d.prompt - boundary,
			"min_semantic_span": v.e.cfg.MinSemanticTokens, "block_size": v.e.cfg.BlockSize,
		})
		return
	case d.failed != nil:
		v.connector("sched", "lookup_error", j, map[string]any{"reason": "provider_exception", "provider": v.e.cfg.Planner, "error_type": "planError"})
		return
	case !c.hit:
		v.connector("sched", "semantic_lookup_miss", j, map[string]any{"latency_ms": v.lookupMS(j), "boundary": boundary})
		return
	}
	v.connector("sched", "semantic_lookup_hit", j, map[string]any{
		"donor_id": c.donorID, "namespace": "default", "similarity": 1, "materialization_kind": kindSpan, "reusable_tokens": c.found, "reason": "ok",
		"latency_ms": v.lookupMS(j), "already_computed_tokens": boundary, "confidence_tier": "fast_reuse",
	})
	if c.advertised != nil {
		v.connector("sched", "semantic_span_load_advertised", j, advert(j, c, boundary))
	}
	if c.allocated != nil {
		v.connector("sched", "load_allocated", j, map[string]any{"tokens": *c.allocated, "materialization_kind": kindSpan, "block_id_count": *c.allocated / v.e.cfg.BlockSize})
	}
	if c.declined {
		v.worker(j, "runtime_materialization_declined", c, map[string]any{"declined_reason": "donor_gone", "donor_id": c.donorID})
	}
	if c.materialized == nil {
		return
	}
	for range c.copies {
		v.worker(j, "runtime_materialized", c, map[string]any{
			"donor_id": c.donorID, "namespace": "default", "tokens": *c.materialized, "materialization_kind": kindSpan,
			"layers_materialized": c.layers, "layers_without_attn_metadata": 0,
		})
	}
}

// kindSpan is how the connector names KV that was copied from anywhere in a donor: not an exact prefix.
const kindSpan = "semantic_span"

// advert is the connector's promise: what it would load, from whom and to where.
func advert(j *job, c claim, boundary int) map[string]any {
	out := map[string]any{"attempt": 0, "token_count": *c.advertised, "boundary": boundary, "donor_id": c.donorID}
	snapped, donors, seen := []any{}, []any{}, map[string]bool{}
	for _, p := range j.decision.pieces {
		snapped = append(snapped, map[string]any{"target_start": p.targetStart, "target_end": p.targetStart + p.length, "donor_start": p.donorStart, "donor_id": p.donor.requestID})
		if !seen[p.donor.requestID] {
			seen[p.donor.requestID] = true
			donors = append(donors, p.donor.requestID)
		}
	}
	if len(j.decision.pieces) > 0 {
		out["target_start"], out["donor_start"] = j.decision.pieces[0].targetStart, j.decision.pieces[0].donorStart
	}
	out["snapped_spans"], out["donors_used"] = snapped, donors
	return out
}

// worker writes one record for each tensor-parallel rank.
func (v *vllm) worker(j *job, event string, c claim, fields map[string]any) {
	for rank := range v.e.cfg.Ranks {
		record := map[string]any{"request_id": c.materializedFor, "request_seq": v.loads, "event_seq": 0}
		for k, value := range fields {
			record[k] = value
		}
		v.connector("wrk-tp"+strconv.Itoa(rank), event, j, record)
	}
	v.loads++
}
