package engine

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"sembench"
)

const samplesDir = "../../../shared/engine-samples"

// sample is one file of the shared set with what it must yield.
type sample struct {
	name, engine string
	data         []byte
	expected     map[string]any
}

func loadSamples(t testing.TB) []sample {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(samplesDir, "*", "expected.json"))
	if err != nil || len(files) == 0 {
		t.Skip("the shared engine samples are not beside this checkout")
	}
	var list []sample
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var set map[string]struct {
			Engine   string         `json:"engine"`
			Expected map[string]any `json:"expected"`
		}
		if err := json.Unmarshal(raw, &set); err != nil {
			t.Fatal(err)
		}
		for _, name := range sortedKeys(set) {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(f), name))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, sample{name, set[name].Engine, data, set[name].Expected})
		}
	}
	return list
}

// ours maps the samples' descriptive names to our keys, once.
var ours = map[string]func(*sembench.Evidence) any{
	"materialized_semantic_kv_reuse":      func(e *sembench.Evidence) any { return e.MaterializedSemanticKVReuse },
	"run_level_flag_reference_compatible": func(e *sembench.Evidence) any { return e.MaterializedSemanticKVReuseFileLevel },
	"donor_registrations":                 func(e *sembench.Evidence) any { return e.DonorRegistrations },
	"semantic_hits":                       func(e *sembench.Evidence) any { return e.SemanticHits },
	"load_advertisements":                 func(e *sembench.Evidence) any { return e.LoadAdvertisements },
	"lookup_misses":                       func(e *sembench.Evidence) any { return e.LookupMiss },
	"lookup_skips":                        func(e *sembench.Evidence) any { return e.LookupSkips },
	"lookups_with_non_boolean_found":      func(e *sembench.Evidence) any { return e.LookupsNonBooleanHits },
	"materialization_events":              func(e *sembench.Evidence) any { return e.MaterializationEvents },
	"materialization_rank_lines":          func(e *sembench.Evidence) any { return e.RankLines },
	"materialized_tokens":                 func(e *sembench.Evidence) any { return e.MaterializedTokens },
	"materialized_units":                  func(e *sembench.Evidence) any { return e.MaterializedUnits },
	"rope_corrections":                    func(e *sembench.Evidence) any { return e.RopeCorrections },
	"engine_boundaries":                   func(e *sembench.Evidence) any { return e.EngineBoundaries },
	"rejection_reasons":                   func(e *sembench.Evidence) any { return e.RejectionReasons },
	"malformed_lines":                     func(e *sembench.Evidence) any { return e.Input.DamagedLines },
	"requests_hit_and_materialized":       func(e *sembench.Evidence) any { return e.Requests.HitAndMaterializedIDs },
	"dropped_after_success":               func(e *sembench.Evidence) any { return e.HitsDropped },
	"fuzzy_success_lines":                 func(e *sembench.Evidence) any { return len(e.Events["semantic_hits"]) },
	"fuzzy_tokens_cross_check":            func(e *sembench.Evidence) any { return e.Prefill.FuzzyMatchesRealized },
	"similarities": func(e *sembench.Evidence) any {
		var list []any
		for _, hit := range e.Events["semantic_hits"] {
			list = append(list, hit["similarity"])
		}
		return list
	},
	"prefill": func(e *sembench.Evidence) any {
		return map[string]any{"new": e.Prefill.NewTokens, "cached": e.Prefill.CachedTokens, "fuzzy": e.Prefill.FuzzyTokens}
	},
	"prefill_lines": func(e *sembench.Evidence) any { return e.Prefill.Lines },
	"decode_lines":  func(e *sembench.Evidence) any { return e.Prefill.DecodeLines },
	"new_tokens":    func(e *sembench.Evidence) any { return e.Prefill.NewTokens },
	"new_seqs":      func(e *sembench.Evidence) any { return e.Prefill.NewSeqs },
	"cached_tokens": func(e *sembench.Evidence) any {
		if e.Usage != nil {
			return e.Usage.CachedTokens
		}
		return e.Prefill.CachedTokens
	},
	"exact_reuse_ratio":        func(e *sembench.Evidence) any { return e.ExactReuse.Ratio },
	"last_logged_hit_rate_pct": func(e *sembench.Evidence) any { return *e.Prefill.LastHitRate * 100 },
	"hit_rate_consistent":      func(e *sembench.Evidence) any { return e.Prefill.HitRateConsistent },
	"pending_tokens_last":      func(e *sembench.Evidence) any { return e.Prefill.PendingTokensLast },
	"errors":                   func(e *sembench.Evidence) any { return e.ErrorCount },
	"error_lines":              func(e *sembench.Evidence) any { return e.ErrorCount },
	"warnings":                 func(e *sembench.Evidence) any { return e.WarningLines },
	"lmcache_retrieve_events": func(e *sembench.Evidence) any {
		if e.LMCache == nil { // no LMCache line at all
			return 0
		}
		return e.LMCache.RetrieveEvents
	},
	"stat_lines":                func(e *sembench.Evidence) any { return e.EngineStats.Lines },
	"spec_decode_lines_ignored": func(e *sembench.Evidence) any { return e.EngineStats.SpecDecodeLines },
	"engines":                   func(e *sembench.Evidence) any { return e.EngineStats.Engines },
	"process_label":             func(e *sembench.Evidence) any { return e.EngineStats.Last.Process },
	"prefix_cache_hit_rate_pct": func(e *sembench.Evidence) any {
		return series(e, func(s sembench.StatSample) any { return percent(s.PrefixCacheHitRate) })
	},
	"external_prefix_cache_hit_rate_pct": func(e *sembench.Evidence) any {
		return series(e, func(s sembench.StatSample) any { return percent(s.ExternalPrefixCacheHitRate) })
	},
	"last_prefix_cache_hit_rate_pct": func(e *sembench.Evidence) any { return percent(e.EngineStats.Last.PrefixCacheHitRate) },
	"kv_cache_usage_pct": func(e *sembench.Evidence) any {
		return series(e, func(s sembench.StatSample) any { return percent(s.KVCacheUsage) })
	},
	"running": func(e *sembench.Evidence) any { return series(e, func(s sembench.StatSample) any { return s.Running }) },
	"waiting": func(e *sembench.Evidence) any { return series(e, func(s sembench.StatSample) any { return s.Waiting }) },

	"iterations":                func(e *sembench.Evidence) any { return e.KVCacheStats.Iterations },
	"reused_blocks":             func(e *sembench.Evidence) any { return e.KVCacheStats.ReusedBlocks },
	"missed_blocks":             func(e *sembench.Evidence) any { return e.KVCacheStats.MissedBlocks },
	"cache_hit_rate":            func(e *sembench.Evidence) any { return e.KVCacheStats.CacheHitRate },
	"tokens_per_block":          func(e *sembench.Evidence) any { return e.KVCacheStats.TokensPerBlock },
	"reused_tokens_upper_bound": func(e *sembench.Evidence) any { return e.KVCacheStats.ReusedTokensUpperBound },
	"semantic":                  func(e *sembench.Evidence) any { return e.SemanticHits != nil || e.MaterializedSemanticKVReuse },

	"prompt_tokens":        func(e *sembench.Evidence) any { return e.Usage.PromptTokens },
	"completion_tokens":    func(e *sembench.Evidence) any { return e.Usage.CompletionTokens },
	"created_cache_tokens": func(e *sembench.Evidence) any { return e.Usage.CreatedCacheTokens },
	"exact_reuse_fraction": func(e *sembench.Evidence) any { return e.Usage.ExactReuseFraction },

	"lookup_lines":                func(e *sembench.Evidence) any { return e.LMCache.LookupLines },
	"lookup_requests":             func(e *sembench.Evidence) any { return e.LMCache.LookupRequests },
	"retrieve_lines":              func(e *sembench.Evidence) any { return e.LMCache.RetrieveLines },
	"retrieve_events":             func(e *sembench.Evidence) any { return e.LMCache.RetrieveEvents },
	"retrieve_events_with_tokens": func(e *sembench.Evidence) any { return e.LMCache.RetrieveEvents },
	"retrieved_tokens":            func(e *sembench.Evidence) any { return e.LMCache.RetrievedTokens },
	"required_tokens":             func(e *sembench.Evidence) any { return e.LMCache.RequiredTokens },
	"total_tokens":                func(e *sembench.Evidence) any { return e.LMCache.TotalTokens },
	"over_retrieved_tokens":       func(e *sembench.Evidence) any { return e.LMCache.OverRetrieved },
	"retrieved_chunks":            func(e *sembench.Evidence) any { return e.LMCache.RetrievedChunks },
	"injected_tokens":             func(e *sembench.Evidence) any { return e.LMCache.InjectedTokens },
	"store_start_lines":           func(e *sembench.Evidence) any { return e.LMCache.StoreStartLines },
	"logical_store_starts":        func(e *sembench.Evidence) any { return e.LMCache.StoreStarts },
	"store_starts":                func(e *sembench.Evidence) any { return e.LMCache.StoreStarts },
	"store_start_tokens":          func(e *sembench.Evidence) any { return e.LMCache.StoreStartTokens },
	"store_start_total":           func(e *sembench.Evidence) any { return e.LMCache.StoreStartTotal },
	"store_events":                func(e *sembench.Evidence) any { return e.LMCache.StoreEvents },
	"stored_tokens":               func(e *sembench.Evidence) any { return e.LMCache.StoredTokens },
	"stored_chunks":               func(e *sembench.Evidence) any { return e.LMCache.StoredChunks },
	"failed_retrieves":            func(e *sembench.Evidence) any { return e.FailedRetrieves },
	"prefetch_lines":              func(e *sembench.Evidence) any { return e.LMCache.PrefetchLines },
	"prefetch": func(e *sembench.Evidence) any { // the same in each of the sample's lines
		p := e.LMCache.Prefetches[0]
		return map[string]any{"retained_keys": p.RetainedKeys, "total_keys": p.TotalKeys, "l1": p.L1, "l2": p.L2}
	},
	"external_request_ids": func(e *sembench.Evidence) any {
		var ids []string
		for _, p := range e.LMCache.Prefetches {
			ids = append(ids, p.RequestID)
		}
		return ids
	},
	"client_request_ids": func(e *sembench.Evidence) any {
		var ids []string
		for _, p := range e.LMCache.Prefetches {
			ids = append(ids, p.ClientRequestID)
		}
		return ids
	},
	"retrieve_request_attribution": func(e *sembench.Evidence) any { return e.Events["retrieved"][0]["request_id"] },
	"ranks": func(e *sembench.Evidence) any { // RanksSeen of a store-only log is empty; the labels tell
		return []int{0, 1, 2, 3}[:len(e.Input.Labels)*4]
	},
}

