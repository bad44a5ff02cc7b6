package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sembench"
)

// endMark is the data of the event that ends an OpenAI-shaped stream.
var endMark = []byte("[DONE]")

// decoder folds events into an Observation. What an event carries is decided after its stamp was taken.
type decoder struct {
	api   API
	obs   *sembench.Observation
	clean secretRedactor

	text     strings.Builder
	reported int64 // completion tokens said so far
	replace  bool  // SGLang: text is incremental, not cumulative
	so       string
	finished bool // a finish_reason came
	ended    bool // [DONE] came
	failure  *sembench.RequestError
	frame    frame
}

// output is what one event generated.
type output struct {
	text   string
	bytes  int // of any kind: text, tool calls, audio
	tokens int // where the event lists its token ids, else -1
	some   bool
	answer bool
	// plain: the event held one piece of answer text and nothing else that is kept.
	plain  bool
	pieces int // of text
}

func (o *output) add(text string, answer bool) {
	if text == "" {
		return
	}
	o.text += text
	o.pieces++
	o.grow(len(text), answer)
}

func (o *output) grow(bytes int, answer bool) {
	o.bytes += bytes
	o.some = true
	o.answer = o.answer || answer
}

// event takes one event; after the first failure the rest is passed over.
func (d *decoder) event(name string, data []byte, stamp int64) {
	if d.failure != nil || d.ended {
		return
	}
	if bytes.Equal(bytes.TrimSpace(data), endMark) {
		d.ended = true
		return
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return
	}
	if d.obs.Stamps.FirstEvent == nil {
		d.obs.Stamps.FirstEvent = &stamp
	}
	if text, ok := d.frame.read(data); ok && name == "" {
		out := output{tokens: -1}
		out.add(text, true)
		d.note(out, stamp)
		return
	}
	tree, err := parse(data)
	body, isObject := tree.(map[string]any)
	switch {
	case err != nil || !isObject:
		d.fail(sembench.ErrorUndecodable, "an event is no JSON object: "+string(data[:min(len(data), maxMessage)]))
		return
	case name == "error" || body["error"] != nil || body["object"] == "error":
		d.fail(sembench.ErrorInband, errorText(body))
		return
	}
	var out output
	if d.api == Generate {
		out = d.native(body)
	} else {
		out = d.openAI(body)
	}
	if out.plain {
		d.frame.learn(data, out.text)
	}
	d.note(out, stamp)
}

func (d *decoder) fail(class, message string) {
	if d.failure == nil {
		d.failure = &sembench.RequestError{Class: class, Message: d.clean.message(message)}
	}
}

// note stamps an event's output. First write wins for the first moments.
func (d *decoder) note(out output, stamp int64) {
	tokens := d.tokenDelta()
	if out.tokens >= 0 {
		tokens = int64(out.tokens)
	}
	if !out.some {
		return
	}
	s := &d.obs.Stamps
	if s.FirstOutput == nil {
		s.FirstOutput = &stamp
	}
	if out.answer && s.FirstAnswer == nil {
		s.FirstAnswer = &stamp
	}
	s.LastOutput = &stamp
	d.text.WriteString(out.text)
	d.obs.Chunks = append(d.obs.Chunks, sembench.Chunk{stamp, int64(out.bytes), tokens})
}

// tokenDelta is how many completion tokens the running usage grew by since the last event; -1 where it does not run.
func (d *decoder) tokenDelta() int64 {
	n := d.obs.OutputTokens()
	if n == nil {
		return -1
	}
	grown := int64(*n) - d.reported
	d.reported = int64(*n)
	if grown <= 0 {
		return -1
	}
	return grown
}

// openAI reads a chat or completions chunk.
func (d *decoder) openAI(body map[string]any) output {
	out := output{tokens: -1}
	d.identify(body["id"])
	out.plain = true
	if usage, ok := body["usage"].(map[string]any); ok {
		d.obs.Usage = usage
		out.plain = false
	}
	for _, key := range []string{"metrics", "timings"} { // vLLM, llama.cpp
		if metrics, ok := body[key].(map[string]any); ok {
			d.obs.EngineMetrics = metrics
			out.plain = false
		}
	}
	choices, _ := body["choices"].([]any)
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		if choice == nil {
			continue
		}
		for _, key := range []string{"delta", "message"} {
			if delta, ok := choice[key].(map[string]any); ok {
				readDelta(delta, &out)
			}
		}
		out.add(textOf(choice["text"]), true)
		d.readTokens(choice, &out)
		d.readLogprobs(choice["logprobs"])
		d.finish(choice["finish_reason"])
		out.plain = out.plain && choice["finish_reason"] == nil && choice["logprobs"] == nil
	}
	out.plain = out.plain && len(choices) == 1 && out.tokens < 0 && out.answer && out.pieces == 1
	return out
}

// readDelta collects a chat delta's output of any kind (protocol.md, section 1).
func readDelta(delta map[string]any, out *output) {
	reasoning := textOf(delta["reasoning_content"])
	if reasoning == "" { // the two are spellings of one thing: some servers send both
		reasoning = textOf(delta["reasoning"])
	}
	out.add(reasoning, false)
	out.add(textOf(delta["content"]), true)
	out.add(textOf(delta["refusal"]), true)
	calls, _ := delta["tool_calls"].([]any)
	for _, call := range calls {
		readCall(call, out)
	}
	if call, ok := delta["function_call"]; ok {
		readCall(map[string]any{"function": call}, out)
	}
	if audio, ok := delta["audio"].(map[string]any); ok {
		data, transcript := textOf(audio["data"]), textOf(audio["transcript"])
		out.add(transcript, true)
		if data != "" {
			out.pieces++
			out.grow(len(data), true)
		}
	}
}

