package engine

import (
	"slices"
	"testing"
)

func TestResolveID(t *testing.T) {
	for _, c := range []struct {
		id        string
		known     []string
		match     string
		ambiguous bool
	}{
		{"abc", []string{"abc"}, "abc", false},
		{"chatcmpl-abc", []string{"abc"}, "abc", false},
		{"cmpl-abc-0", []string{"abc"}, "abc", false},
		{"cmpl-abc_0", []string{"abc"}, "abc", false},
		{"cmpl-abc-0-1a2b3c4d", []string{"abc"}, "abc", false},
		{"chatcmpl-abc-1a2b3c4d", []string{"abc"}, "abc", false},
		{"chatcmpl-abc-1a2b3c4d", []string{"chatcmpl-abc"}, "chatcmpl-abc", false},
		{"cmpl-abc-0", []string{"abc", "abc-0"}, "", true},
		{"cmpl-abc-0", []string{"cmpl-abc-0", "abc"}, "cmpl-abc-0", false}, // exact wins
		{"cmpl-abc-0-1a2b3c4d", []string{"abc-0", "abc"}, "", true},
		{"cmpl-abc-0-1A2B3C4D", []string{"abc"}, "", false}, // engines write lower case
		{"cmpl-abc-0-1a2b3c4", []string{"abc"}, "", false},  // seven digits are no suffix
		{"cmpl-abc-0-1", []string{"abc"}, "", false},        // one index only
		{"", []string{""}, "", false},
		{"chatcmpl-", []string{""}, "", false},
		{"chatcmpl-sembench-warm-000012-recipient-2c4b9e7257a6b973", []string{"sembench-warm-000012-recipient-2c4b9e7257a6b973"}, "sembench-warm-000012-recipient-2c4b9e7257a6b973", false},
		{"cmpl-sembench-warm-000012-recipient-1234567812345678-0-9f8e7d6c", []string{"sembench-warm-000012-recipient-1234567812345678"}, "sembench-warm-000012-recipient-1234567812345678", false},
	} {
		match, ambiguous := ResolveID(c.id, func(s string) bool { return slices.Contains(c.known, s) })
		if match != c.match || ambiguous != c.ambiguous {
			t.Errorf("%q against %q: %q %v, want %q %v", c.id, c.known, match, ambiguous, c.match, c.ambiguous)
		}
	}
}
