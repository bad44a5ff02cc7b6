package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/scenario"
)

// open gives the content of a file, or standard input for "-", unpacked when it is gzip or zstd by its first bytes.
func open(c *cobra.Command, path string) (io.ReadCloser, error) {
	var raw io.ReadCloser = io.NopCloser(c.InOrStdin())
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usage(fmt.Errorf("reading %s: %w", path, err), "")
		}
		raw = file
	}
	in := bufio.NewReaderSize(raw, 1<<16)
	head, _ := in.Peek(4)
	var unpacked io.Reader = in
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			raw.Close()
			return nil, usage(fmt.Errorf("reading %s: %w", path, err), "the file says that it is gzip")
		}
		unpacked = z
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			raw.Close()
			return nil, usage(fmt.Errorf("reading %s: %w", path, err), "the file says that it is zstd")
		}
		unpacked = z.IOReadCloser()
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked, raw}, nil
}

// loadManifest reads and checks a whole manifest before anything else happens.
func loadManifest(c *cobra.Command, path string) ([]sembench.Item, string, error) {
	if path == "" {
		return nil, "", usage(fmt.Errorf("no manifest"), "give one with --manifest FILE, or make one: sembench build --output m.jsonl")
	}
	in, err := open(c, path)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	items, digest, err := sembench.LoadManifest(in, path)
	if err != nil {
		return nil, "", usage(err, "nothing was sent; schemas/manifest.schema.json lists the fields, and sembench build --from FILE makes a manifest")
	}
	return items, digest, nil
}

// writeDocument writes a record to --output, or to standard output.
func writeDocument(c *cobra.Command, output string, record any) error {
	if output == "" || output == "-" {
		_, err := c.OutOrStdout().Write(sembench.MarshalIndent(record))
		return err
	}
	return sembench.WriteDocument(output, record)
}

// settings makes a verb's scenario: the named flags over sembench.yaml over defaults. A bare argument is --input (or --manifest, where the verb has
// that one).
func settings(c *cobra.Command, names ...string) *scenario.Scenario {
	s := scenario.Default()
	s.Bind(c.Flags(), names...)
	config := c.Flags().String("config", "", "settings file (default: sembench.yaml in this folder, if there is one)")
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := refuseOverwrite(s, args); err != nil {
			return err
		}
		path := *config
		if path == "" {
			if _, err := os.Stat("sembench.yaml"); err != nil {
				return nil
			}
			path = "sembench.yaml"
		}
		file, err := os.Open(path)
		if err != nil {
			return usage(fmt.Errorf("reading %s: %w", path, err), "")
		}
		defer file.Close()
		return usage(s.Read(file, path, c.Flags().Changed), "see: "+c.CommandPath()+" --help")
	}
	return s
}
