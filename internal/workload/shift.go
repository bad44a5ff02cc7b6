package workload

import (
	"errors"
	"strings"
	"unicode/utf8"

	"sembench/internal/token"
)

// Transforms that move, cut or repeat the same text.

var errTooShort = errors.New("too_short_for_the_parameter")

// repeatShifted: only the header differs, in length, and by no whole number of blocks of 16.
func repeatShifted(k *kit) (draft, error) {
	q := k.doc.questions[0]
	instruction, request, text := pick(k.random, instructions), pick(k.random, requests), evidence(k.doc.chunks, numbered)
	short := "Reference: " + k.random.coined() + "\n"
	long := short
	for name := k.random.coined(); ; name = k.random.coined() {
		long = strings.TrimSuffix(long, "\n") + ", " + name + "\n"
		if shift := (k.count(long) - k.count(short)) % 16; shift >= 3 && shift <= 13 {
			break
		}
	}
	make := func(header string) *prompt {
		return new(prompt).own(header).boilerplate(instruction).own("\n\n" + text + "\n\n").boilerplate(request).own("\n" + q.text)
	}
	return one(make(short), make(long), q), nil
}

func (k *kit) count(text string) int { return len(k.tokenizer.Encode(nil, text)) }

// sparseEditShare is the share of sentences that sparse_edit revises.
const sparseEditShare = 0.04

// sparseEdit revises sentences other than those asked about: facts get another wording, real sentences lose a word.
func sparseEdit(k *kit) (draft, error) {
	q := k.doc.questions[0]
	var revised []chunk
	if w := k.doc.world; w != nil {
		chosen := map[*fact]bool{}
		for _, i := range k.random.Perm(len(w.facts))[:max(1, int(sparseEditShare*float64(len(w.facts))+0.5))] {
			chosen[w.facts[i]] = w.facts[i] != q.fact
		}
		revised = w.tell(telling{change: func(f *fact) *fact {
			if chosen[f] {
				return f.reworded(k.random)
			}
			return f
		}})
	} else {
		for _, c := range k.doc.chunks {
			revised = append(revised, chunk{c.title, lossy(k.random, c.body, q.answers)})
		}
	}
	instruction, request := pick(k.random, instructions), pick(k.random, requests)
	return one(base(instruction, evidence(k.doc.chunks, numbered), request, q.text),
		base(instruction, evidence(revised, numbered), request, q.text), q), nil
}

// lossy drops one word of some sentences that do not state an answer, of at least one.
func lossy(r draws, body string, answers []string) string {
	parts := sentences(body)
	must := r.IntN(max(1, len(parts)))
	for i, s := range parts {
		words := strings.SplitAfter(s, " ")
		if len(words) > 3 && !stated(s, answers) && (i == must || r.chance(sparseEditShare)) {
			at := r.between(1, len(words)-2)
			parts[i] = strings.Join(words[:at], "") + strings.Join(words[at+1:], "")
		}
	}
	return strings.Join(parts, "")
}

// prefixDepth: the donor is the recipient up to param percent of its tokens, then another document.
func prefixDepth(k *kit) (draft, error) {
	q := k.doc.questions[0]
	recipient := base(pick(k.random, instructions), evidence(k.doc.chunks, numbered), pick(k.random, requests), q.text)
	pieces := k.tokenizer.Pieces(recipient.String())
	shared := (len(pieces)*k.param + 50) / 100
	d := one(recipient, recipient, q)
	d.metadata = map[string]any{"expected_supplied_tokens": shared}
	if k.param == 100 {
		return d, nil
	}
	other, err := k.unrelated(0)
	if err != nil {
		return draft{}, err
	}
	rest := k.tokenizer.Pieces(evidence(other.chunks, lettered))
	rest = rest[:min(len(rest), len(pieces)-shared)]
	prefix := strings.Join(pieces[:shared], "")
	d.donors = []*prompt{new(prompt).own(prefix + strings.Join(rest, ""))}
	d.donors[0].shared = clipped(recipient.shared, utf8.RuneCountInString(prefix))
	d.metadata["donor_source_id"] = other.source
	return d, nil
}

// clipped is what spans hold of the first n characters.
func clipped(spans []span, n int) (out []span) {
	for _, s := range spans {
		if length := min(s.length, n-s.start); length > 0 {
			out = append(out, span{s.start, length})
		}
	}
	return out
}

// ropeLead is how many tokens stand before the span in a donor; ropeRoom what a recipient needs beside the shift.
const (
	ropeLead = 64
	ropeRoom = 1024
)

// ropeDelta: the same span, param tokens later than in the donor, behind other text.
func ropeDelta(k *kit) (draft, error) {
	q, earlier := k.doc.questions[0], k.doc.earlierQuestion()
	span := evidence(k.doc.chunks, numbered)
	request, task := two(k.random, requests)
	make := func(number, tokens int, request, question string) (*prompt, string, error) {
		other, err := k.unrelated(number)
		if err != nil {
			return nil, "", err
		}
		lead, ok := exactly(k.tokenizer, evidence(other.chunks, lettered), tokens)
		if !ok {
			return nil, "", errTooShort
		}
		return new(prompt).own(lead + span + "\n\n").boilerplate(request).own("\n" + question), other.source, nil
	}
	donor, first, err := make(0, ropeLead, request, earlier.text)
	if err != nil {
		return draft{}, err
	}
	recipient, second, err := make(1, ropeLead+k.param, task, q.text)
	if err != nil {
		return draft{}, err
	}
	d := one(donor, recipient, q)
	d.metadata = map[string]any{
		"rope_delta_bucket": k.param, "expected_span_target_start": ropeLead + k.param, "expected_supplied_tokens": k.count(span),
		"lead_source_ids": []any{first, second},
	}
	return d, nil
}

// exactly gives the beginning of text, closed by a blank line, as exactly so many tokens: cut where tokens end, and where
// the cut and the blank line join with what precedes them, filled up with a short word.
func exactly(tk token.Tokenizer, text string, tokens int) (string, bool) {
	pieces := tk.Pieces(text)
	for n := min(tokens, len(pieces)); n > max(0, tokens-20); n-- {
		lead := strings.TrimRight(strings.Join(pieces[:n], ""), " \n")
		for range 20 {
			switch have := len(tk.Encode(nil, lead+".\n\n")); {
			case have == tokens:
				return lead + ".\n\n", true
			case have < tokens:
				lead += " so"
				continue
			}
			break
		}
	}
	return "", false
}

// propagationProbe: the recipient was asked before, when an engine could give it approximate KV; asked again, it shows
// whether that answer was kept.
func propagationProbe(k *kit) (draft, error) {
	d, err := instructionVariant(k)
	if err != nil {
		return d, err
	}
	d.donors = append(d.donors, d.recipient)
	return d, nil
}

// noReuse: fresh text after nothing.
func noReuse(k *kit) (draft, error) {
	q := k.doc.questions[0]
	p := base(pick(k.random, instructions), evidence(k.doc.chunks, numbered), pick(k.random, requests), q.text)
	return draft{recipient: p, asked: q}, nil
}
