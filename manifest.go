package sembench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
)

// ManifestVersion is what we write in benchmark_version; "1" occurs in the wild and is read.
const ManifestVersion = "sembench.manifest.v1"

// Donor is a prompt that is sent before the recipient so that its KV may be reused.
type Donor struct {
	DonorID string `json:"donor_id"`
	Text    string `json:"text"`
	Label   string `json:"label"`
	// Metadata may hold messages and tools for chat donors.
	Metadata map[string]any `json:"metadata"`
	Extra    Extra          `json:"-"`
}

// Item is one line of a manifest: donors, then the measured recipient prompt, and what is known to be true of
// them. Written by workload, read by everyone (formats.md, section 1).
type Item struct {
	// ItemID joins everything; unique in a manifest. See DefaultItemID.
	ItemID   string `json:"item_id"`
	Dataset  string `json:"dataset"`
	SourceID string `json:"source_id"`
	// Transform is a name or name@parameter; reports group by TransformName.
	Transform string `json:"transform"`
	// DonorPrompts are sent in this order; may be empty.
	DonorPrompts    []Donor `json:"donor_prompts"`
	RecipientPrompt string  `json:"recipient_prompt"`
	// Input is the question and Answers its reference answers; not sent separately.
	Input   string   `json:"input"`
	Answers []string `json:"answers"`
	// NegativeControl: the donor is unrelated by construction.
	NegativeControl bool `json:"negative_control"`
	// Metadata keys with a meaning are listed in formats.md section 1.
	Metadata         map[string]any `json:"metadata"`
	BenchmarkVersion string         `json:"benchmark_version"`
	Extra            Extra          `json:"-"`
}

// DefaultItemID is the id of an item that names none: the first 16 hex digits of SHA-256 over dataset, source id and
// transform joined by U+001F.
func DefaultItemID(dataset, sourceID, transform string) string {
	sum := sha256.Sum256([]byte(dataset + "\x1f" + sourceID + "\x1f" + transform))
	return hex.EncodeToString(sum[:8])
}

// TransformName is the part of Transform before '@'.
func (it Item) TransformName() string {
	name, _, _ := strings.Cut(it.Transform, "@")
	return name
}

// Text gives a metadata string; "" when absent or of another kind.
func (it Item) Text(key string) string {
	s, _ := it.Metadata[key].(string)
	return s
}

// Int gives a metadata integer; nil when absent, null or not a whole number, never 0.
func (it Item) Int(key string) *int {
	switch v := it.Metadata[key].(type) {
	case int:
		return &v
	case json.Number:
		if n, ok := integer(v); ok {
			i := int(n)
			return &i
		}
	}
	return nil
}

// Control is the kind of wrong-reuse control (entity_swap, …), "" for every other item.
func (it Item) Control() string { return it.Text("control_kind") }

// Tenant is metadata tenant or tenant_id, "" for none.
func (it Item) Tenant() string {
	if t := it.Text("tenant"); t != "" {
		return t
	}
	return it.Text("tenant_id")
}

// Messages is the recipient's chat as sent: metadata.messages, or system_prompt and recipient_prompt.
func (it Item) Messages() []any { return it.chat(it.Metadata, it.RecipientPrompt) }

// DonorMessages is a donor's chat as sent, with the item's system prompt.
func (it Item) DonorMessages(d Donor) []any { return it.chat(d.Metadata, d.Text) }

func (it Item) chat(metadata map[string]any, text string) []any {
	if messages, ok := metadata["messages"].([]any); ok && len(messages) > 0 {
		return messages
	}
	var chat []any
	if system := it.Text("system_prompt"); system != "" {
		chat = append(chat, map[string]any{"role": "system", "content": system})
	}
	return append(chat, map[string]any{"role": "user", "content": text})
}

