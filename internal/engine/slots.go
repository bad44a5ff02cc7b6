package engine

import "bytes"

// slotCache gathers the prefix reuse that llama.cpp's server and ollama log per request.
//
//	llama.cpp: slot update_slots: id  0 | task 5 | prompt … n_past = 142, n_tokens = …
//	           slot update_slots: id  0 | task 5 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 152
//	ollama:    time=… level=DEBUG source=cache.go:137 msg="loading cache slot" id=0 cache=151 prompt=152 used=142 remaining=10
//
// used and n_past at the start of a prompt are tokens found in the slot's cache.
type slotCache struct {
	ollama, llama int
	prompt, used  int
	pending       map[string]int // prompt tokens by "id task"
}

// maxSlots bounds prompts that wait for their n_past; a server has a few slots.
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

// llamaSlot pairs the prompt's length with the first n_past of the same task: the tokens kept.
func (c *collector) llamaSlot(msg []byte) bool {
	i := bytes.Index(msg, []byte("| task "))
	if i < 0 {
		return false
	}
	task := msg[i+len("| task "):]
	end := bytes.IndexByte(task, '|')
	if end < 0 {
		return false
	}
	text := trimLeft(task[end+1:])
	head, _, _ := bytes.Cut(msg[:i], []byte(":"))
	_, id, ok := bytes.Cut(msg[len(head):i], []byte("id"))
	if !ok {
		return false
	}
	key := string(bytes.TrimSpace(id)) + " " + string(bytes.TrimSpace(task[:end]))
	s := &c.slots
	if n, ok := countAfter(text, "n_prompt_tokens = "); ok && bytes.HasPrefix(text, []byte("new prompt")) {
		c.saw("llamacpp_slots")
		if s.pending == nil {
			s.pending = map[string]int{}
		}
		if len(s.pending) < maxSlots {
			s.pending[key] = n
		}
		return true
	}
	past, ok := countAfter(text, "n_past = ")
	if !ok {
		return false
	}
	p, waiting := s.pending[key]
	if !waiting {
		return true
	}
	// "kv cache rm [142, end)" and "prompt processing progress" both carry n_past; the first one after the
	// new prompt is what was kept. A progress line already includes the batch.
	if bytes.HasPrefix(text, []byte("prompt processing progress")) {
		batch, ok := countAfter(text, "n_tokens = ")
		if !ok || batch > past {
			return true
		}
		past -= batch
	}
	delete(s.pending, key)
	if past > p {
		return c.torn()
	}
	s.llama++
	s.prompt += p
	s.used += past
	return true
}
