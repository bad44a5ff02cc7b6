package engine

import (
	"strings"
	"testing"
)

// Lines after llama.cpp pull requests 13194 and 19408 and ollama v0.6.5, numbers made up.
func TestSlots(t *testing.T) {
	check := func(engine, in string, used, prompt int) {
		t.Helper()
		ev := summarize(t, engine, []byte(in))
		if ev.ExactReuse == nil || *ev.ExactReuse.LocalTokens != used || *ev.ExactReuse.QueriedTokens != prompt {
			t.Errorf("%s\n%s\nwant %d of %d", in, inJSON(t, ev.ExactReuse), used, prompt)
		}
		if auto := summarize(t, "auto", []byte(in)); auto.Engine != engine {
			t.Errorf("auto took it for %s", auto.Engine)
		}
	}
	check("ollama", `time=2031-01-01T00:00:00.000Z level=DEBUG source=cache.go:137 msg="loading cache slot" id=0 cache=151 prompt=152 used=142 remaining=10`, 142, 152)
	check("llamacpp", `slot update_slots: id  0 | task 5 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 152
slot update_slots: id  0 | task 5 | kv cache rm [142, end)
slot update_slots: id  0 | task 5 | prompt processing progress, n_past = 152, n_tokens = 10, progress = 0.065
`, 142, 152)
	// A candidate of 848 tokens that the server then gave up: nothing was kept.
	check("llamacpp", `slot update_slots: id  0 | task 135 | new prompt, n_ctx_slot = 32768, n_keep = 0, task.n_tokens = 1371
slot update_slots: id  0 | task 135 | n_past = 848, slot.prompt.tokens.size() = 1369, seq_id = 0, pos_min = 1368, n_swa = 1
slot update_slots: id  0 | task 135 | forcing full prompt re-processing due to lack of cache data
slot update_slots: id  0 | task 135 | n_tokens = 0, memory_seq_rm [0, end)
slot update_slots: id  0 | task 135 | n_tokens = 1024, memory_seq_rm [1024, end)
`, 0, 1371)
	// A checkpoint restored part of the candidate; two slots interleave; the 2026 header and journalctl.
	lines := strings.Split(`slot update_slots: id  1 | task 8 | new prompt, n_ctx_slot = 196608, n_keep = 0, task.n_tokens = 22350
slot update_slots: id  0 | task 9 | new prompt, n_ctx_slot = 196608, n_keep = 0, task.n_tokens = 50
slot update_slots: id  1 | task 8 | n_past = 13831, slot.prompt.tokens.size() = 13893, seq_id = 1, pos_min = 13892, n_swa = 1
slot update_slots: id  0 | task 9 | n_tokens = 40, memory_seq_rm [40, end)
slot update_slots: id  1 | task 8 | restored context checkpoint (pos_min = 13318, pos_max = 13318, size = 186.329 MiB)
slot update_slots: id  1 | task 8 | n_tokens = 13319, memory_seq_rm [13319, end)`, "\n")
	check("llamacpp", strings.Join(lines, "\n"), 13359, 22400)
	check("llamacpp", "2.46.193.277 I "+strings.Join(lines, "\n2.46.193.277 I "), 13359, 22400)
	check("llamacpp", "May 23 00:31:18 host llama.sh[385]: 2.46.193.277 I "+strings.Join(lines, "\nMay 23 00:31:18 host llama.sh[385]: 2.46.193.277 I "), 13359, 22400)
}

