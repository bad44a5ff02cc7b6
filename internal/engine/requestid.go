package engine

import (
	"slices"
	"strings"
)

// IDForms are the names a request may have had before an engine renamed it, the id itself first, the
// barest last: drop "chatcmpl-" or "cmpl-", drop one "-<8 hex>", drop one "-N" or "_N"; every
// intermediate form is in the list.
func IDForms(id string) []string {
	forms := []string{id}
	bare := strings.TrimPrefix(strings.TrimPrefix(id, "chatcmpl-"), "cmpl-")
	for _, s := range []string{id, bare} {
		if s == "" {
			continue
		}
		// In the order of rising bareness, so that the last form of the bare id is the barest.
		n := dropIndex(s)
		h := dropHex(s)
		for _, f := range []string{s, n, h, dropIndex(h)} {
			if f != "" && !slices.Contains(forms, f) {
				forms = append(forms, f)
			}
		}
	}
	return forms
}

// dropHex drops one trailing "-<8 lower-case hex>", vLLM's random suffix.
func dropHex(s string) string {
	i := len(s) - 9
	if i <= 0 || s[i] != '-' {
		return s
	}
	for _, c := range []byte(s[i+1:]) {
		if !digit(c) && (c < 'a' || c > 'f') {
			return s
		}
	}
	return s[:i]
}

// dropIndex drops one trailing "-N" or "_N".
func dropIndex(s string) string {
	i := len(s)
	for i > 0 && digit(s[i-1]) {
		i--
	}
	if i == len(s) || i < 2 || (s[i-1] != '-' && s[i-1] != '_') {
		return s
	}
	return s[:i-1]
}

// ResolveID is the known id that an engine's id stands for: the id itself if known, else the one known
// form. Empty when none is known; ambiguous, with no match, when two are. Never a guess.
func ResolveID(id string, known func(string) bool) (match string, ambiguous bool) {
	if id == "" {
		return "", false
	}
	if known(id) {
		return id, false
	}
	for _, form := range IDForms(id)[1:] {
		if !known(form) {
			continue
		}
		if match != "" {
			return "", true
		}
		match = form
	}
	return match, false
}
