package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sembench"
)

// runDir is the folder that a run leaves behind: what its result was made from (formats.md, section 2).
type runDir string

func (d runDir) file(name string) string { return filepath.Join(string(d), name) }

func (d runDir) manifest() string           { return d.file("manifest.jsonl") }
func (d runDir) config() string             { return d.file("config.yaml") }
func (d runDir) offline() string            { return d.file("offline.jsonl") }
func (d runDir) preflight() string          { return d.file("preflight.json") }
func (d runDir) instrument() string         { return d.file("instrument.json") }
func (d runDir) earlier() string            { return d.file("raw/evidence-before.json") }
func (d runDir) observations() string       { return d.file("observations.jsonl") }
func (d runDir) calibration() string        { return d.file("calibration.json") }
func (d runDir) calibrationJournal() string { return d.file("raw/calibration.jsonl") }
func (d runDir) engineLog() string          { return d.file("raw/engine.log") }
func (d runDir) audit() string              { return d.file("raw/audit.jsonl") }
func (d runDir) counters(when string) string {
	return d.file("raw/metrics-" + when + ".txt")
}
func (d runDir) evidence() string { return d.file("evidence.json") }
func (d runDir) result() string   { return d.file("result.json") }
func (d runDir) verdict() string  { return d.file("verdict.json") }
func (d runDir) report() string   { return d.file("report.html") }

// openRunDir gives the folder of a run. A new run refuses a folder that holds one; a resumed one needs it.
func openRunDir(output, runID string, resume bool) (runDir, error) {
	d := runDir(output)
	if output == "" {
		d = runDir(filepath.Join("results", runID))
	}
	_, err := os.Stat(d.manifest())
	switch {
	case resume && errors.Is(err, fs.ErrNotExist):
		return d, usage(fmt.Errorf("resuming: %s holds no run", d), "give the folder of the interrupted run with --output")
	case !resume && d.measured():
		return d, usage(fmt.Errorf("%s holds a run already", d), "choose another --output, or go on with it: --resume")
	}
	if err := os.MkdirAll(d.file("raw"), 0o755); err != nil {
		return d, usage(err, "")
	}
	return d, d.claim()
}

// measured tells that something was sent for the run in this folder. What ended before, at its pre-flight say, is begun anew.
func (d runDir) measured() bool {
	for _, path := range []string{d.observations(), d.calibrationJournal(), d.result()} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// claim makes this process the only one that writes into the folder, until it ends.
func (d runDir) claim() error {
	file, err := os.OpenFile(d.file("raw/lock"), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return usage(err, "")
	}
	if err := lock(file); err != nil {
		file.Close()
		return usage(fmt.Errorf("another sembench is writing into %s", d), "wait until it ends, or choose another --output")
	}
	claimed = append(claimed, file)
	return nil
}

// claimed keeps the locks of this process open: the system releases them when it ends.
var claimed []*os.File

// readJournal reads a whole journal. Missing is no observation yet.
func readJournal(path string) (*sembench.JournalHead, []sembench.Observation, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	head, lines, err := sembench.ReadJournal(file, path)
	if err != nil {
		return nil, nil, err
	}
	var out []sembench.Observation
	for o, err := range lines {
		if err != nil {
			return nil, nil, err
		}
		out = append(out, o)
	}
	return &head, out, nil
}

// newRunID names a run by its start in UTC.
func newRunID(now time.Time) string { return now.UTC().Format("20060102-150405.000") }
