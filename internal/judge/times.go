package judge

import (
	"sembench"
	"sembench/internal/engine"
)

// times fills a row's times from its observation.
func times(row *sembench.Row, o sembench.Observation) {
	row.TTFTMS = o.TTFT()
	row.FirstAnswerMS = milliseconds(o.Stamps.WriteStart, o.Stamps.FirstAnswer)
	row.UploadMS = milliseconds(o.Stamps.WriteStart, o.Stamps.Written)
	if len(o.EngineMetrics) > 0 {
		// An object that cannot be read leaves both times null, as an absent one does.
		row.EngineTTFTMS, row.QueueTimeMS, _ = engine.RequestTimes(sembench.Marshal(o.EngineMetrics))
	}
	row.OutputTokens, row.FinishReason = o.OutputTokens(), o.FinishReason
	if o.HTTPStatus != nil || len(o.Chunks) > 0 {
		row.Chunks = new(len(o.Chunks))
	}
	if n := row.OutputTokens; n != nil && len(o.Chunks) > 0 {
		row.StreamCoalescing = finite(float64(*n) / float64(len(o.Chunks)))
		if generation := milliseconds(o.Stamps.FirstOutput, o.Stamps.LastOutput); generation != nil && *n > 1 {
			row.ITLMSMean = finite(*generation / float64(*n-1))
		}
	}
	donors, known := 0.0, true
	for _, d := range o.Donors {
		if d.LatencyMS == nil {
			known = false
			break
		}
		donors += *d.LatencyMS
	}
	if known {
		row.DonorLatencyMS = &donors
		if own := o.Latency(); own != nil {
			row.LatencyMS = finite(donors + *own)
		}
	}
}

func milliseconds(from, to *int64) *float64 {
	if from == nil || to == nil {
		return nil
	}
	return finite(float64(*to-*from) / 1e6)
}
