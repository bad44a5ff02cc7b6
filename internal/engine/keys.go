package engine

import "regexp"

// secretFlag finds a value that a serve line must not carry into a document: of flags and variables named after keys, tokens and passwords.
var secretFlag = regexp.MustCompile(`(?i)((?:--?|\b)[a-z0-9_-]*(?:api[-_]?key|token|password|secret)(?:=|\s+))("[^"]*"|'[^']*'|[^\s"'-][^\s]*)`)

// harmless are flags that only sound like secrets.
var harmless = regexp.MustCompile(`(?i)tokens|tokenizer|token[-_]ids|tokenized`)

// WithoutKeys is a serve line with the values of API keys, tokens and passwords left out.
func WithoutKeys(line string) string {
	return secretFlag.ReplaceAllStringFunc(line, func(found string) string {
		m := secretFlag.FindStringSubmatch(found)
		if harmless.MatchString(m[1]) {
			return found
		}
		return m[1] + "***"
	})
}
