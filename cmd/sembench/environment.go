package main

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"sembench"
)

// thisMachine describes where the client runs.
func thisMachine() sembench.Environment {
	host, _ := os.Hostname()
	return sembench.Environment{
		Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuName(), CPUs: runtime.NumCPU(), GoVersion: runtime.Version(),
	}
}

// cpuName is the processor's name where the system tells it, "unknown" elsewhere.
func cpuName() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
