package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
)

func collectCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "collect-k8s-engine-events",
		Short: "Fetch engine logs with your kubectl and summarize them",
		Long: `Runs kubectl logs for every pod and container named, keeps the log verbatim and writes the summary. kubectl's own configuration and
rights are used; nothing else is contacted.`,
		Example: `  sembench collect-k8s-engine-events --namespace llm --pod vllm-0 --pod vllm-1 --container engine --since 1h \
      --engine vllm --output-log engine.log --output-summary evidence.json`,
		Args: cobra.NoArgs,
	}
	s := settings(c, "engine", "max-requests")
	flags := c.Flags()
	namespace := flags.String("namespace", "", "namespace of the pods")
	pods := flags.StringArray("pod", nil, "pod (repeatable)")
	containers := flags.StringArray("container", nil, "container (repeatable; default: the pod's only one)")
	since := flags.String("since", "", "only lines newer than this, like 1h")
	sinceTime := flags.String("since-time", "", "only lines after this RFC 3339 time")
	tail := flags.Int("tail", -1, "only this many last lines of each container (-1: all)")
	previous := flags.Bool("previous", false, "the log of the container's previous run")
	logPath := flags.String("output-log", "engine.log", "where the log is kept verbatim")
	summaryPath := flags.String("output-summary", "engine-summary.json", "where the summary is written")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*pods) == 0 {
			return usage(errors.New("no pod"), "name one with --pod; kubectl get pods lists them")
		}
		if *since != "" && *sinceTime != "" {
			return usage(errors.New("--since and --since-time exclude each other"), "")
		}
		kubectl, err := exec.LookPath("kubectl")
		if err != nil {
			return usage(errors.New("kubectl is not on PATH"), "install it, or save the log yourself and use: sembench summarize-engine-events")
		}
		which := *containers
		if len(which) == 0 {
			which = []string{""}
		}
		err = sembench.WriteFile(*logPath, func(w io.Writer) error {
			for _, pod := range *pods {
				for _, container := range which {
					args := []string{"logs", pod, "--timestamps", "--prefix", "--tail", strconv.Itoa(*tail)}
					for _, pair := range [][2]string{{"--namespace", *namespace}, {"--container", container}, {"--since", *since}, {"--since-time", *sinceTime}} {
						if pair[1] != "" {
							args = append(args, pair[0], pair[1])
						}
					}
					if *previous {
						args = append(args, "--previous")
					}
					var complaint bytes.Buffer
					run := exec.CommandContext(c.Context(), kubectl, args...)
					run.Stdout, run.Stderr = w, &complaint
					if err := run.Run(); err != nil {
						said := strings.TrimSpace(complaint.String())
						return fmt.Errorf("kubectl logs %s: %w: %.500s", pod, err, said)
					}
				}
			}
			return nil
		})
		if err != nil {
			return usage(err, "try the same kubectl logs command by hand")
		}
		in, err := open(c, *logPath)
		if err != nil {
			return err
		}
		defer in.Close()
		evidence, err := engine.Summarize(s.Engine, in, engine.Options{MaxRequests: s.MaxRequests})
		if err != nil {
			return usage(err, "")
		}
		if err := sembench.WriteDocument(*summaryPath, evidence); err != nil {
			return err
		}
		return writeDocument(c, "", map[string]any{"log": *logPath, "summary": *summaryPath})
	}
	return c
}
