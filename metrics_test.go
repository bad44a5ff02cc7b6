package sembench

import (
	"reflect"
	"strings"
	"testing"
)

// Every key of Aggregate and Paired has exactly one definition, and every definition a key.
func TestMetricsCoverTheRecords(t *testing.T) {
	keys := map[string]bool{}
	for _, record := range []any{Aggregate{}, Paired{}} {
		typ := reflect.TypeOf(record)
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if key == "-" {
				continue
			}
			if keys[key] {
				t.Errorf("key %s stands in both records", key)
			}
			keys[key] = true
			m, ok := MetricOf(key)
			if !ok {
				t.Errorf("key %s of %s has no definition", key, typ.Name())
				continue
			}
			nullable := typ.Field(i).Type.Kind() == reflect.Pointer
			if nullable != (m.NullMeans != "") {
				t.Errorf("key %s: nullable %v, but null means %q", key, nullable, m.NullMeans)
			}
			if want := strings.ToLower(typ.Name()); !strings.HasPrefix(m.Section, want+":") {
				t.Errorf("key %s stands in section %q, want %s", key, m.Section, want)
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if !keys[m.Key] {
			t.Errorf("%s is defined and is no key", m.Key)
		}
		if seen[m.Key] {
			t.Errorf("%s is defined twice", m.Key)
		}
		seen[m.Key] = true
		if m.Title == "" || m.Formula == "" || m.Unit == "" || m.Section == "" {
			t.Errorf("definition of %s is incomplete: %+v", m.Key, m)
		}
	}
}
