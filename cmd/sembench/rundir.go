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
	case !resume && err == nil:
		return d, usage(fmt.Errorf("%s holds a run already", d), "choose another --output, or go on with it: --resume")
	}
	if err := os.MkdirAll(d.file("raw"), 0o755); err != nil {
		return d, usage(err, "")
	}
	return d, nil
}

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