func percent(f *float64) any {
	if f == nil {
		return nil
	}
	return math.Round(*f*1e6) / 1e4
}

// series is null when no sample has a value.
func series(e *sembench.Evidence, get func(sembench.StatSample) any) any {
	var list []any
	any := false
	for _, s := range e.EngineStats.Samples {
		v := get(s)
		any = any || v != nil
		list = append(list, v)
	}
	if !any {
		return nil
	}
	return list
}

// same compares through JSON, with the samples' own rounding of ratios (six decimals).
func same(got, want any) bool {
	raw, err := json.Marshal(got)
	if err != nil {
		return false
	}
	var norm any
	if json.Unmarshal(raw, &norm) != nil {
		return false
	}
	return near(norm, want)
}

func near(a, b any) bool {
	if x, ok := a.(float64); ok {
		y, ok := b.(float64)
		return ok && math.Abs(x-y) <= 5e-7*math.Max(1, math.Abs(y))
	}
	if x, ok := a.([]any); ok {
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !near(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	if x, ok := a.(map[string]any); ok {
		y, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for k := range y { // the samples leave some members out
			if !near(x[k], y[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func summarize(t testing.TB, engine string, data []byte) *sembench.Evidence {
	t.Helper()
	ev, err := Summarize(engine, bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func TestSamples(t *testing.T) {
	names := map[string]string{"usage": "openai"}
	for _, s := range loadSamples(t) {
		t.Run(s.name, func(t *testing.T) {
			switch s.engine {
			case "vllm-audit":
				checkAuditSample(t, s)
				return
			case "prometheus":
				checkMetricsSample(t, s)
				return
			case "kv-events":
				checkKVSample(t, s)
				return
			case "any":
				for _, engine := range []string{"vllm", "lmcache"} {
					for _, all := range []string{"vllm", "lmcache", "auto"} {
						checkKeys(t, summarize(t, all, s.data), s.expected[engine].(map[string]any))
					}
				}
				return
			}
			engine := s.engine
			if n, ok := names[engine]; ok {
				engine = n
			}
			checkKeys(t, summarize(t, engine, s.data), s.expected)
			if auto := summarize(t, "auto", s.data); auto.Engine != engine {
				t.Errorf("auto took it for %s, want %s", auto.Engine, engine)
			}
		})
	}
}

func checkKeys(t *testing.T, ev *sembench.Evidence, expected map[string]any) {
	t.Helper()
	for _, key := range sortedKeys(expected) {
		want := expected[key]
		switch key {
		case "note", "request_id":
			continue
		case "lookups":
			checkLookups(t, ev, want)
			continue
		}
		get, ok := ours[key]
		if !ok {
			t.Errorf("no key of ours for %q", key)
			continue
		}
		if got := get(ev); !same(got, want) {
			raw, _ := json.Marshal(got)
			t.Errorf("%s = %s, want %v", key, raw, want)
		}
	}
}

func checkLookups(t *testing.T, ev *sembench.Evidence, want any) {
	t.Helper()
	if n, ok := want.(float64); ok {
		if !same(ev.Lookups, n) && !(ev.Lookups == nil && n == 0) {
			t.Errorf("lookups = %v, want %v", ev.Lookups, n)
		}
		return
	}
	for id, w := range want.(map[string]any) {
		i := slices.IndexFunc(ev.LMCache.Lookups, func(l sembench.LMCacheLookup) bool { return l.RequestID == id })
		if i < 0 {
			t.Errorf("no lookup of %s", id)
			continue
		}
		if !same(ev.LMCache.Lookups[i], w) {
			t.Errorf("lookup %s = %+v, want %v", id, ev.LMCache.Lookups[i], w)
		}
	}
}

func checkAuditSample(t *testing.T, s sample) {
	a, err := ReadAudit(bytes.NewReader(s.data))
	if err != nil {
		t.Fatal(err)
	}
	rep := a.Report()
	got := map[string]any{
		"lines": rep.Lines, "request_events": rep.Events, "engine_scope_events": rep.EngineScopeEvents,
		"other_schema_versions": rep.OtherSchemaVersions, "malformed_lines": rep.MalformedLines, "requests": rep.Requests,
	}
	for _, short := range []string{"r1", "r2"} {
		r, how := a.Resolve(short)
		if how != MatchNormalized {
			t.Fatalf("%s is %s, want normalized", short, how)
		}
		got[short] = map[string]any{
			"advertise_count": r.AdvertiseCount, "advertised_tokens": r.AdvertisedTokens, "allocated_tokens": r.LoadAllocated,
			"boundary": r.ObservedBoundary, "boundary_at_span_start": r.BoundaryAtSpanStart, "lookup_hit_boundary": r.LookupHitBoundary,
			"materialized_rank_sum": r.MaterializedRankSum, "materialized_tokens": r.Materialized,
			"superseded_materialized_tokens": r.SupersededTokens, "superseded_rank_sum": r.SupersededRankSum,
			"target_start": r.AdvertisedTargetStart, "lookup_skipped": r.LookupSkipped,
		}
	}
	if !same(got, s.expected) {
		raw, _ := json.MarshalIndent(got, "", " ")
		t.Errorf("got %s\nwant %v", raw, s.expected)
	}
	// The summary reads the same file.
	ev := summarize(t, "vllm", s.data)
	if ev.Audit.Lines != rep.Lines || ev.Audit.MalformedLines != rep.MalformedLines {
		t.Errorf("summary counts %+v, reader %+v", ev.Audit, rep)
	}
	if !ev.MaterializedSemanticKVReuse || ev.Join != "per_request" || *ev.MaterializedTokens != 512 || *ev.SemanticHits != 1 || *ev.LoadAdvertisements != 2 {
		t.Errorf("summary: flag %v join %s tokens %d hits %d adverts %d", ev.MaterializedSemanticKVReuse, ev.Join, *ev.MaterializedTokens, *ev.SemanticHits, *ev.LoadAdvertisements)
	}
}

func checkMetricsSample(t *testing.T, s sample) {
	m, err := ParseMetrics(bytes.NewReader(s.data))
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string) any {
		if v, ok := m.Counters[name]; ok {
			return v
		}
		return nil
	}
	got := map[string]any{
		"prefix_cache_queries": get("vllm_prefix_cache_queries"), "prefix_cache_hits": get("vllm_prefix_cache_hits"),
		"external_prefix_cache_queries": get("vllm_external_prefix_cache_queries"), "external_prefix_cache_hits": get("vllm_external_prefix_cache_hits"),
		"hit_ratio":                m.Counters["vllm_prefix_cache_hits"] / m.Counters["vllm_prefix_cache_queries"],
		"unit":                     m.Units["vllm_prefix_cache_queries"],
		"kv_cache_usage":           m.Gauges["vllm_kv_cache_usage"],
		"deprecated_families_seen": m.DeprecatedSeen,
	}
	want := s.expected
	for k := range want {
		if k == "deprecated_families_seen" { // order is not meant
			a, b := slices.Clone(m.DeprecatedSeen), []string{}
			for _, v := range want[k].([]any) {
				b = append(b, v.(string))
			}
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				t.Errorf("%s = %v, want %v", k, a, b)
			}
			continue
		}
		if !same(got[k], want[k]) {
			t.Errorf("%s = %v, want %v", k, got[k], want[k])
		}
	}
	if v := m.Gauges["vllm_kv_cache_usage"]; math.Abs(v-8.25010481363281e-06) > 1e-18 {
		t.Errorf("usage = %v", v)
	}
}

func checkKVSample(t *testing.T, s sample) {
	state := NewKVState()
	var got = map[string]any{"resident_blocks_before_clear": 0}
	stored := 0
	for b, err := range ReadKVEvents(bytes.NewReader(s.data)) {
		if err != nil {
			t.Fatal(err)
		}
		got["dp_rank"] = b.DPRank
		for _, e := range b.Events {
			if e.Kind == KVStored {
				if stored++; stored == 2 {
					// Compared as text: the hash is above 2^63 and float64 cannot hold it.
					if e.Parent != "18000000000000000002" {
						t.Errorf("parent of the second = %s", e.Parent)
					}
				}
			}
			if e.Kind == KVCleared {
				got["resident_blocks_before_clear"] = state.Summary().Resident
			}
		}
		state.Apply(b)
	}
	sum := state.Summary()
	got["batches"], got["block_stored_events"], got["blocks_stored"] = sum.Batches, sum.BlockStoredEvents, sum.BlocksStored
	got["block_removed_events"], got["blocks_removed"], got["all_blocks_cleared"] = sum.BlockRemovedEvents, sum.BlocksRemoved, sum.AllBlocksCleared
	got["tokens_stored"], got["block_size"], got["resident_after"] = sum.TokensStored, sum.BlockSize, sum.Resident
	if ev := summarize(t, "auto", s.data); ev.KVEvents == nil || *ev.KVEvents != sum {
		t.Errorf("summary %+v, want %+v", ev.KVEvents, sum)
	}
	for key, want := range s.expected {
		if key != "parent_of_second" && !same(got[key], want) {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
}
