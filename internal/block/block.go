// Package block turns token ids into full prefill blocks and answers, exactly, which blocks of a prompt
// earlier prompts already held: at any position (contract, section 2, the exact baseline) and as a
// leading run of one donor (what a prefix cache reuses).
//
// It assumes that ids come from one tokenizer and leaves tokenizing, planning and rates to others. A
// trailing partial block is in no count. All of it is pure computation on slices: no files, no clocks.
package block

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// Hash identifies a block's content inside the process: XXH3-128 of its ids as little-endian uint32.
// It is safe against chance collisions (2^-128 per pair), not against an adversary, and is never
// published; see [Published].
type Hash [16]byte

// key is a Hash as two words, the form the tables work on.
type key = xxh3.Uint128

// Count returns floor(tokens / size), the number of full blocks.
// It is 0 for tokens below size, for negative tokens, and for size below 1, which is an error upstream.
func Count(tokens, size int) int {
	if tokens <= 0 || size <= 0 {
		return 0
	}
	return tokens / size
}

// Of returns the hash of one block's ids.
func Of(ids []uint32) Hash { return Hash(of(ids).Bytes()) }

func of(ids []uint32) key { return xxh3.Hash128(littleEndian(ids)) }

// Published returns the block hash that documents carry (contract, section 2): the first 32 hex digits
// of SHA-256 over the ids packed as little-endian uint32.
func Published(ids []uint32) string {
	sum := sha256.Sum256(littleEndian(ids))
	return hex.EncodeToString(sum[:16])
}

// chain extends the identity of a prefix by one block, so that equal keys mean equal leading runs.
func chain(prefix, content key) key {
	var b [32]byte
	binary.LittleEndian.PutUint64(b[0:], prefix.Lo)
	binary.LittleEndian.PutUint64(b[8:], prefix.Hi)
	binary.LittleEndian.PutUint64(b[16:], content.Lo)
	binary.LittleEndian.PutUint64(b[24:], content.Hi)
	return xxh3.Hash128(b[:])
}

// nativeLittle is true where memory already has the order that the hashes are defined on.
var nativeLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// littleEndian views ids as bytes, least significant first. The view is read only and must not outlive
// ids; copying instead would cost as much as the hash itself.
func littleEndian(ids []uint32) []byte {
	if len(ids) == 0 {
		return nil
	}
	if nativeLittle {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(ids))), 4*len(ids))
	}
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}
