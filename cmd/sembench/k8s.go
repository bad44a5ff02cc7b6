package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// Places inside the pods.
const (
	podInput  = "/input/manifest.jsonl"
	podOutput = "/output"
)

// configMapLimit is the most bytes that Kubernetes takes in a ConfigMap.
const configMapLimit = 1 << 20

// cluster is what k8s render is asked for.
type cluster struct {
	name, namespace, image, manifest, inputURL, fetchImage, claim, cpu, memory, keySecret string
	shards, parallelism                                                                   int
}

func k8sCommand() *cobra.Command {
	c := &cobra.Command{Use: "k8s", Short: "Run shards on Kubernetes"}
	c.AddCommand(k8sRenderCommand())
	return c
}

func k8sRenderCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "render [flags] -- VERB [VERB FLAGS]",
		Short: "Print an indexed Job: one shard a pod, and a Job that merges them",
		Long: `Prints YAML for kubectl apply: an indexed Job that runs VERB (run-offline or run-live) on one shard of the manifest in each pod, and a suspended Job that
merges what the pods left on a shared volume. The manifest travels in a ConfigMap (--manifest, up to 1 MiB) or is fetched by an init container
(--input-url). Live shards run one after the other: pods that reset one server's cache under each other would measure nothing.`,
		Example: `  sembench k8s render --name reuse --shards 8 --image sembench:1 --claim results --manifest m.jsonl -- run-offline --planner semblend,span
  sembench k8s render --name live --shards 3 --image sembench:1 --claim results --input-url https://bucket.example/m.jsonl -- run-live --base-url http://vllm:8000 --engine vllm`,
		Args: cobra.MinimumNArgs(1),
	}
	var k cluster
	for _, f := range []struct {
		to              *string
		name, def, help string
	}{
		{&k.name, "name", "sembench", "name of the Job, its ConfigMap and its merge"},
		{&k.namespace, "namespace", "", "namespace of everything (none: kubectl's own)"},
		{&k.image, "image", "", "image of sembench (packaging/Dockerfile)"},
		{&k.manifest, "manifest", "", "manifest to put into a ConfigMap"},
		{&k.inputURL, "input-url", "", "http or https address that an init container fetches the manifest from (object storage: a presigned one)"},
		{&k.fetchImage, "fetch-image", "curlimages/curl", "image with curl that fetches --input-url"},
		{&k.claim, "claim", "", "persistent volume claim for the results; shards in parallel on several nodes need ReadWriteMany"},
		{&k.cpu, "cpu", "1", "CPU that each pod asks for"},
		{&k.memory, "memory", "1Gi", "memory that each pod asks for and may use"},
		{&k.keySecret, "api-key-secret", "", "secret whose key api-key becomes SEMBENCH_API_KEY"},
	} {
		c.Flags().StringVar(f.to, f.name, f.def, f.help)
	}
	c.Flags().IntVar(&k.shards, "shards", 0, "number of shards, one a pod")
	c.Flags().IntVar(&k.parallelism, "parallelism", 0, "pods at a time (0: all for run-offline, 1 for run-live)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := k.check(args); err != nil {
			return err
		}
		var data string
		if k.manifest != "" {
			var err error
			if data, err = configMapData(c, k.manifest); err != nil {
				return err
			}
		}
		if err := k.render(c.OutOrStdout(), data, args); err != nil {
			return err
		}
		at := ""
		if k.namespace != "" {
			at = " --namespace " + k.namespace
		}
		note(c, "when every shard is done:\n  kubectl wait%s --for=condition=complete --timeout=24h job/%s\n  kubectl patch%s job/%s-merge -p '{\"spec\":{\"suspend\":false}}'", at, k.name, at, k.name)
		return nil
	}
	return c
}

// jobName is a DNS label that leaves room for "-merge" and a pod's index and suffix.
var jobName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// check refuses what the pods could not run.
func (k *cluster) check(args []string) error {
	switch {
	case !jobName.MatchString(k.name):
		return usage(fmt.Errorf("--name is %q", k.name), "want up to 40 lower-case letters, digits and dashes")
	case k.image == "":
		return usage(errors.New("no --image"), "build one with packaging/Dockerfile")
	case k.claim == "":
		return usage(errors.New("no --claim: the shards would leave nothing behind"), "name a persistent volume claim")
	case k.shards < 1 || k.shards > 10000:
		return usage(fmt.Errorf("--shards is %d", k.shards), "want 1 to 10000")
	case (k.manifest == "") == (k.inputURL == ""):
		return usage(errors.New("want --manifest or --input-url, one of them"), "")
	}
	if k.inputURL != "" {
		if u, err := url.Parse(k.inputURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usage(fmt.Errorf("--input-url is %q", k.inputURL), "want an http or https address; presign those of object storage")
		}
	}
	if args[0] != "run-offline" && args[0] != "run-live" {
		return usage(fmt.Errorf("%s does not run in shards", args[0]), "want run-offline or run-live after --")
	}
	// The verb's own flags are read here, so that a typing error is told now and not by every pod.
	verb, rest, err := command().Find(args)
	if err == nil {
		err = verb.ParseFlags(rest)
	}
	if err != nil {
		return usage(err, "see: sembench "+args[0]+" --help")
	}
	if verb.Flags().NArg() > 0 {
		return usage(fmt.Errorf("%s is given %q", args[0], verb.Flags().Arg(0)), "the manifest is --manifest or --input-url of k8s render")
	}
	for _, own := range []string{"manifest", "shard", "output"} {
		if verb.Flags().Changed(own) {
			return usage(fmt.Errorf("--%s after -- is set by k8s render itself", own), "")
		}
	}
	if pool := verb.Flags().Lookup("pool"); pool != nil && pool.Value.String() == "stream" {
		return usage(errors.New("--pool stream cannot be sharded: a shard would not see the requests before its own"), "")
	}
	if live := args[0] == "run-live"; k.parallelism == 0 {
		if k.parallelism = k.shards; live {
			k.parallelism = 1
		}
	}
	return nil
}

