package plan

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is a running process and its two pipes.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	lines  *bufio.Reader
	errs   tail
	outbox bytes.Buffer // requests not written yet
	encode *json.Encoder
	broken error // why a request could not be encoded
}

// startChild runs argv without a shell. A nil env is the parent's.
func startChild(argv, env []string) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Env = env
	c.cmd.Stderr = &c.errs
	// A grandchild may keep standard error open after the child's end: do not wait for it.
	c.cmd.WaitDelay = time.Second
	var err error
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		c.out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting planner child %q: %w", argv[0], err)
	}
	c.lines = bufio.NewReaderSize(c.out, 64<<10)
	c.encode = json.NewEncoder(&c.outbox)
	return c, nil
}

// queue holds a request back until the next exchange.
func (c *child) queue(r execRequest) {
	if err := c.encode.Encode(r); err != nil && c.broken == nil {
		c.broken = err
	}
}

// exchange writes what is queued and reads one line of at most limit bytes. A child that takes longer than
// timeout, closes its output, or said something unasked is an error; the caller must then kill it.
func (c *child) exchange(ctx context.Context, timeout time.Duration, limit int) ([]byte, error) {
	if c.broken != nil {
		return nil, fmt.Errorf("writing to planner child: %w", c.broken)
	}
	if c.lines.Buffered() > 0 {
		return nil, errors.New("reading planner child's answer: it printed more than one line for the last request")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Ending the process and closing the pipes unblocks both directions, whatever the child waits for.
	stop := context.AfterFunc(ctx, func() {
		_ = c.cmd.Process.Kill() // fails only when it has ended already
		c.in.Close()
		c.out.Close()
	})
	defer stop()

	// A child may answer only after reading everything, or never read at all; writing beside reading covers
	// both. The write ends when the child reads, ends or is killed, so it is always waited for.
	written := make(chan error, 1)
	go func() {
		_, err := c.in.Write(c.outbox.Bytes())
		written <- err
	}()
	line, err := readLine(c.lines, limit)
	if err != nil { // the write may still wait for a child that went silent
		_ = c.cmd.Process.Kill()
		c.in.Close()
	}
	writeErr := <-written
	c.outbox.Reset()
	switch {
	case context.Cause(ctx) == context.DeadlineExceeded:
		return nil, fmt.Errorf("waiting for planner child: no answer within %v", timeout)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("reading planner child's answer: it ended%s", c.last())
	case err != nil:
		return nil, fmt.Errorf("reading planner child's answer: %w%s", err, c.last())
	case writeErr != nil:
		return nil, fmt.Errorf("writing to planner child: %w%s", writeErr, c.last())
	}
	return line, nil
}

// readLine returns one line without its end. A last line without an end is not a line.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("line is longer than %d bytes", limit)
		}
		line = append(line, part...)
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// last ends an error message with how the child ended and its last word on standard error.
func (c *child) last() string {
	c.kill()
	s := ": " + c.cmd.ProcessState.String()
	if word := c.errs.line(); word != "" {
		s += ": " + word
	}
	return s
}

// kill ends the process and waits for it; a second call does nothing.
func (c *child) kill() {
	if c.cmd.ProcessState != nil {
		return
	}
	c.in.Close()
	_ = c.cmd.Process.Kill() // fails only when it has ended already
	_ = c.cmd.Wait()         // its exit status is in ProcessState
}

// tail keeps the end of what was written, for error messages. The process's copier and the reader of the
// message run at the same time.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.end) - tailBytes; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

// line returns the last line that is not empty.
func (t *tail) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.end))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// splitWords splits a command into words: blanks separate, 'x' and "x" quote, a backslash takes the next
// character as it is outside single quotes. There is no expansion of any kind.
func splitWords(command string) (words []string, err error) {
	var word strings.Builder
	started, quote := false, rune(0)
	escaped := false
	for _, r := range command {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if started {
				words = append(words, word.String())
				word.Reset()
			}
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("command %q: quote %c is not closed", command, quote)
	case escaped:
		return nil, fmt.Errorf("command %q: ends in a backslash", command)
	}
	if started {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("command is empty: write exec:COMMAND")
	}
	return words, nil
}
