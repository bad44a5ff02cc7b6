package token

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// FuzzTables: where the fast readers accept valid JSON, they read what encoding/json reads.
func FuzzTables(f *testing.F) {
	f.Add(`{"a":0, "\u00e9\"\\" : 12,"b":1}`)
	f.Add(`[["a","b"], [ "\n" ,"c d"]]`)
	f.Add(`["a b","c  d"]`)
	f.Add(`{"a":1,"a":2,"c":1000000000}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		if got, ok := readVocab(text); ok {
			var want map[string]uint32
			if err := json.Unmarshal([]byte(text), &want); err != nil || !maps.Equal(got, want) {
				t.Errorf("%s: got %v, want %v, %v", text, got, want, err)
			}
		}
		if got, ok := readMerges(text); ok {
			var pairs mergeFile
			if json.Unmarshal([]byte(text), (*[][2]string)(&pairs)) == nil && !slices.Equal(got, pairs) {
				t.Errorf("%s: got %q, want %q", text, got, pairs)
			}
		}
	})
}
