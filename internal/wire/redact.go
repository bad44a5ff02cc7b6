package wire

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxMessage bounds an error text, in bytes: enough for an engine's sentence, too little for a prompt that it echoes.
const maxMessage = 400

const redacted = "[redacted]"

// Things that look like credentials though nobody told us: whatever follows an authorization scheme, keys in
// URLs and JSON, provider key shapes.
var credential = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}` +
	`|((?:api[-_]?key|access[-_]?token|secret|password|authorization)["']?\s*[:=]\s*["']?)[^\s"'&,}]{4,}` +
	`|()\b(?:sk|hf|xai|gsk|nvapi|pk|rk)[-_][A-Za-z0-9_-]{12,}`)

var userinfo = regexp.MustCompile(`(\w+://)[^\s/@"']+@`)

// secretRedactor replaces known secrets. Short ones (under 4 bytes) are passed over: they would blank ordinary text.
type secretRedactor struct {
	replacer *strings.Replacer
	any      bool // there is something to look for
}

func newRedactor(secrets []string) secretRedactor {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 4 {
			pairs = append(pairs, s, redacted)
			if escaped := url.QueryEscape(s); escaped != s {
				pairs = append(pairs, escaped, redacted)
			}
		}
	}
	return secretRedactor{strings.NewReplacer(pairs...), len(pairs) > 0}
}

// tree replaces known secrets in every string of a JSON value, keys included, in a copy; a nil map stays nil.
func (r secretRedactor) tree(value any) any {
	switch v := value.(type) {
	case string:
		return r.known(v)
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = r.tree(member)
		}
		return out
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[r.known(key)] = r.tree(member)
		}
		return out
	}
	return value
}

// known replaces the secrets that were given and nothing else: for outputs, which must not change otherwise.
func (r secretRedactor) known(s string) string { return r.replacer.Replace(s) }

// message cleans and bounds a text that will be shown: known secrets, then what looks like a credential, then control
// characters and length.
func (r secretRedactor) message(s string) string {
	// A cut may not leave half a secret: clean first, on a bounded head that is far longer than what is kept.
	if len(s) > 64<<10 {
		s = s[:64<<10]
	}
	s = credential.ReplaceAllString(r.known(s), "${1}${2}${3}"+redacted)
	s = userinfo.ReplaceAllString(s, "${1}"+redacted+"@")
	return clip(oneLine(s), maxMessage)
}

// oneLine makes white space and control characters single spaces.
func oneLine(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == utf8.RuneError {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, " "))
	return strings.Join(strings.Fields(s), " ")
}

// clip keeps at most n bytes of whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// CleanURL is an address as it may be written down: without user, password, query and fragment.
func CleanURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "invalid-url"
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}
