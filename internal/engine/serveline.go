package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sembench"
)

// ConfigSchema names the shape of a serve line as read.
const ConfigSchema = "sembench.engine_config.v1"

// ParseServeLine reads a vLLM serve command line: quotes and backslashes as a POSIX shell, flags in dashed
// or underscored spelling, values behind a blank or "=", dotted members of JSON flags, "--no-" forms,
// sizes like 32k, and the short forms -tp N and -ON. env holds the server's environment; only
// VLLM_SERVER_DEV_MODE matters. Violations are the phase-0 rules that the line breaks. Unbalanced quotes
// and unreadable values are errors: a guess would make a wrong verdict.
func ParseServeLine(line string, env map[string]string) (*sembench.EngineConfig, error) {
	words, err := splitShell(line)
	if err != nil {
		return nil, fmt.Errorf("reading serve line: %w", err)
	}
	c := &sembench.EngineConfig{Schema: ConfigSchema, Engine: "vllm", Unread: []string{}}
	s := serveLine{c: c, env: map[string]string{}}
	for k, v := range env {
		s.env[k] = v
	}
	if err := s.read(words); err != nil {
		return nil, fmt.Errorf("reading serve line: %w", err)
	}
	s.finish()
	return c, nil
}

type serveLine struct {
	c      *sembench.EngineConfig
	env    map[string]string
	eager  bool
	unread map[string]struct{}
}

// flagAliases maps short forms to long ones.
var flagAliases = map[string]string{
	"tp": "tensor-parallel-size", "O": "compilation-config", "cc": "compilation-config",
}

// switches are the flags that take no value, or true or false only. A flag in neither this list nor setters
// takes the next word unless that begins another flag.
var switches = map[string]bool{
	"enable-prefix-caching": true, "enable-chunked-prefill": true, "enforce-eager": true,
	"enable-prompt-tokens-details": true, "enable-per-request-metrics": true, "disable-log-stats": true,
	"disable-log-requests": true, "trust-remote-code": true, "enable-auto-tool-choice": true, "enable-lora": true,
	"enable-log-requests": true, "enable-expert-parallel": true, "async-scheduling": true, "headless": true,
	"enable-server-load-tracking": true, "enable-sleep-mode": true, "disable-uvicorn-access-log": true,
	"return-tokens-as-token-ids": true, "disable-custom-all-reduce": true, "enable-reasoning": true,
	"enable-kv-cache-events": true, "calculate-kv-scales": true, "disable-sliding-window": true,
	"enable-prompt-embeds": true, "skip-tokenizer-init": true, "allow-credentials": true,
	"disable-frontend-multiprocessing": true, "enable-request-id-headers": true, "disable-fastapi-docs": true,
	"disable-cascade-attn": true, "disable-hybrid-kv-cache-manager": true, "data-parallel-hybrid-lb": true,
	"data-parallel-external-lb": true, "enable-eplb": true, "enable-dbo": true, "enable-force-include-usage": true,
}

// read walks the words. Assignments ahead of the command are its environment.
func (s *serveLine) read(words []string) error {
	command, serving := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || w == "-" {
			if k, v, ok := strings.Cut(w, "="); ok && !command && envName(k) {
				s.env[k] = v
				continue
			}
			switch {
			case serving && s.c.Model == nil:
				s.c.Model = ptr(w)
			case w == "serve":
				serving = true
			}
			command = command || (w != "env" && w != "exec")
			continue
		}
		name, value, has := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(w, "-O") && !strings.HasPrefix(w, "--") {
			name, value, has = "O", strings.TrimPrefix(name[1:], "."), true
			if _, tail, ok := strings.Cut(w, "="); ok { // -O.cudagraph_mode=X
				name, value = "O."+strings.TrimPrefix(strings.SplitN(w[2:], "=", 2)[0], "."), tail
			}
		}
		flag, member, _ := strings.Cut(name, ".")
		flag = strings.ReplaceAll(flag, "_", "-")
		if long, ok := flagAliases[flag]; ok {
			flag = long
		}
		negated := false
		if base, ok := strings.CutPrefix(flag, "no-"); ok {
			flag, negated = base, true
		}
		if !has && !negated && takesValue(flag, words, i) {
			if i+1 >= len(words) {
				return fmt.Errorf("--%s has no value", flag)
			}
			i++
			value, has = words[i], true
		}
		if err := s.flag(flag, member, value, has, negated); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
	}
	return nil
}

