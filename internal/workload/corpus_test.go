package workload

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sembench/internal/quality"
)

// The first wording carries the question's words, so that the sentence nearest to the question answers it.
func TestFirstWordingCarriesTheQuestion(t *testing.T) {
	small := strings.Fields("what which who how many much long often when in did do does is was were be been the a an of on at to by for with from under about it its according take place that and must should")
	blank := strings.NewReplacer("{e}", " ", "{v}", " ")
	for _, d := range domains() {
		if d.language != "en" || d.kind != "prose" {
			continue
		}
		for _, at := range d.attributes {
			told := quality.Normalize(blank.Replace(at.say[0]))
			for _, w := range quality.Normalize(blank.Replace(at.ask)) {
				if !slices.Contains(small, w) && !slices.Contains(told, w) {
					t.Errorf("%s: %q is asked in %q and not told in %q", d.name, w, at.ask, at.say[0])
				}
			}
		}
	}
}

// openSlot is a slot or kind that was not filled.
var openSlot = regexp.MustCompile(`\{(\w|(int|dec|pick|hex) [^}]*|date|time|person|city|company|coined|code|money|low)\}`)

// Every corpus file is complete: known kinds, a question, wordings that all use the same slots, and no slot left open.
func TestCorpusIsComplete(t *testing.T) {
	list, err := loadDomains()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.name == "" || len(d.subjects) == 0 || len(d.titles) == 0 || len(d.attributes) < 10 {
			t.Errorf("domain %q lacks something", d.name)
		}
		if !slices.Contains([]string{"prose", "code", "lines", "table"}, d.kind) {
			t.Errorf("%s: kind %q", d.name, d.kind)
		}
		for _, at := range d.attributes {
			if !slices.Contains([]string{"number", "name", "flag", "text"}, at.kind) || at.ask == "" || len(at.say) < 2 {
				t.Errorf("%s, %s: incomplete", d.name, at.name)
			}
			want := slices.Sorted(slices.Values(at.slots))
			for _, say := range at.say {
				if got := slices.Sorted(slices.Values(slotsOf(say))); !slices.Equal(got, want) {
					t.Errorf("%s, %s: %q uses %v, the first wording %v", d.name, at.name, say, got, want)
				}
				if !strings.Contains(say, "{v}") || !strings.Contains(say, "{e}") && d.kind == "prose" {
					t.Errorf("%s, %s: %q lacks entity or value", d.name, at.name, say)
				}
			}
			if len(slotsOf(at.ask)) > 0 || !strings.Contains(at.ask, "{e}") {
				t.Errorf("%s, %s: question %q", d.name, at.name, at.ask)
			}
		}
		w := newWorld(d, drawsFor(1, d.name))
		for range 4 * len(d.attributes) {
			w.grow()
		}
		for _, f := range w.facts {
			for f.wording = range f.attribute.say {
				for _, text := range []string{w.say(f), w.ask(f), f.value()} {
					if (d.kind == "prose" || d.kind == "table" && d.name == "table") && strings.ContainsAny(text, "{}") || openSlot.MatchString(text) || text == "" {
						t.Errorf("%s: %q", d.name, text)
					}
				}
			}
		}
	}
}

func TestBrokenCorpus(t *testing.T) {
	for text, want := range map[string]string{
		"domain x\nsay y":                       "reading corpus f: line 2: say stands before any fact",
		"domain x\nverb y":                      `reading corpus f: line 2: unknown word "verb"`,
		"open x":                                "reading corpus f: line 1: open wants a quoted text",
		"\n\nask what":                          "reading corpus f: line 3: ask stands before any fact",
		"domain x\nfact a\nvalue text v\nask q": "reading corpus f: fact a has no wording",
	} {
		if _, err := parseDomain("f", text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// Instructions and requests share no run of a block's length, two of the same list or one of each.
func TestBoilerplateSharesNothing(t *testing.T) {
	tk := o200k(t)
	all := append(slices.Clone(instructions), requests...)
	for i, a := range all {
		for _, b := range all[:i] {
			if n := overlap(runs(tk, 8, a, nil), runs(tk, 8, b, nil)); n > 0 {
				t.Errorf("%q and %q share %d runs", a, b, n)
			}
		}
	}
}

func TestCoinedWords(t *testing.T) {
	r := drawsFor(1, "coined")
	seen := map[string]bool{}
	for range 10000 {
		seen[r.coined()] = true
	}
	if len(seen) < 9500 {
		t.Errorf("10,000 draws gave %d names", len(seen))
	}
	if a, b := drawsFor(1, "a", "b").Uint64(), drawsFor(1, "ab").Uint64(); a == b {
		t.Error("two names share a stream")
	}
	for n, want := range map[int]string{5: "5", 1000: "1,000", 987654: "987,654", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s", n, got)
		}
	}
}

// A corpus that was checked out with other line ends is the same corpus.
func TestCorpusLineEnds(t *testing.T) {
	files, err := corpus.ReadDir("corpus")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := corpus.ReadFile("corpus/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		plain, err := parseDomain(f.Name(), string(text))
		if err != nil {
			t.Fatal(err)
		}
		windows, err := parseDomain(f.Name(), strings.ReplaceAll(string(text), "\n", "\r\n"))
		if err != nil || !reflect.DeepEqual(plain, windows) {
			t.Errorf("%s: CRLF makes another domain, %v", f.Name(), err)
		}
	}
}
