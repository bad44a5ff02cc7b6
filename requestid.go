package sembench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// RequestID is the id that a request carries as X-Request-Id and request_id: derived, never random, so that
// engine logs of the same run join back to it (formats.md, section 3). Role is recipient, donor-0, probe, canary-0 …;
// position is the place in the stream, from 0.
func RequestID(runID, arm, itemID, role string, position int) string {
	tail := sha256.Sum256([]byte(strings.Join([]string{runID, arm, itemID, role, strconv.Itoa(position)}, "\x1f")))
	return fmt.Sprintf("sembench-%s-%06d-%s-%s", readable(arm), position, readable(role), hex.EncodeToString(tail[:8]))
}

// readable keeps what may stand in a header and a log: [a-z0-9-], at most 24 long, never empty.
func readable(s string) string {
	safe := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(s))
	safe = strings.Trim(safe[:min(len(safe), 24)], "-")
	if safe == "" {
		return "x"
	}
	return safe
}