// Dynamo: the router's estimate is no reuse, KVBM's tiers are.
func TestDynamo(t *testing.T) {
	ev := summarize(t, "auto", []byte(`2031-05-01T10:00:00.123456Z  INFO dynamo_llm::kv_router::scheduler: Formula for 7 with 12 cached blocks: 3.0 = 1.0 * prefill_blocks + decode_blocks = 1.0 * 2 + 1
2031-05-01T10:00:00.123456Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: 7, logit: 3.0, cached blocks: 12, total blocks: 400
`))
	if ev.ExactReuse != nil || ev.RouterEstimates == nil || ev.RouterEstimates.Lines != 2 || ev.RouterEstimates.CachedBlocks != 12 {
		t.Errorf("router: %s", inJSON(t, ev))
	}
	ev = summarize(t, "vllm", []byte(`2031-05-01T10:00:00.123456Z  INFO kvbm::connector: request complete isl: 100 - cache hits: device: 32, host: 16, disk: 4 - prefilled: 48 request_id="R"`+"\n"))
	e := ev.ExactReuse
	if e == nil || *e.LocalTokens != 32 || *e.ExternalTokens != 20 || *e.Ratio != 0.52 || (*e.Tiers)["disk"] != 4 || ev.Events["kvbm_requests"][0]["request_id"] != "R" {
		t.Errorf("kvbm: %s", inJSON(t, ev))
	}
}

// A fuzzy provider that matches hashes reuses identical tokens: never semantic.
func TestExactProvider(t *testing.T) {
	in := "[2031-05-01 10:00:00 TP0] Fuzzy matching initialized: provider=%, min_match_length=16, cache_results=True\n" +
		"[2031-05-01 10:00:00 TP0] [FUZZY RADIX] fuzzy match success: rid=r cached=512 prompt=700 offset=64, reuse=0.731, cosine=1.000, tier=high, gate=True\n" +
		"[2031-05-01 10:00:00 TP0] [FUZZY] Realized 512 fuzzy tokens (contiguous): copied\n"
	ev := summarize(t, "sglang", []byte(strings.ReplaceAll(in, "%", "ExactHash")))
	if ev.MaterializedSemanticKVReuse || *ev.SemanticHits != 0 || *ev.MaterializedTokens != 0 || *ev.BlendReuse.Tokens != 512 {
		t.Errorf("ExactHash: %s", inJSON(t, ev))
	}
	ev = summarize(t, "sglang", []byte(strings.ReplaceAll(in, "%", "SemanticEmbedding")))
	if !ev.MaterializedSemanticKVReuse || *ev.MaterializedTokens != 512 || ev.BlendReuse != nil || *ev.Provider != "SemanticEmbedding" {
		t.Errorf("SemanticEmbedding: %s", inJSON(t, ev))
	}
}

// Admitted but not realized in this log: unmeasured, not zero.
func TestFuzzyWithoutRealization(t *testing.T) {
	ev := summarize(t, "sglang", []byte("[2031-05-01 10:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: 5, #cached-token: 3, #fuzzy-token: 2\n"))
	if ev.MaterializedTokens != nil || ev.MaterializedSemanticKVReuse || *ev.SemanticHits != 0 || *ev.Prefill.FuzzyTokens != 2 {
		t.Errorf("%s", inJSON(t, ev))
	}
}

// exact_prefix plans are exact reuse in the text log and in the audit.
func TestExactPrefixKind(t *testing.T) {
	ev := summarize(t, "vllm", []byte(strings.ReplaceAll(hitLine, "kind=k", "kind=exact_prefix_load")+materializedLine))
	if ev.MaterializedSemanticKVReuse || *ev.SemanticHits != 0 || *ev.MaterializationEvents != 0 || *ev.MaterializedTokens != 0 {
		t.Errorf("text: %s", inJSON(t, ev))
	}
	audit := `{"schema_version":2,"event":"semantic_lookup_hit","request_id":"a","materialization_kind":"exact_prefix"}
{"schema_version":2,"event":"runtime_materialized","request_id":"a","tokens":64,"materialization_kind":"exact_prefix"}
`
	ev = summarize(t, "vllm", []byte(audit))
	if ev.MaterializedSemanticKVReuse || *ev.SemanticHits != 0 || *ev.MaterializedTokens != 0 || *ev.ExactReuse.ExternalTokens != 64 {
		t.Errorf("audit: %s", inJSON(t, ev))
	}
}

