package quality

// FirstDivergence returns the index of the first token at which two outputs differ, from 0. An output that ends where the other goes
// on differs there: its next token was the end.
// Equal outputs: nil.
func FirstDivergence(a, b []string) *int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return &i
		}
	}
	return nil
}
