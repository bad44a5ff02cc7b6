package scenario

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sembench"
)

// Read takes settings from a sembench.yaml; given names (flags that were typed) are left as they are. Errors name the file, the line
// and the key: an unknown key, one that occurs twice, or a value of the wrong kind.
func (s *Scenario) Read(r io.Reader, name string, given func(flag string) bool) error {
	fail := func(line int, format string, args ...any) error {
		return fmt.Errorf("reading %s: line %d: %s", name, line, fmt.Sprintf(format, args...))
	}
	var doc yaml.Node
	switch err := yaml.NewDecoder(r).Decode(&doc); {
	case err == io.EOF:
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", name, err)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fail(root.Line, "want keys and values, like block-size: 16")
	}
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		f := s.setting(key.Value)
		switch {
		case f == nil:
			return fail(key.Line, "unknown key %q%s", key.Value, s.suggest(key.Value))
		case seen[key.Value]:
			return fail(key.Line, "key %q occurs twice", key.Value)
		}
		seen[key.Value] = true
		if given(key.Value) {
			continue
		}
		if err := f.read(value); err != nil {
			return fail(value.Line, "%s: %v", key.Value, err)
		}
	}
	return nil
}

func (f *setting) read(value *yaml.Node) error {
	switch {
	case value.Tag == "!!null":
		f.value.SetZero()
		if f.def != "" {
			return f.Set(f.def)
		}
		return nil
	case value.Kind == yaml.ScalarNode:
		return f.Set(value.Value)
	case value.Kind == yaml.SequenceNode && f.value.Kind() == reflect.Slice:
		var members []string
		for _, m := range value.Content {
			if m.Kind != yaml.ScalarNode {
				return fmt.Errorf("want a list of plain values")
			}
			members = append(members, m.Value)
		}
		f.replaced = false
		if f.value.Type().Elem().Kind() == reflect.Int {
			return f.addInts(members)
		}
		return f.add(members)
	}
	return fmt.Errorf("want one plain value")
}

// suggest names the setting whose spelling is nearest, if one is near.
func (s *Scenario) suggest(wrong string) string {
	best, nearest := "", min(3, len(wrong)/2)
	for _, f := range s.settings() {
		if d := distance(wrong, f.name); d < nearest {
			best, nearest = f.name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// distance is the number of edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Effective is every setting that can change a number, by name: what config.yaml and result.config hold. Unasked settings are null.
func (s *Scenario) Effective() map[string]any {
	out := map[string]any{}
	for _, f := range s.settings() {
		if !f.hashed {
			continue
		}
		switch v := f.value.Interface().(type) {
		case []string:
			out[f.name] = members(v)
		case []int:
			out[f.name] = members(v)
		case int64:
			out[f.name] = int(v)
		case string:
			out[f.name] = v
			if f.name == "extra-body" {
				out[f.name] = redacted(v)
			}
		default:
			out[f.name] = v
		}
	}
	return out
}

// secretKey recognises names whose values must be in no file.
var secretKey = regexp.MustCompile(`(?i)(key|token|secret|password|passwd|authorization|credential)s?$`)

// redactedMark begins what stands for a secret: a part of its hash, so that equal settings stay equal.
const redactedMark = "redacted:"

// redacted is a JSON object with the values of secret-looking keys replaced; other text is left as it is.
func redacted(body string) string {
	tree, err := sembench.ParseJSON([]byte(body))
	if err != nil {
		return body
	}
	return string(sembench.AppendJSON(nil, redactTree(tree, false), 0))
}

func redactTree(tree any, secret bool) any {
	switch v := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = redactTree(value, secret || secretKey.MatchString(key))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = redactTree(value, secret)
		}
		return out
	case string:
		if secret && !strings.HasPrefix(v, redactedMark) {
			return redactedMark + sembench.SHA256([]byte(v))[:12]
		}
	}
	return tree
}

func members[T any](list []T) []any {
	out := make([]any, len(list))
	for i, member := range list {
		out[i] = member
	}
	return out
}

// SHA256 is the hash of the effective configuration: equal exactly when every setting that can change a number is.
func (s *Scenario) SHA256() string { return sembench.SHA256(sembench.Marshal(s.Effective())) }

// Written is the part of the effective configuration whose keys a file that WriteYAML wrote has, and its hash: what the run that wrote the file
// went by, whatever settings newer versions added.
func (s *Scenario) Written(file []byte) (settings map[string]any, sha256 string, err error) {
	var keys map[string]yaml.Node
	if err := yaml.Unmarshal(file, &keys); err != nil {
		return nil, "", fmt.Errorf("reading settings: %w", err)
	}
	settings = s.Effective()
	for name := range settings {
		if _, ok := keys[name]; !ok {
			delete(settings, name)
		}
	}
	return settings, sembench.SHA256(sembench.Marshal(settings)), nil
}

// WriteYAML writes the effective configuration as a file that Read accepts.
func (s *Scenario) WriteYAML(w io.Writer) error {
	effective := s.Effective()
	names := make([]string, 0, len(effective))
	for name := range effective {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		// JSON is YAML: every value is written in the project's one spelling.
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, sembench.AppendJSON(nil, effective[name], 0)); err != nil {
			return err
		}
	}
	return nil
}
