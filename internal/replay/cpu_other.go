//go:build !unix

package replay

// cpuSeconds is the processor time that this process has used; it is not asked for on this system.
func cpuSeconds() (float64, bool) { return 0, false }