// problems lists what is wrong with an item as it stands, as *FieldError.
func (it Item) problems() (found FieldErrors) {
	check := func(bad bool, path, problem string) {
		if bad {
			found = append(found, &FieldError{path, problem})
		}
	}
	check(it.Dataset == "", "dataset", "is missing or empty")
	check(it.SourceID == "", "source_id", "is missing or empty")
	check(it.Transform == "", "transform", "is missing or empty")
	check(strings.TrimSpace(it.RecipientPrompt) == "", "recipient_prompt", "is missing or empty: nothing would be measured")
	check(badChat(it.Metadata), "metadata.messages", `is no chat: want a list of objects like {"role": "user", "content": "…"}`)
	if limit, given := it.Metadata["max_tokens"]; given && limit != nil {
		n := it.Int("max_tokens")
		check(n == nil || *n < 1, "metadata.max_tokens", "is no number of tokens: want 1 or more")
	}
	check(it.BenchmarkVersion != ManifestVersion && it.BenchmarkVersion != "1" && it.BenchmarkVersion != "",
		"benchmark_version", fmt.Sprintf("is %q, want %q", it.BenchmarkVersion, ManifestVersion))
	seen := map[string]bool{}
	for i, d := range it.DonorPrompts {
		path := fmt.Sprintf("donor_prompts[%d].", i)
		check(d.DonorID == "", path+"donor_id", "is missing or empty")
		check(d.Text == "", path+"text", "is missing or empty")
		check(badChat(d.Metadata), path+"metadata.messages", "is no chat: want a list of objects")
		check(d.DonorID != "" && seen[d.DonorID], path+"donor_id", fmt.Sprintf("repeats %q", d.DonorID))
		seen[d.DonorID] = true
	}
	return found
}

// badChat tells that metadata.messages is there and is no list of message objects.
func badChat(metadata map[string]any) bool {
	given, ok := metadata["messages"]
	if !ok || given == nil {
		return false
	}
	list, ok := given.([]any)
	for _, m := range list {
		message, isObject := m.(map[string]any)
		_, named := message["role"].(string)
		ok = ok && isObject && named
	}
	return !ok
}

// DonorItems are the ids of earlier items in the stream that seed this one (metadata donor_item_id, donor_item_ids).
func (it Item) DonorItems() []string {
	var ids []string
	if id := it.Text("donor_item_id"); id != "" {
		ids = append(ids, id)
	}
	list, _ := it.Metadata["donor_item_ids"].([]any)
	for _, member := range list {
		if id, ok := member.(string); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// ReadManifest yields items in order. A bad line yields an error that names file, line and field, and reading goes
// on, so that a caller can report all of them; any error means that nothing may be sent.
func ReadManifest(r io.Reader, name string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		seen := map[string]int{}
		empty := true
		for line, err := range Lines(r) {
			empty = false
			var it Item
			if err == nil {
				it, err = parseItem(line, seen)
			}
			if !yield(it, atLine(name, line.Number, err)) {
				return
			}
		}
		if empty {
			yield(Item{}, fmt.Errorf("reading %s: no item in it: want one JSON object a line", name))
		}
	}
}

func parseItem(line Line, seen map[string]int) (it Item, err error) {
	if err = Unmarshal(line.Text, &it); err != nil {
		return it, err
	}
	if it.ItemID == "" {
		it.ItemID = DefaultItemID(it.Dataset, it.SourceID, it.Transform)
	}
	found := it.problems()
	if first, twice := seen[it.ItemID]; twice {
		found = append(found, &FieldError{"item_id", fmt.Sprintf("repeats %q of line %d: ids must be unique", it.ItemID, first)})
	}
	for _, id := range it.DonorItems() {
		if _, earlier := seen[id]; !earlier {
			found = append(found, &FieldError{"metadata.donor_item_id", fmt.Sprintf("names %q, which is no earlier item", id)})
		}
	}
	seen[it.ItemID] = line.Number
	return it, found.orNil()
}

// LoadManifest reads a whole manifest and its identity, the SHA-256 of the bytes. The error is *Problems when lines
// are bad.
func LoadManifest(r io.Reader, name string) (items []Item, sha256 string, err error) {
	digest := NewDigest(r)
	var bad Problems
	for it, err := range ReadManifest(digest, name) {
		if err != nil {
			bad.Add(err)
			continue
		}
		items = append(items, it)
	}
	return items, digest.Sum(), bad.Err()
}

// WriteManifest writes items one a line in the project's spelling.
func WriteManifest(w io.Writer, items iter.Seq[Item]) error {
	for it := range items {
		if _, err := w.Write(append(Marshal(it), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// shownProblems is how many problems a message spells out; all are counted.
const shownProblems = 20

// Problems collects errors of an input: the first 20 are kept, all are counted.
type Problems struct {
	Count int
	Shown []error
}

// Add notes one problem; nil is passed over.
func (p *Problems) Add(err error) {
	if err == nil {
		return
	}
	if p.Count++; len(p.Shown) < shownProblems {
		p.Shown = append(p.Shown, err)
	}
}

// Err is nil without problems, else p.
func (p *Problems) Err() error {
	if p.Count == 0 {
		return nil
	}
	return p
}

func (p *Problems) Error() string {
	lines := make([]string, 0, len(p.Shown)+1)
	for _, err := range p.Shown {
		lines = append(lines, err.Error())
	}
	if more := p.Count - len(p.Shown); more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(lines, "\n")
}
