package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"sembench"
	"sembench/internal/replay"
)

// coldFirst is the speedup of a harness that runs all cold arms and then all warm ones.
func coldFirst(ctx context.Context, s setting, dir string) (float64, error) {
	cold, warm, err := s.pass(ctx, dir, replay.Config{Isolation: replay.Reset}, []string{sembench.ArmCold}, []string{sembench.ArmWarm})
	return meanMS(cold, untilOutput) / meanMS(warm, untilOutput), err
}

// saltUnasked is what the prefix cache gave cold recipients of a harness that isolates steps with cache_salt and never tries whether the
// engine honours it.
func saltUnasked(ctx context.Context, s setting, dir string) (float64, error) {
	cold, _, err := s.pass(ctx, dir, replay.Config{Isolation: replay.Salt, SaltKind: replay.SaltField}, []string{sembench.ArmCold, sembench.ArmWarm})
	sum := 0.0
	for _, o := range cold {
		if cached, external := o.CachedTokens(), o.ExternalCachedTokens(); cached != nil && external != nil {
			sum += float64(*cached - *external)
		}
	}
	return sum, err
}

// exactSpeedup is what the exact arm says that prefix caching alone gives, whatever serves it.
func exactSpeedup(ctx context.Context, s setting, dir string) (float64, error) {
	s.exact = true
	t, err := s.try(ctx, dir)
	if err != nil {
		return 0, err
	}
	return meanMS(t.recipients(sembench.ArmCold), untilOutput) / meanMS(t.recipients(sembench.ArmExact), untilOutput), nil
}

// pass runs arms one list after the other on one engine and gives the finished recipients.
func (s setting) pass(ctx context.Context, dir string, how replay.Config, passes ...[]string) (cold, warm []sembench.Observation, err error) {
	w, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	flight, err := replay.Preflight(ctx, w.config)
	if err != nil {
		return nil, nil, err
	}
	cfg := flight.Apply(w.config)
	cfg.Isolation, cfg.SaltKind = how.Isolation, how.SaltKind
	if cfg.Isolation == replay.Salt {
		cfg.ResetURLs = nil
	}
	for i, arms := range passes {
		cfg.Arms = arms
		found, _, err := s.record(ctx, dir, sembench.JournalHead{ManifestSHA256: "lab", ConfigSHA256: "lab"}, cfg, fmt.Sprintf("naive-%d", i), replay.Run)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range found {
			switch {
			case o.Role != sembench.RoleRecipient || o.Status != sembench.StatusOK:
			case o.Arm == sembench.ArmCold:
				cold = append(cold, o)
			case o.Arm == sembench.ArmWarm:
				warm = append(warm, o)
			}
		}
	}
	return cold, warm, nil
}

// reads is what a client sees that takes each read for an event.
type reads struct {
	undecodable float64 // share of reads
	firstCached float64 // cached tokens of the first usage object of each response, summed
}

// naiveReads sends the first items' donors and recipients with such a client.
func naiveReads(of func(reads) float64) func(context.Context, setting, string) (float64, error) {
	return func(ctx context.Context, s setting, _ string) (_ float64, err error) {
		w, err := s.open()
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, w.stop()) }()
		var sum reads
		total, bad := 0.0, 0.0
		for _, it := range s.corpus.items[:8] {
			for _, d := range it.DonorPrompts {
				if _, _, _, err := w.readNaively(ctx, d.Text); err != nil {
					return 0, err
				}
			}
			n, undecodable, cached, err := w.readNaively(ctx, it.RecipientPrompt)
			if err != nil {
				return 0, err
			}
			total, bad, sum.firstCached = total+n, bad+undecodable, sum.firstCached+cached
		}
		sum.undecodable = bad / total
		return of(sum), nil
	}
}

func (w *world) readNaively(ctx context.Context, prompt string) (total, undecodable, cached float64, err error) {
	body, err := json.Marshal(map[string]any{"model": "sembench-sim", "stream": true, "stream_options": map[string]any{"include_usage": true}, "max_tokens": 32,
		"messages": []map[string]string{{"role": "user", "content": prompt}}})
	if err != nil {
		return 0, 0, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.config.BaseURL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, 0, 0, err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return 0, 0, 0, err
	}
	defer response.Body.Close()
	buffer, seen := make([]byte, 1<<16), false
	for {
		n, err := response.Body.Read(buffer)
		if n > 0 {
			total++
			fine := true
			for event := range bytes.SplitSeq(bytes.TrimSpace(buffer[:n]), []byte("\n\n")) {
				data := bytes.TrimPrefix(event, []byte("data: "))
				var parsed struct {
					Usage *struct {
						Details struct {
							Cached float64 `json:"cached_tokens"`
						} `json:"prompt_tokens_details"`
					} `json:"usage"`
				}
				if string(data) == "[DONE]" {
					continue
				}
				if json.Unmarshal(data, &parsed) != nil {
					fine = false
				} else if parsed.Usage != nil && !seen {
					seen, cached = true, parsed.Usage.Details.Cached
				}
			}
			if !fine {
				undecodable++
			}
		}
		if errors.Is(err, io.EOF) {
			return total, undecodable, cached, nil
		}
		if err != nil {
			return 0, 0, 0, err
		}
	}
}
