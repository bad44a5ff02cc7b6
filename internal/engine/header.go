package engine

import (
	"bytes"
)

// level is a record's severity as its logger states it.
type level uint8

const (
	levelUnset level = iota
	levelDebug
	levelInfo
	levelWarning
	levelError
)

// loggerKind says whose header it was; it decides which source counts as present.
type loggerKind uint8

const (
	loggerNone loggerKind = iota
	loggerVLLM
	loggerLMCache
	loggerSGLang
	loggerTRTLLM
	loggerUvicorn
	loggerRust
	loggerKlog
	loggerLogfmt
	loggerJSON
	loggerPlain
)

// levelWord reads a leading level name in capitals, four letters or more. The rest starts right behind it.
func levelWord(b []byte) (level, []byte) {
	n := 0
	for n < len(b) && n < 9 && b[n] >= 'A' && b[n] <= 'Z' {
		n++
	}
	if n < 4 || (n < len(b) && (letter(b[n]) || digit(b[n]) || b[n] == '_')) {
		return levelUnset, b
	}
	lv := levelOf(string(b[:n]))
	if lv == levelUnset {
		return levelUnset, b
	}
	return lv, b[n:]
}

// levelOf reads a level name in the spellings of Python, Go, Rust and klog; unset when it is none.
func levelOf(name string) level {
	switch name {
	case "INFO", "NOTICE", "info", "Info", "I":
		return levelInfo
	case "DEBUG", "TRACE", "debug", "trace", "Debug", "D":
		return levelDebug
	case "WARNING", "WARN", "warning", "warn", "Warning", "W":
		return levelWarning
	case "ERROR", "CRITICAL", "FATAL", "PANIC", "error", "critical", "fatal", "panic", "dpanic", "Error", "E", "F":
		return levelError
	}
	return levelUnset
}

// parseHeader recognises the logger header at the start of b, fills level, message and logger, and says
// whether there was one.
func parseHeader(r *record, b []byte, ranks *rankTable) bool {
	if len(b) < 3 {
		return false
	}
	switch c := b[0]; {
	case c == '[':
		return bracketHeader(r, b, ranks)
	case digit(c):
		return datedHeader(r, b) || llamaHeader(r, b)
	case !letter(c):
		return false
	}
	if c := b[0]; (c == 'I' || c == 'W' || c == 'E' || c == 'F') && digit(b[1]) {
		return klogHeader(r, b)
	}
	if b[0] == 't' && bytes.HasPrefix(b, []byte("time=")) {
		return logfmtHeader(r, b)
	}
	lv, rest := levelWord(b)
	if lv == levelUnset || len(rest) == 0 {
		return false
	}
	switch rest[0] {
	case ' ':
		return spacedHeader(r, lv, rest)
	case '\t':
		return tabHeader(r, lv, rest[1:])
	case ':':
		return colonHeader(r, lv, rest[1:])
	}
	return false
}

func (r *record) set(lv level, kind loggerKind, msg []byte) bool {
	r.header, r.level, r.logger, r.msg = true, lv, kind, msg
	return true
}

// spacedHeader reads what follows "LEVEL ": vLLM "MM-DD HH:MM:SS [file.py:N] msg" (V0 without the opening
// bracket), old LMCache "LMCache: msg", Rust tracing "target: msg", or a plain message.
func spacedHeader(r *record, lv level, rest []byte) bool {
	b := trimLeft(rest)
	if len(b) > 15 && b[2] == '-' && b[5] == ' ' && b[8] == ':' && b[11] == ':' && digit(b[0]) {
		tail := b[14:]
		for len(tail) > 0 && tail[0] != ' ' { // fractional seconds
			tail = tail[1:]
		}
		tail = trimLeft(tail)
		if msg, ok := sourceTag(tail); ok {
			return r.set(lv, loggerVLLM, msg)
		}
		return r.set(lv, loggerVLLM, tail)
	}
	if msg, ok := bytes.CutPrefix(b, []byte("LMCache: ")); ok {
		return r.set(lv, loggerLMCache, msg)
	}
	kind := loggerPlain
	for range 3 { // spans and module paths: "dynamo_llm::kv_router::scheduler: "
		msg, ok := rustTarget(b)
		if !ok {
			break
		}
		b, kind = msg, loggerRust
	}
	if kind == loggerPlain {
		b = rest[1:] // keep indentation
	}
	return r.set(lv, kind, b)
}

// sourceTag takes "[file.py:N] " or V0's "file.py:N] " off; the file name holds no blank.
func sourceTag(b []byte) ([]byte, bool) {
	i := bytes.IndexByte(b[:min(len(b), 160)], ']')
	if i < 3 || bytes.IndexByte(b[:i], ' ') >= 0 || bytes.IndexByte(b[:i], ':') < 0 {
		return b, false
	}
	msg := b[i+1:]
	if len(msg) > 0 && msg[0] == ' ' {
		msg = msg[1:]
	}
	return msg, true
}