// takesValue says whether the next word belongs to the flag: always for known flags with a value, only true
// and false for switches, and for unknown flags whatever begins no other flag.
func takesValue(flag string, words []string, i int) bool {
	_, known := setters[flag]
	if known && !switches[flag] {
		return true
	}
	if i+1 >= len(words) || strings.HasPrefix(words[i+1], "-") && !numeric(words[i+1]) {
		return false
	}
	if switches[flag] {
		_, err := boolean(words[i+1])
		return err == nil
	}
	return true
}

func numeric(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func envName(s string) bool {
	for i, c := range []byte(s) {
		if c != '_' && !letter(c) && (i == 0 || !digit(c)) {
			return false
		}
	}
	return s != ""
}

// setters read the flags that matter; value is empty for a bare switch.
var setters = map[string]func(s *serveLine, member, value string) error{
	"enable-prefix-caching": func(s *serveLine, _, v string) error {
		b, err := boolean(v)
		s.c.PrefixCaching, s.c.PrefixCachingFrom = &b, ptr("flag")
		return err
	},
	"enable-chunked-prefill":       func(s *serveLine, _, v string) error { return setBool(&s.c.ChunkedPrefill, v) },
	"enforce-eager":                func(s *serveLine, _, v string) (err error) { s.eager, err = boolean(v); return err },
	"enable-prompt-tokens-details": func(s *serveLine, _, v string) (err error) { s.c.PromptTokensDetails, err = boolean(v); return err },
	"enable-per-request-metrics":   func(s *serveLine, _, v string) (err error) { s.c.PerRequestMetrics, err = boolean(v); return err },
	"disable-log-stats":            func(s *serveLine, _, v string) (err error) { s.c.DisableLogStats, err = boolean(v); return err },
	"block-size":                   func(s *serveLine, _, v string) error { return setSize(&s.c.BlockSize, v) },
	"max-num-batched-tokens":       func(s *serveLine, _, v string) error { return setSize(&s.c.MaxNumBatchedTokens, v) },
	"max-model-len":                func(s *serveLine, _, v string) error { return setSize(&s.c.MaxModelLen, v) },
	"tensor-parallel-size":         func(s *serveLine, _, v string) error { return setSize(&s.c.TensorParallelSize, v) },
	"model":                        func(s *serveLine, _, v string) error { s.c.Model = ptr(v); return nil },
	"cuda-graph-mode":              func(s *serveLine, _, v string) error { return s.graph(v, "flag") },
	"cudagraph-mode":               func(s *serveLine, _, v string) error { return s.graph(v, "flag") },
	"kv-transfer-config":           (*serveLine).transfer,
	"compilation-config":           (*serveLine).compile,
}

func (s *serveLine) flag(flag, member, value string, has, negated bool) error {
	set, ok := setters[flag]
	if !ok {
		if s.unread == nil {
			s.unread = map[string]struct{}{}
		}
		s.unread[flag] = struct{}{}
		return nil
	}
	if negated {
		if !switches[flag] || has {
			return errors.New("no- form of a flag that is no switch")
		}
		return set(s, member, "false")
	}
	if has && value == "" {
		return errors.New("empty value")
	}
	return set(s, member, value)
}

func (s *serveLine) graph(mode, from string) error {
	s.c.CUDAGraphMode, s.c.CUDAGraphModeFrom = ptr(mode), ptr(from)
	return nil
}

// transfer reads --kv-transfer-config, whole or by dotted member.
func (s *serveLine) transfer(member, value string) error {
	c := s.c
	switch strings.ReplaceAll(member, "-", "_") {
	case "kv_connector":
		c.KVConnector = ptr(value)
		return nil
	case "kv_role":
		c.KVRole = ptr(value)
		return nil
	case "":
	default:
		return nil
	}
	var cfg map[string]any
	if err := json.Unmarshal([]byte(value), &cfg); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	c.KVTransferConfig = ptr(value)
	if v, ok := cfg["kv_connector"].(string); ok {
		c.KVConnector = ptr(v)
	}
	if v, ok := cfg["kv_role"].(string); ok {
		c.KVRole = ptr(v)
	}
	return nil
}

// compile reads --compilation-config and -O: a level, a JSON object, or a dotted member.
func (s *serveLine) compile(member, value string) error {
	if m := strings.ReplaceAll(member, "-", "_"); m != "" {
		if m == "cudagraph_mode" {
			return s.graph(value, "compilation_config")
		}
		return nil
	}
	if numeric(value) {
		return nil
	}
	var cfg map[string]any
	if err := json.Unmarshal([]byte(value), &cfg); err != nil {
		return fmt.Errorf("neither a level nor a JSON object: %w", err)
	}
	if mode, ok := cfg["cudagraph_mode"].(string); ok {
		return s.graph(mode, "compilation_config")
	}
	return nil
}

// finish settles what depends on several flags, and the phase-0 verdict.
func (s *serveLine) finish() {
	c := s.c
	if s.eager { // eager mode captures no graphs, whatever else is asked for
		c.CUDAGraphMode, c.CUDAGraphModeFrom = ptr("NONE"), ptr("enforce_eager")
	}
	switch strings.ToLower(strings.TrimSpace(s.env["VLLM_SERVER_DEV_MODE"])) {
	case "1", "true", "on":
		c.ServerDevMode = true
	}
	c.CachedTokensMeaning = "local plus external"
	if c.PrefixCaching != nil && !*c.PrefixCaching {
		c.CachedTokensMeaning = "external only: prefix caching is off"
	}
	for f := range s.unread {
		c.Unread = append(c.Unread, f)
	}
	slices.Sort(c.Unread)
	c.Violations = phase0(c)
	c.FlagsOK = len(c.Violations) == 0
}

// phase0 lists the rules that a serve line must keep before its numbers can be compared, each with its fix.
func phase0(c *sembench.EngineConfig) []string {
	v := []string{}
	rule := func(broken bool, text string) {
		if broken {
			v = append(v, text)
		}
	}
	rule(c.PrefixCaching == nil, "prefix caching is not pinned: pass --enable-prefix-caching or --no-enable-prefix-caching")
	rule(c.BlockSize == nil || *c.BlockSize != 16, "block size is not pinned to 16: pass --block-size 16")
	rule(c.MaxNumBatchedTokens == nil, "max-num-batched-tokens is not set: chunking decides TTFT, pin it")
	rule(!c.PromptTokensDetails, "cached tokens are not reported: pass --enable-prompt-tokens-details")
	rule(!c.PerRequestMetrics, "per-request metrics are off: pass --enable-per-request-metrics")
	rule(c.PerRequestMetrics && c.DisableLogStats, "per-request metrics need statistics: drop --disable-log-stats")
	rule(!c.ServerDevMode, "the cache cannot be reset: set VLLM_SERVER_DEV_MODE=1")
	return v
}

func setBool(p **bool, v string) error {
	b, err := boolean(v)
	*p = &b
	return err
}

// boolean reads a switch: bare is true.
func boolean(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "", "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", v)
}

