package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"sembench"
)

// definition is a line of the table of all numbers: a key, what the result holds for it, and what it means.
type definition struct {
	sembench.Metric
	Value string
	Null  bool
}

// section is the definitions of one part of the document.
type section struct {
	Title string
	Lines []definition
}

// hover is a metric's definition in one line: formula, unit, truth, null rule.
func hover(m sembench.Metric) string {
	parts := []string{m.Key + " = " + m.Formula, "unit: " + m.Unit}
	if m.Better == "one" {
		parts = append(parts, "truth: 1")
	} else if m.Better != "" {
		parts = append(parts, "better: "+m.Better)
	}
	if m.NullMeans != "" {
		parts = append(parts, "not measured when: "+m.NullMeans)
	}
	return strings.Join(parts, " · ")
}

// defined is words that show a metric's definition on hover and on keyboard focus.
func defined(key, words string) (template.HTML, error) {
	m, ok := sembench.MetricOf(key)
	if !ok {
		return "", fmt.Errorf("showing the definition of %s: no such metric", key)
	}
	return template.HTML(fmt.Sprintf(`<abbr class="def" tabindex="0" data-key="%s" title="%s">%s</abbr>`,
		template.HTMLEscapeString(key), template.HTMLEscapeString(hover(m)), template.HTMLEscapeString(words))), nil
}

// definitions lists every key of the aggregate and paired blocks with its value in this result.
func definitions(r *sembench.Result) ([]section, error) {
	aggregate, err := tree(r.Aggregate)
	if err != nil {
		return nil, err
	}
	paired := map[string]any{}
	if r.Paired != nil {
		if paired, err = tree(*r.Paired); err != nil {
			return nil, err
		}
	}
	var out []section
	for _, m := range sembench.Metrics() {
		if len(out) == 0 || out[len(out)-1].Title != m.Section {
			out = append(out, section{Title: m.Section})
		}
		values := aggregate
		if strings.HasPrefix(m.Section, "paired") {
			values = paired
		}
		value := values[m.Key]
		last := &out[len(out)-1]
		last.Lines = append(last.Lines, definition{m, shown(value, m.Unit), value == nil})
	}
	return out, nil
}

// tree is a record as its JSON says it.
func tree(record any) (map[string]any, error) {
	var out map[string]any
	if err := json.Unmarshal(sembench.Marshal(record), &out); err != nil {
		return nil, fmt.Errorf("listing numbers: %w", err)
	}
	return out, nil
}

// shown is a value of a document in words; null is not measured.
func shown(value any, unit string) string {
	switch v := value.(type) {
	case nil:
		return unmeasured
	case float64:
		switch unit {
		case "ms":
			return milliseconds(&v)
		case "rate":
			return strconv.FormatFloat(v, 'f', 4, 64)
		}
		return decimal(&v)
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case map[string]any:
		if lo, isCI := v["lo"]; isCI {
			n, _ := v["n"].(float64)
			return fmt.Sprintf("[%s, %s], %v, n = %.0f", shown(lo, ""), shown(v["hi"], ""), v["method"], n)
		}
	}
	doc, err := json.Marshal(value)
	if err != nil || len(doc) > 200 {
		return "see result.json"
	}
	return string(doc)
}
