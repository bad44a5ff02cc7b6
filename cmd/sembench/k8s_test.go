package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// rendered is what k8s render prints, document by document, after each was held against the Kubernetes API's own names.
//
// The same output was decoded once, on 2026-12-01, by the strict decoder of sigs.k8s.io/yaml v1.6.0 into the types of k8s.io/api v0.34.2
// (batch/v1 Job, v1 ConfigMap) without an unknown or mistyped field.
func rendered(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	out, stderr, code := sembenchRun(t, context.Background(), append([]string{"k8s", "render"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	schema, err := jsonschema.NewCompiler().Compile("testdata/k8s/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var docs []map[string]any
	for d := yaml.NewDecoder(strings.NewReader(out)); ; {
		var doc map[string]any
		switch err := d.Decode(&doc); {
		case err == io.EOF:
			return docs
		case err != nil:
			t.Fatal(err)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		fits(t, schema, text)
		docs = append(docs, doc)
	}
}

// dig follows keys and places into a document.
func dig(t *testing.T, v any, keys ...any) any {
	t.Helper()
	for _, key := range keys {
		switch at := v.(type) {
		case map[string]any:
			v = at[key.(string)]
		case []any:
			v = at[key.(int)]
		default:
			t.Fatalf("nothing under %v of %v", key, keys)
		}
	}
	return v
}

func TestRenderedJob(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "m.jsonl")
	must(t, "build", "--max-items", "4", "--output", manifest, "--quiet")
	docs := rendered(t, "--name", "reuse", "--shards", "3", "--image", "sembench:1", "--claim", "results", "--manifest", manifest, "--", "run-offline", "--planner", "span", "--workers", "1")
	if len(docs) != 3 {
		t.Fatalf("%d documents", len(docs))
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if dig(t, docs[0], "data", "manifest.jsonl") != string(text) {
		t.Error("the ConfigMap does not hold the manifest's bytes")
	}
	spec := dig(t, docs[1], "spec")
	if dig(t, spec, "completionMode") != "Indexed" || dig(t, spec, "completions") != 3 || dig(t, spec, "parallelism") != 3 {
		t.Errorf("the job is %v", spec)
	}

	// What the pods would do, done here: each runs its arguments with its own index, then the merge runs its own.
	dir := t.TempDir()
	here := func(args any, index string) (out []string) {
		for _, arg := range args.([]any) {
			arg = strings.ReplaceAll(arg.(string), "$(JOB_COMPLETION_INDEX)", index)
			arg = strings.ReplaceAll(arg.(string), podInput, manifest)
			out = append(out, strings.Replace(arg.(string), podOutput, dir, 1))
		}
		return out
	}
	for _, index := range []string{"0", "1", "2"} {
		must(t, here(dig(t, spec, "template", "spec", "containers", 0, "args"), index)...)
	}
	must(t, here(dig(t, docs[2], "spec", "template", "spec", "containers", 0, "args"), "")...)
	must(t, "run-offline", manifest, "--planner", "span", "--output", filepath.Join(dir, "whole.json"), "--quiet")
	if !slices.Equal(numbers(t, filepath.Join(dir, "whole.json")), numbers(t, filepath.Join(dir, "reuse", "result.json"))) {
		t.Error("the merged document is not that of one run")
	}
}

func TestRenderedLiveJob(t *testing.T) {
	docs := rendered(t, "--namespace", "llm", "--shards", "2", "--image", "i", "--claim", "c", "--input-url", "https://bucket.example/m.jsonl?sig=a%20b", "--api-key-secret", "key",
		"--", "run-live", "--base-url", "http://vllm:8000", "--header", "X-A: $(HOME)")
	if len(docs) != 2 || dig(t, docs[0], "spec", "parallelism") != 1 {
		t.Fatalf("%v", docs)
	}
	pod := dig(t, docs[0], "spec", "template", "spec")
	command := dig(t, pod, "initContainers", 0, "command").([]any)
	if command[len(command)-1] != "https://bucket.example/m.jsonl?sig=a%20b" {
		t.Errorf("fetched with %v", command)
	}
	args := dig(t, pod, "containers", 0, "args").([]any)
	if !slices.Contains(args, any("X-A: $$(HOME)")) || !slices.Contains(args, any("$(JOB_COMPLETION_INDEX)/2")) {
		t.Errorf("args %v", args)
	}
	if dig(t, pod, "containers", 0, "env", 0, "valueFrom", "secretKeyRef", "name") != "key" {
		t.Error("the key is not in the environment")
	}
}

func TestRenderRefuses(t *testing.T) {
	good := []string{"--shards", "2", "--image", "i", "--claim", "c", "--input-url", "https://b.example/m", "--", "run-offline"}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"after -- is set by", append(slices.Clone(good), "--shard", "0/2")},
		{"cannot be sharded", append(slices.Clone(good), "--pool", "stream")},
		{"unknown flag: --nope", append(slices.Clone(good), "--nope")},
		{"is given \"m.jsonl\"", append(slices.Clone(good), "m.jsonl")},
		{"does not run in shards", []string{"--shards", "2", "--image", "i", "--claim", "c", "--input-url", "https://b.example/m", "--", "bench"}},
		{"--input-url is", []string{"--shards", "2", "--image", "i", "--claim", "c", "--input-url", "s3://b/m", "--", "run-offline"}},
		{"no --claim", []string{"--shards", "2", "--image", "i", "--input-url", "https://b.example/m", "--", "run-offline"}},
		{"--shards is 0", []string{"--image", "i", "--claim", "c", "--input-url", "https://b.example/m", "--", "run-offline"}},
		{"--name is", []string{"--name", "A_b", "--shards", "2", "--image", "i", "--claim", "c", "--input-url", "https://b.example/m", "--", "run-offline"}},
		{"one of them", []string{"--shards", "2", "--image", "i", "--claim", "c", "--", "run-offline"}},
	} {
		out, stderr, code := sembenchRun(t, context.Background(), append([]string{"k8s", "render"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) || out != "" {
			t.Errorf("%v: exit code %d: %s", c.args, code, stderr)
		}
	}
}
