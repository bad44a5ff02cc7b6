package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// wrapLine puts a log line into one of the envelopes that carry logs.
func wrapLine(r *rand.Rand, line string) string {
	const ts = "2031-05-01T10:00:00.123456789Z "
	switch r.IntN(8) {
	case 0:
		return ts + line
	case 1:
		return ts + "stderr F " + line
	case 2:
		cut := r.IntN(len(line))
		return ts + "stdout P " + line[:cut] + "\n" + ts + "stderr F INFO:     10.0.0.1:1 - \"GET / HTTP/1.1\" 200 OK\n" + ts + "stdout F " + line[cut:]
	case 3:
		return "[pod/vllm-0/engine] " + ts + line
	case 4:
		b, _ := json.Marshal(map[string]string{"log": line + "\n", "stream": "stderr", "time": "2031"})
		return string(b)
	case 5:
		return "Adding requests:   0%|          | 0/2 [00:00<?, ?it/s]\r" + line
	case 6:
		return "Adding requests:   0%|          | 0/2 [00:00<?, ?it/s]" + line
	}
	return line
}

// Logs made from a known course of events: the summary must find the events, whatever ranks, wrappers and
// order did to the text.
func TestGeneratedLogs(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		groups, ranks := 1+r.IntN(2), 1+r.IntN(3)
		var lines []string
		say := func(label, msg string) {
			header := "INFO 05-01 10:00:00 [connector.py:900] "
			if r.IntN(4) == 0 {
				label, header = "\x1b[1;36m"+label+"\x1b[0;0m", "\x1b[32m"+header+"\x1b[0m"
			}
			lines = append(lines, wrapLine(r, label+" "+header+msg))
		}
		var hits, events, tokens, donors, both, onlyHit, onlyLoad int
		for i := range 1 + r.IntN(20) {
			id := fmt.Sprintf("cmpl-r%d-0-%08x", i, r.Uint32())
			group := r.IntN(groups)
			core := fmt.Sprintf("(EngineCore_DP%d pid=%d)", group, 10+group)
			hit, load := r.IntN(2) == 0, r.IntN(2) == 0
			if hit {
				hits++
				say(core, "SemBlend semantic lookup hit request_id="+id+" donor_id=d similarity=0.9 kind=semantic_span reusable_tokens=64 reason=ok latency_ms=1.5")
			}
			if load {
				for range 1 + r.IntN(3) { // pieces of several donors
					n := 16 * (1 + r.IntN(20))
					events++
					tokens += n
					for rank := range ranks {
						worker := fmt.Sprintf("(Worker_DP%d_TP%d pid=%d)", group, rank, 100+10*group+rank)
						say(worker, fmt.Sprintf("SemBlend materialized request_id=%s donor_id=d tokens=%d", id, n))
					}
				}
			}
			switch {
			case hit && load:
				both++
			case hit:
				onlyHit++
			case load:
				onlyLoad++
			}
			if r.IntN(3) == 0 {
				donors++
				say(core, "SemBlend donor registered request_id="+id+" namespace=ns tokens=64 blocks=4")
			}
			if r.IntN(3) == 0 {
				say("(APIServer pid=1)", "Received request x: prompt: 'SemBlend materialized request_id="+id+" donor_id=d tokens=4096 ERROR Traceback'")
			}
		}
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		ev := summarize(t, "vllm", []byte(strings.Join(lines, "\n")+"\n"))
		got := [...]int{
			deref(ev.SemanticHits), deref(ev.MaterializationEvents), deref(ev.MaterializedTokens), deref(ev.DonorRegistrations),
			deref(ev.Requests.HitAndMaterialized), deref(ev.Requests.HitNotMaterialized), deref(ev.Requests.MaterializedNoHit),
			ev.ErrorCount, ev.Input.DamagedLines,
		}
		want := [...]int{hits, events, tokens, donors, both, onlyHit, onlyLoad, 0, 0}
		if hits+events+donors > 0 && got != want || ev.MaterializedSemanticKVReuse != (both > 0) {
			t.Fatalf("seed %d: got %v, want %v\n%s", seed, got, want, strings.Join(lines, "\n"))
		}
	}
}

// Audits made from a known course of events, two ranks and the scheduler interleaved in one file.
func TestGeneratedAudits(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		ranks := 1 + r.IntN(3)
		var in strings.Builder
		write := func(conn, id, event string, seq int, more string) {
			fmt.Fprintf(&in, `{"schema_version": 2, "source": "semblend_vllm_connector", "connector_id": %q, "request_id": %q, "request_seq": 0, "event_seq": %d, "event": %q%s}`+"\n", conn, id, seq, event, more)
		}
		type truth struct{ adverts, last, materialized, superseded, boundary int }
		want := map[string]truth{}
		for i := range 1 + r.IntN(8) {
			id := fmt.Sprintf("chatcmpl-r%d", i)
			var w truth
			for seq := range r.IntN(4) {
				w.adverts++
				w.superseded += w.materialized
				w.materialized = 0
				w.last, w.boundary = 16*(1+r.IntN(50)), 16*r.IntN(10)
				write("sched", id, "semantic_span_load_advertised", seq, fmt.Sprintf(`, "token_count": %d, "target_start": %d, "boundary": %d`, w.last, w.boundary, w.boundary))
				for range r.IntN(3) {
					n := 16 * (1 + r.IntN(20))
					w.materialized += n
					for rank := range ranks {
						write(fmt.Sprintf("w%d", rank), id, "runtime_materialized", seq, fmt.Sprintf(`, "tokens": %d, "materialization_kind": "semantic_span", "layers_materialized": 4, "layers_without_attn_metadata": 0`, n))
					}
				}
			}
			write("sched", id, "request_first_seen", 9, `, "prompt_tokens": 1000`)
			want[id] = w
		}
		a := readAudit(t, in.String())
		for id, w := range want {
			rec, how := a.Resolve(strings.TrimPrefix(id, "chatcmpl-"))
			if how != MatchNormalized {
				t.Fatalf("seed %d: %s is %s", seed, id, how)
			}
			got := truth{rec.AdvertiseCount, deref(rec.AdvertisedTokens), deref(rec.Materialized), deref(rec.SupersededTokens), deref(rec.ObservedBoundary)}
			if got != w || rec.RanksDisagree || (rec.Materialized != nil) != (w.materialized > 0) {
				t.Fatalf("seed %d: %s: got %+v, want %+v\n%s", seed, id, got, w, in.String())
			}
			if w.materialized > 0 && *rec.MaterializedRankSum != ranks*w.materialized {
				t.Fatalf("seed %d: rank sum %d", seed, *rec.MaterializedRankSum)
			}
		}
	}
}
