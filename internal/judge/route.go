package judge

import (
	"slices"
	"strconv"
	"strings"

	"sembench"
)

// routeHeaders are the response headers in which gateways say where a request went, the more telling first.
var routeHeaders = struct{ outcome, endpoint, semantic, total, reason []string }{
	outcome: []string{"x-synapse-route-outcome", "x-semblend-routing-outcome", "x-semrouter-path", "x-semantic-route", "x-gateway-route",
		"x-route", "x-vsr-selected-decision"},
	endpoint: []string{"x-synapse-route-endpoint", "x-synapse-route-endpoint-id", "x-semblend-routing-endpoint", "x-gateway-destination-endpoint",
		"x-vsr-selected-endpoint"},
	semantic: []string{"x-synapse-route-semantic-score", "x-semblend-routing-semantic-score"},
	total:    []string{"x-synapse-route-total-score", "x-semblend-routing-total-score"},
	reason:   []string{"x-synapse-route-reason", "x-semblend-routing-reason", "x-vsr-selected-reasoning"},
}

// routeOutcomes are the short words for an outcome; an unknown word is kept as it is.
var routeOutcomes = map[string]string{
	"semantic": "semantic_placement", "cold": "cold_route", "exact": "exact_route", "fail_open": "error_fallback",
}

const semanticPlacement = "semantic_placement"

// route fills where a gateway sent the recipient. It says nothing of what the engine there reused.
func route(row *sembench.Row, o sembench.Observation) {
	headers := map[string]string{}
	for name, value := range o.Headers {
		headers[strings.ToLower(name)] = value
	}
	first := func(names []string) *string {
		i := slices.IndexFunc(names, func(name string) bool { return headers[name] != "" })
		if i < 0 {
			return nil
		}
		return new(headers[names[i]])
	}
	if outcome := first(routeHeaders.outcome); outcome != nil {
		row.GatewayRouteHeader = new(*outcome)
		word := strings.ToLower(strings.TrimSpace(*outcome))
		if known, ok := routeOutcomes[word]; ok {
			word = known
		}
		row.RouteOutcome = &word
	}
	row.RouteEndpointID, row.RouteReason = first(routeHeaders.endpoint), first(routeHeaders.reason)
	row.RouteSemanticScore, row.RouteTotalScore = decimal(first(routeHeaders.semantic)), decimal(first(routeHeaders.total))
}

func decimal(text *string) *float64 {
	if text == nil {
		return nil
	}
	f, err := strconv.ParseFloat(*text, 64)
	if err != nil {
		return nil
	}
	return finite(f)
}
