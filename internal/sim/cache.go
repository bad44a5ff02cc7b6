package sim

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// blockHash names a block by its content and everything before it.
type blockHash = [16]byte

// chain returns the hashes of the full blocks of ids: each covers its tokens and its predecessor's hash, the first one
// covers the salt instead. Empty salt and no salt are the same.
func chain(ids []uint32, size int, salt string) []blockHash {
	out := make([]blockHash, 0, len(ids)/size)
	parent := xxh3.HashString128("salt\x00" + salt).Bytes()
	buf := make([]byte, 16+4*size)
	for at := 0; at+size <= len(ids); at += size {
		copy(buf, parent[:])
		for i, id := range ids[at : at+size] {
			binary.LittleEndian.PutUint32(buf[16+4*i:], id)
		}
		parent = xxh3.Hash128(buf).Bytes()
		out = append(out, parent)
	}
	return out
}

// blockCache is a set of blocks with a capacity; the least recently used leave first.
type blockCache struct {
	capacity   int
	blocks     map[blockHash]*cachedBlock
	head, tail *cachedBlock // most and least recently used
}

type cachedBlock struct {
	hash       blockHash
	prev, next *cachedBlock
}

func newBlockCache(capacity int) *blockCache {
	return &blockCache{capacity: capacity, blocks: map[blockHash]*cachedBlock{}}
}

// prefix is how many leading blocks of hashes are there. It touches nothing.
func (c *blockCache) prefix(hashes []blockHash) int {
	for i, h := range hashes {
		if c.blocks[h] == nil {
			return i
		}
	}
	return len(hashes)
}

// use makes hashes the most recently used blocks, tail first so that the head of a prompt survives longest, then
// evicts down to the capacity. It returns what is new and what left, in order.
func (c *blockCache) use(hashes []blockHash) (stored, evicted []blockHash) {
	for i := len(hashes) - 1; i >= 0; i-- {
		b := c.blocks[hashes[i]]
		if b == nil {
			b = &cachedBlock{hash: hashes[i]}
			c.blocks[b.hash] = b
			stored = append(stored, b.hash)
		} else {
			c.unlink(b)
		}
		c.push(b)
	}
	for len(c.blocks) > c.capacity {
		evicted = append(evicted, c.tail.hash)
		c.drop(c.tail.hash)
	}
	return stored, evicted
}

// drop removes one block; an absent one is no matter.
func (c *blockCache) drop(h blockHash) {
	if b := c.blocks[h]; b != nil {
		c.unlink(b)
		delete(c.blocks, h)
	}
}

func (c *blockCache) clear() {
	clear(c.blocks)
	c.head, c.tail = nil, nil
}

func (c *blockCache) push(b *cachedBlock) {
	b.prev, b.next = nil, c.head
	if c.head != nil {
		c.head.prev = b
	} else {
		c.tail = b
	}
	c.head = b
}

func (c *blockCache) unlink(b *cachedBlock) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		c.head = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		c.tail = b.prev
	}
}

// newestFirst is every block in the order that use expects: it takes them from the end.
func (c *blockCache) newestFirst() []blockHash {
	out := make([]blockHash, 0, len(c.blocks))
	for b := c.head; b != nil; b = b.next {
		out = append(out, b.hash)
	}
	return out
}
