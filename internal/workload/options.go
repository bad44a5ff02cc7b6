package workload

import (
	"fmt"
	"slices"
	"strings"

	"sembench/internal/token"
)

// Options say what to build; the zero value is the smoke workload.
type Options struct {
	// Profile is smoke (default), dev, test, live or stream; not used by FromSource.
	Profile string
	Seed    uint64
	// Transforms are names of TransformNames; empty means the profile's own, for a source the first eight.
	Transforms []string
	// Bands are length bands (1k … 32k); empty means the profile's own. Sources keep the length of their records.
	Bands []string
	// Tokenizer counts and cuts; nil means o200k.
	Tokenizer token.Tokenizer
	// TokenizerSpec is how Tokenizer was named, for the recipe; "" with a nil Tokenizer.
	TokenizerSpec string
	// BlockSize in tokens; 0 means 16.
	BlockSize int
	// MaxItems takes a stratified sample of that size, of a stream the first requests; Head takes the first items. 0 means
	// all, for a generated stream 200.
	MaxItems, Head int
	// Split keeps one part of a source: dev, test or live (by hash of the source id); "" keeps all. Generated splits are
	// profiles: here it is another name for Profile.
	Split string
	// Dataset and License describe a source; Dataset defaults to the source's name, License to "unknown".
	Dataset, License string
	// Strict makes violations in a source an error.
	Strict bool
}

const defaultBlockSize = 16

func (o Options) filled() (Options, error) {
	fail := func(format string, args ...any) (Options, error) {
		return o, fmt.Errorf("building manifest: "+format, args...)
	}
	if o.Profile == "" {
		o.Profile = "smoke"
	}
	if o.BlockSize == 0 {
		o.BlockSize = defaultBlockSize
	}
	if o.BlockSize < 0 || o.MaxItems < 0 || o.Head < 0 {
		return fail("block size, max items and head must not be negative")
	}
	if o.Tokenizer == nil {
		tk, err := token.Open("")
		if err != nil {
			return fail("%w", err)
		}
		o.Tokenizer, o.TokenizerSpec = tk, "o200k"
	}
	if o.TokenizerSpec == "" {
		o.TokenizerSpec = o.Tokenizer.Name()
	}
	for _, name := range o.Bands {
		if _, ok := bandTokens(name); !ok {
			return fail("length band %q is unknown: use %s", name, strings.Join(BandNames(), ", "))
		}
	}
	if !slices.Contains([]string{"", "dev", "test", "live"}, o.Split) {
		return fail("split %q is unknown: use dev, test or live", o.Split)
	}
	return o, nil
}

var bands = []struct {
	name   string
	tokens int
}{{"1k", 1024}, {"2k", 2048}, {"4k", 4096}, {"8k", 8192}, {"16k", 16384}, {"32k", 32768}}

// BandNames are the length bands, ascending; 1k means 1,024 tokens of the recipient prompt.
func BandNames() (names []string) {
	for _, b := range bands {
		names = append(names, b.name)
	}
	return names
}

func bandTokens(name string) (int, bool) {
	for _, b := range bands {
		if b.name == name {
			return b.tokens, true
		}
	}
	return 0, false
}

// nearestBand is the band whose length is nearest by ratio; texts beyond 1.5 times the longest have none ("").
func nearestBand(tokens int) string {
	for i, b := range bands {
		next := b.tokens * 3 / 2
		if i+1 < len(bands) {
			next = b.tokens * 141421 / 100000 // the geometric mean of neighbours
		}
		if tokens <= next {
			return b.name
		}
	}
	return ""
}
