package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// openAIStream words a job in the OpenAI API, chat or completions. It reads the job after it was started.
type openAIStream struct {
	e       *Engine
	j       *job
	chat    bool
	stream  bool
	usage   bool
	created int64
	// logprobs is how many alternatives are told for each token; nil: nothing is.
	logprobs *int
	sent     int // chunks
}

func (s *openAIStream) streamed() bool      { return s.stream }
func (s *openAIStream) contentType() string { return "text/event-stream; charset=utf-8" }

func (s *openAIStream) object() string {
	switch {
	case s.chat && s.stream:
		return "chat.completion.chunk"
	case s.chat:
		return "chat.completion"
	}
	return "text_completion"
}

// open adds everything of an event up to its choices.
func (s *openAIStream) open(buf []byte) []byte {
	buf = append(buf, `{"id":`...)
	buf = appendString(buf, s.j.id)
	buf = append(buf, `,"object":"`...)
	buf = append(buf, s.object()...)
	buf = append(buf, `","created":`...)
	buf = strconv.AppendInt(buf, s.created, 10)
	buf = append(buf, `,"model":`...)
	return appendString(buf, s.e.cfg.Model)
}

// event adds one event with one choice.
func (s *openAIStream) event(buf []byte, role bool, text, reason string, logprobs []byte) []byte {
	buf = s.open(append(buf, "data: "...))
	buf = append(buf, `,"choices":[{"index":0,`...)
	switch {
	case role:
		buf = append(buf, `"delta":{"role":"assistant","content":`...)
		buf = append(appendString(buf, text), '}')
	case s.chat:
		buf = append(buf, `"delta":{"content":`...)
		buf = append(appendString(buf, text), '}')
	default:
		buf = append(buf, `"text":`...)
		buf = appendString(buf, text)
	}
	buf = append(append(buf, `,"logprobs":`...), logprobs...)
	buf = append(buf, `,"finish_reason":`...)
	if reason == "" {
		buf = append(buf, "null"...)
	} else {
		buf = appendString(buf, reason)
	}
	return append(buf, "}]}\n\n"...)
}

func (s *openAIStream) head(buf []byte) []byte {
	if !s.chat {
		return buf
	}
	return s.event(buf, true, "", "", null)
}

func (s *openAIStream) chunk(buf []byte, text string) []byte {
	from := s.sent
	for n := 0; n < len(text) && s.sent < len(s.j.out.chunks); s.sent++ {
		n += len(s.j.out.chunks[s.sent])
	}
	return s.event(buf, false, text, "", s.logprobsJSON(from, s.sent))
}

// null is no logprobs.
var null = []byte("null")

func (s *openAIStream) tail(buf []byte) []byte {
	buf = s.event(buf, false, "", s.j.out.reason, null)
	if s.usage && s.j.delivery.usageTwice {
		buf = s.open(append(buf, "data: "...))
		buf = fmt.Appendf(buf, `,"choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":null}}`+"\n\n",
			s.j.decision.prompt, s.j.decision.prompt+s.j.out.tokens, s.j.out.tokens)
	}
	if s.usage {
		buf = s.open(append(buf, "data: "...))
		buf = append(buf, `,"choices":[],"usage":`...)
		buf = append(buf, s.e.voice.usage(s.j)...)
		buf = append(buf, s.e.voice.extras(s.j)...)
		buf = append(buf, "}\n\n"...)
	}
	return append(buf, "data: [DONE]\n\n"...)
}

// engineDied is the error object that arrives inside a successful response.
var engineDied = apiError{500, "InternalServerError", "", "EngineCore encountered an issue. See stack trace (above) for the root cause."}

func (s *openAIStream) failure(buf []byte) []byte {
	buf = append(append(buf, "data: "...), engineDied.body()...)
	return append(buf, "\n\ndata: [DONE]\n\n"...)
}

func (s *openAIStream) failed() []byte { return engineDied.body() }

func (s *openAIStream) whole() []byte {
	buf := append(s.open(nil), `,"choices":[{"index":0,`...)
	if s.chat {
		buf = append(buf, `"message":{"role":"assistant","content":`...)
		buf = append(appendString(buf, s.j.out.text), '}')
	} else {
		buf = append(buf, `"text":`...)
		buf = appendString(buf, s.j.out.text)
	}
	buf = append(append(buf, `,"logprobs":`...), s.logprobsJSON(0, len(s.j.out.chunks))...)
	buf = append(buf, `,"finish_reason":`...)
	buf = append(appendString(buf, s.j.out.reason), `}],"usage":`...)
	buf = append(buf, s.e.voice.usage(s.j)...)
	buf = append(buf, s.e.voice.extras(s.j)...)
	return append(buf, '}')
}

// appendString adds s as a JSON string. What holds no special character, as most tokens, is copied.
func appendString(buf []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(buf, quoted...)
		}
	}
	buf = append(buf, '"')
	buf = append(buf, s...)
	return append(buf, '"')
}
