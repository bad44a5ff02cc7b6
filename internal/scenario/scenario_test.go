package scenario

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func none(string) bool { return false }

// Every setting has a name of its own, help, and a default that Set accepts.
func TestSettingsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Default().settings() {
		if f.name == "" || f.help == "" || seen[f.name] {
			t.Errorf("setting %q: name or help is missing, or the name occurs twice", f.name)
		}
		seen[f.name] = true
	}
}

// A random scenario written as YAML and read again has the same hash; one changed setting gives another hash.
func TestYAMLRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := Default()
		for _, f := range s.settings() {
			text := map[reflect.Kind]string{
				reflect.Bool: fmt.Sprint(r.IntN(2) == 0), reflect.Int: fmt.Sprint(r.IntN(1000)), reflect.Int64: fmt.Sprint(r.Int64()),
				reflect.Float64: fmt.Sprint(r.ExpFloat64()), reflect.Pointer: fmt.Sprint(r.Float64()),
				reflect.String: []string{"", "x: y # z", "naïve\t\"q\"", "- 1", "null", "exec:run a,b"}[r.IntN(6)],
			}[f.value.Kind()]
			if f.value.Kind() == reflect.Slice {
				text = "7,8"
			}
			if err := f.Set(text); err != nil {
				t.Fatal(f.name, err)
			}
		}
		var file bytes.Buffer
		if err := s.WriteYAML(&file); err != nil {
			t.Fatal(err)
		}
		back := Default()
		if err := back.Read(&file, "config.yaml", none); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if back.SHA256() != s.SHA256() {
			t.Fatalf("seed %d: %v became %v", seed, s.Effective(), back.Effective())
		}
	}
	// A file of an older version lacks a setting; its hash is that of what it has.
	var file bytes.Buffer
	if err := Default().WriteYAML(&file); err != nil {
		t.Fatal(err)
	}
	if _, sha, err := Default().Written(file.Bytes()); err != nil || sha != Default().SHA256() {
		t.Errorf("hash of a whole file is %s, %v", sha, err)
	}
	older := strings.Replace(file.String(), "serve-line: \"\"\n", "", 1)
	settings, sha, err := Default().Written([]byte(older))
	if _, there := settings["serve-line"]; err != nil || there || sha == Default().SHA256() || len(older) == file.Len() {
		t.Errorf("hash of an older file is %s, %v", sha, err)
	}
	s := Default()
	before := s.SHA256()
	s.Output, s.Quiet = "elsewhere", true
	if s.SHA256() != before {
		t.Error("the output folder changes the hash")
	}
	s.BlockSize = 17
	if s.SHA256() == before {
		t.Error("the block size does not change the hash")
	}
}

func TestBadFile(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"blok-size: 4\n", `reading s.yaml: line 1: unknown key "blok-size": did you mean "block-size"?`},
		{"seed: 1\nblock-size: many\n", `reading s.yaml: line 2: block-size: want a whole number, got "many"`},
		{"seed: 1\nseed: 2\n", `reading s.yaml: line 2: key "seed" occurs twice`},
		{"- a\n", `reading s.yaml: line 1: want keys and values, like block-size: 16`},
		{"level: .nan\n", `reading s.yaml: line 1: level: want a finite number, got ".nan"`},
		{"model: [a]\n", `reading s.yaml: line 1: model: want one plain value`},
		{"block-size: -4\n", `reading s.yaml: line 1: block-size: want 0 or more, got -4`},
		{"x: 1\n", `reading s.yaml: line 1: unknown key "x"`},
		{"", ""},
	} {
		got := ""
		if err := Default().Read(strings.NewReader(c.text), "s.yaml", none); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A typed flag wins over the file, the file over the default.
func TestPrecedence(t *testing.T) {
	s := Default()
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	s.Bind(flags, "seed", "block-size", "planner", "reset-url", "min-blended-ttft-speedup", "paired")
	err := flags.Parse([]string{"--seed", "9", "--planner", "span,semblend", "--reset-url", "http://a/?x=1,2", "--reset-url", "http://b", "--min-blended-ttft-speedup", "1.5", "--paired=false"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Read(strings.NewReader("seed: 3\nblock-size: 32\nplanner: [span]\n"), "s.yaml", flags.Changed); err != nil {
		t.Fatal(err)
	}
	if s.Seed != 9 || s.BlockSize != 32 || len(s.Planner) != 2 || len(s.ResetURL) != 2 || s.ResetURL[0] != "http://a/?x=1,2" || *s.MinBlendedSpeedup != 1.5 || s.Paired {
		t.Errorf("got seed %d, block size %d, planners %q, resets %q, gate %v, paired %v", s.Seed, s.BlockSize, s.Planner, s.ResetURL, *s.MinBlendedSpeedup, s.Paired)
	}
}

// What looks like a secret in extra-body is in no file; the configuration read back has the same hash.
func TestSecretsAreRedacted(t *testing.T) {
	s := Default()
	s.ExtraBody = `{"top_k": 1, "nested": {"api_key": "sk-1", "auth_token": ["sk-2"]}}`
	var file bytes.Buffer
	if err := s.WriteYAML(&file); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(file.String(), "sk-") || !strings.Contains(file.String(), "top_k") {
		t.Errorf("the file holds\n%s", file.String())
	}
	back := Default()
	if err := back.Read(&file, "c", none); err != nil || back.SHA256() != s.SHA256() {
		t.Errorf("read back: %v, hash %s, was %s", err, back.SHA256(), s.SHA256())
	}
	other := Default()
	other.ExtraBody = strings.ReplaceAll(s.ExtraBody, "sk-1", "sk-3")
	if other.SHA256() == s.SHA256() {
		t.Error("another secret has the same hash")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("seed: 1\nplanner: [a, b]\n")
	f.Add("&a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		s := Default()
		if s.Read(strings.NewReader(text), "f", none) == nil {
			s.SHA256()
		}
	})
}

func ExampleScenario_Read() {
	s := Default()
	_ = s.Read(strings.NewReader("block-size: 64\nplanner: [semblend, span]\n"), "sembench.yaml", none)
	fmt.Fprintln(os.Stdout, s.BlockSize, s.Planner)
	// Output: 64 [semblend span]
}
