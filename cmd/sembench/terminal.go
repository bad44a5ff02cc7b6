package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Exit codes (formats.md, section 4).
const (
	exitGate     = 1 // a gate, audit or verification failed or is inconclusive
	exitUsage    = 2 // usage, bad input, or inputs that do not belong together; nothing was sent
	exitEndpoint = 3 // the endpoint failed its pre-flight
	exitInvalid  = 4 // the measurement is not valid
)

// failure is an error with its exit code and, where the fix is known, a hint.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usage(err error, hint string) error    { return fail(exitUsage, err, hint) }
func endpoint(err error, hint string) error { return fail(exitEndpoint, err, hint) }
func invalid(err error, hint string) error  { return fail(exitInvalid, err, hint) }

func fail(code int, err error, hint string) error {
	if err == nil {
		return nil
	}
	return &failure{code, err, hint}
}

// exit prints an error as "sembench: …" with its hint and gives the process's exit code. An error without a code of its own is
// bad input or a file that could not be written: 2.
func exit(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	code, hint := exitUsage, ""
	var f *failure
	if errors.As(err, &f) {
		code, hint = f.code, f.hint
	} else if strings.HasPrefix(err.Error(), "unknown command") {
		hint = "see: sembench --help"
	}
	fmt.Fprintf(w, "sembench: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nsembench: "))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	return code
}

// interrupted gives a command that a signal ended early its own exit code: nothing is wrong with its input or its server.
func interrupted(ctx context.Context, err error) error {
	var f *failure
	if err == nil || ctx.Err() == nil || errors.As(err, &f) && f.code == exitInvalid {
		return err
	}
	return invalid(errors.New("interrupted before there was anything to judge"), "start it again; a run directory that was begun is taken up with --resume")
}

// note tells a person something on standard error.
func note(c *cobra.Command, format string, args ...any) {
	fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...)
}

// progress shows how far a long step is: rate and time left on a terminal, nothing elsewhere or when quiet.
type progress struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

func newProgress(name string, total int, quiet bool) *progress {
	if info, err := os.Stderr.Stat(); quiet || err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	bars := mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(40))
	bar := bars.AddBar(int64(total),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR), decor.CountersNoUnit("%d/%d")),
		mpb.AppendDecorators(decor.AverageSpeed(0, "%.1f/s"), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_MMSS)))
	return &progress{bars, bar}
}

// set moves the bar to done of total; total below 1 keeps the old one.
func (p *progress) set(done, total int) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(int64(total), false)
	}
	p.bar.SetCurrent(int64(done))
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}