// rustTarget takes a leading module path off: lower-case words joined by ::, or one such word with an
// underscore, then a colon and a blank.
func rustTarget(b []byte) ([]byte, bool) {
	path := false
	for i := 0; i < len(b) && i < 120; i++ {
		switch c := b[i]; {
		case c >= 'a' && c <= 'z', digit(c), c >= 'A' && c <= 'Z' && path:
		case c == '_':
			path = true
		case c == ':':
			if i+1 < len(b) && b[i+1] == ':' {
				path = true
				i++
				continue
			}
			if path && i+1 < len(b) && b[i+1] == ' ' {
				return b[i+2:], true
			}
			return b, false
		default:
			return b, false
		}
	}
	return b, false
}

// tabHeader reads zap's console form: LEVEL, logger, caller, message, fields, separated by tabs.
func tabHeader(r *record, lv level, b []byte) bool {
	for range 3 {
		i := bytes.IndexByte(b, '\t')
		if i < 0 || bytes.IndexByte(b[:i], ' ') >= 0 || (i+1 < len(b) && b[i+1] == '{') {
			break
		}
		b = b[i+1:]
	}
	if i := bytes.Index(b, []byte("\t{")); i >= 0 {
		b = b[:i]
	}
	return r.set(lv, loggerPlain, b)
}

// colonHeader reads uvicorn's "LEVEL:     msg" and Python's default "LEVEL:name:msg".
func colonHeader(r *record, lv level, b []byte) bool {
	if len(b) > 0 && b[0] == ' ' {
		return r.set(lv, loggerUvicorn, trimLeft(b))
	}
	if i := bytes.IndexByte(b[:min(len(b), 120)], ':'); i > 0 && bytes.IndexByte(b[:i], ' ') < 0 {
		return r.set(lv, loggerPlain, b[i+1:])
	}
	return false
}

// klogHeader reads "I0102 15:04:05.000000  pid file.go:N] msg".
func klogHeader(r *record, b []byte) bool {
	if len(b) < 22 || !digit(b[4]) || b[5] != ' ' || b[8] != ':' || b[11] != ':' {
		return false
	}
	i := bytes.Index(b[:min(len(b), 200)], []byte("] "))
	if i < 0 {
		return false
	}
	return r.set(levelOf(string(b[:1])), loggerKlog, b[i+2:])
}

// bracketHeader reads the headers that begin with a bracket: LMCache "[date,ms] LMCache LEVEL: msg",
// SGLang "[date DPn PPn TPn] msg", "[HH:MM:SS TPn] msg" and "[gpu_id=n] msg", TensorRT-LLM
// "[date] [TRT-LLM] [I] msg", and "[LEVEL] msg".
func bracketHeader(r *record, b []byte, ranks *rankTable) bool {
	i := bytes.IndexByte(b[:min(len(b), 100)], ']')
	if i < 2 || i+1 >= len(b) {
		return false
	}
	inside, rest := b[1:i], b[i+1:]
	if rest[0] == ' ' {
		rest = rest[1:]
	}
	switch {
	case len(inside) >= 19 && inside[4] == '-' && inside[7] == '-' && inside[13] == ':':
		return datedBracket(r, inside[19:], rest, ranks)
	case len(inside) >= 8 && inside[2] == ':' && inside[5] == ':' && digit(inside[0]):
		r.rank = sglangRank(r, inside[8:], ranks)
		return r.set(levelUnset, loggerSGLang, rest)
	case bytes.HasPrefix(inside, []byte("gpu_id=")):
		r.rank = ranks.sglang(inside)
		return r.set(levelUnset, loggerSGLang, rest)
	case len(inside) >= 19 && inside[2] == '/' && inside[5] == '/', bytes.HasPrefix(inside, []byte("TRT-LLM")), bytes.HasPrefix(inside, []byte("TensorRT-LLM")):
		return trtHeader(r, b)
	}
	if lv := levelOf(string(inside)); lv != levelUnset && len(inside) > 3 {
		return r.set(lv, loggerPlain, rest)
	}
	return false
}

func datedBracket(r *record, inside, rest []byte, ranks *rankTable) bool {
	if msg, ok := bytes.CutPrefix(rest, []byte("LMCache ")); ok {
		if lv, tail := levelWord(msg); lv != levelUnset && len(tail) > 0 && tail[0] == ':' {
			tail = tail[1:]
			if len(tail) > 0 && tail[0] == ' ' {
				tail = tail[1:]
			}
			return r.set(lv, loggerLMCache, tail)
		}
	}
	r.rank = sglangRank(r, inside, ranks)
	if lv, tail := levelWord(rest); lv != levelUnset && len(tail) > 0 && (tail[0] == ' ' || tail[0] == ':') {
		return r.set(lv, loggerSGLang, trimLeft(tail[1:]))
	}
	return r.set(levelUnset, loggerSGLang, rest)
}

