package judge

import (
	"testing"

	"sembench"
)

// Rates are sums over sums, lifts cover rows whose counts agree, and null never turns into 0.
func TestAggregateClosedForm(t *testing.T) {
	rows := []sembench.Row{
		{PromptTokens: 160, TotalBlocks: 10, LocalTotalBlocks: new(10), LocalPromptTokens: new(160), ExactHitBlocks: 5, ExactPrefixHitBlocks: new(2),
			SemanticEligibleBlocks: new(6), BackendConfirmedBlocks: new(8), NegativeControl: true, BackendConfirmedTokens: new(135), StepPrimedTokens: new(40)},
		{PromptTokens: 1600, TotalBlocks: 100, LocalTotalBlocks: new(90), LocalPromptTokens: new(1500), ExactHitBlocks: 9, ExactPrefixHitBlocks: new(0),
			BackendConfirmedBlocks: new(10)},
		{PromptTokens: 16, TotalBlocks: 1, PromptTokensSource: new("engine"), Planners: map[string]sembench.PlannerRow{"span": {Error: new("no")}}},
	}
	a := Aggregate(rows, Options{})
	near(t, "exact", a.ExactBlockHitRate, 14.0/100)
	near(t, "prefix", a.ExactPrefixBlockHitRate, 2.0/100)
	near(t, "eligible", a.SemanticEligibleBlockRate, 6.0/10)
	near(t, "eligible lift", a.SemanticEligibleLift, 0.1)
	near(t, "confirmed", a.BackendConfirmedBlockRate, 18.0/110)
	near(t, "confirmed lift, first row only", a.BackendConfirmedLift, 0.3)
	near(t, "coverage", a.BackendConfirmedCoverage, 2.0/3)
	near(t, "agreement", a.LocalCountAgreement, 0.5)
	near(t, "controls above primed", a.NegativeControlBackendConfirmedRate, 5.0/10) // floor((135-40)/16)
	near(t, "exact tokens", a.ExactTokenWeightedReuseRate, 14*16.0/1660)
	null(t, "novel", a.SemanticNovelBlockRate)
	null(t, "external", a.ExternalConfirmedTokens)
	null(t, "placement", a.SemanticPlacementRateByRequest)
	null(t, "leak", a.LeakRate)
	count(t, "errored planners", a.Planners["span"].Errors, 1)
	null(t, "span rate", a.Planners["span"].EligibleBlockRate)

	foreign := Aggregate([]sembench.Row{{PromptTokens: 160, TotalBlocks: 10, ExactHitBlocks: 5}}, Options{})
	near(t, "exact of a producer with one count", foreign.ExactBlockHitRate, 0.5)
	near(t, "and by tokens", foreign.ExactTokenWeightedReuseRate, 0.5)
	unknown := Aggregate([]sembench.Row{{PromptTokens: 160, TotalBlocks: 10, PromptTokensSource: new("engine")}}, Options{})
	null(t, "exact of a row never analysed offline", unknown.ExactBlockHitRate)

	none := Aggregate(nil, Options{})
	null(t, "rate of nothing", none.ExactBlockHitRate)
	null(t, "coverage of nothing", none.BackendConfirmedCoverage)
}

func TestPlacement(t *testing.T) {
	var rows []sembench.Row
	for _, header := range []map[string]string{{"X-Synapse-Route-Outcome": "Semantic", "x-synapse-route-semantic-score": "0.9"}, {"x-route": "cold"}, {"x-route": "elsewhere"}, nil} {
		var row sembench.Row
		route(&row, sembench.Observation{Headers: header})
		rows = append(rows, row)
	}
	a := Aggregate(rows, Options{})
	near(t, "placement rate", a.SemanticPlacementRateByRequest, 0.25)
	if a.RouteOutcomes["cold_route"] != 1 || a.RouteOutcomes["elsewhere"] != 1 || *rows[0].RouteSemanticScore != 0.9 || *rows[0].GatewayRouteHeader != "Semantic" {
		t.Errorf("outcomes = %v, first row %+v", a.RouteOutcomes, rows[0].RouteSemanticScore)
	}
}

// Rows of which nobody knows whether their reuse was semantic are in neither side of the rate, and the coverage says how many there are.
func TestUnknownSemanticReuse(t *testing.T) {
	rows := []sembench.Row{
		{PromptTokens: 1000, SemanticConfirmedTokens: new(0), ExternalConfirmedTokens: new(0)},
		{PromptTokens: 1000, SemanticConfirmedTokens: new(250), ExternalConfirmedTokens: new(250)},
		{PromptTokens: 6000, ExternalConfirmedTokens: new(5000)},
		{PromptTokens: 2000},
	}
	a := Aggregate(rows, Options{})
	near(t, "rate", a.SemanticConfirmedTokenWeightedReuseRate, 0.125)
	near(t, "coverage", a.SemanticConfirmedCoverage, 0.5)
	near(t, "external coverage", a.ExternalConfirmedCoverage, 0.75)
	if a.SemanticConfirmedPromptTokens == nil || *a.SemanticConfirmedPromptTokens != 2000 {
		t.Errorf("prompt tokens with a signal: %v, want 2000", show(a.SemanticConfirmedPromptTokens))
	}
	unknown := Aggregate(rows[2:], Options{})
	null(t, "rate of the unknown", unknown.SemanticConfirmedTokenWeightedReuseRate)
	near(t, "coverage of the unknown", unknown.SemanticConfirmedCoverage, 0)
	if unknown.SemanticConfirmedTokens != nil || unknown.SemanticConfirmedPromptTokens != nil {
		t.Error("the unknown is 0")
	}
}
