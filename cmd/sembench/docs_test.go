package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// block is a fenced part of a page: its language and lines, with the number of the first.
type block struct {
	language string
	lines    []string
	at       int
}

// blocks gives the fenced blocks of a page.
func blocks(t *testing.T, path string) (out []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for i, line := range strings.Split(string(text), "\n") {
		switch language, fence := strings.CutPrefix(line, "```"); {
		case fence && !open:
			out, open = append(out, block{language: language, at: i + 2}), true
		case fence:
			open = false
		case open:
			last := &out[len(out)-1]
			last.lines = append(last.lines, line)
		}
	}
	return out
}

func pages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	return append(paths, "../../README.md")
}

// words splits a command as a shell does, as far as the pages need it: blanks, single and double quotes.
func words(line string) (out []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|[^\s'"]+`).FindAllStringSubmatch(line, -1) {
		switch {
		case strings.HasPrefix(m[0], "'"):
			out = append(out, m[1])
		case strings.HasPrefix(m[0], `"`):
			out = append(out, m[2])
		default:
			out = append(out, m[0])
		}
	}
	return out
}

// Every sembench command in a shell block of a page names a verb and flags that exist: those commands are for servers that a test does not have.
// The same verbs run against the embedded engine in the console blocks.
func TestShellBlocks(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.language != "sh" && b.language != "bash" {
				continue
			}
			text := strings.ReplaceAll(strings.Join(b.lines, "\n"), "\\\n", " ")
			for _, line := range strings.Split(text, "\n") {
				line = regexp.MustCompile(`(\s+#|\s*[|>;]|\s&&|\s+2>).*$`).ReplaceAllString(strings.TrimSpace(line), "")
				args := words(line)
				if len(args) < 2 || args[0] != "sembench" || strings.HasPrefix(args[1], "-") {
					continue
				}
				verb, rest, err := command().Find(args[1:])
				if err == nil {
					err = verb.ParseFlags(rest)
				}
				if err != nil && !strings.Contains(err.Error(), "help requested") {
					t.Errorf("%s, block of line %d: %s: %v", page, b.at, line, err)
				}
				checked++
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d commands were found", checked)
	}
}

var (
	figures = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`)
	runID   = regexp.MustCompile(`sembench  ?(RUN|[0-9]{8}-[0-9.]+)`)
)

// shape is a text whose numbers are all alike and whose blanks are single: times differ from run to run, and lines break elsewhere.
func shape(text string) string {
	text = runID.ReplaceAllString(text, "sembench RUN")
	text = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(text, "ADDRESS")
	return figures.ReplaceAllString(strings.Join(strings.Fields(text), " "), "#")
}

// told reports the first expected line that the output lacks, in order; "…" stands for lines left out.
func told(expected []string, output string) (missing string) {
	rest := shape(output)
	for _, line := range expected {
		want := shape(line)
		if want == "" || want == "…" {
			continue
		}
		at := strings.Index(rest, want)
		if at < 0 {
			return line
		}
		rest = rest[at+len(want):]
	}
	return ""
}

// A line that is not there is found missing, also one out of order.
func TestTold(t *testing.T) {
	const out = "pass  model  x1\npass  reset  works: http://127.0.0.1:4711/flush\nhit rate 66.7 %\n"
	if missing := told([]string{"pass model x2", "…", "hit rate 1 %"}, out); missing != "" {
		t.Errorf("%q is there", missing)
	}
	for _, lines := range [][]string{{"fail model x1"}, {"hit rate 1 %", "pass model x1"}, {"pass reset works: http://127.0.0.1:1/other"}} {
		if told(lines, out) == "" {
			t.Errorf("%q are not there", lines)
		}
	}
}

// lockedBuffer is a background command's output.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// Every command of a console block runs, page by page, in an empty folder, and says what the page shows. A command that ends in & is a server in
// the background, at an address of its own.
func TestConsoleBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("replays over real time")
	}
	for _, page := range pages(t) {
		var lines []string
		for _, b := range blocks(t, page) {
			if b.language == "console" {
				lines = append(lines, b.lines...)
			}
		}
		if len(lines) == 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			root, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if err := os.Mkdir("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{"testdata/run": "testdata/run", "cmd/sembench/testdata/interop": "testdata/interop"} {
				if err := os.Symlink(filepath.Join(root, from), to); err != nil {
					t.Fatal(err)
				}
			}
			console(t, lines)
		})
	}
}

// console runs the commands of one page.
func console(t *testing.T, lines []string) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	address := freeAddress(t)
	for i := 0; i < len(lines); {
		line, isCommand := strings.CutPrefix(lines[i], "$ ")
		if !isCommand {
			t.Fatalf("%q is no command and no output of one", lines[i])
		}
		var expected []string
		for i++; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			expected = append(expected, lines[i])
		}
		args := words(strings.ReplaceAll(line, "127.0.0.1:8000", address))
		if len(args) == 0 || args[0] != "sembench" {
			t.Fatalf("%q is no sembench command", line)
		}
		if args[len(args)-1] == "&" {
			running.Go(func() {
				c := command()
				c.SetArgs(args[1 : len(args)-1])
				c.SetOut(&lockedBuffer{})
				c.SetErr(&lockedBuffer{})
				if err := c.ExecuteContext(ctx); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			})
			await(t, "http://"+address+"/health")
			continue
		}
		out, stderr, code := sembenchRun(t, ctx, args[1:]...)
		if (code == exitUsage || code == exitEndpoint) && !strings.HasPrefix(strings.Join(expected, ""), "sembench: ") {
			t.Fatalf("%s: exit code %d: %s", line, code, stderr)
		}
		if missing := told(expected, out+stderr); missing != "" {
			t.Errorf("%s\nthe page shows: %s\nit says:\n%s%s", line, missing, out, stderr)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// await returns once the server answers.
func await(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not come up", url)
}
