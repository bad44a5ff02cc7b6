package engine

import (
	"bytes"
	"slices"
)

// maxErrorText bounds one stored error; the head names the fault.
const maxErrorText = 500

// textLog keeps the first texts and counts all.
type textLog struct {
	texts []string
	count int
	limit int
}

func (t *textLog) add(b []byte) {
	t.count++
	if len(t.texts) < t.limit {
		t.texts = append(t.texts, clip(b))
	}
}

func clip(b []byte) string {
	if len(b) > maxErrorText {
		b = bytes.ToValidUTF8(b[:maxErrorText], nil)
	}
	return string(b)
}

// traceState follows one process through a traceback.
type traceState struct {
	inside  bool // a traceback is open
	ended   bool // its exception line was seen; only a chained traceback continues it
	chained bool
	last    bool // the record before this one was an error by level
}

// faults counts errors by level, folds tracebacks into one error each, and keeps runtime warnings.
type faults struct {
	errors   textLog
	warnings textLog
	warned   int // records of level WARNING
	traces   map[int]*traceState
}

var chainLines = [][]byte{
	[]byte("During handling of the above exception"),
	[]byte("The above exception was the direct cause"),
}

// runtimeMarkers are faults of the matcher's runtime; the engine goes on.
var runtimeMarkers = [][]byte{
	[]byte("[E:onnxruntime:"),
	[]byte("Non-zero status code returned"),
	[]byte("Shape mismatch attempting to re-use buffer"),
}

// matcherFault is an error of the matcher, traceback and all: the engine falls back and goes on.
var matcherFault = []byte("SemBlend provider lookup failed")

// bareFaults are error lines that engines print without a logger.
var bareFaults = [][]byte{
	[]byte("CUDA out of memory"),
	[]byte("EngineDeadError"),
	[]byte("Scheduler hit an exception"),
}

var traceback = []byte("Traceback (most recent call last)")

// record judges one record and says whether it was consumed: part of a traceback or an error.
func (f *faults) record(r *record) bool {
	st := f.traces[r.label]
	starts := r.msg[0] == 'T' && bytes.HasPrefix(r.msg, traceback)
	if st == nil {
		// The common record: no trouble, nothing to remember.
		if r.level < levelWarning && !starts && r.trace == "" {
			return f.bare(r)
		}
		if f.traces == nil {
			f.traces = map[int]*traceState{}
		}
		st = &traceState{}
		f.traces[r.label] = st
	}
	if st.inside && f.inTrace(st, r, starts) {
		return true
	}
	before := *st
	*st = traceState{}
	switch {
	case starts:
		if !before.last {
			f.errors.add(r.text)
		}
		st.inside = true
		return true
	case r.level == levelError:
		if !bytes.HasPrefix(r.msg, matcherFault) { // the connector's parser keeps it as a runtime warning
			f.errors.add(r.text)
		}
		st.last = true
		return false
	}
	delete(f.traces, r.label)
	if r.level == levelWarning {
		f.warned++
		if slices.ContainsFunc(runtimeMarkers, func(m []byte) bool { return bytes.Contains(r.msg, m) }) {
			f.warnings.add(r.text)
		}
		return false
	}
	return f.bare(r)
}

// inTrace says whether the record continues the open traceback.
func (f *faults) inTrace(st *traceState, r *record, starts bool) bool {
	switch {
	case starts && (st.chained || !st.ended):
		st.ended, st.chained = false, false
		return true
	case starts:
		return false
	case r.indent || r.msg[0] == '^' || r.msg[0] == '|':
		return true
	case slices.ContainsFunc(chainLines, func(m []byte) bool { return bytes.HasPrefix(r.msg, m) }):
		st.chained = true
		return true
	case !st.ended && exception(r.msg):
		st.ended = true
		if n := len(f.errors.texts); n == f.errors.count && n > 0 {
			last := &f.errors.texts[n-1]
			*last = clip([]byte(*last + " | " + string(r.msg)))
		}
		return true
	}
	return false
}

// bare judges records whose logger states no trouble: header-less exception lines and runtime warnings.
func (f *faults) bare(r *record) bool {
	if r.level != levelUnset {
		return false
	}
	for _, m := range runtimeMarkers {
		if bytes.HasPrefix(r.msg, m) {
			f.warnings.add(r.text)
			return true
		}
	}
	for _, m := range bareFaults {
		if bytes.HasPrefix(r.msg, m) {
			f.errors.add(r.text)
			return true
		}
	}
	if exception(r.msg) && bytes.IndexByte(r.msg[:min(len(r.msg), 120)], ':') > 0 {
		f.errors.add(r.text)
		return true
	}
	// "ERROR" alone, or glued to what is no logger header.
	if lv, _ := levelWord(r.msg); lv == levelError && !r.header {
		f.errors.add(r.text)
		return true
	}
	return false
}

// exception recognises "pkg.SomeError: text" and "SomeException" at the start of a line.
func exception(b []byte) bool {
	i := 0
	for i < len(b) && i < 120 && (letter(b[i]) || digit(b[i]) || b[i] == '_' || b[i] == '.') {
		i++
	}
	if i < 5 || (i < len(b) && b[i] != ':') {
		return false
	}
	for _, end := range []string{"Error", "Exception", "Interrupt", "SystemExit"} {
		if bytes.HasSuffix(b[:i], []byte(end)) {
			return true
		}
	}
	return false
}
