package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// draws is a stream of random choices. Streams of different names are independent, so that making one document more
// or in another order changes no other.
type draws struct{ *rand.Rand }

// drawsFor gives the stream that belongs to a seed and a name.
func drawsFor(seed uint64, name ...any) draws {
	words := make([]string, len(name))
	for i, n := range name {
		words[i] = fmt.Sprint(n)
	}
	text := binary.LittleEndian.AppendUint64(nil, seed)
	var key [32]byte = sha256.Sum256(append(text, strings.Join(words, "\x1f")...))
	return draws{rand.New(rand.NewChaCha8(key))}
}

// between gives a whole number in [low, high].
func (d draws) between(low, high int) int { return low + d.IntN(high-low+1) }

// chance is true with probability p.
func (d draws) chance(p float64) bool { return d.Float64() < p }

// pick gives one of list.
func pick[T any](d draws, list []T) T { return list[d.IntN(len(list))] }

// shuffled is a copy of list in random order.
func shuffled[T any](d draws, list []T) []T {
	out := append([]T(nil), list...)
	d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
