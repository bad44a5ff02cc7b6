package workload

import (
	"slices"
	"strings"
	"testing"

	"sembench"
	"sembench/internal/quality"
)

// tale is a document that can be checked by eye.
func tale() document {
	return document{
		dataset: "d", source: "s", chunks: []chunk{{"One", "Alpha is red. Beta, too, is blue. "}, {"Two", "Gamma is green."}, {"Three", "Delta is grey."}},
		questions: []question{{text: "Which colour is Gamma?", answers: []string{"green"}}, {text: "Which colour is Alpha?", answers: []string{"red"}}},
	}
}

func made(t *testing.T, name string, seed uint64) sembench.Item {
	t.Helper()
	chosen, err := selected([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{doc: tale(), tokenizer: o200k(t), param: chosen[0].param, random: drawsFor(seed, name), unrelated: func(int) (document, error) {
		return document{source: "other", chunks: []chunk{{"", "Nothing in common."}}, questions: []question{{text: "What?"}}}, nil
	}}
	d, err := chosen[0].make(k)
	if err != nil {
		t.Fatal(err)
	}
	return d.item(k.doc, name)
}

func TestEightTransforms(t *testing.T) {
	const text = "[1] One\nAlpha is red. Beta, too, is blue. \n\n[2] Two\nGamma is green.\n\n[3] Three\nDelta is grey."
	for seed := range uint64(30) {
		check := func(name string, holds func(donor, recipient string, it sembench.Item) bool) {
			t.Helper()
			it := made(t, name, seed)
			if donor := it.DonorPrompts[0].Text; !holds(donor, it.RecipientPrompt, it) {
				t.Errorf("%s, seed %d:\n%s\n----\n%s", name, seed, donor, it.RecipientPrompt)
			}
		}
		first := func(s string) string { s, _, _ = strings.Cut(s, "\n"); return s }
		check("exact_repeat", func(d, r string, _ sembench.Item) bool { return d == r && strings.Contains(r, text) })
		check("instruction_variant", func(d, r string, _ sembench.Item) bool {
			_, after, _ := strings.Cut(d, "\n\n")
			_, same, _ := strings.Cut(r, "\n\n")
			return first(d) != first(r) && after == same && strings.Contains(r, text)
		})
		check("same_evidence_new_task", func(d, r string, it sembench.Item) bool {
			return slices.Contains(requests, first(r)) && strings.Contains(d, text) && strings.Contains(r, text) &&
				strings.HasSuffix(d, "Which colour is Alpha?") && it.Input == "Which colour is Gamma?"
		})
		check("leading_evidence_new_task", func(d, r string, _ sembench.Item) bool {
			return strings.HasPrefix(d, text) && strings.HasPrefix(r, text) && d != r
		})
		check("rag_reorder", func(d, r string, _ sembench.Item) bool {
			moved := !strings.Contains(r, "[1] One\n") && !strings.Contains(r, "[2] Two\n") && !strings.Contains(r, "[3] Three\n")
			return moved && strings.Contains(r, "Alpha") && strings.Contains(r, "Gamma") && strings.Contains(r, "Delta")
		})
		check("multi_donor_composite", func(_, r string, it sembench.Item) bool {
			return len(it.DonorPrompts) == 3 && strings.Contains(it.DonorPrompts[2].Text, "Delta is grey.") &&
				!strings.Contains(it.DonorPrompts[2].Text, "Gamma") && strings.Contains(r, text)
		})
		check("fuzzy_edit", func(d, r string, _ sembench.Item) bool {
			strip := func(s string) string {
				return strings.Join(quality.Normalize(strings.NewReplacer("[1]", "1", "## ", "").Replace(s)), " ")
			}
			return d != r && strip(d) == strip(r)
		})
		check("negative_control", func(d, r string, it sembench.Item) bool {
			return it.NegativeControl && first(d) != first(r) && !strings.Contains(d, "Gamma") && it.Text("donor_source_id") == "other"
		})
	}
}

// Declared boilerplate is exactly the instruction and the request, counted in characters.
func TestBoilerplateRanges(t *testing.T) {
	doc := tale()
	doc.chunks[0].body = "Größe 12 µm, 目 und 𝄞."
	p := base("Erste Ärztin.", evidence(doc.chunks, numbered), "Bitte, 答え.", "Was?")
	it := draft{recipient: p, donors: []*prompt{p}, asked: doc.questions[0]}.item(doc, "exact_repeat")
	var parts []string
	for _, s := range declaredOf(it.Metadata) {
		parts = append(parts, string([]rune(it.RecipientPrompt)[s.start:s.start+s.length]))
	}
	if want := []string{"Erste Ärztin.", "Bitte, 答え."}; !slices.Equal(parts, want) {
		t.Errorf("boilerplate %q, want %q", parts, want)
	}
	kept := strings.Join(outside(it.RecipientPrompt, declaredOf(it.Metadata)), "|")
	if want := "\n\n" + evidence(doc.chunks, numbered) + "\n\n|\nWas?"; kept != want {
		t.Errorf("outside boilerplate %q, want %q", kept, want)
	}
}

func TestOutside(t *testing.T) {
	for _, c := range []struct {
		shared []span
		want   string
	}{
		{nil, "añb世c"}, {[]span{{0, 5}}, ""}, {[]span{{1, 1}}, "a|b世c"}, {[]span{{3, 1}, {0, 1}}, "ñb|c"},
		{[]span{{1, 3}, {2, 1}}, "a|c"}, {[]span{{4, 99}}, "añb世"}, {[]span{{99, 1}}, "añb世c"}, {[]span{{0, 2}, {2, 2}}, "c"},
	} {
		if got := strings.Join(outside("añb世c", c.shared), "|"); got != c.want {
			t.Errorf("outside(%v) = %q, want %q", c.shared, got, c.want)
		}
	}
}

// A derangement is a permutation that leaves nothing in place; with two places only the swap is one.
func TestDerangement(t *testing.T) {
	for seed := range uint64(50) {
		for n := 2; n < 9; n++ {
			p := derangement(drawsFor(seed, n), n)
			sorted := slices.Sorted(slices.Values(p))
			for i := range n {
				if sorted[i] != i || p[i] == i {
					t.Fatalf("derangement of %d: %v", n, p)
				}
			}
		}
	}
}

func TestSentencesGiveTheTextBack(t *testing.T) {
	for _, text := range []string{"", "One. Two! Three? Four", "Line\nline. \n\n", "3.5 is no end. e.g. this"} {
		if got := strings.Join(sentences(text), ""); got != text {
			t.Errorf("sentences(%q) join to %q", text, got)
		}
	}
	if got := len(sentences("One. Two! Three? Four")); got != 4 {
		t.Errorf("%d sentences, want 4", got)
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		l    labels
		i    int
		want string
	}{{numbered, 0, "[1] T"}, {hashed, 999, "## 1000 T"}, {lettered, 0, "Passage A: T"}, {lettered, 25, "Passage Z: T"}, {lettered, 26, "Passage AA: T"}, {lettered, 701, "Passage ZZ: T"}, {lettered, 702, "Passage AAA: T"}} {
		if got := c.l.of(c.i, "T"); got != c.want {
			t.Errorf("label %d: %q, want %q", c.i, got, c.want)
		}
	}
}
