//go:build unix

package main

import (
	"os"
	"syscall"
)

// lock takes a file for this process alone; the system gives it free when the process ends, however it ends.
func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
