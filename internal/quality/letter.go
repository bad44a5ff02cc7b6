package quality

import (
	"regexp"
	"strings"
)

var (
	// "the answer is (B)", "Answer: **B**", "the correct option is B", "answer: \boxed{B}"; what follows must end the letter.
	announced = regexp.MustCompile(`(?i:\banswer(?:\s+is)?|\b(?:choice|option)\s+is)\s*[:=]?\s*(?i:(?:option|choice)\s+)?(?:\$?\\boxed)?[$*_(\[{"'` + "`" + `]*([A-Ja-j])(?:[^\pL\pN]|$)`)
	// "B", "(B)", "B.", "B) because", "**B**: because": the letter opens the output and punctuation or the end closes it.
	opening = regexp.MustCompile(`^[*_(\[{"'` + "`" + `]*([A-Ja-j])[*_"'` + "`" + `]*(?:[.):\],;}]|$|\s*\n)`)
)

// Letter returns the multiple-choice letter A to J, in upper case, that an output gives.
// It reads the last announced letter ("the answer is (B)"), else one that opens the output and is closed by punctuation, a line
// end or the end. "A dog" gives none: an article is not an answer. Nothing recognisable: "", false.
func Letter(output string) (string, bool) {
	s := strings.TrimSpace(output)
	if all := announced.FindAllStringSubmatch(s, -1); len(all) > 0 {
		last := all[len(all)-1]
		if !article(last[0], last[1]) {
			return strings.ToUpper(last[1]), true
		}
	}
	if m := opening.FindStringSubmatch(s); m != nil {
		return strings.ToUpper(m[1]), true
	}
	return "", false
}

// article reports whether the letter is the lower-case word "a" of running text ("the answer is a dog").
func article(match, letter string) bool {
	return letter == "a" && strings.HasSuffix(match, " ")
}
