package quality

import "testing"

// FuzzTexts holds every text measure to its range and symmetry on arbitrary bytes.
func FuzzTexts(f *testing.F) {
	f.Add("the answer is (B)", "東京 12")
	f.Add("\xff\x00", "İ ς")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 4000 {
			return
		}
		for name, m := range map[string]func(a, b string) float64{"ROUGEL": ROUGEL, "F1": F1} {
			v, w := m(a, b), m(b, a)
			if !(v >= 0 && v <= 1) || v != w {
				t.Errorf("%s(%q, %q) = %v, swapped %v", name, a, b, v, w)
			}
		}
		if len(Normalize(a)) > 0 && (ROUGEL(a, a) != 1 || F1(a, a) != 1 || Recall(a, a) != 1 || !States(a, a)) {
			t.Errorf("%q does not agree with itself", a)
		}
		if v := ROUGEL(a, b); v > F1(a, b) {
			t.Errorf("ROUGEL(%q, %q) = %v exceeds the order-free F1", a, b, v)
		}
		Letter(a)
	})
}
