//go:build unix

package replay

import "syscall"

// cpuSeconds is the processor time that this process has used; not ok where the system does not tell.
func cpuSeconds() (float64, bool) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, false
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6, true
}