// configMapData is a checked manifest that fits into a ConfigMap.
func configMapData(c *cobra.Command, file string) (string, error) {
	if _, _, err := loadManifest(c, file); err != nil {
		return "", err
	}
	in, err := open(c, file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, configMapLimit+1))
	if err != nil {
		return "", usage(err, "")
	}
	if len(text) > configMapLimit {
		return "", usage(fmt.Errorf("%s is larger than the 1 MiB that a ConfigMap holds", file), "put it where pods can fetch it, and give its address with --input-url")
	}
	return string(text), nil
}

// The parts of Kubernetes' API that are used, under its names.
type (
	object = map[string]any
	list   = []any
)

// render writes the documents, each after a line of three dashes.
func (k *cluster) render(w io.Writer, data string, args []string) error {
	part := path.Join(podOutput, k.name, "part-")
	ran, result := part+"$(JOB_COMPLETION_INDEX).json", ".json"
	if args[0] == "run-live" {
		ran, result = part+"$(JOB_COMPLETION_INDEX)", "/result.json"
	}
	verb := make([]string, len(args))
	for i, arg := range args {
		verb[i] = strings.ReplaceAll(arg, "$(", "$$(") // nothing of the caller's is a pod's variable
	}
	verb = append(verb, "--manifest", podInput, "--shard", fmt.Sprintf("$(JOB_COMPLETION_INDEX)/%d", k.shards), "--output", ran, "--quiet")
	merge := []string{"merge-results"}
	for i := range k.shards {
		merge = append(merge, part+strconv.Itoa(i)+result)
	}
	merge = append(merge, "--output", path.Join(podOutput, k.name, "result.json"))

	var docs []object
	if data != "" {
		docs = append(docs, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": k.meta(k.name), "data": object{path.Base(podInput): data}})
	}
	shards := object{"completionMode": "Indexed", "completions": k.shards, "parallelism": k.parallelism, "backoffLimit": 0, "template": k.pod("shard", verb, true)}
	docs = append(docs,
		object{"apiVersion": "batch/v1", "kind": "Job", "metadata": k.meta(k.name), "spec": shards},
		object{"apiVersion": "batch/v1", "kind": "Job", "metadata": k.meta(k.name + "-merge"), "spec": object{"suspend": true, "backoffLimit": 0, "template": k.pod("merge", merge, false)}})
	for _, doc := range docs {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
		e := yaml.NewEncoder(w)
		e.SetIndent(2)
		if err := errors.Join(e.Encode(doc), e.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (k *cluster) meta(name string) object {
	m := object{"name": name, "labels": object{"app.kubernetes.io/name": "sembench", "app.kubernetes.io/instance": k.name}}
	if k.namespace != "" {
		m["namespace"] = k.namespace
	}
	return m
}

// pod is the template of a pod with one container of sembench, without any right that it does not need.
func (k *cluster) pod(container string, args []string, input bool) object {
	confined := object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": list{"ALL"}}}
	mounts := list{object{"name": "output", "mountPath": podOutput}}
	volumes := list{object{"name": "output", "persistentVolumeClaim": object{"claimName": k.claim}}}
	spec := object{
		"restartPolicy": "Never", "automountServiceAccountToken": false,
		"securityContext": object{"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "seccompProfile": object{"type": "RuntimeDefault"}},
	}
	if input {
		mounts = append(mounts, object{"name": "input", "mountPath": path.Dir(podInput), "readOnly": true})
		source := object{"name": "input", "configMap": object{"name": k.name}}
		if k.inputURL != "" {
			source = object{"name": "input", "emptyDir": object{}}
			spec["initContainers"] = list{object{
				"name": "fetch", "image": k.fetchImage, "command": list{"curl", "--fail", "--silent", "--show-error", "--location", "--retry", "5", "--output", podInput, k.inputURL},
				"volumeMounts": list{object{"name": "input", "mountPath": path.Dir(podInput)}}, "securityContext": confined,
			}}
		}
		volumes = append(volumes, source)
	}
	main := object{
		"name": container, "image": k.image, "args": args, "volumeMounts": mounts, "securityContext": confined,
		"resources": object{"requests": object{"cpu": k.cpu, "memory": k.memory}, "limits": object{"memory": k.memory}},
	}
	if k.keySecret != "" && input {
		main["env"] = list{object{"name": "SEMBENCH_API_KEY", "valueFrom": object{"secretKeyRef": object{"name": k.keySecret, "key": "api-key"}}}}
	}
	spec["containers"], spec["volumes"] = list{main}, volumes
	return object{"metadata": object{"labels": object{"app.kubernetes.io/name": "sembench", "app.kubernetes.io/instance": k.name}}, "spec": spec}
}