// sglangRank is the rank named in an SGLang bracket, or the one of the process label around it.
func sglangRank(r *record, inside []byte, ranks *rankTable) int {
	if inside = trimLeft(inside); len(inside) == 0 || !letter(inside[0]) {
		return r.rank
	}
	return ranks.sglang(inside)
}

// trtHeader takes TensorRT-LLM's bracket groups off; one of them is the level letter.
func trtHeader(r *record, b []byte) bool {
	lv := levelUnset
	for range 4 {
		if len(b) == 0 || b[0] != '[' {
			break
		}
		i := bytes.IndexByte(b[:min(len(b), 60)], ']')
		if i < 1 {
			break
		}
		inside := b[1:i]
		one := len(inside) == 1 && levelOf(string(inside)) != levelUnset
		if !one && lv != levelUnset { // behind the level comes the message, even if bracketed
			break
		}
		if one {
			lv = levelOf(string(inside))
		}
		b = trimLeft(b[i+1:])
	}
	return r.set(lv, loggerTRTLLM, b)
}

// datedHeader reads Python's "YYYY-MM-DD HH:MM:SS,mmm" followed by "LEVEL msg", "[LEVEL] msg",
// " - name - LEVEL - msg" or onnxruntime's "[E:onnxruntime:…".
func datedHeader(r *record, b []byte) bool {
	if len(b) < 21 || b[4] != '-' || b[7] != '-' || b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return false
	}
	rest := b[19:]
	for len(rest) > 0 && rest[0] != ' ' {
		rest = rest[1:]
	}
	rest = trimLeft(rest)
	if lv, tail := levelWord(rest); lv != levelUnset && len(tail) > 1 {
		return r.set(lv, loggerPlain, trimLeft(bytes.TrimLeft(tail, ":")))
	}
	if len(rest) > 2 && rest[0] == '[' {
		if i := bytes.IndexByte(rest[:min(len(rest), 12)], ']'); i > 2 {
			if lv := levelOf(string(rest[1:i])); lv != levelUnset {
				return r.set(lv, loggerPlain, trimLeft(rest[i+1:]))
			}
		}
	}
	if dashed, ok := bytes.CutPrefix(rest, []byte("- ")); ok {
		for range 3 {
			i := bytes.Index(dashed[:min(len(dashed), 120)], []byte(" - "))
			if i < 0 {
				break
			}
			lv := levelOf(string(dashed[:i]))
			dashed = dashed[i+3:]
			if lv != levelUnset {
				return r.set(lv, loggerPlain, dashed)
			}
		}
	}
	return r.set(levelUnset, loggerPlain, rest)
}

// llamaHeader reads llama.cpp's "M.SS.mmm.uuu L msg", as printed since 2026.
func llamaHeader(r *record, b []byte) bool {
	i, dots := 0, 0
	for i < len(b) && i < 24 && (digit(b[i]) || b[i] == '.') {
		if b[i] == '.' {
			dots++
		}
		i++
	}
	if dots != 3 || i+3 > len(b) || b[i] != ' ' || b[i+2] != ' ' {
		return false
	}
	lv := levelOf(string(b[i+1 : i+2]))
	return lv != levelUnset && r.set(lv, loggerPlain, b[i+3:])
}

// logfmtHeader reads Go slog's text form, as ollama prints it: time=… level=… source=… msg="…" k=v. The
// message is msg's text with the fields behind it.
func logfmtHeader(r *record, b []byte) bool {
	i := bytes.Index(b[:min(len(b), 300)], []byte("level="))
	if i < 0 {
		return false
	}
	lv, rest := levelWord(b[i+6:])
	j := bytes.Index(rest, []byte("msg="))
	if j < 0 || lv == levelUnset {
		return false
	}
	msg := rest[j+4:]
	if len(msg) > 0 && msg[0] == '"' {
		msg = msg[1:]
	}
	return r.set(lv, loggerLogfmt, msg)
}

// jsonHeader reads a JSON log record: level or levelname or severity, msg or message, exc_info.
func jsonHeader(r *record) {
	var name, msg string
	for _, k := range []string{"levelname", "level", "severity", "lvl"} {
		if s, ok := r.object[k].(string); ok {
			name = s
			break
		}
	}
	for _, k := range []string{"message", "msg"} {
		if s, ok := r.object[k].(string); ok {
			msg = s
			break
		}
	}
	lv := levelOf(name)
	if lv == levelUnset {
		lv = levelOf(string(bytes.ToUpper([]byte(name))))
	}
	if lv == levelUnset || msg == "" {
		return
	}
	for _, k := range []string{"exc_info", "stacktrace", "exception", "stack_trace"} {
		if s, ok := r.object[k].(string); ok {
			r.trace = s
			break
		}
	}
	r.set(lv, loggerJSON, []byte(msg))
}
