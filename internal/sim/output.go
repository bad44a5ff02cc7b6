package sim

import "strings"

// output is what a job answers, chunk by chunk. Every chunk has text: the first byte of an answer arrives when the
// law says, also where a character takes several tokens. Then there are fewer chunks than tokens.
type output struct {
	text   string
	chunks []string
	tokens int
	reason string // stop or length
}

// cut makes the output of a text under a limit of tokens. With fill the text repeats until the limit.
func (e *Engine) cut(text string, limit int, fill bool) output {
	pieces := e.tok.Pieces(text)
	out := output{reason: "stop"}
	for i := 0; len(pieces) > 0 && out.tokens < limit && (fill || i < len(pieces)); i++ {
		out.tokens++
		p := pieces[i%len(pieces)]
		if i > 0 && i%len(pieces) == 0 {
			p = " " + p
		}
		if p != "" {
			out.chunks = append(out.chunks, p)
		}
	}
	if fill || out.tokens < len(pieces) {
		out.reason = "length"
	}
	if len(out.chunks) == 0 {
		// The limit falls inside the first character: a detokenizer flushes a replacement for it.
		out.chunks, out.tokens = []string{"\ufffd"}, max(1, out.tokens)
	}
	out.text = strings.Join(out.chunks, "")
	return out
}

// answer is what a job will say. Caller holds the lock; the job's own answer was made before.
func (e *Engine) answer(j *job) output {
	out := j.out
	e.each(j, func(h hooks, c *call) { run(h.answer, c, &out) })
	return out
}
