package wire

import (
	"net/http"
	"slices"
	"strings"
)

// maxHeaders and maxHeaderValue bound what a response may put into the journal.
const (
	maxHeaders     = 32
	maxHeaderValue = 256
)

// SimulatedHeader is on every response of the embedded engine.
const SimulatedHeader = "X-Sembench-Simulated"

// keptHeaders are the response headers that mean something: route metadata of gateways (protocol.md section 9), back-off, who
// answered. A name that ends in '-' is a prefix.
var keptHeaders = []string{
	"x-synapse-route-", "x-semblend-routing-", "x-semrouter-path", "x-semantic-route", "x-gateway-route", "x-route", "x-vsr-",
	"x-gateway-destination-endpoint", "retry-after", "x-request-id", "server", "via", "x-sembench-simulated",
}

// keepHeaders gives the kept headers under lower-case names, values raw but bounded and cleaned. Names are taken in sorted order
// so that the bound always keeps the same ones.
func keepHeaders(h http.Header, more []string, clean func(string) string) map[string]string {
	var names []string
	for name := range h {
		name = strings.ToLower(name)
		if wanted(name, keptHeaders) || wanted(name, more) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	kept := map[string]string{}
	for _, name := range names[:min(len(names), maxHeaders)] {
		kept[name] = clip(clean(strings.Join(h.Values(name), ", ")), maxHeaderValue)
	}
	return kept
}

func wanted(name string, list []string) bool {
	return slices.ContainsFunc(list, func(want string) bool {
		want = strings.ToLower(want)
		return name == want || strings.HasSuffix(want, "-") && strings.HasPrefix(name, want)
	})
}