// A load that wrote some layers only is partial, by any of the three signs.
func TestPartialLayers(t *testing.T) {
	head := `{"schema_version":2,"connector_id":"w","event":"kv_caches_registered","layer_count":24}` + "\n"
	load := func(more string) string {
		return `{"schema_version":2,"connector_id":"w","event":"runtime_materialized","request_id":"a","tokens":64,"materialization_kind":"semantic_span"` + more + "}\n"
	}
	declined := `{"schema_version":2,"connector_id":"w","event":"semantic_span_layers_declined","request_id":"a","layers_declined":2}` + "\n"
	for in, full := range map[string]int{
		head + load(`,"layers_materialized":24`):                                  64,
		head + load(`,"layers_materialized":12`):                                  0,
		head + load(`,"layers_materialized":24,"layers_without_attn_metadata":1`): 0,
		head + load(`,"layers_materialized":24`) + declined:                       0,
		declined + load(``): 0,
		load(``):            64,
	} {
		r, _ := readAudit(t, in).Resolve("a")
		if *r.Materialized != full || (full == 0) != (r.PartialEvents == 1) || deref(r.PartialTokens) != 64-full {
			t.Errorf("%s: %+v", in, r)
		}
	}
}

// Segments of one prefill add up; a plan that starts over supersedes them.
func TestSegmentedAdverts(t *testing.T) {
	advert := func(boundary string) string {
		return `{"schema_version":2,"connector_id":"s","event":"segmented_prefill_segment_advertised","request_id":"a","boundary":` + boundary + `,"token_count":100}` + "\n"
	}
	load := `{"schema_version":2,"connector_id":"w","event":"runtime_materialized","request_id":"a","tokens":100,"materialization_kind":"segmented"}` + "\n"
	r, _ := readAudit(t, advert("0")+load+advert("100")+load).Resolve("a")
	if *r.Materialized != 200 || *r.AdvertisedTokens != 200 || r.SupersededTokens != nil {
		t.Errorf("rising: %+v", r)
	}
	r, _ = readAudit(t, advert("0")+load+advert("100")+load+advert("0")+load).Resolve("a")
	if *r.Materialized != 100 || *r.SupersededTokens != 200 {
		t.Errorf("over again: %+v", r)
	}
}

func TestWarnings(t *testing.T) {
	check := func(engine, in, want string) {
		t.Helper()
		if ev := summarize(t, engine, []byte(in)); !strings.Contains(strings.Join(ev.Warnings, "\n"), want) {
			t.Errorf("%q: warnings %q, want %q", in, ev.Warnings, want)
		}
	}
	head := "INFO 05-01 10:00:00 [c.py:1] "
	check("vllm", head+materializedLine+materializedLine, "1 lines of evidence carry no logger header")
	check("vllm", head+strings.TrimSpace(materializedLine), "the last line has no line end")
	check("sglang", "Reqid: q, Total tokens 64, LMCache hit tokens: 0, need to load: 0\n"+head+materializedLine, "")
	check("trtllm", head+"Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs\n", "it looks like vllm")
	check("vllm", "(RayWorkerWrapper pid=9) "+head+strings.TrimSpace(materializedLine)+" [repeated 3x across cluster]\n", "RAY_DEDUP_LOGS=0")
	check("vllm", head+"hello\n", "log_decisions")
	check("vllm", head+"non-default args: {'kv_transfer_config': KVTransferConfig(kv_connector='X')}\n", "names a KV connector that printed nothing")
	check("vllm", "WARNING 05-01 10:00:00 [block_pool.py:9] Failed to reset prefix cache because some blocks (3) are not freed yet\n", "refused 1 cache resets")
	check("auto", "hello\n", "no engine was recognised")
	check("vllm", head+"SemBlend materialized request_id=r tokens=\n", "1 damaged lines")
	check("vllm", "(Worker_TP0 pid=1) "+head+materializedLine+"(Worker_TP1 pid=2) "+head+strings.ReplaceAll(materializedLine, "480", "481"), "ranks disagree")
}

// Silence of a connector that the serve arguments name is no zero.
func TestHiddenConnector(t *testing.T) {
	ev := summarize(t, "vllm", []byte("INFO 05-01 10:00:00 [c.py:1] non-default args: {'kv_transfer_config': KVTransferConfig(kv_connector='X')}\n"))
	if ev.SemanticHits != nil || ev.MaterializedTokens != nil {
		t.Errorf("%s", inJSON(t, ev))
	}
}
