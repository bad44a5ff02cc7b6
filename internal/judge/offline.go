package judge

import "sembench"

// Offline makes the result of rows that no server was asked about: what could be reused, in total and by transform. Paired is null
// and there are no checks: nothing was measured.
func Offline(in Inputs) (sembench.Result, error) {
	if err := in.check(); err != nil {
		return sembench.Result{}, err
	}
	out := sembench.Result{
		ResultVersion: sembench.ResultVersion, CreatedAtUTC: in.CreatedAtUTC, Producer: in.Producer, Run: in.Run, Config: in.Config,
		ConfigSHA256: in.ConfigSHA256, BlockSize: in.blockSize(), Environment: in.Environment, Requests: in.Offline,
	}
	return out, single(&out, in.Offline, in.Options)
}