// setSize reads vLLM's human-readable integers: k, m, g are powers of 1000; K, M, G of 1024; decimals only
// with the former.
func setSize(p **int, v string) error {
	factor := 1.0
	digits := v
	if n := len(v); n > 0 {
		f, ok := map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[v[n-1]]
		if ok {
			factor, digits = f, v[:n-1]
		}
	}
	f, err := strconv.ParseFloat(digits, 64)
	n := f * factor
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxCount {
		return fmt.Errorf("%q is no size", v)
	}
	*p = ptr(int(n))
	return nil
}

// splitShell splits a command line as a POSIX shell does, without expansion. A backslash before a newline
// continues the line.
func splitShell(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inside := false
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
				continue
			}
			word.WriteByte(c)
		case c == '\\':
			if i+1 >= len(line) {
				return nil, errors.New("ends in a backslash")
			}
			i++
			switch next := line[i]; {
			case next == '\n':
			case quote == '"' && next != '"' && next != '\\' && next != '$' && next != '`':
				word.WriteByte('\\')
				word.WriteByte(next)
				inside = true
			default:
				word.WriteByte(next)
				inside = true
			}
		case quote == '"':
			if c == '"' {
				quote = 0
				continue
			}
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inside {
				words = append(words, word.String())
				word.Reset()
				inside = false
			}
		default:
			word.WriteByte(c)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unbalanced %c", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}
