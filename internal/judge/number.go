package judge

import (
	"encoding/json"
	"math"
)

// number reads a JSON value as a finite number.
func number(v any) (float64, bool) {
	var f float64
	switch n := v.(type) {
	case json.Number:
		parsed, err := n.Float64()
		if err != nil {
			return 0, false
		}
		f = parsed
	case float64:
		f = n
	case int:
		f = float64(n)
	case int64:
		f = float64(n)
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// wholeNumber reads a count; anything else is 0, and so is a negative one.
func wholeNumber(v any) int {
	f, ok := number(v)
	if !ok || f < 0 || f > math.MaxInt32 || f != math.Trunc(f) {
		return 0
	}
	return int(f)
}

// finite is the number, null when it is none.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// rate is numerator over denominator; null over nothing.
func rate(numerator, denominator int) *float64 {
	if denominator <= 0 {
		return nil
	}
	return finite(float64(numerator) / float64(denominator))
}
