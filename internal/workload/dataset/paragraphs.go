package dataset

import "strings"

// cutText cuts text into pieces of at most passageBytes at the first separator; pieces that are still longer are cut at
// the next one. Small neighbours are put together again. Without a separator left a piece stays long.
func cutText(text string, separators []string) (pieces []string) {
	text = strings.Trim(text, "\r\n")
	if len(text) <= passageBytes || len(separators) == 0 {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return []string{text}
	}
	open := ""
	flush := func() {
		if strings.TrimSpace(open) != "" {
			pieces = append(pieces, strings.TrimRight(open, "\r\n "))
		}
		open = ""
	}
	for part := range strings.SplitAfterSeq(text, separators[0]) {
		if len(open)+len(part) > passageBytes {
			flush()
		}
		if len(part) > passageBytes {
			pieces = append(pieces, cutText(part, separators[1:])...)
			continue
		}
		open += part
	}
	flush()
	return pieces
}
