package engine

import "bytes"

// slotCache gathers the prefix reuse that llama.cpp's server and ollama log per request.
//
//	llama.cpp: slot update_slots: id  0 | task 5 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 152
//	           slot update_slots: id  0 | task 5 | kv cache rm [142, end)
//	  newer:   … | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 152
//	           … | n_past = 142, slot.prompt.tokens.size() = 148, …     a candidate that may still be given up
//	           … | n_tokens = 142, memory_seq_rm [142, end)             what was kept; repeated for every batch
//	ollama:    time=… level=DEBUG source=cache.go:137 msg="loading cache slot" id=0 cache=151 prompt=152 used=142 remaining=10
type slotCache struct {
	ollama, llama int
	prompt, used  int
	pending       map[string]int // prompt tokens by "id task"
}

// maxSlots bounds prompts that wait for their first removal; a server has a few slots.
const maxSlots = 1024

// slotMessage reads one message of either server.
func (c *collector) slotMessage(r *record) bool {
	msg := r.msg
	switch {
	case bytes.HasPrefix(msg, []byte("loading cache slot")):
		return c.ollamaSlot(msg)
	case bytes.HasPrefix(msg, []byte("slot ")):
		return c.llamaSlot(msg)
	}
	return false
}

func (c *collector) ollamaSlot(msg []byte) bool {
	prompt, okPrompt := fieldCount(msg, "prompt")
	used, okUsed := fieldCount(msg, "used")
	if !okPrompt || !okUsed || used > prompt {
		return c.torn()
	}
	c.saw("ollama_cache")
	s := &c.slots
	s.ollama++
	s.prompt += prompt
	s.used += used
	return true
}

// llamaSlot pairs the prompt's length with the first removal of the same task: what lies before it is kept.
func (c *collector) llamaSlot(msg []byte) bool {
	head, text, ok := bytes.Cut(msg, []byte(" | task "))
	if !ok {
		return false
	}
	_, slot, ok := bytes.Cut(head, []byte("id"))
	task, text, okTask := bytes.Cut(text, []byte("|"))
	if !ok || !okTask {
		return false
	}
	text = trimLeft(text)
	key := string(bytes.TrimSpace(slot)) + " " + string(bytes.TrimSpace(task))
	s := &c.slots
	if bytes.HasPrefix(text, []byte("new prompt, ")) {
		n, ok := countAfter(text, " n_prompt_tokens = ")
		if !ok {
			n, ok = countAfter(text, " task.n_tokens = ")
		}
		if !ok {
			return c.torn()
		}
		c.saw("llamacpp_slots")
		if s.pending == nil {
			s.pending = map[string]int{}
		}
		if len(s.pending) < maxSlots {
			s.pending[key] = n
		}
		return true
	}
	kept, ok := countAfter(text, "kv cache rm [")
	if !ok {
		kept, ok = countAfter(text, "memory_seq_rm [")
	}
	prompt, waiting := s.pending[key]
	if !ok || !waiting {
		return ok
	}
	delete(s.pending, key)
	if kept > prompt {
		return c.torn()
	}
	s.llama++
	s.prompt += prompt
	s.used += kept
	return true
}
