package sim

import (
	"encoding/json"
	"math"

	"github.com/zeebo/xxh3"
)

// maxTopLogprobs is the most alternatives that are told, as in the OpenAI API.
const maxTopLogprobs = 20

// alternatives are the tokens that could always have come instead.
var alternatives = []string{
	" the", " of", " and", " a", " to", " in", " is", " was", " it", " for", " on", " that", " with", " as", " at", " by", " from", " be", " not", " or", " an",
}

// scored is one token with its log probability.
type scored struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// shift is how much of the chosen token's probability goes to the others when a whole prompt was copied from donors: copied KV
// was computed in another context. Exact reuse shifts nothing.
const shift = 0.05

// logprobs is the scripted distribution at chunk i, the chosen token first, then k alternatives with half the probability of
// the one before. The chosen one has 0.5 to 0.95, by the text so far, less the shift of semantic reuse.
func (j *job) logprobs(i, k int) []scored {
	sofar := ""
	for _, c := range j.out.chunks[:i+1] {
		sofar += c
	}
	chosen := j.out.chunks[i]
	p := 0.5 + 0.45*float64(xxh3.HashString(sofar)>>11)/(1<<53)
	p *= 1 - shift*float64(j.decision.semantic)/float64(j.decision.prompt)
	out := []scored{score(chosen, p)}
	rest := 1 - p
	for _, t := range alternatives {
		if len(out) > k {
			break
		}
		if t != chosen {
			rest /= 2
			out = append(out, score(t, rest))
		}
	}
	return out
}

func score(token string, p float64) scored {
	s := scored{Token: token, Logprob: math.Log(p)}
	for i := range len(token) {
		s.Bytes = append(s.Bytes, int(token[i]))
	}
	return s
}

// logprobsJSON is the logprobs value of an event with the chunks [from, to): null where none were asked for.
func (s *openAIStream) logprobsJSON(from, to int) []byte {
	if s.logprobs == nil {
		return null
	}
	var value any
	if s.chat {
		content := []any{}
		for i := from; i < to; i++ {
			all := s.j.logprobs(i, *s.logprobs)
			content = append(content, map[string]any{"token": all[0].Token, "logprob": all[0].Logprob, "bytes": all[0].Bytes, "top_logprobs": all[:min(len(all), *s.logprobs)]})
		}
		value = map[string]any{"content": content}
	} else {
		tokens, own, top, offsets, at := []string{}, []float64{}, []any{}, []int{}, 0
		for i, c := range s.j.out.chunks[:to] {
			if i >= from {
				all := s.j.logprobs(i, *s.logprobs)
				tokens, own, offsets = append(tokens, c), append(own, all[0].Logprob), append(offsets, at)
				best := map[string]float64{}
				for _, one := range all[:max(1, min(len(all), *s.logprobs))] {
					best[one.Token] = one.Logprob
				}
				top = append(top, best)
			}
			at += len(c)
		}
		value = map[string]any{"tokens": tokens, "token_logprobs": own, "top_logprobs": top, "text_offset": offsets}
	}
	out, _ := json.Marshal(value) // finite numbers and strings always have a JSON form
	return out
}
