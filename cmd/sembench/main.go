// Command sembench tells the truth about KV-cache reuse in LLM serving: what could be reused in a workload, what an engine
// really reused, what it bought, and whether anyone may believe it.
//
// One file per verb; terminal.go holds the rules of messages and exit codes, files.go those of files. Everything else is
// in the packages of internal/.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		// The first signal drains; from then on the system's own handling is back, so a second one kills.
		<-ctx.Done()
		stop()
	}()
	out := &checked{to: os.Stdout}
	root := command()
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.failed()
	}
	code := exit(os.Stderr, interrupted(ctx, err))
	stop()
	os.Exit(code)
}

// command is the whole command line.
func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "sembench",
		Short: "The truth about KV-cache reuse in LLM serving",
		Long: `sembench says what KV-cache reuse a workload offers (exact blocks, semantic candidates, eligible blocks), measures what
an engine really reused and what that bought (paired cold and warm TTFT, negative controls, quality against a noise floor),
reads the engine's own evidence, and gates it in CI.`,
		Example: `  sembench bench                                          # the whole protocol against the embedded engine
  sembench bench --from mydocs.json --max-items 24        # the same on your own documents
  sembench bench --base-url http://127.0.0.1:8000         # the same against your server
  sembench run-offline --manifest m.jsonl                 # what could be reused, without a server`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage(err, "see: "+c.CommandPath()+" --help")
	})
	root.AddCommand(verbs()...)
	return root
}

// verbs lists the commands in the order of formats.md section 5.
func verbs() []*cobra.Command {
	return []*cobra.Command{
		benchCommand(),
		buildCommand(), auditCommand(), checksumCommand(), freezeCommand(), verifyFrozenCommand(),
		offlineCommand(), analyzeTraceCommand(), roiCommand(),
		verifyEndpointCommand(), calibrateCommand(), runLiveCommand(), runLiveSGLangCommand(), runLiveGatewayCommand(), runLoadCommand(),
		snapshotCommand(), windowCommand(), summarizeCommand(), collectCommand(), recordKVCommand(),
		mergeCommand(), compareCommand(),
		judgeCommand(), gatesCommand(), reportCommand(),
		simCommand(), selftestCommand(), k8sCommand(), versionCommand(), docsCommand(),
	}
}
