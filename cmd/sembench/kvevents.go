package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/engine"
)

func recordKVCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "record-kv-events",
		Short: "Record vLLM's stream of KV events: what its cache stored and evicted",
		Long: `Subscribes to the ZMQ publisher of vLLM's KV events (--kv-events-config) and writes one batch a line until --duration-seconds have passed, the
publisher is gone, or Ctrl-C. Lost messages are counted by their sequence numbers. summarize-engine-events reads the file.`,
		Example: `  sembench record-kv-events --endpoint tcp://127.0.0.1:5557 --output kv.jsonl --duration-seconds 60
  sembench summarize-engine-events --engine vllm kv.jsonl`,
		Args: cobra.NoArgs,
	}
	s := settings(c, "output")
	address := c.Flags().String("endpoint", "tcp://127.0.0.1:5557", "publisher's address")
	seconds := c.Flags().Float64("duration-seconds", 0, "how long to record (0: until the publisher ends or Ctrl-C)")
	topic := c.Flags().String("topic", "", "only messages whose topic begins so")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !strings.HasPrefix(*address, "tcp://") && !strings.HasPrefix(*address, "ipc://") {
			return usage(fmt.Errorf("--endpoint is %q", *address), "want tcp://host:port, as in vLLM's --kv-events-config")
		}
		if s.Output == "" {
			return usage(errors.New("no file to record into"), "name it with --output FILE")
		}
		ctx := c.Context()
		if *seconds > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, time.Duration(*seconds*float64(time.Second)))
			defer stop()
		}
		held := engine.NewKVState()
		var recording engine.KVRecording
		err := sembench.WriteFile(s.Output, func(w io.Writer) (err error) {
			recording, err = engine.RecordKV(ctx, *address, *topic, func(b engine.KVBatch) error {
				held.Apply(b)
				_, err := w.Write(append(sembench.Marshal(b), '\n'))
				return err
			})
			if err != nil && recording.Received > 0 {
				note(c, "sembench: %v: what came until then is kept", err)
				return nil
			}
			return err
		})
		if err != nil {
			return endpoint(err, "is the engine up with --kv-events-config '{\"enable_kv_cache_events\": true, \"publisher\": \"zmq\"}'?")
		}
		return writeDocument(c, "", map[string]any{"recording": recording, "held": held.Summary(), "file": s.Output})
	}
	return c
}
