package sembench

// Percentiles of a set of times in milliseconds; null when the set is empty.
type Percentiles struct {
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P99  *float64 `json:"p99"`
	Mean *float64 `json:"mean"`
}

// Goodput is the share of requests within a stated service level, like "ttft_ms<200".
type Goodput struct {
	SLO  string   `json:"slo"`
	Rate *float64 `json:"rate"`
}

// Throughput is what run-load saw. Open-loop latencies count from the scheduled time (protocol.md, section 5). Rates are per
// second; settle is the wait for donors, which requests_per_second_excluding_settle leaves out.
type Throughput struct {
	Items                            int         `json:"items"`
	Requests                         int         `json:"requests"`
	Errors                           int         `json:"errors"`
	Concurrency                      *int        `json:"concurrency"`
	WallSeconds                      float64     `json:"wall_seconds"`
	SettleSecondsEst                 *float64    `json:"settle_seconds_est"`
	IdleSeconds                      *float64    `json:"idle_seconds"`
	SettleExcludedBasis              *string     `json:"settle_excluded_basis"`
	RequestsPerSecond                *float64    `json:"requests_per_second"`
	RequestsPerSecondExcludingSettle *float64    `json:"requests_per_second_excluding_settle"`
	OutputTokensPerSecond            *float64    `json:"output_tokens_per_second"`
	DonorTTFTMS                      Percentiles `json:"donor_ttft_ms"`
	RecipientTTFTMS                  Percentiles `json:"recipient_ttft_ms"`
	RecipientLatencyMS               Percentiles `json:"recipient_latency_ms"`
	ITLMS                            Percentiles `json:"itl_ms"`
	ScheduleLagMS                    Percentiles `json:"schedule_lag_ms"`
	// ClientCPU is CPU seconds of this process a second of wall time.
	ClientCPU     *float64 `json:"client_cpu"`
	ClientLimited *bool    `json:"client_limited"`
	Goodput       *Goodput `json:"goodput"`
	Extra         Extra    `json:"-"`
}
