package engine

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
)

// ReadKVEvents yields the batches of a recorded stream, one JSON or Python-literal value a line or one
// JSON array over the whole text. Recognised: our own recordings, vLLM batches printed as lists,
// TensorRT-LLM's /kv_cache_events, Dynamo router events. A line that is none yields an error with its
// position and reading goes on; a failing reader ends it.
func ReadKVEvents(r io.Reader) iter.Seq2[KVBatch, error] {
	return func(yield func(KVBatch, error) bool) {
		lines := newLineReader(r)
		for n := 1; ; n++ {
			line, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(KVBatch{}, err)
				return
			}
			if n == 1 {
				line = trimBOM(line)
			}
			batches, err := kvLine(line)
			if err != nil {
				if !yield(KVBatch{}, fmt.Errorf("reading KV events: line %d: %w", n, err)) {
					return
				}
				continue
			}
			for _, b := range batches {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// kvText takes a bare line that is a printed vLLM batch, "[time, [events], rank]", or an answer of TensorRT-LLM's
// /kv_cache_events, "[{event}, …]".
func (c *collector) kvText(b []byte) bool {
	if len(b) < 2 || b[0] != '[' || !digit(b[1]) && !(b[1] == '{' && bytes.Contains(b, []byte(`"event_id"`))) {
		return false
	}
	batches, err := kvLine(b)
	if err != nil {
		return false
	}
	for _, batch := range batches {
		c.kvEvent(batch, nil)
	}
	return true
}

// kvEvent takes one batch of an event stream found among other text.
func (c *collector) kvEvent(b KVBatch, err error) {
	if err != nil {
		c.damaged++
		return
	}
	c.saw("kv_events")
	if c.kv == nil {
		c.kv = NewKVState()
	}
	c.kv.Apply(b)
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func kvLine(line []byte) ([]KVBatch, error) {
	v, err := decodeValue(line)
	if err != nil {
		literal, ok := pythonToJSON(line)
		if !ok {
			return nil, err
		}
		if v, err = decodeValue(literal); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case map[string]any:
		b, err := kvObject(v)
		return []KVBatch{b}, err
	case []any:
		if len(v) == 0 {
			return nil, nil
		}
		if _, isEvents := v[0].(map[string]any); !isEvents {
			b, err := vllmBatch(v)
			return []KVBatch{b}, err
		}
		var list []KVBatch
		for _, e := range v {
			obj, ok := e.(map[string]any)
			if !ok {
				return nil, errNotBatch
			}
			b, err := kvObject(obj)
			if err != nil {
				return nil, err
			}
			list = append(list, b)
		}
		return list, nil
	}
	return nil, errNotBatch
}

func decodeValue(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotBatch
	}
	return v, nil
}

// kvObject reads one object: a recording of ours, a TensorRT-LLM event, or a Dynamo router event.
func kvObject(obj map[string]any) (KVBatch, error) {
	if _, ours := obj["events"]; ours {
		return recordedBatch(obj)
	}
	if inner, ok := obj["event"].(map[string]any); ok {
		return dynamoEvent(obj, inner)
	}
	if data, ok := obj["data"].(map[string]any); ok {
		return trtEventBatch(obj, data)
	}
	return KVBatch{}, errNotBatch
}

// recorded says whether an object is a batch of our own recorder.
func recorded(obj map[string]any) bool {
	_, events := obj["events"].([]any)
	_, seq := obj["seq"]
	_, rank := obj["dp_rank"]
	return events && seq && rank
}

func recordedBatch(obj map[string]any) (KVBatch, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return KVBatch{}, err
	}
	var b KVBatch
	if err := json.Unmarshal(raw, &b); err != nil {
		return KVBatch{}, err
	}
	for i := range b.Events {
		if b.Events[i].BlockSize < 0 || b.Events[i].Kind == "" {
			return KVBatch{}, errNotBatch
		}
	}
	return b, nil
}

func sequence(v any) *uint64 {
	num, ok := v.(json.Number)
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(num.String(), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// trtEventBatch reads {event_id, data: {type, …}, window_size, attention_dp_rank}. A stored event lists its
// blocks with tokens; early versions print a wrong parent_hash (TensorRT-LLM issue 3543).
func trtEventBatch(obj, data map[string]any) (KVBatch, error) {
	b := KVBatch{Seq: sequence(obj["event_id"]), DPRank: count(obj["attention_dp_rank"])}
	e := KVEvent{Kind: KVOther}
	switch text(data["type"]) {
	case "":
		return KVBatch{}, errNotBatch
	case "removed":
		e.Kind = KVRemoved
		var ok bool
		if e.Hashes, ok = hashes(data["block_hashes"]); !ok {
			return KVBatch{}, errNotBatch
		}
	case "stored":
		e.Kind = KVStored
		e.Parent, _ = hash(data["parent_hash"])
		blocks, ok := data["blocks"].([]any)
		if !ok {
			return KVBatch{}, errNotBatch
		}
		for _, v := range blocks {
			block, _ := v.(map[string]any)
			h, ok := hash(block["block_hash"])
			if !ok {
				return KVBatch{}, errNotBatch
			}
			ids := tokenIDs(block["tokens"])
			e.Hashes = append(e.Hashes, h)
			e.BlockSize = max(e.BlockSize, len(ids))
			e.TokenIDs = append(e.TokenIDs, ids...)
			if level := count(block["cache_level"]); level != nil {
				e.Medium = "level" + strconv.Itoa(*level)
			}
		}
	}
	b.Events = []KVEvent{e}
	return b, nil
}

// dynamoEvent reads {worker_id, storage_tier, event: {event_id, data: {stored|removed|"cleared"}, dp_rank}}.
// Its blocks carry hashes of tokens, not tokens.
func dynamoEvent(obj, inner map[string]any) (KVBatch, error) {
	b := KVBatch{Seq: sequence(inner["event_id"]), DPRank: count(inner["dp_rank"])}
	if w, ok := hash(obj["worker_id"]); ok {
		b.Worker = string(w)
	}
	e := KVEvent{Medium: text(obj["storage_tier"])}
	data, _ := inner["data"].(map[string]any)
	stored, isStored := data["stored"].(map[string]any)
	removed, isRemoved := data["removed"].(map[string]any)
	switch {
	case text(inner["data"]) == "cleared":
		e.Kind = KVCleared
	case isStored:
		e.Kind = KVStored
		e.Parent, _ = hash(stored["parent_hash"])
		blocks, _ := stored["blocks"].([]any)
		for _, v := range blocks {
			block, _ := v.(map[string]any)
			h, ok := hash(block["block_hash"])
			if !ok {
				return KVBatch{}, errNotBatch
			}
			e.Hashes = append(e.Hashes, h)
		}
	case isRemoved:
		e.Kind = KVRemoved
		var ok bool
		if e.Hashes, ok = hashes(removed["block_hashes"]); !ok {
			return KVBatch{}, errNotBatch
		}
	default:
		return KVBatch{}, errNotBatch
	}
	b.Events = []KVEvent{e}
	return b, nil
}

// pythonToJSON rewrites a printed Python literal as JSON: quotes, None, True, False, tuples, bytes as
// "0x" and hex digits. False when it meets anything else.
func pythonToJSON(b []byte) ([]byte, bool) {
	out := make([]byte, 0, len(b)+16)
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '\'' || c == '"':
			s, n, ok := pythonString(b[i:])
			if !ok {
				return nil, false
			}
			quoted, err := json.Marshal(string(bytes.ToValidUTF8(s, []byte("\uFFFD"))))
			if err != nil {
				return nil, false
			}
			out = append(out, quoted...)
			i += n
		case c == 'b' && i+1 < len(b) && (b[i+1] == '\'' || b[i+1] == '"'):
			s, n, ok := pythonString(b[i+1:])
			if !ok {
				return nil, false
			}
			out = append(out, `"0x`...)
			out = hex.AppendEncode(out, s)
			out = append(out, '"')
			i += n + 1
		case letter(c):
			n := i
			for n < len(b) && letter(b[n]) {
				n++
			}
			word, ok := map[string]string{"None": "null", "True": "true", "False": "false"}[string(b[i:n])]
			if !ok {
				return nil, false
			}
			out = append(out, word...)
			i = n
		case c == '(' || c == '[':
			out = append(out, '[')
			i++
		case c == ')' || c == ']':
			if n := len(out); n > 0 && out[n-1] == ',' { // (1,)
				out = out[:n-1]
			}
			out = append(out, ']')
			i++
		case c == ' ' || c == '\t':
			i++
		default:
			// Numbers, also with an exponent, and punctuation.
			out = append(out, c)
			i++
			for digit(c) && i+1 < len(b) && (b[i] == 'e' || b[i] == 'E') && (digit(b[i+1]) || b[i+1] == '-' || b[i+1] == '+') {
				out = append(out, b[i], b[i+1])
				i += 2
			}
		}
	}
	return out, true
}

// pythonString reads a quoted literal with the escapes that repr prints, and its length in the source.
func pythonString(b []byte) (s []byte, n int, ok bool) {
	quote := b[0]
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == quote:
			return s, i + 1, true
		case c != '\\':
			s = append(s, c)
		case i+1 >= len(b):
			return nil, 0, false
		default:
			i++
			switch b[i] {
			case 'n':
				s = append(s, '\n')
			case 'r':
				s = append(s, '\r')
			case 't':
				s = append(s, '\t')
			case 'x':
				if i+2 >= len(b) {
					return nil, 0, false
				}
				v, err := hex.DecodeString(string(b[i+1 : i+3]))
				if err != nil {
					return nil, 0, false
				}
				s = append(s, v...)
				i += 2
			default:
				s = append(s, b[i])
			}
		}
	}
	return nil, 0, false
}
