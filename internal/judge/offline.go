package judge

import "sembench"

// Offline makes the result of rows that no server was asked about: what could be reused, in total and by transform. Paired is null
// and there are no checks: nothing was measured.
func Offline(in Inputs) (sembench.Result, error) {
	if err := in.check(); err != nil {
		return sembench.Result{}, err
	}
	t := NewTally(in.Options)
	for i := range in.Offline {
		t.Add(&in.Offline[i])
	}
	out := OfflineTotals(in, t)
	out.Requests = in.Offline
	return out, nil
}

// OfflineTotals is the same for rows that were summed as they came and are not in memory: in.Offline and in.Items are not read, and the
// result has no rows.
func OfflineTotals(in Inputs, t *Tally) sembench.Result {
	out := sembench.Result{
		ResultVersion: sembench.ResultVersion, CreatedAtUTC: in.CreatedAtUTC, Producer: in.Producer, Run: in.Run, Config: in.Config,
		ConfigSHA256: in.ConfigSHA256, BlockSize: in.blockSize(), Environment: in.Environment,
	}
	t.fill(&out)
	return out
}
