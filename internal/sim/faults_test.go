package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sembench"
)

func TestFaultTableIsComplete(t *testing.T) {
	perFamily, names := map[string]int{}, map[string]bool{}
	for _, f := range Faults() {
		perFamily[f.Family]++
		if names[f.Name] || f.Does == "" || f.Naive == "" || (f.Value == "") != (f.Default == 0) {
			t.Errorf("fault %q is incomplete or named twice", f.Name)
		}
		names[f.Name] = true
	}
	if len(names) < 40 || len(perFamily) != 7 {
		t.Errorf("%d faults in %d families", len(names), len(perFamily))
	}
	for family, n := range perFamily {
		if n < 4 {
			t.Errorf("family %q has %d faults", family, n)
		}
	}
}

// transcript is everything that anyone can see of an engine over a fixed scenario: steps that begin with a reset, donors and
// recipients in both arms, repeats, shifted and unrelated prompts, salts.
func transcript(t *testing.T, faults ...string) (seen string, truth []sembench.SimTruth) {
	t.Helper()
	return transcriptAs(t, "vllm", faults...)
}

func transcriptAs(t *testing.T, voice string, faults ...string) (seen string, truth []sembench.SimTruth) {
	t.Helper()
	var out, log, audit bytes.Buffer
	c := law()
	c.As, c.Workers = voice, 2
	c.Faults, c.Log, c.Audit, c.Seed = faults, &log, &audit, 4
	e, m, client := inMemory(t, c)
	call := func(path, body, id string) {
		req, _ := http.NewRequest("POST", "http://sim"+path, strings.NewReader(body))
		req.Header.Set("X-Request-Id", id)
		began := m.Now()
		res, err := client.Do(req)
		if err != nil {
			fmt.Fprintln(&out, "error", time.Duration(m.Now()-began))
			return
		}
		defer res.Body.Close()
		fmt.Fprintln(&out, res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Content-Encoding"))
		buf := make([]byte, 1<<16)
		for err == nil {
			var n int
			n, err = res.Body.Read(buf)
			fmt.Fprintf(&out, "%v %q\n", time.Duration(m.Now()-began), buf[:n])
		}
		if err != io.EOF {
			fmt.Fprintln(&out, "cut")
		}
	}
	step := 0
	chat := func(arm, role, text, salt string) {
		body := chatBody(text)
		body["stream"], body["stream_options"] = true, map[string]any{"include_usage": true}
		if salt != "" {
			body["cache_salt"] = salt
		}
		raw, _ := json.Marshal(body)
		call("/v1/chat/completions", string(raw), fmt.Sprintf("sembench-%s-%06d-%s-0123456789abcdef", arm, step, role))
		step++
	}
	path := "/reset_prefix_cache?reset_external=true"
	switch voice {
	case "sglang":
		path = "/flush_cache"
	case "llamacpp":
		path = "/slots/0?action=erase"
	}
	reset := func() { call(path, "", "") }
	fact := "\nPump 17 — größer als alle — runs at 4711 bar in hall 12 since the year 1998.\n"
	preface := "Every prompt of this house begins with the same preface, which is longer than a block of sixteen tokens.\n"
	ask := "\nAt how many bar does pump 17 run?"
	for i := range 4 {
		// The donor has another pressure and another length ahead of it.
		doc := prose(uint64(i), 300)
		donor := "Another preface, longer than that.\n" + prose(uint64(90+i), 3) + doc + strings.ReplaceAll(fact, "4711", "3200") + ask
		recipient := preface + doc + fact + ask
		arms := []string{"cold", "warm"}
		if i == 3 {
			slices.Reverse(arms)
		}
		for _, arm := range arms {
			reset()
			if err := m.Sleep(t.Context(), 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if arm == "warm" {
				chat(arm, "donor-0", donor, "")
			}
			chat(arm, "recipient", recipient, "")
		}
		reset()
		chat("cold", "donor-0", prose(uint64(50+i), 300), "salt"+fmt.Sprint(i))
		chat("warm", "recipient", prose(uint64(50+i), 300), "pepper")
		chat("cold", "donor-1", preface+prose(uint64(30+i), 300), "")
		chat("warm", "recipient", preface+prose(uint64(70+i), 300)+fact+ask, "")
	}
	res, err := client.Get("http://sim/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(res.Body)
	res.Body.Close()
	truth = e.Truth()
	for _, r := range truth {
		if r.PrefixTokens < 0 || r.SemanticTokens < 0 || r.PromptTokens-r.PrefixTokens-r.ExternalTokens-r.SemanticTokens < 1 {
			t.Errorf("%v: impossible truth %+v", faults, r)
		}
	}
	seen = out.String() + log.String() + audit.String() + string(metrics)
	return strings.ReplaceAll(seen, e.boot.id, "boot"), truth
}

// Every fault changes something that can be seen, and none lets the engine reuse more than there is.
func TestEveryFaultShows(t *testing.T) {
	honest, truth := transcript(t)
	again, _ := transcript(t)
	if honest != again {
		t.Fatal("two honest runs differ")
	}
	semantic := 0
	for _, r := range truth {
		if semantic += r.SemanticTokens; len(r.FaultsActive) > 0 {
			t.Errorf("honest request has faults: %+v", r)
		}
	}
	if semantic == 0 {
		t.Fatal("the scenario has no semantic hit")
	}
	for _, f := range Faults() {
		name := f.Name
		if f.Default < 1 && strings.HasPrefix(f.Value, "share of") && f.Family != FamilyTiming {
			name += "=1" // shares: all of it
		}
		if f.Default > 100 && f.Default < 1000 && f.Family == FamilyCold {
			name += "=8" // begins later than this scenario ends
		}
		if seen, _ := transcript(t, name); seen == honest {
			t.Errorf("%s changes nothing", f.Name)
		}
	}
}

// Faults combine: all at once still give a truth that adds up.
func TestAllFaultsAtOnce(t *testing.T) {
	for _, family := range []string{FamilyCold, FamilyPhantom, FamilyWrong, FamilyQuality, FamilyTiming, FamilyTransport, FamilyEvidence} {
		var names []string
		for _, f := range Faults() {
			if f.Family == family {
				names = append(names, f.Name)
			}
		}
		transcript(t, names...)
	}
	var all []string
	for _, f := range Faults() {
		all = append(all, f.Name)
	}
	for _, voice := range Voices() {
		if _, truth := transcriptAs(t, voice, all...); len(truth) == 0 {
			t.Errorf("%s: nothing was served", voice)
		}
	}
}

// Every voice keeps the law and serves the scenario without a fault.
func TestEveryVoiceIsHonest(t *testing.T) {
	for _, voice := range Voices() {
		seen, truth := transcriptAs(t, voice)
		if strings.Contains(seen, "error") || strings.Contains(seen, "cut\n") || len(truth) != 28 {
			t.Errorf("%s: %d requests\n%.2000s", voice, len(truth), seen)
		}
		for _, r := range truth {
			want := int64(3e6) + r.LookupNS + 10_000*int64(r.PromptTokens-r.PrefixTokens-r.SemanticTokens-r.ExternalTokens) + 1000*int64(r.SemanticTokens)
			if r.LawTTFTNS-r.QueueNS != want || r.EmittedFirstNS != r.LawTTFTNS {
				t.Errorf("%s: %+v, want %d", voice, r, want)
			}
		}
	}
}