// readCall takes a tool call: its name or a piece of its arguments is generated output.
func readCall(call any, out *output) {
	object, _ := call.(map[string]any)
	function, _ := object["function"].(map[string]any)
	out.add(textOf(function["name"]), true)
	out.add(textOf(function["arguments"]), true)
}

// textOf is a string, or the joined text parts of a list of content parts; "" for anything else.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var text string
		for _, part := range v {
			if object, ok := part.(map[string]any); ok {
				text += textOf(object["text"])
			}
		}
		return text
	}
	return ""
}

// native reads an event of SGLang's /generate: text so far (or, with incremental output, the piece), meta_info as usage.
func (d *decoder) native(body map[string]any) output {
	out := output{tokens: -1}
	if meta, ok := body["meta_info"].(map[string]any); ok {
		d.obs.Usage = meta
		d.identify(meta["id"])
		d.finish(meta["finish_reason"])
	}
	text := textOf(body["text"])
	piece, cumulative := strings.CutPrefix(text, d.so)
	switch {
	case d.replace || !cumulative && !strings.HasPrefix(d.so, text):
		d.replace = true
		out.add(text, true)
	case cumulative:
		d.so = text
		out.add(piece, true)
	}
	if ids, ok := body["output_ids"].([]any); ok && len(ids) > 0 {
		fresh := appendIDs(nil, ids)
		if known := d.obs.OutputTokenIDs; len(fresh) >= len(known) && equalInts(fresh[:len(known)], known) {
			fresh = fresh[len(known):]
		}
		d.obs.OutputTokenIDs = append(d.obs.OutputTokenIDs, fresh...)
		if out.tokens = len(fresh); len(fresh) > 0 && !out.some {
			out.grow(0, true)
		}
	}
	return out
}

func equalInts(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// readTokens takes token ids where the server was asked for them. Ids without text are output too: a character that is
// not complete yet.
func (d *decoder) readTokens(choice map[string]any, out *output) {
	for _, key := range []string{"token_ids", "output_ids"} {
		if ids, ok := choice[key].([]any); ok && len(ids) > 0 {
			d.obs.OutputTokenIDs = appendIDs(d.obs.OutputTokenIDs, ids)
			out.tokens = max(out.tokens, 0) + len(ids)
			if !out.some {
				out.grow(0, true)
			}
		}
	}
}

func appendIDs(to []int, ids []any) []int {
	for _, id := range ids {
		if n, ok := id.(json.Number); ok {
			if v, err := n.Int64(); err == nil {
				to = append(to, int(v))
			}
		}
	}
	return to
}

// readLogprobs takes top log probabilities: chat has content[].top_logprobs[{token, logprob}], completions
// top_logprobs[{token: logprob}].
func (d *decoder) readLogprobs(value any) {
	object, _ := value.(map[string]any)
	positions, _ := object["content"].([]any)
	for _, p := range positions {
		position, _ := p.(map[string]any)
		top := map[string]float64{}
		tops, _ := position["top_logprobs"].([]any)
		for _, t := range tops {
			entry, _ := t.(map[string]any)
			putLogprob(top, textOf(entry["token"]), entry["logprob"])
		}
		if len(top) > 0 {
			d.obs.OutputTopLogprobs = append(d.obs.OutputTopLogprobs, top)
		}
	}
	maps, _ := object["top_logprobs"].([]any)
	for _, m := range maps {
		top := map[string]float64{}
		entry, _ := m.(map[string]any)
		for token, logprob := range entry {
			putLogprob(top, token, logprob)
		}
		if len(top) > 0 {
			d.obs.OutputTopLogprobs = append(d.obs.OutputTopLogprobs, top)
		}
	}
}

func putLogprob(top map[string]float64, token string, logprob any) {
	if n, ok := logprob.(json.Number); ok {
		if v, err := n.Float64(); err == nil {
			top[token] = v
		}
	}
}

func (d *decoder) identify(id any) {
	if text, ok := id.(string); ok && text != "" && d.obs.EngineResponseID == nil {
		text = clip(d.clean.known(text), maxHeaderValue)
		d.obs.EngineResponseID = &text
	}
}

// finish takes a finish_reason: a string, or SGLang's {type, …}. An engine that gave the request up says abort or
// error there: that is a failure, whatever came before.
func (d *decoder) finish(reason any) {
	var detail string
	if object, ok := reason.(map[string]any); ok {
		reason, detail = object["type"], textOf(object["message"])
	}
	text, ok := reason.(string)
	if !ok || text == "" {
		return
	}
	if text == "abort" || text == "error" {
		d.fail(sembench.ErrorInband, strings.TrimSpace(fmt.Sprintf("finish_reason %s %s", text, detail)))
		return
	}
	d.finished = true
	text = clip(text, maxHeaderValue)
	d.obs.FinishReason = &text
}

// parse reads JSON: strictly first, which is fast, then as the standard library does, which forgives duplicate keys and lone
// surrogates. An engine that sends those did generate.
func parse(data []byte) (any, error) {
	if tree, err := sembench.ParseJSON(data); err == nil {
		return tree, nil
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err := decoder.Decode(&tree)
	if err == nil && decoder.More() {
		err = fmt.Errorf("text after the value")
	}
	return tree, err
}

// errorText is the sentence in an error body: error.message, error, message or detail; the whole body otherwise.
func errorText(body map[string]any) string {
	if object, ok := body["error"].(map[string]any); ok {
		if text := textOf(object["message"]); text != "" {
			return text
		}
	}
	for _, key := range []string{"error", "message", "detail"} {
		if text := textOf(body[key]); text != "" {
			return text
		}
	}
	return string(sembench.Marshal(body))
}
