package workload

import (
	"fmt"
	"io"

	"sembench"
	"sembench/internal/token"
)

// Freeze is the recipe of a manifest that was just built, with its identity: all that VerifyFrozen needs, but for the
// source file.
func Freeze(report sembench.BuildReport) sembench.FreezeRecipe { return report.Recipe }

// Reader is FromSource, or a function like it that knows more formats.
type Reader func(r io.Reader, name, format string, o Options) ([]sembench.Item, sembench.BuildReport, error)

// Rebuild makes a frozen manifest again. source is the file that the recipe names, nil for a generated manifest; it is read by
// read[0], FromSource without one.
func Rebuild(recipe sembench.FreezeRecipe, source io.Reader, read ...Reader) ([]sembench.Item, sembench.BuildReport, error) {
	fail := func(format string, args ...any) ([]sembench.Item, sembench.BuildReport, error) {
		return nil, sembench.BuildReport{}, fmt.Errorf("rebuilding manifest: "+format, args...)
	}
	tk, err := token.Open(recipe.Tokenizer)
	if err != nil {
		return fail("%w", err)
	}
	if tk.Name() != recipe.TokenizerName {
		return fail("tokenizer %s is %s now, it was %s", recipe.Tokenizer, tk.Name(), recipe.TokenizerName)
	}
	o := Options{
		Profile: recipe.Profile, Seed: recipe.Seed, Transforms: recipe.Transforms, Bands: recipe.Bands,
		Tokenizer: tk, TokenizerSpec: recipe.Tokenizer, BlockSize: recipe.BlockSize, MaxItems: recipe.MaxItems, Head: recipe.Head,
		Split: recipe.Split, License: recipe.License, Dataset: recipe.Dataset,
	}
	switch {
	case recipe.Profile != "from":
		return Build(o)
	case source == nil:
		return fail("source %s is needed", recipe.Source)
	}
	var from Reader = FromSource
	if len(read) > 0 {
		from = read[0]
	}
	items, report, err := from(source, recipe.Source, recipe.Format, o)
	if err == nil && report.Recipe.SourceSHA256 != recipe.SourceSHA256 {
		return fail("source %s has SHA-256 %s, it was %s", recipe.Source, report.Recipe.SourceSHA256, recipe.SourceSHA256)
	}
	return items, report, err
}

// VerifyFrozen is nil when the recipe still gives the manifest that it was made from, byte for byte.
func VerifyFrozen(recipe sembench.FreezeRecipe, source io.Reader, read ...Reader) error {
	_, report, err := Rebuild(recipe, source, read...)
	if err != nil {
		return err
	}
	if got := report.Recipe.ManifestSHA256; got != recipe.ManifestSHA256 {
		return fmt.Errorf("verifying frozen manifest: it has SHA-256 %s, it was frozen as %s", got, recipe.ManifestSHA256)
	}
	return nil
}
