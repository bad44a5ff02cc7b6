package engine

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// KVHash is a block's identity as the engine prints it: decimal for a 64-bit number, "0x" and hex digits
// for bytes. It never passes through float64 or int64, so values above 2^63 survive.
type KVHash string

// The kinds of KV event.
const (
	KVStored  = "stored"
	KVRemoved = "removed"
	KVCleared = "cleared"
	KVOther   = "other" // created, updated, and what newer engines add
)

// KVEvent is one change of what an engine holds.
type KVEvent struct {
	Kind   string   `json:"kind"`
	Hashes []KVHash `json:"hashes"`
	// Parent precedes the first hash; empty at the start of a prompt, and for offload events that leave
	// it out (vLLM prints 0 there).
	Parent KVHash `json:"parent"`
	// TokenIDs are the tokens of all stored blocks in order; empty where the engine leaves them out.
	TokenIDs  []int64 `json:"token_ids"`
	BlockSize int     `json:"block_size"`
	// Medium is the tier: GPU, CPU, device, host_pinned, disk; empty when not said.
	Medium string `json:"medium"`
	Group  int    `json:"group"`
}

// KVBatch is one message of an event stream.
type KVBatch struct {
	// Seq is the publisher's number; null where the stream has none.
	Seq *uint64 `json:"seq"`
	// Time is the publisher's clock in Unix seconds; 0 when not given.
	Time   float64   `json:"time"`
	DPRank *int      `json:"dp_rank"`
	Worker string    `json:"worker"`
	Events []KVEvent `json:"events"`
}

var errNotBatch = errors.New("not a KV event batch")

// DecodeKVBatch reads vLLM's msgpack payload, [ts, events, dp_rank], events as positional arrays tagged
// by name (until PR 42892) or maps with a type.
func DecodeKVBatch(payload []byte) (KVBatch, error) {
	d := msgpack.NewDecoder(bytes.NewReader(payload))
	v, err := decodeAny(d, 0)
	if err != nil {
		return KVBatch{}, fmt.Errorf("reading KV events: %w", err)
	}
	b, err := vllmBatch(v)
	if err != nil {
		return KVBatch{}, fmt.Errorf("reading KV events: %w", err)
	}
	return b, nil
}

// maxNesting bounds recursion; extra_keys nests four deep.
const maxNesting = 32

// decodeAny reads one msgpack value into the types that encoding/json with UseNumber gives; bytes become
// "0x" and hex digits. Lengths are claims: nothing is allocated ahead of the bytes.
func decodeAny(d *msgpack.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, errors.New("nested too deep")
	}
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case msgpcode.IsFixedArray(code) || code == msgpcode.Array16 || code == msgpcode.Array32:
		n, err := d.DecodeArrayLen()
		if err != nil {
			return nil, err
		}
		list := []any{}
		for range n {
			v, err := decodeAny(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32:
		n, err := d.DecodeMapLen()
		if err != nil {
			return nil, err
		}
		m := map[string]any{}
		for range n {
			k, err := decodeAny(d, depth+1)
			if err != nil {
				return nil, err
			}
			v, err := decodeAny(d, depth+1)
			if err != nil {
				return nil, err
			}
			m[fmt.Sprint(k)] = v
		}
		return m, nil
	case msgpcode.IsBin(code):
		b, err := d.DecodeBytes()
		return "0x" + hex.EncodeToString(b), err
	case msgpcode.IsString(code):
		return d.DecodeString()
	case code == msgpcode.Nil:
		return nil, d.DecodeNil()
	case code == msgpcode.True || code == msgpcode.False:
		return d.DecodeBool()
	case code == msgpcode.Float || code == msgpcode.Double:
		f, err := d.DecodeFloat64()
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), err
	case code == msgpcode.Uint64:
		n, err := d.DecodeUint64()
		return json.Number(strconv.FormatUint(n, 10)), err
	case msgpcode.IsExt(code):
		return nil, errors.New("extension type")
	}
	n, err := d.DecodeInt64()
	return json.Number(strconv.FormatInt(n, 10)), err
}

// vllmBatch reads [ts, events, dp_rank].
func vllmBatch(v any) (KVBatch, error) {
	list, ok := v.([]any)
	if !ok || len(list) < 2 {
		return KVBatch{}, errNotBatch
	}
	events, ok := list[1].([]any)
	if !ok {
		return KVBatch{}, errNotBatch
	}
	var b KVBatch
	if ts := number(list[0]); ts != nil {
		b.Time = *ts
	}
	if len(list) > 2 {
		b.DPRank = count(list[2])
	}
	for _, e := range events {
		ev, err := vllmEvent(e)
		if err != nil {
			return KVBatch{}, err
		}
		b.Events = append(b.Events, ev)
	}
	return b, nil
}

// The positions of an array-encoded event, behind its tag.
var vllmFields = map[string][]string{
	"BlockStored":  {"block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name", "extra_keys", "group_idx"},
	"BlockRemoved": {"block_hashes", "medium", "group_idx"},
}

func vllmEvent(v any) (KVEvent, error) {
	var tag string
	fields := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		tag, fields = text(v["type"]), v
	case []any:
		if len(v) == 0 {
			return KVEvent{}, errNotBatch
		}
		tag = text(v[0])
		for i, name := range vllmFields[tag] {
			if i+1 < len(v) {
				fields[name] = v[i+1]
			}
		}
	}
	if tag == "" {
		return KVEvent{}, errNotBatch
	}
	e := KVEvent{Kind: KVOther, Medium: text(fields["medium"])}
	if g := count(fields["group_idx"]); g != nil {
		e.Group = *g
	}
	switch tag {
	case "AllBlocksCleared":
		e.Kind = KVCleared
		return e, nil
	case "BlockStored":
		e.Kind = KVStored
	case "BlockRemoved":
		e.Kind = KVRemoved
	default:
		return e, nil
	}
	var ok bool
	if e.Hashes, ok = hashes(fields["block_hashes"]); !ok {
		return KVEvent{}, fmt.Errorf("%s: block_hashes is no list of hashes", tag)
	}
	if e.Kind == KVStored {
		if p, ok := hash(fields["parent_block_hash"]); ok && p != "0" {
			e.Parent = p
		}
		e.TokenIDs = tokenIDs(fields["token_ids"])
		if n := count(fields["block_size"]); n != nil {
			e.BlockSize = *n
		}
	}
	return e, nil
}

// hash reads a whole number of 64 bits, signed or not, or text; false for null and anything else.
func hash(v any) (KVHash, bool) {
	switch v := v.(type) {
	case string:
		return KVHash(v), v != ""
	case json.Number:
		if _, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return KVHash(v.String()), true
		}
		_, err := strconv.ParseInt(v.String(), 10, 64)
		return KVHash(v.String()), err == nil
	}
	return "", false
}

func hashes(v any) ([]KVHash, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]KVHash, 0, len(list))
	for _, e := range list {
		h, ok := hash(e)
		if !ok {
			return nil, false
		}
		out = append(out, h)
	}
	return out, true
}

// tokenIDs reads a list of ids, or of objects with a token_id; nil when any is neither.
func tokenIDs(v any) []int64 {
	list, _ := v.([]any)
	var out []int64
	for _, e := range list {
		if obj, ok := e.(map[string]any); ok {
			e = obj["token_id"]
		}
		n := integer(e)
		if n == nil {
			return nil
		}
		out = append(out, int64(*n))
	}
	return out
}
