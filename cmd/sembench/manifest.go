package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sembench"
	"sembench/internal/token"
	"sembench/internal/trace"
	"sembench/internal/workload"
)

func checksumCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "checksum-manifest [FILE]", Short: "Check a manifest and print its identity",
		Example: "  sembench checksum-manifest smoke.jsonl",
		Args:    cobra.MaximumNArgs(1),
	}
	s := settings(c, "manifest")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Manifest = args[0]
		}
		items, digest, err := loadManifest(c, s.Manifest)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "%s  %s  %d items\n", digest, s.Manifest, len(items))
		return nil
	}
	return c
}

func auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "audit-manifest [FILE]", Short: "Collisions between items that should be unrelated, and other broken guards",
		Long: `Looks for runs of a block's length, at any offset, that a negative control shares with its donor or two unrelated items share,
for answers that are not in their recipient, for leak values that are, and for duplicates. Exit code 1 when a guard is broken.`,
		Example: "  sembench audit-manifest dev.jsonl --output audit.json",
		Args:    cobra.MaximumNArgs(1),
	}
	s := settings(c, "manifest", "tokenizer", "block-size", "output")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.Manifest = args[0]
		}
		items, digest, err := loadManifest(c, s.Manifest)
		if err != nil {
			return err
		}
		tk, err := token.Open(s.Tokenizer)
		if err != nil {
			return usage(err, "")
		}
		audit := workload.Audit(items, workload.AuditOptions{Tokenizer: tk, BlockSize: s.BlockSize, SHA256: digest})
		if err := writeDocument(c, s.Output, audit); err != nil {
			return err
		}
		if !audit.Passed {
			return fail(exitGate, &workload.GuardError{Audit: audit}, "")
		}
		return nil
	}
	return c
}

func freezeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "freeze", Short: "Write the recipe that rebuilds a manifest byte for byte",
		Example: "  sembench freeze --profile test --seed 3 --output test.freeze.json",
		Args:    cobra.NoArgs,
	}
	s := settings(c, append(workloadFlags, "output")...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		_, report, err := buildItems(c, s)
		if err != nil {
			return err
		}
		return writeDocument(c, s.Output, workload.Freeze(report))
	}
	return c
}

func verifyFrozenCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "verify-frozen RECIPE", Short: "Rebuild from a recipe and compare the bytes",
		Long:    "Exit code 1 when the rebuilt manifest differs from the recipe's SHA-256.",
		Example: "  sembench verify-frozen test.freeze.json\n  sembench verify-frozen mine.freeze.json --from documents.json",
		Args:    cobra.ExactArgs(1),
	}
	s := settings(c, "from")
	c.RunE = func(c *cobra.Command, args []string) error {
		var recipe sembench.FreezeRecipe
		if err := sembench.ReadDocument(args[0], &recipe); err != nil {
			return usage(err, "recipes are written by: sembench freeze")
		}
		var source io.Reader
		if s.From != "" {
			in, err := open(c, s.From)
			if err != nil {
				return err
			}
			defer in.Close()
			source = in
		}
		if err := workload.VerifyFrozen(recipe, source, trace.FromSource); err != nil {
			return fail(exitGate, err, "another version of sembench or another source file builds other bytes")
		}
		fmt.Fprintf(c.OutOrStdout(), "%s  rebuilt, the same bytes\n", recipe.ManifestSHA256)
		return nil
	}
	return c
}
