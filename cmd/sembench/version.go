package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by release builds (-ldflags -X main.version=…).
var version = "dev"

// toolVersion is the version that documents carry: the release, or the commit of a build from source.
func toolVersion() string {
	if version != "dev" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "dev-" + s.Value[:12]
			}
		}
	}
	return version
}

func versionCommand() *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Version and build", Args: cobra.NoArgs, Example: "  sembench version --json"}
	asJSON := c.Flags().Bool("json", false, "machine-readable")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !*asJSON {
			fmt.Fprintf(c.OutOrStdout(), "sembench %s (%s, %s/%s)\n", toolVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		}
		return writeDocument(c, "", map[string]any{
			"name": "sembench", "version": toolVersion(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	return c
}
