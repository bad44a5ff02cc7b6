package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sembench/internal/sim"
)

// Scripts run this test binary as sembench itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sembench": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			wd, err := os.Getwd()
			e.Setenv("ROOT", wd+"/../..")
			for _, entry := range strings.Split(e.Getenv("PATH"), string(os.PathListSeparator)) {
				if path := filepath.Join(entry, "sembench"); e.Getenv("SEMBENCH") == "" && isFile(path) {
					e.Setenv("SEMBENCH", path) // for scripts that change PATH
				}
			}
			return err
		},
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// server html|sim|metrics NAME: a server of that kind; $NAME is its address.
			"server": func(ts *testscript.TestScript, _ bool, args []string) {
				var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					io.WriteString(w, "<!doctype html><title>Welcome to nginx!</title>")
				})
				if args[0] == "metrics" {
					handler = growingCounters()
				}
				if args[0] == "sim" {
					engine, err := sim.New(sim.Default())
					ts.Check(err)
					handler = engine.Handler()
				}
				server := httptest.NewServer(handler)
				ts.Defer(server.Close)
				ts.Setenv(args[1], server.URL)
			},
			// kvpublisher NAME: a vLLM KV event publisher that repeats one batch; $NAME is its address.
			"kvpublisher": func(ts *testscript.TestScript, _ bool, args []string) {
				address, stop, err := publishKV()
				ts.Check(err)
				ts.Defer(stop)
				ts.Setenv(args[0], address)
			},
			// exits CODE PROGRAM ARGS: the program ends with this code.
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				var exit *exec.ExitError
				err := ts.Exec(args[1], args[2:]...)
				code := "0"
				if errors.As(err, &exit) {
					code = strconv.Itoa(exit.ExitCode())
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if code != args[0] {
					ts.Fatalf("exit code is %s, want %s", code, args[0])
				}
			},
		},
	})
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// sembenchRun runs a command line inside the test and gives what it printed and its exit code.
func sembenchRun(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, complaints bytes.Buffer
	c := command()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&complaints)
	code = exit(&complaints, c.ExecuteContext(ctx))
	return out.String(), complaints.String(), code
}
